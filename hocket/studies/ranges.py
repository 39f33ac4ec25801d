"""Where the columns of a model lie by what the study declares: the ranges of its numbers, and 0 to 1 of levels."""

from __future__ import annotations

from hocket.studies.design_matrix import Design, term_width
from hocket.studies.private_linear import factor_range
from hocket.studies.scaling import Ends, unbounded
from hocket.studies.study import Study


def declared_ends(study: Study, design: Design) -> Ends:
    """The ends of each column of a design; infinite where the study declares none."""
    formula = study.formula
    low, high = unbounded(len(design.names))
    if formula is None:
        return low, high
    place = 0
    if design.intercept:
        low[0] = high[0] = 1.0
        place = 1
    for term in formula.terms:
        width = term_width(term, formula, study.columns)
        factors = [factor_range(factor, study.columns) for factor in term]
        if all(ends is not None for ends in factors):
            ends = (1.0, 1.0)
            for one in factors:
                assert one is not None
                products = [a * b for a in ends for b in one]
                ends = min(products), max(products)
            low[place : place + width], high[place : place + width] = ends
        place += width
    return low, high
