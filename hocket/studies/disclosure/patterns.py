"""Which combinations of columns the sums of a model count, and refusal where a member has few rows of such a one.

Every sum of a model is a sum over rows of a function that all members know: at each step of the search another one. So
a member that keeps what it is shown solves for how many of the others' rows have each combination of the columns, the
outcome among them ("pattern").

- Where all columns have few values, there are more numbers than patterns after a few steps, and counts are whole, so
  that fewer numbers do: a search over whole numbers rebuilt all rows of two clinics with twenty rows each. Such
  patterns count as identified, whatever their number.
- Beside columns of numbers a pattern is identified where a combination of the sums is its count: where its indicator
  lies in the span of the functions, at points drawn from this member's own rows, to the part `KNOWN` of its variance.
  Two columns alone are left to the joint counts, which show them anyway.
- Few rows are solved for one by one, whatever their columns are: `refuse_determined` counts equations and unknowns.

Each member checks its own rows before it sends anything. If all keep to it, the others' rows of an identified pattern
are none, or at least `smallest_cell` at one of them, whatever a coalition takes off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from jaxtyping import Bool, Float

from hocket.errors import BadStudy
from hocket.studies.data.design_matrix import coefficient_names, design_matrix
from hocket.studies.data.rows import Rows
from hocket.studies.disclosure.shown_functions import shown_functions
from hocket.studies.models.newton import MOST_STEPS
from hocket.studies.spec.formula import Factor
from hocket.studies.spec.study import Study

FEW_VALUES = 20
"""Values of a column of numbers up to which it counts as one of levels, if each stands for enough rows."""
FEWEST_COLUMNS = 3
"""Columns of few values beside columns of numbers: combinations of two are shown by the joint counts."""
KNOWN = 1e-3
"""Of the variance of a pattern's indicator: with less left over, a count of four is known to within 0.06."""
MOST_FUNCTIONS = 800
"""Sums that are looked at; of wider models, those of the first steps."""
POINTS = 3
"""Points for each function, at which indicators are held against the span."""
CUTS = (1e-13, 1e-10, 1e-7, 1e-4)
"""Of the largest squared singular value: smaller ones are left out. A Gram matrix has half its functions' digits."""
LEAST = 10
"""Points of a rare pattern."""
EXCHANGED, BETWEEN = 0.5, 0.3
"""Of points: how many have columns from several rows; and how far, at most, numbers lie from one row's to another's."""


@dataclass(frozen=True)
class Patterns:
    """Combinations of columns of few values, in this member's rows; the outcome is the last, where it has few."""

    columns: tuple[str, ...]
    values: Float[np.ndarray, "patterns columns"]
    counts: Float[np.ndarray, " patterns"]


def rare_patterns(rows: Rows) -> Iterator[str]:
    """Why this member's rows would be shown, in words; nothing where they would not."""
    study, formula = rows.study, rows.study.formula
    if formula is None or study.privacy is not None or not rows.modelled.any():
        return
    least, explaining = study.disclosure.smallest_cell, _explaining(study)
    names = [name for name in (*explaining, formula.left[-1]) if _few_values(rows, name, least)]
    if len(names) < 2:
        return
    cells = np.stack([rows.column(name, rows.modelled) for name in names], axis=1)
    values, counts = np.unique(cells, axis=0, return_counts=True)
    rare = Patterns(tuple(names), values[counts < least], counts[counts < least].astype(np.float64))
    shown = len(rare.counts)
    if shown and not (counts_all(study) and {*explaining} <= {*names}):
        if study.question.family == "cox" or len(names) < FEWEST_COLUMNS:
            return
        shown = int(_identified(rows, rare).sum())
    if shown:
        yield (
            f"{shown:,} combinations of {', '.join(names)} have fewer than {least} rows here, and a member can compute "
            "from this study's sums how many of the others' rows have each of them ([disclosure] smallest_cell = "
            f"{least}); {_fix(study)}"
        )


