"""No row may carry a column: where one row makes up more than half of a sum, the sum is about that row.

Sums over columns are sums over their combinations too. So columns that are functions of the same numbers are looked at
together: a spline whose knots stand around one row's number is 0, in some combination, but for that row. So are two
columns of numbers that say the same but for a row; and one that is the same in all rows but a few, which is about these
wherever it is counted from. Joint counts cannot see that: they know a 0 from other numbers, and a yes from a no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from jaxtyping import Float

from hocket.studies.data.design_matrix import design_matrix, response, term_width
from hocket.studies.data.rows import Rows
from hocket.studies.disclosure.patterns import counts_all
from hocket.studies.disclosure.rules import few
from hocket.studies.spec.formula import Factor, Formula, Term
from hocket.studies.spec.study import Study

MOST = 0.5
"""Of Σ|x| and Σx²: what one row may carry, of a column as it is and about its mean."""
MOST_COMBINED = 0.8
"""Of Σx² about the mean: what it may carry of a combination. More than of one column, as of all combinations of a few
columns the one that a row carries most is half its own among twenty rows already."""
SMALLEST = 1e-12
"""Of the largest singular value: directions below are rounding."""
Columns = Mapping[str, Float[np.ndarray, " rows"]]


def dominated(rows: Rows) -> Iterator[str]:
    """Terms that one of this member's rows carries, by name; the row and its value are not named."""
    if rows.study.privacy is None:
        yield from _of_model(rows)
        yield from _of_description(rows)


def _of_model(rows: Rows) -> Iterator[str]:
    study, formula, least = rows.study, rows.study.formula, rows.study.disclosure.smallest_cell
    if formula is None or not rows.modelled.any():
        return
    values = rows.filled()
    with np.errstate(all="ignore"):
        design = design_matrix(formula, study.columns, values, int(rows.modelled.sum()), intercept=False)
    columns = dict(zip(design.names, design.X.T, strict=True))
    terms = {name: x for name, x in columns.items() if not _yes_or_no(x)}
    terms |= {name: values[name] for name in (study.question.weights,) if name}
    for name, x in terms.items():
        if carried(x) > MOST:
            yield (
                f"one row carries more than half of the term {name} here, so that its sums would be about that row; "
                f"leave {name} out, take log() or a lower power of it, or narrow its range ([columns] range) and mend "
                "the cell if it is wrong"
            )
    terms |= {name: values[name] for name in (study.question.offset,) if name}
    if isinstance(formula.response, Factor):
        terms[str(formula.response)] = response(formula.response, values)
    yield from _all_but_few(terms, least)
    yield from _few_apart(terms, least)
    yield from _functions_of_one(study, formula, design.X)
    if counts_all(study):
        yield from _windows_of_few(study, formula, values, columns)


def _of_description(rows: Rows) -> Iterator[str]:
    study = rows.study
    numbers = [name for name in study.described if study.column(name).numeric]
    values = {name: rows.column(name, rows.described) for name in numbers}
    there = {name: one[~np.isnan(one)] for name, one in values.items()}
    yield from _all_but_few(there, study.disclosure.smallest_cell)


def _yes_or_no(x: Float[np.ndarray, " rows"]) -> bool:
    """What joint counts know of."""
    return bool(np.isin(x, (0, 1)).all())


def _all_but_few(terms: Columns, least: int) -> Iterator[str]:
    """Numbers of which all but a few rows have the same one. Where it is 0, joint counts know."""
    for name, x in terms.items():
        if _yes_or_no(x):  # or nothing
            continue
        numbers, counts = np.unique(x, return_counts=True)
        place = int(np.argmax(counts))
        if numbers[place] != 0 and few(len(x) - counts[place], least):
            yield (
                f"{name} is the same number in all rows here but fewer than [disclosure] smallest_cell = {least}, so "
                f"that its sums, less that number, would be about these rows; leave {name} out"
            )


def _few_apart(terms: Columns, least: int) -> Iterator[str]:
    """Two columns that say the same but for one row, or, of two numbers each, for a few. Of yes and no joint counts
    know."""
    scaled = {
        name: x / np.abs(x).max() for name, x in terms.items() if np.isfinite(x).all() and np.ptp(x) > 0
    }
    names = [name for name, x in scaled.items() if np.ptp(x) > 0]
    if not names:
        return
    about = np.stack([scaled[name] for name in names], axis=1)
    about = about - about.mean(axis=0)
    Z = about / np.sqrt((about**2).mean(axis=0))
    two = [len(np.unique(terms[name])) == 2 for name in names]
    alone = [_share(z) > MOST_COMBINED for z in Z.T]  # such as an outcome with one row far out
    upper, largest, alike = Z > 0, np.abs(Z).max(axis=0), Z.T @ Z / len(Z)
    for i, j in combinations(range(len(names)), 2):
        if two[i] and two[j]:
            differ = int((upper[:, i] ^ upper[:, j]).sum())
            same = few(min(differ, len(Z) - differ), least)
        elif alone[i] or alone[j]:
            continue
        else:
            left = max(1 - alike[i, j] ** 2, 0.0)
            same = MOST_COMBINED * left * len(Z) <= (largest[i] + largest[j]) ** 2 and left > SMALLEST
            same = same and _share(Z[:, i] - alike[i, j] * Z[:, j]) > MOST_COMBINED
        if same:
            yield (
                f"{names[i]} and {names[j]} say the same in all rows here but fewer than [disclosure] smallest_cell = "
                f"{least}, or one row carries what they differ by: the difference of their sums would be about these "
                "rows; leave one of them out"
            )


