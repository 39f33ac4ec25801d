"""No row may carry a column: where one row makes up more than half of a sum, the sum is about that row.

Sums over columns are sums over their combinations too. So columns that are functions of the same numbers are looked at
together: a spline whose knots stand around one row's number is 0, in some combination, but for that row. So are two
columns of numbers that say the same but for a row; and one that is the same in all rows but a few, which is about these
wherever it is counted from. Joint counts cannot see that: they know a 0 from other numbers, and a yes from a no.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float

from hocket.studies.design_matrix import design_matrix, response, term_width
from hocket.studies.formula import Factor, Formula, Term
from hocket.studies.patterns import counts_all
from hocket.studies.rows import Rows
from hocket.studies.study import Study

MOST = 0.5
"""Of Σ|x| and Σx²: what one row may carry, of a column as it is and about its mean."""
MOST_COMBINED = 0.8
"""Of Σx² about the mean: what it may carry of a combination. More than of one column, as of all combinations of a few
columns the one that a row carries most is half its own among twenty rows already."""
SMALLEST = 1e-12
"""Of the largest singular value: directions below are rounding."""


def dominated(rows: Rows) -> Iterator[str]:
    """Terms that one of this member's rows carries, by name; the row and its value are not named."""
    if rows.study.privacy is not None:
        return
    yield from _of_model(rows)
    yield from _of_description(rows)


def _of_model(rows: Rows) -> Iterator[str]:
    study, kept = rows.study, rows.modelled
    if study.formula is None or not kept.any():
        return
    values = {name: rows.column(name, kept) for name in study.modelled}
    values = {name: np.where(np.isnan(one), np.nanmean(one), one) for name, one in values.items()}
    with np.errstate(all="ignore"):
        design = design_matrix(study.formula, study.columns, values, int(kept.sum()), intercept=False)
    weighing = [name for name in (study.question.weights,) if name]
    terms = {name: x for name, x in zip(design.names, design.X.T, strict=True) if not _yes_or_no(x)}
    terms |= {name: values[name] for name in weighing}
    for name, x in terms.items():
        if carried(x) > MOST:
            yield (
                f"one row carries more than half of the term {name} here, so that its sums would be about that row; "
                f"leave {name} out, take log() or a lower power of it, or narrow its range ([columns] range) and mend "
                "the cell if it is wrong"
            )
    terms |= {name: values[name] for name in (study.question.offset,) if name}
    if isinstance(study.formula.response, Factor):
        terms[str(study.formula.response)] = response(study.formula.response, values)
    least = study.disclosure.smallest_cell
    yield from _all_but_few(terms, least)
    yield from _few_apart(terms, least)
    yield from _functions_of_one(study, study.formula, design.X)
    if counts_all(study):
        yield from _windows_of_few(
            study, study.formula, values, dict(zip(design.names, design.X.T, strict=True))
        )


def _of_description(rows: Rows) -> Iterator[str]:
    part, study = rows.study.describe, rows.study
    names = () if part is None else part.columns or tuple(study.columns)
    values = {name: rows.column(name, rows.described) for name in names if study.column(name).numeric}
    there = {name: one[~np.isnan(one)] for name, one in values.items()}
    yield from _all_but_few(there, study.disclosure.smallest_cell)


def _yes_or_no(x: Float[np.ndarray, " rows"]) -> bool:
    """What joint counts know of."""
    return bool(np.isin(x, (0, 1)).all())


def _all_but_few(terms: dict[str, Float[np.ndarray, " rows"]], least: int) -> Iterator[str]:
    """Numbers of which all but a few rows have the same one. Where it is 0, joint counts know."""
    for name, x in terms.items():
        if _yes_or_no(x) or not len(x):
            continue
        numbers, counts = np.unique(x, return_counts=True)
        place = int(np.argmax(counts))
        if numbers[place] != 0 and 0 < len(x) - counts[place] < least:
            yield (
                f"{name} is the same number in all rows here but fewer than [disclosure] smallest_cell = {least}, so "
                f"that its sums, less that number, would be about these rows; leave {name} out"
            )


def _few_apart(terms: dict[str, Float[np.ndarray, " rows"]], least: int) -> Iterator[str]:
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
            few = 0 < min(differ, len(Z) - differ) < least
        elif alone[i] or alone[j]:
            continue
        else:
            left = max(1 - alike[i, j] ** 2, 0.0)
            few = MOST_COMBINED * left * len(Z) <= (largest[i] + largest[j]) ** 2 and left > SMALLEST
            few = few and _share(Z[:, i] - alike[i, j] * Z[:, j]) > MOST_COMBINED
        if few:
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
        if len(numbers) > 1 and not _bent(used):
            continue
        columns = np.concatenate(
            [np.arange(ends[place], ends[place + 1]) for place in places] or [[]]
        ).astype(int)
        if len(columns) > 1 and leverage(X[:, columns]) > MOST_COMBINED:
            yield (
                f"one row carries more than {MOST_COMBINED:.0%} of a combination of "
                f"{', '.join(':'.join(map(str, term)) for term in used)} here, so that sums would be about that row; "
                "take fewer knots or powers, and knots that lie farther apart"
            )


def _windows_of_few(
    study: Study,
    formula: Formula,
    values: dict[str, Float[np.ndarray, " rows"]],
    columns: dict[str, Float[np.ndarray, " rows"]],
) -> Iterator[str]:
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
    for what, (name, inside) in found.items():
        for level, having in yes.items():
            few = 0 < (both := int((inside & having).sum())) < least
            # Of a level that has few rows anyway, or most of its rows there, knots single nothing out.
            if few and having.sum() >= max(least, 2 * both + 1):
                yield _narrow(what, f" with {level}", least)
        for other, (second, there) in found.items():
            if (what == other or second != name) and 0 < (inside & there).sum() < least:
                yield _narrow(what, "" if what == other else f" with {other}", least)


def _narrow(what: str, having: str, least: int) -> str:
    return (
        f"fewer than [disclosure] smallest_cell = {least} rows here have {what}{having}, and products of splines are 0 "
        "but for these, so that sums would be about them; take fewer knots, and knots that lie farther apart, or "
        "family = 'linear' with errors = 'model'"
    )


def _between_knots(study: Study, formula: Formula) -> Iterator[tuple[str, float, float]]:
    """From each knot below which some function is 0 to the next above which one is: of n knots, not the last two, and
    not the first two."""
    splines = {factor for term in formula.terms for factor in term if factor.function == "rcs"}
    sources = {factor.column: study.column(factor.column).source or factor.column for factor in splines}
    for name in sorted({*sources}):
        knots = [one.numbers for one in splines if sources[one.column] == sources[name]]
        above = sorted({knot for one in knots for knot in one[2:]})
        for low in sorted({knot for one in knots for knot in one[:-2]}):
            if (high := next((knot for knot in above if knot > low), None)) is not None:
                yield name, low, high


def _numbers_in(term: Term, study: Study) -> frozenset[str]:
    """The columns of members' tables, as a study may read one of them twice."""
    names = [factor.column for factor in term if study.column(factor.column).numeric]
    return frozenset(study.column(name).source or name for name in names)


def _bent(terms: Sequence[Term]) -> bool:
    return any(factor.function == "rcs" for term in terms for factor in term)


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
