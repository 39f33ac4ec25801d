"""From a formula and a member's rows to columns of numbers, with the names that the results carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
from jaxtyping import Bool, Float

from hocket.studies.data.rows import Rows
from hocket.studies.spec.columns import ColumnSection, text_of
from hocket.studies.spec.formula import Factor, Formula, Term
from hocket.studies.spec.study import Study

INTERCEPT = "Intercept"
MOST_COLUMNS = 300
"""Columns of a model: a sum of all their products still goes over a link at once."""


@dataclass(frozen=True)
class Design:
    """The columns of a model, in one member's rows."""

    X: Float[np.ndarray, "rows columns"] = field(repr=False)
    names: tuple[str, ...]
    intercept: bool
    """Whether the first column is all ones."""


def filled(
    rows: Rows, kept: Bool[np.ndarray, " all"], means: Mapping[str, float]
) -> dict[str, Float[np.ndarray, " rows"]]:
    """The columns of a model, with the joint means in place of what is missing."""
    columns = {name: rows.column(name, kept) for name in rows.study.modelled}
    return columns | {
        name: np.where(np.isnan(columns[name]), mean, columns[name]) for name, mean in means.items()
    }


def design_matrix(
    formula: Formula,
    columns: Mapping[str, ColumnSection],
    values: Mapping[str, np.ndarray],
    rows: int,
    *,
    intercept: bool,
) -> Design:
    """One column for each number, level or spline, and one for each product of them.

    As R has it, levels lose their reference where the rest of their term is in the model too, and keep it otherwise
    (`is_reduced`).
    """
    names, parts = list[str](), list[np.ndarray]()
    if intercept:
        names.append(INTERCEPT)
        parts.append(np.ones(rows))
    for term in formula.terms:
        for name, column in _columns_of(term, formula, columns, values, rows):
            names.append(name)
            parts.append(column)
    return Design(np.stack(parts, axis=1) if parts else np.zeros((rows, 0)), tuple(names), intercept)


def design_names(
    formula: Formula, columns: Mapping[str, ColumnSection], *, intercept: bool
) -> tuple[str, ...]:
    """The names of a design without any rows."""
    empty = {name: np.zeros(0) for name in formula.columns}
    return design_matrix(formula, columns, empty, 0, intercept=intercept).names


def coefficient_names(study: Study) -> tuple[str, ...]:
    """The coefficients that a study's model will have."""
    if study.formula is None:
        return ()
    ones = study.formula.intercept and study.question.family != "cox"
    return design_names(study.formula, study.columns, intercept=ones)


def response(factor: Factor, values: Mapping[str, np.ndarray]) -> Float[np.ndarray, " rows"]:
    """What is explained."""
    return FUNCTIONS[factor.function](values[factor.column])


def _columns_of(
    term: Term,
    formula: Formula,
    columns: Mapping[str, ColumnSection],
    values: Mapping[str, np.ndarray],
    rows: int,
) -> Iterator[tuple[str, np.ndarray]]:
    found: list[tuple[str, np.ndarray]] = [("", np.ones(rows))]
    for factor in term:
        reduced = is_reduced(factor, term, formula)
        own = list(_expanded(factor, columns, values[factor.column], reduced=reduced))
        found = [
            (f"{before}:{name}" if before else name, product * column)
            for name, column in own
            for before, product in found
        ]
    yield from found


def _expanded(
    factor: Factor, columns: Mapping[str, ColumnSection], values: np.ndarray, *, reduced: bool
) -> Iterator[tuple[str, np.ndarray]]:
    if factor.function == "C":
        column = columns[factor.column]
        reference = (
            0 if column.reference is None else [*map(text_of, column.levels)].index(text_of(column.reference))
        )
        for place, level in enumerate(column.levels):
            if not reduced or place != reference:
                yield f"C({factor.column})[{level}]", (values == place).astype(np.float64)
    elif factor.function == "rcs":
        for place, column in enumerate(restricted_cubic(values, np.array(factor.numbers)).T):
            yield f"{factor}[{place + 1}]", column
    elif factor.function == "^":
        yield str(factor), values ** factor.numbers[0]
    else:
        column = columns.get(factor.column)
        per = column.per if column is not None and not factor.function else 1.0
        yield str(factor), FUNCTIONS[factor.function](values) / per


FUNCTIONS = {"": np.asarray, "log": np.log, "sqrt": np.sqrt}


def restricted_cubic(
    x: Float[np.ndarray, " rows"], knots: Float[np.ndarray, " knots"]
) -> Float[np.ndarray, "rows columns"]:
    """A cubic spline that is straight beyond its outer knots: x, and a column for each knot but two [Harrell]."""
    last, before = knots[-1], knots[-2]
    cube = lambda t: np.maximum(x - t, 0.0) ** 3  # noqa: E731
    bends = [
        cube(t) - cube(before) * (last - t) / (last - before) + cube(last) * (before - t) / (last - before)
        for t in knots[:-2]
    ]
    return np.stack([x, *(bend / (last - knots[0]) ** 2 for bend in bends)], axis=1)


def refuse_wide(formula: Formula, columns: Mapping[str, ColumnSection]) -> Iterator[str]:
    """The widest term of a model with too many columns, in words; counted before any is made."""
    widths = {term: term_width(term, formula, columns) for term in formula.terms}
    if sum(widths.values()) > MOST_COLUMNS:
        widest = max(widths, key=lambda term: widths[term])
        yield (
            f"[study] {':'.join(map(str, widest))} makes {widths[widest]:,} columns and the formula "
            f"{sum(widths.values()):,}, where a model may have {MOST_COLUMNS}; leave it out, or join levels"
        )


def term_width(term: Term, formula: Formula, columns: Mapping[str, ColumnSection]) -> int:
    """Columns of one term: the product over its factors."""
    return prod(_width(factor, columns, reduced=is_reduced(factor, term, formula)) for factor in term)


def is_reduced(factor: Factor, term: Term, formula: Formula) -> bool:
    """Whether levels lose their reference in a term: as R has it, where the rest of the term is in the model too. The
    rest of a single factor is the intercept, or without one the first factor, whose levels add up to it."""
    rest = frozenset(term) - {factor}
    if rest:
        return rest in {frozenset(one) for one in formula.terms}
    alone = [one for one in formula.terms if len(one) == 1 and one[0].function == "C"]
    return formula.intercept or (bool(alone) and term != alone[0])


def _width(factor: Factor, columns: Mapping[str, ColumnSection], *, reduced: bool) -> int:
    if factor.function == "C":
        levels = len(columns[factor.column].levels) if factor.column in columns else 0
        return levels - reduced if levels else 1
    return len(factor.numbers) - 1 if factor.function == "rcs" else 1
