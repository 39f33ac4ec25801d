"""Who could learn what from a run, as a part of its report: the audit in a card, in words, and in pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hocket.errors import HocketError
from hocket.networks.network import Network
from hocket.privacy import Audit, Leakage, audit, exposure
from hocket.privacy.audit import text
from hocket.privacy.audit.findings import Finding
from hocket.privacy.audit.theorem import objectives_of
from hocket.privacy.wording import counted, grouped, judged, listed, sentence
from hocket.problems.objective_class import ANY
from hocket.report.audit_page import graph_parts
from hocket.report.audit_rows import attack_rows, readable_rows
from hocket.report.figures import Drawing
from hocket.report.page import AnswerCard, Figure, PageSection, render
from hocket.report.panels import Note, Panel, PlotLine, sheet
from hocket.report.tables import Table, plain
from hocket.runs.run import Ending, Run

LITTLE = 1e-12
"""Of the prior: an uncertainty below this is drawn as none."""
LARGEST = 60
"""Agents up to which a graph can be read on a page that does not scroll."""
QUESTION = "What is exposed, and to whom?"
SECTION = "Who could learn what"
LISTENERS = {"coalition": "the coalition alone", "states": "to an eavesdropper on all links"}
FEW_AGENTS, FEW_ROUNDS = 20, 1000
"""Up to here a run is audited without being asked for: it takes a second or two."""


def leakage_figure(estimates: Mapping[str, Leakage]) -> Drawing | None:
    """The error on the most exposed gradient, a line for each estimate; None where all are known at once."""
    lines, known = [], []
    for style, (label, found) in enumerate(estimates.items()):
        rounds = found.history["round"]
        least = found.history["sd"][:, list(found.honest)].min(axis=1)
        hidden = least > LITTLE * found.prior
        if hidden.any():
            last = int(np.flatnonzero(hidden)[-1]) + 1
            lines.append(PlotLine(label, rounds[:last], least[:last], style=style))
        if not hidden[-1]:
            known.append(f"{label}: known exactly from round {rounds[np.argmin(hidden)]} on")
    if not lines:
        return None
    shown = np.concatenate([line.y for line in lines])
    prior = max(found.prior for found in estimates.values())
    panel = Panel(
        title="What stays unknown of the most exposed gradient",
        across=r"round $k$",
        up="standard deviation\n(units of a gradient)",
        lines=lines,
        notes=[Note("\n".join(known), 0.02, 0.04)],
        lowest=10.0 ** np.floor(np.log10(shown.min() / 2)),
        highest=10.0 ** np.ceil(np.log10(shown.max() * 2)),
    )
    ends = [f"{line.label} from {plain(float(line.y[0]))} to {plain(float(line.y[-1]))}" for line in lines]
    alt = (
        "What a coalition does not know of the most exposed gradient, as a standard deviation, against rounds, both "
        f"axes logarithmic; before anything is received it is {plain(prior)}. It goes, for {'; for '.join(ends)}."
        + (f" {'; '.join(known)}." if known else "")
    )
    return sheet([[panel]], size=(9.6, 3.6), alt=alt)


class AgentMark(NamedTuple):
    """How an agent is drawn: a class of the style sheet, and a sign beside it."""

    kind: str
    sign: str = ""


def marked_graph(network: Network, found: Finding) -> Figure | None:
    """The graph, with a finding's coalition and whom it knows; None where there are too many agents to be seen."""
    if network.n > LARGEST:
        return None
    parts = graph_parts(network)
    for agent in parts["agents"]:
        agent["mark"] = mark(network, found, agent["number"])
    svg = render("picture.html", **parts, coalition=found.coalition)
    words = f"Under {found.label}: {_described(found)}"
    return Figure(svg, f"Graph of {network.name}. {words}", words)


def mark(network: Network, found: Finding, agent: int) -> AgentMark:
    """As the audit page marks an agent."""
    if agent in found.coalition:
        return AgentMark("colluder")
    if agent in found.exact:
        return AgentMark("exact", "!")
    if found.basis == "estimate":
        return AgentMark("open")
    judged = exposure(network, found.coalition)
    if judged.p2:
        return AgentMark("hidden")
    groups = [part for part in judged.components if len(part) > 1]
    place = next(place for place, part in enumerate(groups) if agent in part)
    return AgentMark(f"group tint-{place % 6}", chr(ord("A") + place % 26))


def _described(found: Finding) -> str:
    parts = [f"squares collude: {listed(found.coalition, found.labels)}"]
    if found.exact:
        parts.append(f"“!”, known exactly: {listed(found.exact, found.labels)}")
    if found.averaged:
        parts.append(f"dashed, the error shrinks with every round: {listed(found.averaged, found.labels)}")
    if found.hidden and found.basis == "estimate":
        parts.append(
            f"dashed, only in sums with others, without a theorem: {listed(found.hidden, found.labels)}"
        )
    elif found.hidden:
        parts.append(f"hidden, except in sums: {listed(found.hidden, found.labels)}")
    return f"{'; '.join(parts)}. Red links carry messages to the coalition."


