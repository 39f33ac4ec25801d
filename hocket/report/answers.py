"""The first questions about a run, answered: did it converge, and which theorem says so."""

from __future__ import annotations

import math

from hocket.report.numbers import plain
from hocket.report.page import Card
from hocket.report.tables import over
from hocket.runs.run import Ending, Run
from hocket.runs.theorems import Claim

MUCH = 100
"""A gap that shrank by this factor is called small."""


def convergence_card(run: Run) -> Card:
    """Whether a run came near the optimum, as far as that is known."""
    question, ending = "Did it converge?", run.outcome.ending
    apart = f"No agent is farther than {plain(run.disagreement)} from the mean of all."
    if ending is Ending.DIVERGED:
        return Card(question, f"no: diverged at round {run.outcome.round:,}", "exposed", (f"{_cause(run)}.",))
    first = float(run.history["gap"][0])
    if math.isnan(run.gap):
        loss = run.history["loss"]
        fell = f"The optimum is not known; the sum of the objectives went from {plain(loss[0])} to {plain(loss[-1])}."
        return Card(question, f"not known, after {run.rounds:,} rounds", "open", (fell, apart))
    fell = f"The gap to the optimum went from {plain(first)} to {plain(run.gap)}{over(run)}."
    if ending is Ending.CONVERGED:
        return Card(
            question, f"yes, at round {run.outcome.round:,}: {run.outcome.detail}", "holds", (fell, apart)
        )
    verdict = f"gap {plain(run.gap)} after {run.rounds:,} rounds"
    return Card(question, verdict, "holds" if run.gap * MUCH <= first else "open", (fell, apart))


def theorem_card(claim: Claim) -> Card:
    """Which theorem covers a run, and what stands in the way of one."""
    question = "Which theorem applies?"
    if claim.theorem is None:
        return Card(question, "none", "open", (_sentence(claim.statement),))
    words = _sentence(claim.statement.removeprefix(f"{claim.theorem}: "))
    unknown = any(part.holds is None for part in claim.assumptions)
    return Card(question, claim.theorem, "open" if unknown else "holds", (words,))


def _cause(run: Run) -> str:
    detail = run.outcome.detail or "a state is no longer finite"
    return f"{detail[0].upper()}{detail[1:]}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
