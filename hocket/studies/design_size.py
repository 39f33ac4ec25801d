"""How many columns a formula makes, counted before any is made: levels multiply where terms are crossed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from hocket.studies.columns import ColumnSection
from hocket.studies.formula import Factor, Formula, Term

MOST_COLUMNS = 300
"""Columns of a model: a sum of all their products still goes over a link at once."""


def refuse_wide(formula: Formula, columns: Mapping[str, ColumnSection]) -> Iterator[str]:
    """The widest term of a model with too many columns, in words."""
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
