"""Who could learn what from a run, as a part of its report: the audit in a card, in words, and in pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hocket.errors import HocketError
from hocket.privacy import Audit, audit
from hocket.privacy.findings import Finding
from hocket.privacy.wording import braced, counted
from hocket.report.leakage_figure import leakage_figure
from hocket.report.marked_graph import marked_graph
from hocket.report.numbers import plain
from hocket.report.page import Card, Exposure, Figure
from hocket.report.tables import Table
from hocket.run import Ending, Run

QUESTION = "What is exposed, and to whom?"
LISTENERS = {"coalition": "the coalition alone", "states": "with a tap on all words"}
FEW_AGENTS, FEW_ROUNDS = 20, 1000
"""Up to here a run is audited without being asked for: it takes a second or two."""


def audit_of(
    run: Run,
    *,
    colluders: int | None = None,
    coalition: Iterable[int] | None = None,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Audit | str:
    """The audit that a run's report shows, or why there is none; attacked too where the run kept its words.
    Against nobody in particular, it is against one colluder, over the first rounds, and of small networks only.
    """
    if run.algorithm is None or run.step is None:
        return "the run was saved without its configuration; audit it where it was run, with hocket.audit"
    if run.outcome.ending is Ending.DIVERGED:
        return "a run that diverged is not audited"
    asked: dict[str, Any] = {"rounds": run.rounds, "watch": watch}
    if colluders is None and coalition is None:
        if run.network.n > FEW_AGENTS:
            return (
                f"an audit of {counted(run.network.n, 'agent')} takes a while; ask for it with hocket report FOLDER "
                "--colluders 1"
            )
        asked |= {"colluders": 1, "rounds": min(run.rounds, FEW_ROUNDS)}
    else:
        asked |= {"colluders": colluders, "coalition": coalition}
    if run.transcript is not None:
        asked["run"] = run
    else:
        asked |= {"algorithm": run.algorithm, "step": run.step, "dim": run.x.shape[1]}
    try:
        return audit(run.network, **asked)
    except HocketError as error:
        return str(error)


def exposed(found: Audit | str, command: str = "", rounds: int | None = None) -> tuple[Card, Exposure | None]:
    """The card and the section of one audit; of none, a card that says why. `rounds` are those that were played."""
    if isinstance(found, str):
        return Card(QUESTION, "not audited", "open", (f"{found[0].upper()}{found[1:]}.",)), None
    alone = _alone(found)
    curves = {LISTENERS[one.threat]: one.leakage for one in found.findings if one.threat in LISTENERS}
    section = Exposure(
        words=[*found.verdict, *_shortened(alone.leakage.rounds, rounds)],
        graph=marked_graph(found.network, alone),
        figure=foretold(curves),
        tables=[findings_table(found.findings)],
        statement=found.statement,
        command=command,
    )
    return _card(found, alone), section


def compared(audits: Sequence[Audit], command: str = "") -> tuple[Card, Exposure]:
    """The card and the section of several algorithms, audited against the same coalition."""
    alone = [_alone(found) for found in audits]
    safe = [one.label for one, found in zip(alone, audits, strict=True) if found.covered and found.p2]
    verdict = f"nothing but sums under {' and '.join(safe)}; more under the others"
    card = Card(
        QUESTION,
        verdict if safe else "something, whatever the algorithm",
        "holds" if len(safe) == len(alone) else "open",
        [f"{one.label}, to {braced(one.coalition)}: {one.words}." for one in alone],
    )
    section = Exposure(
        words=[words for found in audits for words in (*found.proved, *found.estimated)],
        graph=marked_graph(audits[0].network, alone[0]),
        figure=foretold({one.label: one.leakage for one in alone}),
        tables=[findings_table(one for found in audits for one in found.findings)],
        statement=audits[0].statement,
        command=command,
    )
    return card, section


def _alone(found: Audit) -> Finding:
    """What the coalition knows by itself, under the first algorithm that was audited."""
    return next(one for one in found.findings if one.threat == "coalition")


def foretold(estimates: Mapping[str, Any]) -> Figure | None:
    """The figure of what stays unknown, with its caption."""
    drawing = leakage_figure(estimates)
    if drawing is None:
        return None
    caption = (
        "Foretold from the plan alone, while no projection is active and gradients stay the same: how closely whoever "
        "is known best is known, in the same units as the noise. Lower is worse."
    )
    return Figure.of(drawing, caption)


def findings_table(findings: Iterable[Finding]) -> Table:
    """How many gradients are exposed, and how well the best known of the others is: by algorithm and listener."""
    lines: dict[str, list[str]] = {}
    by: dict[str, str] = {}
    for one in findings:
        who = braced(one.coalition)
        # Whom a tap serves best may be another than who hears most alone: then the cell names it.
        cell = one.cell if who == by.setdefault(one.label, who) else f"{who}: {one.cell}"
        lines.setdefault(one.label, [one.label, who]).append(cell)
    head = ("algorithm", "coalition", "by itself", "tapping all words", "and all noise")
    rows = tuple(map(tuple, lines.values()))
    return Table(head, rows, caption="Gradients of honest agents, and how closely the best known is known")


def _shortened(audited: int, played: int | None) -> list[str]:
    if played is None or audited >= played:
        return []
    return [
        f"Estimates are over the first {audited:,} of {played:,} rounds; hocket report FOLDER --colluders 1 takes all."
    ]


def _card(found: Audit, alone: Finding) -> Card:
    who = f"coalition {braced(alone.coalition)}" if found.coalition else counted(found.colluders, "colluder")
    reasons = (*(found.proved or found.estimated), *found.attacked)[:2]
    if found.covered:
        if found.p2:
            return Card(QUESTION, f"nothing but sums, to {who} (Theorem 2)", "holds", reasons)
        what = "single objectives" if not found.p1 else "sums over some"
        return Card(QUESTION, f"{what}, to {who}", "exposed", reasons)
    if alone.exact:
        return Card(
            QUESTION, f"{counted(len(alone.exact), 'gradient')} exactly, to {who}", "exposed", reasons
        )
    known = f"gradients to ±{plain(alone.least)}, to {who}; no theorem"
    return Card(QUESTION, known, "open", reasons)
