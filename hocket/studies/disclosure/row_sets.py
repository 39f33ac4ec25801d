"""Over which of a member's rows a study takes sums: two such sets that differ in a few rows show these by a difference.

Sets are held against each other within families. All rows of a part of the study (a model, curves, a description) are
in one, whatever columns the part uses. Rows that have a cell of a column are held against other rows over which the
same column is summed. Rows that count as a yes are held against others that a threshold or a level of the same column
makes, and against the whole. And whatever column of a model has two values, be it a flag, a level or a product of them,
sets rows apart that are held against those of any other column in another study: a difference of two sums does not ask
what made them. Within a study joint counts do that (`joint_counts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from hocket.studies.data.design_matrix import design_matrix, response
from hocket.studies.data.rows import Rows
from hocket.studies.models.evaluate import held_out
from hocket.studies.spec.formula import Factor, Formula
from hocket.studies.spec.study import DescribeSection

Mask = Bool[np.ndarray, " rows"]


class RowKind(Enum):
    """What sets are held against each other as."""

    PART = "rows"
    """Whole parts of a study."""
    COLUMN = "column"
    """Rows that have a cell of a column."""
    YES = "yes by"
    """What maps and levels of one column set apart, and the whole."""
    MAPS = "maps of"
    """What maps of one column make, without the whole."""
    TWINS = "columns of two studies"
    """All that columns of a model set apart, which is held against earlier studies, two sets at a time."""


class RowFamily(NamedTuple):
    """Sets of rows that are held against each other."""

    kind: RowKind
    column: str = ""
    """Of members' tables."""


PARTS, TWINS = RowFamily(RowKind.PART), RowFamily(RowKind.TWINS)


@dataclass(frozen=True, eq=False)
class RowSet:
    """Rows that are summed over, and the families in which they are held against others."""

    what: str
    rows: Bool[np.ndarray, " rows"] = field(repr=False)
    families: frozenset[RowFamily]
    up_to: int | None = None
    """The largest `fewest_different` that looks at it; None for any. Levels of fewer rows, or that leave fewer, are for
    joint counts."""

    def held(self, fewest: int) -> bool:
        """Whether a rule of so many rows looks at it."""
        return self.up_to is None or fewest <= self.up_to


def row_sets(rows: Rows) -> list[RowSet]:
    """All sets of this member's rows over which the study takes sums of other cells than the set is made by."""
    return [*_of_model(rows), *_of_curves(rows), *_of_description(rows)]


def _of_model(rows: Rows) -> Iterator[RowSet]:
    study, kept = rows.study, rows.modelled
    if study.formula is None:
        return
    # Where a missing cell is filled with the mean, the sum over the whole tells no more than the one over the rest.
    filled = [name for name in study.modelled if study.column(name).missing == "mean"]
    families = _whole(rows, [name for name in study.modelled if name not in filled], study.modelled)
    for name in filled:  # a sum of its own, over the rows that have it
        there = kept & ~np.isnan(rows.values[name])
        yield RowSet(f"the mean that fills in {name}", there, _summed(rows, [name]))
    out = np.zeros_like(kept)
    if study.evaluate is not None:
        out[kept] = held_out(study.fingerprint, int(kept.sum()), study.evaluate.held_out)
    yield RowSet("the model", kept & ~out, families)
    if study.evaluate is not None:
        yield RowSet("rows held out of the model", out, families)
    yield from _yes(rows, study.modelled, kept, "the model")
    yield from _beyond_knots(rows, study.formula, kept)
    yield from _set_apart(rows, study.formula, kept & ~out)


def _of_curves(rows: Rows) -> Iterator[RowSet]:
    part, kept = rows.study.survival, rows.surviving
    if part is not None:
        yield RowSet("the survival curves", kept, _whole(rows, part.columns, part.columns))
        yield from _yes(rows, part.columns, kept, "the survival curves")


def _of_description(rows: Rows) -> Iterator[RowSet]:
    part, kept = rows.study.describe, rows.described
    if part is None:
        return
    columns = tuple(dict.fromkeys([*rows.study.described, *(one for pair in part.cross for one in pair)]))
    yield RowSet("the description", kept, _whole(rows, (), columns))
    for name in rows.study.described:
        if rows.study.column(name).numeric:
            there = kept & ~np.isnan(rows.values[name])
            yield RowSet(f"the description of {name}", there, _summed(rows, [name]), int(there.sum()))
            yield from _bars(rows, name, part.histograms, there)
    yield from _yes(rows, columns, kept, "the description")
    yield from _cells(rows, part)


