"""Which results are those of the pooled rows: one closed list, by the name of each analysis.

Equal is said only of what is on this list and, where it depends on the data, was measured. Whatever is not on the list
is not called equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hocket.report.page import AnswerCard
from hocket.studies.analysis import Findings

FITS = {
    "linear": "least squares: the pooled fit, to rounding",
    "binomial": "the pooled fit, to rounding",
    "poisson": "the pooled fit, to rounding",
    "gamma": "the pooled fit, to rounding",
    "cox": "the pooled fit with strata(member), a baseline hazard for each, to rounding; not the one without strata",
}
"""Fits that end at the maximum of a sum over rows, by Newton's method until no step is left (`tests/studies` hold them
against statsmodels and lifelines)."""
PENALISED = "the minimum of the pooled penalised loss, to the precision at which the fit stops"
QUESTION = "Is it what the pooled rows would give?"


class Equality(NamedTuple):
    """Whether one part of the results is that of the pooled rows."""

    part: str
    equal: bool
    words: str


def equalities(findings: Findings) -> Iterator[Equality]:
    """Every part of a study without noise."""
    fit, curves, tested = findings.fit, findings.survival, findings.evaluation
    if fit is not None:
        words = FITS.get(fit.family)
        if words is not None and fit.covariance is None:
            words = PENALISED
        yield Equality("the model", words is not None, words or "not known")
    if findings.description is not None:
        some = any(one.quantiles for one in findings.description.columns.values())
        yield Equality("counts, means and standard deviations", True, "those of the pooled rows, to rounding")
        if some:
            yield Equality(
                "quantiles",
                False,
                "found by bisection, to the width that is printed (of type 1: the smallest value up to which at least "
                "that share of the rows lies)",
            )
    if curves is not None:
        if curves.exact:
            yield Equality("survival curves", True, "the Kaplan-Meier curve of the pooled rows")
        else:
            yield Equality(
                "survival curves",
                False,
                "a life table: times are merged, and the Kaplan-Meier curve of the pooled rows may be "
                f"{curves.within:.2g} away at most (bounds at each time are in the table)",
            )
        if curves.log_rank is not None and curves.exact and curves.log_rank_exact:
            yield Equality(
                "log-rank test", True, "that of the pooled rows, followed up to the last time of the grid"
            )
        elif curves.log_rank is not None:
            yield Equality(
                "log-rank test", False, "of merged intervals, with other numbers than that of exact times"
            )
    if tested is not None:
        yield Equality(
            "Brier score, log loss and counts", True, "those of the pooled held-out rows, to rounding"
        )
        yield Equality(
            "AUC",
            False,
            f"of binned predictions: binning moves it by {tested.auc_within:.2g} at most, which is no sampling error",
        )


def equality_card(findings: Findings, sums: str) -> AnswerCard:
    """The answer for a page: yes where every part is equal, else which is not."""
    parts = [*equalities(findings)]
    equal = [one.equal for one in parts]
    verdict = "yes, to rounding" if all(equal) else "in part" if any(equal) else "not exactly"
    words = [f"{one.part[0].upper()}{one.part[1:]}: {one.words}." for one in parts]
    return AnswerCard(QUESTION, verdict, "holds" if all(equal) else "open", (*words, sums))