def audit_of(
    run: Run,
    *,
    colluders: int | None = None,
    coalition: Iterable[int] | None = None,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Audit | str:
    """The audit that a run's report shows, or why there is none; attacked too where the run kept its messages.
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
        objectives, batches = objectives_of(run, None)
        asked |= {"algorithm": run.algorithm, "step": run.step, "dim": run.x.shape[1]}
        asked["objectives"] = ANY if batches else objectives
    try:
        run.check_received("what its messages gave away")
        return audit(run.network, **asked)
    except HocketError as error:
        return str(error)


def exposed(
    found: Audit | str, command: str = "", rounds: int | None = None
) -> tuple[AnswerCard, PageSection | None]:
    """The card and the section of one audit; of none, a card that says why. `rounds` are those that were played."""
    if isinstance(found, str):
        return AnswerCard(QUESTION, "not audited", "open", (sentence(found),)), None
    alone = _alone(found)
    curves = {LISTENERS[one.threat]: one.leakage for one in found.findings if one.threat in LISTENERS}
    section = PageSection(
        title=SECTION,
        glossary=True,
        words=[found.answer, *found.verdict, *_shortened(alone.leakage.rounds, rounds)],
        graph=marked_graph(found.network, alone),
        figures=forecast(curves),
        tables=[readable_rows(found), *filter(None, [attack_rows(found)]), findings_table(found.findings)],
        statement=found.statement,
        command=command,
    )
    return _card(found, alone), section


def compared(audits: Sequence[Audit], command: str = "") -> tuple[AnswerCard, PageSection]:
    """The card and the section of several algorithms, audited against the same coalition."""
    alone = [_alone(found) for found in audits]
    safe = [one.label for one, found in zip(alone, audits, strict=True) if found.covered and found.p2]
    verdict = f"nothing but sums under {' and '.join(safe)}; more under the others"
    card = AnswerCard(
        QUESTION,
        verdict if safe else "something, whatever the algorithm",
        "holds" if len(safe) == len(alone) else "open",
        [f"{one.label}, to {grouped(one.coalition, one.labels)}: {text.line(one)}." for one in alone],
    )
    section = PageSection(
        title=SECTION,
        glossary=True,
        words=[words for found in audits for words in (*text.proved(found), *text.estimated(found))],
        graph=marked_graph(audits[0].network, alone[0]),
        figures=forecast({one.label: one.leakage for one in alone}),
        tables=[findings_table(one for found in audits for one in found.findings)],
        statement=audits[0].statement,
        command=command,
    )
    return card, section


def _alone(found: Audit) -> Finding:
    """What the coalition knows by itself, under the first algorithm that was audited."""
    return next(one for one in found.findings if one.threat == "coalition")


def forecast(estimates: Mapping[str, Any]) -> list[Figure]:
    """The figure of what stays unknown, with its caption."""
    drawing = leakage_figure(estimates)
    if drawing is None:
        return []
    caption = (
        "Estimated from the plan alone, while no projection is active and gradients are constant: the error on the "
        "most exposed gradient, in the same units as the noise. Lower is worse."
    )
    return [Figure.of(drawing, caption)]


def findings_table(findings: Iterable[Finding]) -> Table:
    """How many gradients are exposed, and the error on the most exposed of the others: by algorithm and listener."""
    lines: dict[str, list[str]] = {}
    by: dict[str, str] = {}
    for one in findings:
        who = grouped(one.coalition, one.labels)
        # With all messages another coalition may be worse than with its own alone: then the cell names it.
        cell = text.cell(one) if who == by.setdefault(one.label, who) else f"{who}: {text.cell(one)}"
        lines.setdefault(one.label, [one.label, who]).append(cell)
    head = ("algorithm", "coalition", "by itself", "with all messages", "and all noise")
    rows = tuple(map(tuple, lines.values()))
    return Table(head, rows, caption="Gradients of honest agents, and the error of the most exposed one")


def _shortened(audited: int, played: int | None) -> list[str]:
    if played is None or audited >= played:
        return []
    return [
        f"Estimates are over the first {audited:,} of {played:,} rounds; hocket report FOLDER --colluders 1 takes all."
    ]


def _card(found: Audit, alone: Finding) -> AnswerCard:
    who = (
        f"coalition {grouped(alone.coalition, alone.labels)}"
        if found.coalition
        else counted(found.colluders, "colluder")
    )
    reasons = (*(text.proved(found) or text.estimated(found)), *text.in_this_run(found))[:2]
    if found.covered:
        if found.p2:
            condition = f", if {found.claim.condition}" if found.claim.assumed else ""
            theorem = "" if found.claim.theorem is None else found.claim.theorem.value
            tone = "open" if condition else "holds"
            return AnswerCard(QUESTION, f"nothing but sums, to {who} ({theorem}{condition})", tone, reasons)
        what = f"single {text.part_of(alone)}s" if not found.p1 else "sums over some"
        return AnswerCard(QUESTION, f"{what}, to {who}", "exposed", reasons)
    exact = [agent for agent in alone.leakage.honest if alone.leakage.sd[agent] == 0]
    if exact:  # by itself, or by the public form of the objectives
        return AnswerCard(
            QUESTION, f"{counted(len(exact), 'gradient')} exactly, to {who}", "exposed", reasons
        )
    known = f"a gradient {judged(alone.least, alone.gradient_size)}, to {who}; no theorem"
    return AnswerCard(QUESTION, known, "open", reasons)
