"""Where columns lie by what a study declares: the ranges of its numbers, and 0 to 1 of levels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hocket.studies.data.design_matrix import Design, term_width
from hocket.studies.data.scaling import Ends, unbounded
from hocket.studies.spec.columns import ColumnSection
from hocket.studies.spec.formula import Factor, Formula, Term

Columns = Mapping[str, ColumnSection]


def of_levels(factor: Factor, columns: Columns) -> bool:
    """Whether it is 0 or 1: levels, or a yes or no. A spline is several columns at once."""
    column = columns.get(factor.column)
    mapped = column is not None and column.map is not None
    return factor.function == "C" or (mapped and factor.function != "rcs")


def factor_range(factor: Factor, columns: Columns) -> tuple[float, float] | None:
    """Where a factor's values lie; None where nothing is declared."""
    if of_levels(factor, columns):
        return 0.0, 1.0
    column = columns.get(factor.column)
    if column is None or column.range is None or factor.function == "rcs":
        return None
    low, high = column.range
    if factor.function == "log":
        return (np.log(low), np.log(high)) if low > 0 else None
    if factor.function == "sqrt":
        return (np.sqrt(low), np.sqrt(high)) if low >= 0 else None
    if factor.function == "^":
        with np.errstate(over="ignore"):  # endless ones are refused where noise is made for them
            powers = np.array([low, high]) ** factor.numbers[0]
        ends = [*map(float, powers), *([0.0] if low < 0 < high else [])]
        return min(ends), max(ends)
    return low / column.per, high / column.per


def term_range(term: Term, columns: Columns) -> tuple[float, float] | None:
    """Where a product of factors lies; None where one of them has no range."""
    low, high = 1.0, 1.0
    for factor in term:
        ends = factor_range(factor, columns)
        if ends is None:
            return None
        products = [one * end for one in (low, high) for end in ends]
        low, high = min(products), max(products)
    return low, high


def declared_ends(formula: Formula, columns: Columns, design: Design) -> Ends:
    """The ends of each column of a design; infinite where none is declared."""
    low, high = unbounded(len(design.names))
    place = int(design.intercept)
    low[:place] = high[:place] = 1.0
    for term in formula.terms:
        width = term_width(term, formula, columns)
        if (ends := term_range(term, columns)) is not None:
            low[place : place + width], high[place : place + width] = ends
        place += width
    return low, high