def _fix(study: Study) -> str:
    if study.question.family == "cox":
        return "join levels or leave columns out"
    if study.question.family != "linear":
        return "join levels, leave columns out, or take family = 'linear', which shows one step and may promise an ε"
    robust = "take errors = 'model', " if study.question.errors == "robust" else ""
    return f"join levels, leave columns out, {robust}or let the study promise an ε ([privacy] epsilon)"


def _explaining(study: Study) -> tuple[str, ...]:
    """Columns that a row's part in a sum depends on, but for its outcome."""
    left = () if study.formula is None else study.formula.left
    return tuple(name for name in study.modelled if name not in left)


def counts_all(study: Study) -> bool:
    """Whether sums are taken at many points, so that columns of few values are counted in all combinations."""
    return study.question.family != "linear" or study.question.errors == "robust"


def _few_values(rows: Rows, name: str, least: int) -> bool:
    if not rows.study.column(name).numeric:
        return True
    values = rows.column(name, rows.modelled)
    distinct = len(np.unique(values[~np.isnan(values)]))
    return distinct <= 2 or distinct <= min(FEW_VALUES, len(values) // max(least, 1))


def _identified(rows: Rows, rare: Patterns) -> Bool[np.ndarray, " patterns"]:
    """Which rare patterns' indicators lie in the span of what is shown."""
    formula, study = rows.study.formula, rows.study
    assert formula is not None
    assert isinstance(formula.response, Factor)
    own, y = rows.filled(), formula.response.column

    def at(values: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        X = design_matrix(formula, study.columns, values, len(values[y]), intercept=True).X
        return X, values[y]

    mine = at(own)
    shape = mine[0].shape[1]
    rng = np.random.default_rng(0)  # where functions are looked at, and nothing else
    points = POINTS * min(MOST_FUNCTIONS, 8 * (shape + 1) * (shape + 2))
    drawn = [_sample(own, rare, points, rng) for _ in range(2)]
    functions = shown_functions(study, mine, [at(values) for values, _ in drawn], MOST_FUNCTIONS)
    wanted = [
        (np.stack([values[name] for name in rare.columns], axis=1)[:, None, :] == rare.values[None])
        .all(axis=2)
        .astype(np.float64)
        for values, _ in drawn
    ]
    return _unexplained(functions, wanted, [weights for _, weights in drawn]) < KNOWN


def _unexplained(
    functions: Sequence[Float[np.ndarray, "points functions"]],
    wanted: Sequence[Float[np.ndarray, "points patterns"]],
    weights: Sequence[Float[np.ndarray, " points"]],
) -> Float[np.ndarray, " patterns"]:
    """The part of each indicator that no combination of the functions gives, fitted to one sample and held against
    another."""
    root = np.sqrt(weights[0])[:, None]
    size = np.maximum(np.sqrt(((functions[0] * root) ** 2).mean(axis=0)), 1e-300)
    F = functions[0] / size * root
    values, vectors = np.linalg.eigh(F.T @ F / len(F))
    first, second = vectors.T @ (F.T @ (root * wanted[0]) / len(F)), (functions[1] / size) @ vectors
    there = np.maximum(weights[1] @ wanted[1], 1e-300)
    found = np.full(wanted[1].shape[1], np.inf)
    for cut in CUTS:  # of all solutions the one that holds best: finer ones follow chance in the sample
        large = values > cut * values[-1]
        left = wanted[1] - second[:, large] @ (first[large] / values[large, None])
        found = np.minimum(found, (weights[1] @ left**2) / there)
    return found


def _sample(
    own: dict[str, np.ndarray], rare: Patterns, points: int, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], Float[np.ndarray, " points"]]:
    """Rows that are like this member's, with their weights: patterns as they are or with columns exchanged, and as many
    of rare patterns, each with the weight that it has; numbers lie between two rows'."""
    rows, few = len(next(iter(own.values()))), len(rare.counts)
    each = max(points // few, LEAST)
    of = np.concatenate([np.full(points, -1), np.repeat(np.arange(few), each)])
    weights = np.where(of < 0, 1.0, (rare.counts / rows)[of] * points / each)
    first, second, third = rng.integers(rows, size=(3, len(of)))
    exchanged, share = rng.random(len(of)) < EXCHANGED, BETWEEN * rng.random(len(of))
    drawn: dict[str, np.ndarray] = {}
    for name, values in own.items():
        if name in rare.columns:
            free = np.where(exchanged, values[rng.integers(rows, size=len(of))], values[first])
            drawn[name] = np.where(of < 0, free, rare.values[of, rare.columns.index(name)])
        else:
            drawn[name] = values[second] + share * (values[third] - values[second])
    return drawn, weights


def numbers_shown(study: Study) -> int:
    """Numbers that the sums of the model show, at most."""
    if study.formula is None:
        return 0
    p = len(coefficient_names(study))
    half, counts = p * (p + 1) // 2, (p + 1) * (p + 2) // 2 + 2 * p
    robust = half * (study.question.errors == "robust")
    if study.question.family == "linear":
        return counts + half + p + 3 + robust
    if study.question.family == "cox":
        return counts + MOST_STEPS * (half + p + 1)
    curvatures = 2 if (study.question.family, study.link) == ("gamma", "log") else 1
    return counts + MOST_STEPS * (half * curvatures + p + 2) + robust


def refuse_determined(study: Study, others: float, *, events: float | None = None) -> None:
    """Refuse a search that shows as many numbers as the others' rows hold cells: equations enough to solve for them.

    `others` counts joint rows less one's own. `events` are given where a Cox model has columns of yes and no alone:
    then each event is of few kinds, by how many of each kind were at risk.
    """
    if not counts_all(study):
        return
    what, count, cells = ("rows", others, len(study.modelled)) if events is None else ("events", events, 1)
    numbers = numbers_shown(study)
    if count * cells <= numbers:
        linear = "" if study.question.family == "cox" else ", or take family = 'linear', which shows one step"
        raise BadStudy(
            f"the other members have {count:,.0f} {what}, and over at most {MOST_STEPS} steps this model's sums show "
            f"{numbers:,} numbers: enough to solve for these {what}. It needs more than {numbers // cells:,} {what} at "
            f"the others; leave columns out, or bring in more rows{linear}"
        )


def exposure_words(study: Study) -> tuple[str, ...]:
    """What the sums tell of combinations of columns, from the formula and the declared levels alone."""
    if study.formula is None or study.privacy is not None:
        return ()
    outcome, explaining = study.formula.left[-1], _explaining(study)
    sizes = {
        name: len(study.column(name).coded) or 2 for name in explaining if not study.column(name).numeric
    }
    whole = len(sizes) == len(explaining)
    if not study.column(outcome).numeric or study.question.family in ("binomial", "cox"):
        sizes[outcome] = 2
    if len(sizes) < FEWEST_COLUMNS - 1:
        return ()
    least, all_counted = study.disclosure.smallest_cell, counts_all(study)
    often = f"over at most {MOST_STEPS} steps " if all_counted else ""
    words = (
        f"{', '.join(sizes)} can be combined in {prod(sizes.values()):,} ways, and the model {often}shows up to "
        f"{numbers_shown(study):,} numbers. "
    )
    if all_counted and whole:
        words += (
            "A member can compute how many of the others' rows have each combination. So each member refuses before "
            f"it sends anything if a combination has 1 to {least - 1} of its own rows."
        )
    elif len(sizes) < FEWEST_COLUMNS:
        words += "A member can compute how many of the others' rows have each combination."
    else:
        words += (
            "A member can compute how many of the others' rows have some of these combinations, and estimate others. "
            "Each member refuses before it sends anything if one that it finds computable has 1 to "
            f"{least - 1} of its own rows."
        )
    return (words,)
