"""Over which of a member's rows a study takes sums: two such sets that differ in a few rows show these by a difference.

Sets are held against each other within families. All rows of a part of the study (a model, curves, a description) are
in one, whatever columns the part uses. Rows that have a cell of a column are held against other rows over which the
same column is summed. Rows that count as a yes are held against others that a threshold or a level of the same column
makes, and against the whole. And whatever column of a model has two values, be it a flag, a level or a product of them,
sets rows apart that are held against those of any other column in another study: a difference of two sums does not ask
what made them. Within a study joint counts do that (`joint_counts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from jaxtyping import Bool

from hocket.studies.design_matrix import design_matrix, response
from hocket.studies.evaluate import held_out
from hocket.studies.formula import Formula, Survival
from hocket.studies.rows import Rows
from hocket.studies.study import DescribeSection

PARTS = "rows"
"""The family of whole parts of a study."""
YES = "yes by "
"""How families begin of what maps and levels of one column set apart."""
MAPS = "maps of "
"""How families begin of what maps of one column make, without the whole."""
TWINS = "columns of two studies"
"""The family of all that columns of a model set apart, which is held against earlier studies, two sets at a time."""


@dataclass(frozen=True, eq=False)
class RowSet:
    """Rows that are summed over, and the families in which they are held against others."""

    what: str
    rows: Bool[np.ndarray, " rows"] = field(repr=False)
    families: frozenset[str]
    up_to: int | None = None
    """The largest `fewest_different` that looks at it; None for any. Levels of fewer rows, or that leave fewer, are for
    joint counts."""

    def held(self, fewest: int) -> bool:
        """Whether a rule of so many rows looks at it."""
        return self.up_to is None or fewest <= self.up_to


def row_sets(rows: Rows) -> list[RowSet]:
    """All sets of this member's rows over which the study takes sums of other cells than the set is made by."""
    return [*_of_model(rows), *_of_curves(rows), *_of_description(rows)]


def _summed(rows: Rows, *columns: str) -> frozenset[str]:
    return frozenset(f"column {_source(rows, column)}" for column in columns)


def _source(rows: Rows, column: str) -> str:
    return rows.study.column(column).source or column


def _of_model(rows: Rows) -> Iterator[RowSet]:
    study, kept = rows.study, rows.modelled
    if study.formula is None:
        return
    # Where a missing cell is filled with the mean, the sum over the whole tells no more than the one over the rest.
    summed = [name for name in study.modelled if study.column(name).missing != "mean"]
    families = frozenset({PARTS, TWINS}) | _summed(rows, *summed) | _told_apart(rows, study.modelled)
    for name in study.modelled:
        if name not in summed:  # a sum of its own, over the rows that have it
            there = kept & ~np.isnan(rows.values[name])
            yield RowSet(f"the mean that fills in {name}", there, _summed(rows, name))
    fitted = kept
    if study.evaluate is None:
        yield RowSet("the model", kept, families)
    else:
        out = np.zeros_like(kept)
        out[kept] = held_out(study.fingerprint, int(kept.sum()), study.evaluate.held_out)
        fitted = kept & ~out
        yield RowSet("the model", fitted, families)
        yield RowSet("rows held out of the model", out, families)
    yield from _yes(rows, study.modelled, kept, "the model")
    yield from _beyond_knots(rows, study.formula, kept)
    yield from _set_apart(rows, fitted)


def _beyond_knots(rows: Rows, formula: Formula, kept: Bool[np.ndarray, " rows"]) -> Iterator[RowSet]:
    """Rows beyond each knot of a spline: splines with other knots are, in some combination, 0 but between two knots."""
    for factor in dict.fromkeys(factor for term in formula.terms for factor in term):
        for knot in factor.numbers if factor.function == "rcs" else ():
            beyond = kept & (rows.values[factor.column] > knot)
            yield from _twin(f"rows with {factor.column} above {knot:g}", beyond, kept)


def _of_curves(rows: Rows) -> Iterator[RowSet]:
    part = rows.study.survival
    if part is not None:
        columns = tuple(filter(None, (part.time, part.event, part.by)))
        families = frozenset({PARTS, TWINS}) | _summed(rows, *columns) | _told_apart(rows, columns)
        yield RowSet("the survival curves", rows.surviving, families)
        yield from _yes(rows, columns, rows.surviving, "the survival curves")