def _share(x: Float[np.ndarray, " rows"]) -> float:
    return float((x**2).max() / (x**2).sum())


def _functions_of_one(study: Study, formula: Formula, X: Float[np.ndarray, "rows columns"]) -> Iterator[str]:
    """Functions of the same numbers of which some combination is carried by one row."""
    ends = np.cumsum([0, *(term_width(term, formula, study.columns) for term in formula.terms)])
    of = [_numbers_in(term, study) for term in formula.terms]
    for numbers in dict.fromkeys(of):
        places = [place for place, one in enumerate(of) if one and one <= numbers]
        used = [formula.terms[place] for place in places]
        # Products of two columns as they are single no row out; products of splines do.
        if len(numbers) > 1 and not any(factor.function == "rcs" for term in used for factor in term):
            continue
        columns = [column for place in places for column in range(ends[place], ends[place + 1])]
        if len(columns) > 1 and leverage(X[:, columns]) > MOST_COMBINED:
            yield (
                f"one row carries more than {MOST_COMBINED:.0%} of a combination of "
                f"{', '.join(':'.join(map(str, term)) for term in used)} here, so that sums would be about that row; "
                "take fewer knots or powers, and knots that lie farther apart"
            )


def _numbers_in(term: Term, study: Study) -> frozenset[str]:
    """The columns of members' tables, as a study may read one of them twice."""
    names = [factor.column for factor in term if study.column(factor.column).numeric]
    return frozenset(study.source(name) for name in names)


def _windows_of_few(study: Study, formula: Formula, values: Columns, columns: Columns) -> Iterator[str]:
    """Stretches between knots that hold few rows, by themselves, of a level, or where two meet.

    A search shows sums of products of two columns, at each step with other weights. Of splines, one function is 0 below
    a knot and another above a later one, so that their product is 0 but between: with few rows there, the weights are
    of these rows, and tell all their columns.
    """
    least = study.disclosure.smallest_cell
    found = {
        f"{name} between {low:g} and {high:g}": (name, (values[name] > low) & (values[name] < high))
        for name, low, high in _between_knots(study, formula)
    }
    yes = {name: x == 1 for name, x in columns.items() if _yes_or_no(x)}
    narrow: list[str] = []
    for what, (name, inside) in found.items():
        for level, having in yes.items():
            both = int((inside & having).sum())
            # Of a level that has few rows anyway, or most of its rows there, knots single nothing out.
            if few(both, least) and having.sum() >= max(least, 2 * both + 1):
                narrow.append(f"{what} with {level}")
        for other, (second, there) in found.items():
            if (what == other or second != name) and few((inside & there).sum(), least):
                narrow.append(what if what == other else f"{what} with {other}")
    for what in narrow:
        yield (
            f"fewer than [disclosure] smallest_cell = {least} rows here have {what}, and products of splines are 0 but "
            "for these, so that sums would be about them; take fewer knots, and knots that lie farther apart, or "
            "family = 'linear' with errors = 'model'"
        )


def _between_knots(study: Study, formula: Formula) -> Iterator[tuple[str, float, float]]:
    """From each knot below which some function is 0 to the next above which one is: of n knots, not the last two, and
    not the first two."""
    splines = {factor for factor in formula.factors if factor.function == "rcs"}
    for name in sorted({factor.column for factor in splines}):
        knots = [one.numbers for one in splines if study.source(one.column) == study.source(name)]
        above = sorted({knot for one in knots for knot in one[2:]})
        for low in sorted({knot for one in knots for knot in one[:-2]}):
            if (high := next((knot for knot in above if knot > low), None)) is not None:
                yield name, low, high


def leverage(X: Float[np.ndarray, "rows columns"]) -> float:
    """The largest part that one row has in Σx² about the mean, of any combination of columns."""
    there = X[:, np.isfinite(X).all(axis=0)]
    there = there / np.maximum(
        np.abs(there).max(axis=0, initial=0.0), 1e-300
    )  # so that a float holds every square
    about = there - there.mean(axis=0)
    about = about[:, np.abs(about).max(axis=0, initial=0.0) > 0]
    if not about.size:
        return 0.0
    left, sizes, _ = np.linalg.svd(about / np.linalg.norm(about, axis=0), full_matrices=False)
    return float((left[:, sizes > SMALLEST * sizes[0]] ** 2).sum(axis=1).max())


def carried(x: Float[np.ndarray, " rows"]) -> float:
    """The largest part that one row has in Σ|x| or Σx², of the column as it is or about its mean."""
    x = x / (np.abs(x).max(initial=0.0) or 1.0)  # so that no square is beyond what a float holds
    about = x - x.mean()
    spread = np.abs(about).max(initial=0.0) > 1e-12
    sizes = [np.abs(x), np.abs(about)] if spread else [np.abs(x)]
    parts = [size**power for size in sizes for power in (1, 2)]
    return max((float(part.max() / part.sum()) for part in parts if part.sum() > 0), default=0.0)