def _summed(rows: Rows, columns: Sequence[str]) -> frozenset[RowFamily]:
    return frozenset(RowFamily(RowKind.COLUMN, rows.study.source(name)) for name in columns)


def _whole(rows: Rows, summed: Sequence[str], columns: Sequence[str]) -> frozenset[RowFamily]:
    """Of a whole part. It is in the families of what maps and levels set apart, as what they leave is a difference."""
    apart = [name for name in columns if not rows.study.column(name).numeric]
    yes = {RowFamily(RowKind.YES, rows.study.source(name)) for name in apart}
    return frozenset({PARTS, TWINS, *yes}) | _summed(rows, summed)


def _apart(what: str, found: Mask, whole: Mask, *families: RowFamily) -> Iterator[RowSet]:
    """Rows that are counted apart, if they are not all or nothing."""
    if up_to := min(int(found.sum()), int(whole.sum()) - int(found.sum())):
        yield RowSet(what, found, frozenset(families), up_to)


def _yes(rows: Rows, columns: Sequence[str], kept: Mask, part: str) -> Iterator[RowSet]:
    """What a map or a level sets apart."""
    for name in columns:
        column, source = rows.study.column(name), rows.study.source(name)
        families = [RowFamily(RowKind.YES, source)]
        made = {place: f"{name} {level}" for place, level in enumerate(column.coded)}
        if column.map is not None:
            made, families = {1: name}, [*families, RowFamily(RowKind.MAPS, source)]
        for value, label in made.items():
            found = kept & (rows.values[name] == value)
            yield from _apart(f"rows of {part} with {label}", found, kept, *families)


def _beyond_knots(rows: Rows, formula: Formula, kept: Mask) -> Iterator[RowSet]:
    """Rows beyond each knot of a spline: splines with other knots are, in some combination, 0 but between two knots."""
    for factor in formula.factors:
        for knot in factor.numbers if factor.function == "rcs" else ():
            beyond = kept & (rows.values[factor.column] > knot)
            yield from _apart(f"rows with {factor.column} above {knot:g}", beyond, kept, TWINS)


def _bars(rows: Rows, name: str, bars: int, there: Mask) -> Iterator[RowSet]:
    """Rows below each edge of a histogram, where the study declares its ends."""
    ends = rows.study.column(name).range
    for edge in np.linspace(*ends, bars + 1)[1:-1].tolist() if ends and bars else ():
        yield from _apart(
            f"rows with {name} below {edge:g}", there & (rows.values[name] < edge), there, TWINS
        )


def _cells(rows: Rows, part: DescribeSection) -> Iterator[RowSet]:
    """Each cell of a table of two."""
    for one, other in dict.fromkeys(part.cross):
        for i, j in product(*(range(len(rows.study.column(name).coded) or 2) for name in (one, other))):
            found = rows.described & (rows.values[one] == i) & (rows.values[other] == j)
            yield from _apart(f"cell {i + 1}, {j + 1} of {one} × {other}", found, rows.described, TWINS)


def _set_apart(rows: Rows, formula: Formula, fitted: Mask) -> Iterator[RowSet]:
    """Rows in which a column of the model that has two values has the one, and those in which it has the other."""
    study, asked = rows.study, formula.response
    values = {name: rows.column(name, fitted) for name in study.modelled}
    with np.errstate(all="ignore"):  # a cell that is to be filled in makes its column no column of two values
        design = design_matrix(formula, study.columns, values, int(fitted.sum()), intercept=False)
        outcome = response(asked, values) if isinstance(asked, Factor) else values[asked.event]
    names = (*design.names, str(asked))
    for name, column in zip(names, np.column_stack([design.X, outcome]).T, strict=True):
        first = column == column.max(initial=-np.inf)  # nowhere, if a cell is missing
        if first.any() and not first.all() and np.ptp(column[~first]) == 0:
            for held, how in ((first, "with"), (~first, "without")):
                found = np.zeros_like(fitted)
                found[fitted] = held
                yield from _apart(f"rows {how} {name}", found, fitted, TWINS)