def _twin(what: str, found: Bool[np.ndarray, " rows"], whole: Bool[np.ndarray, " rows"]) -> Iterator[RowSet]:
    """Rows that are counted apart, if they are not all or nothing."""
    if up_to := min(int(found.sum()), int(whole.sum()) - int(found.sum())):
        yield RowSet(what, found, frozenset({TWINS}), up_to)


def _of_description(rows: Rows) -> Iterator[RowSet]:
    part = rows.study.describe
    if part is None:
        return
    names = part.columns or tuple(rows.study.columns)
    crossed = tuple(one for pair in part.cross for one in pair)
    columns = tuple(dict.fromkeys([*names, *crossed]))
    families = frozenset({PARTS, TWINS}) | _told_apart(rows, columns)
    yield RowSet("the description", rows.described, families)
    for name in names:
        if rows.study.column(name).numeric:
            there = rows.described & ~np.isnan(rows.values[name])
            yield RowSet(f"the description of {name}", there, _summed(rows, name), int(there.sum()))
            yield from _bars(rows, name, part.histograms, there)
    yield from _yes(rows, columns, rows.described, "the description")
    yield from _cells(rows, part)


def _bars(rows: Rows, name: str, bars: int, there: Bool[np.ndarray, " rows"]) -> Iterator[RowSet]:
    """Rows below each edge of a histogram, where the study declares its ends."""
    ends = rows.study.column(name).range
    for edge in np.linspace(*ends, bars + 1)[1:-1].tolist() if ends and bars else ():
        yield from _twin(f"rows with {name} below {edge:g}", there & (rows.values[name] < edge), there)


def _cells(rows: Rows, part: DescribeSection) -> Iterator[RowSet]:
    """Each cell of a table of two."""
    kept, study = rows.described, rows.study
    for pair in dict.fromkeys(part.cross):
        (one, first), (other, second) = ((name, rows.values[name]) for name in pair)
        for i, j in product(*(range(len(study.column(name).coded) or 2) for name in pair)):
            yield from _twin(
                f"cell {i + 1}, {j + 1} of {one} × {other}", kept & (first == i) & (second == j), kept
            )


def _told_apart(rows: Rows, columns: tuple[str, ...]) -> frozenset[str]:
    """The families of what maps and levels set apart: the whole is in each, as what they leave is a difference."""
    return frozenset(_yes_by(rows, name) for name in columns if not rows.study.column(name).numeric)


def _yes_by(rows: Rows, column: str) -> str:
    return f"{YES}{_source(rows, column)}"


def _yes(
    rows: Rows, columns: tuple[str, ...], kept: Bool[np.ndarray, " rows"], part: str
) -> Iterator[RowSet]:
    """What a map or a level sets apart, if it is not all or nothing."""
    study = rows.study
    whole = int(kept.sum())
    for name in columns:
        column = study.column(name)
        if column.numeric:
            continue
        made = {f"{MAPS}{_source(rows, name)}"} if column.map is not None else set[str]()
        family = frozenset({_yes_by(rows, name)} | made)
        values = [1.0] if column.map is not None else range(len(column.levels))
        for value in values:
            label = name if column.map is not None else f"{name} {column.levels[int(value)]}"
            found = kept & (rows.values[name] == value)
            if up_to := min(int(found.sum()), whole - int(found.sum())):
                yield RowSet(f"rows of {part} with {label}", found, family, up_to)


def _set_apart(rows: Rows, fitted: Bool[np.ndarray, " rows"]) -> Iterator[RowSet]:
    """Rows in which a column of the model that has two values has the one, and those in which it has the other."""
    study, count = rows.study, int(fitted.sum())
    formula = study.formula
    assert formula is not None
    values = {name: rows.column(name, fitted) for name in study.modelled}
    with np.errstate(all="ignore"):  # a cell that is to be filled in makes its column no column of two values
        design = design_matrix(formula, study.columns, values, count, intercept=False)
        asked = formula.response
        outcome = values[asked.event] if isinstance(asked, Survival) else response(asked, values)
    names = (*design.names, str(asked))
    for name, column in zip(names, np.column_stack([design.X, outcome]).T, strict=True):
        first = column == column.max(initial=-np.inf)  # nowhere, if a cell is missing
        up_to = min(int(first.sum()), count - int(first.sum()))
        if up_to and np.ptp(column[~first]) == 0:
            for held, how in ((first, "with"), (~first, "without")):
                whole = np.zeros_like(fitted)
                whole[fitted] = held
                yield RowSet(f"rows {how} {name}", whole, frozenset({TWINS}), up_to)
