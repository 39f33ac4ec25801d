"""Everything about a run that people read, from whether it converged on, written into its folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from hocket.files import csv_text
from hocket.privacy import Audit
from hocket.privacy.wording import counted, sentence
from hocket.report.convergence import convergence
from hocket.report.exposure import exposed
from hocket.report.page import AnswerCard, Page
from hocket.report.tables import assumption_table, label_of, over, plain, result_table, settings_table
from hocket.runs.run import Ending, Run, history_stays
from hocket.runs.theorems import Claim

MUCH = 100
"""A gap that shrank by this factor is called small."""
PAGE = "report.html"


def convergence_card(run: Run) -> AnswerCard:
    """Whether a run came near the optimum, as far as that is known."""
    question, ending = "Did it converge?", run.outcome.ending
    apart = f"No agent is farther than {plain(run.disagreement)} from the mean of all."
    if ending is Ending.DIVERGED:
        why = sentence(run.outcome.detail or "a state is no longer finite")
        return AnswerCard(question, f"no: diverged at round {run.outcome.round:,}", "exposed", (why,))
    first = float(run.history["gap"][0])
    if math.isnan(run.gap):
        loss = run.history["loss"]
        fell = f"The optimum is not known; the loss went from {plain(loss[0])} to {plain(loss[-1])}."
        return AnswerCard(question, f"not known, after {counted(run.rounds, 'round')}", "open", (fell, apart))
    fell = f"The gap to the optimum went from {plain(first)} to {plain(run.gap)}{over(run)}."
    if ending is Ending.CONVERGED:
        return AnswerCard(
            question, f"yes, at round {run.outcome.round:,}: {run.outcome.detail}", "holds", (fell, apart)
        )
    verdict = f"gap {plain(run.gap)} after {run.rounds:,} rounds"
    return AnswerCard(question, verdict, "holds" if run.gap * MUCH <= first else "open", (fell, apart))


def theorem_card(claim: Claim) -> AnswerCard:
    """Which theorem covers a run, and what stands in the way of one."""
    question = "Which theorem applies?"
    if claim.theorem is None:
        return AnswerCard(question, "none", "open", (sentence(claim.statement),))
    words = sentence(claim.statement.removeprefix(f"{claim.theorem}: "))
    unknown = [part for part in claim.assumptions if part.holds is None]
    if not unknown:
        return AnswerCard(question, claim.theorem, "holds", (words,))
    conditions = counted(len(unknown), "condition")
    return AnswerCard(question, f"{claim.theorem}, on {conditions} that nobody has checked", "open", (words,))


def write_report(
    run: Run,
    folder: Path,
    *,
    configuration: str,
    commands: Sequence[str],
    found: Audit | str = "no audit was asked for",
    audit_command: str = "",
) -> Path:
    """Measurements, figure and page of a run; returns where the page lies.

    `commands` repeat the run, `found` is its audit or why there is none, `audit_command` asks for a page of it.
    """
    write_metrics(run, folder / "metrics.csv")
    name, history, settings = label_of(run.settings["algorithm"]["name"]), run.history, run.settings
    drawing = convergence({name: history})
    drawing.save(folder, "convergence")
    card, exposure = exposed(found, audit_command, run.rounds)
    page = Page(
        title=f"{name} on {settings['network']['name']}",
        facts=[
            counted(settings["network"]["agents"], "agent"),
            counted(settings["network"]["links"], "link"),
            counted(settings["problem"]["dim"], "unknown"),
            counted(settings["rounds"], "round"),
            f"seed {settings['seed']}",
        ],
        summary=[*in_words(run), *([AT_HOME] if history_stays(run.settings) else [])],
        cards=[convergence_card(run), theorem_card(run.claim), card],
        tables=[result_table(run)],
        details=[assumption_table(run.claim), settings_table(settings)],
        figure=drawing,
        caption="Left, how far the worst agent is from the optimum of all objectives together, or where that is not "
        "known the loss; right, how far agents still differ. All axes are logarithmic.",
        exposure=exposure,
        configuration=configuration,
        commands=commands,
    )
    return page.save(folder / PAGE)


def write_metrics(run: Run, path: Path) -> None:
    """The run's history as comma-separated values, every digit kept; marked row by row where it stays at home."""
    columns = {name: column.tolist() for name, column in run.history.items()}
    if history_stays(run.settings):
        columns["stays_at_home"] = [True] * len(columns["round"])
    path.write_text(csv_text([columns, *zip(*columns.values(), strict=True)]), encoding="utf-8", newline="")


AT_HOME = (
    "What this page shows is measured on members' own states and objectives, which no certificate is about: in a run "
    "on data it stays at home."
)


def in_words(run: Run) -> list[str]:
    """What happened, for someone who reads nothing else."""
    agents, network = run.settings["network"]["agents"], run.settings["network"]["name"]
    if run.outcome.ending is Ending.DIVERGED:
        return [
            f"The run of {agents} agents on {network} {run.outcome}.",
            "Below is what was measured up to there.",
        ]
    gap = (
        "the optimum is not known"
        if math.isnan(run.gap)
        else f"the gap to the optimum is {plain(run.gap)}{over(run)}"
    )
    stopped = ", where the tolerance was met" if run.outcome.ending is Ending.CONVERGED else ""
    return [
        f"{agents} agents on {network}, after {counted(run.rounds, 'round')}{stopped}: {gap}, and no agent is farther "
        f"than {plain(run.disagreement)} from their mean."
    ]
