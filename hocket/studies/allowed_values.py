"""What a column's part in an analysis allows: an event is 0 or 1, what is under log() above 0, a count whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from hocket.studies.formula import Factor, Formula, Survival
from hocket.studies.rows import Rows
from hocket.studies.study import Study


class Demand(NamedTuple):
    """What a column must be."""

    column: str
    kind: str
    why: str


KINDS = {
    "above 0": lambda x: x > 0,
    "0 or more": lambda x: x >= 0,
    "0 or 1": lambda x: np.isin(x, (0, 1)),
    "a share from 0 to 1": lambda x: (x >= 0) & (x <= 1),
    "whole and not below 0": lambda x: (x >= 0) & (x == np.round(x)),
}


def disallowed(rows: Rows) -> list[str]:
    """Columns with values that their part in the analysis does not allow."""
    found = [*_refused(rows, _of_model(rows.study), rows.modelled)]
    found += _refused(rows, _of_curves(rows.study), rows.surviving)
    return found or [*_endless(rows)]


def _endless(rows: Rows) -> Iterator[str]:
    """An outcome of which a member's own intercept would have no end."""
    study, formula = rows.study, rows.study.formula
    edges = {"binomial": (0.0, 1.0), "poisson": (0.0,)}.get(study.question.family, ())
    if not study.question.site or formula is None or not isinstance(formula.response, Factor):
        return
    values = np.unique(rows.column(formula.response.column, rows.modelled))
    if len(values) == 1 and values[0] in edges:
        yield (
            f"column {formula.response.column} is {values[0]:g} in every row here, so that with site = true this "
            "member's own intercept would be infinite, and its rows would tell nothing else; leave site out, or stay "
            "out of this study"
        )


def _refused(rows: Rows, demands: Iterator[Demand], kept: Bool[np.ndarray, " rows"]) -> Iterator[str]:
    for column, kind, why in demands:
        values = rows.values[column]
        wrong = ~KINDS[kind](values) & ~np.isnan(values) & kept
        if wrong.any():
            yield (
                f"column {column} {why} and must be {kind}, but {int(wrong.sum()):,} rows have others, such as "
                f"{values[wrong][0]:g}"
            )


def _of_curves(study: Study) -> Iterator[Demand]:
    if study.survival is not None:
        yield Demand(study.survival.time, "above 0", "is a time")
        yield Demand(study.survival.event, "0 or 1", "is an event")


def _of_model(study: Study) -> Iterator[Demand]:
    if study.question.weights:
        yield Demand(study.question.weights, "above 0", "is a weight")
    if study.formula is None:
        return
    factors = dict.fromkeys(factor for term in study.formula.terms for factor in term)
    yield from _of_functions([*factors])
    yield from _of_response(study, study.formula)


def _of_functions(factors: list[Factor]) -> Iterator[Demand]:
    needs = {"log": "above 0", "sqrt": "0 or more"}
    for factor in factors:
        if factor.function in needs:
            yield Demand(factor.column, needs[factor.function], f"is under {factor.function}()")


def _of_response(study: Study, formula: Formula) -> Iterator[Demand]:
    if isinstance(formula.response, Survival):
        yield Demand(formula.response.time, "above 0", "is a time")
        yield Demand(formula.response.event, "0 or 1", "is an event")
        return
    yield from _of_functions([formula.response])
    share = "a share from 0 to 1" if study.question.weights else "0 or 1"
    needs = {
        "binomial": (share, "is explained as yes or no (say which count as 1: map)"),
        "poisson": ("whole and not below 0", "is a count"),
        "gamma": ("above 0", "is explained by a gamma model"),
    }
    if study.question.family in needs:
        yield Demand(formula.response.column, *needs[study.question.family])
