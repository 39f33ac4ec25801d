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
from hocket.studies.design_matrix import design_matrix, design_names
from hocket.studies.formula import Factor, Survival
from hocket.studies.rows import Rows
from hocket.studies.shown_functions import shown_functions
from hocket.studies.study import Study

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
    """This member's rows by the columns of few values; the outcome is the last, where it has few."""

    columns: tuple[str, ...]
    values: Float[np.ndarray, "patterns columns"]
    counts: Float[np.ndarray, " patterns"]
    whole: bool
    """Whether no other column explains the outcome."""


def patterns_of(rows: Rows) -> Patterns | None:
    """The patterns of the model's rows; None where there is no model, or no column of few values."""
    formula = rows.study.formula
    if formula is None or not rows.modelled.any():
        return None
    explaining = _explaining(rows.study)
    outcome = formula.response.event if isinstance(formula.response, Survival) else formula.response.column
    least = rows.study.disclosure.smallest_cell
    few = [name for name in (*explaining, outcome) if _few_values(rows, name, least)]
    if not few:
        return None
    cells = np.stack([rows.column(name, rows.modelled) for name in few], axis=1)
    values, counts = np.unique(cells, axis=0, return_counts=True)
    return Patterns(tuple(few), values, counts.astype(np.float64), all(name in few for name in explaining))


def rare_patterns(rows: Rows) -> Iterator[str]:
    """Why this member's rows would be shown, in words; nothing where they would not."""
    study, found = rows.study, patterns_of(rows)
    if study.privacy is not None or found is None or len(found.columns) < 2:
        return
    least = study.disclosure.smallest_cell
    rare = found.counts < least
    if not rare.any():
        return
    if not (counts_all(study) and found.whole):
        if study.question.family == "cox" or len(found.columns) < FEWEST_COLUMNS:
            return
        rare[rare] = _identified(rows, found, rare)
    if rare.any():
        yield (
            f"{int(rare.sum()):,} combinations of {', '.join(found.columns)} have fewer than {least} rows here, and a "
            "member can compute from this study's sums how many of the others' rows have each of them ([disclosure] "
            f"smallest_cell = {least}); {cure(study)}"
        )


def cure(study: Study) -> str:
    """What to do."""
    if study.question.family == "cox":
        return "join levels or leave columns out"
    if study.question.family != "linear":
        return "join levels, leave columns out, or take family = 'linear', which shows one step and may promise an ε"
    robust = "take errors = 'model', " if study.question.errors == "robust" else ""
    return f"join levels, leave columns out, {robust}or let the study promise an ε ([privacy] epsilon)"


def _explaining(study: Study) -> tuple[str, ...]:
    """Columns that a row's part in a sum depends on, but for its outcome."""
    formula = study.formula
    assert formula is not None
    left = (
        {formula.response.time, formula.response.event}
        if isinstance(formula.response, Survival)
        else {formula.response.column}
    )
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


def _identified(
    rows: Rows, found: Patterns, rare: Bool[np.ndarray, " patterns"]
) -> Bool[np.ndarray, " rare"]:
    """Which rare patterns' indicators lie in the span of what is shown."""
    formula, study, kept = rows.study.formula, rows.study, rows.modelled
    assert formula is not None
    assert isinstance(formula.response, Factor)
    own = {name: _filled(rows.column(name, kept)) for name in study.modelled}
    shape = len(design_names(formula, study.columns, intercept=True))
    rng = np.random.default_rng(0)  # where functions are looked at, and nothing else
    points = POINTS * min(MOST_FUNCTIONS, 8 * (shape + 1) * (shape + 2))
    drawn = [_sample(own, found, rare, points, rng) for _ in range(2)]
    y = formula.response.column

    def at(values: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        X = design_matrix(formula, study.columns, values, len(values[y]), intercept=True).X
        return X, values[y]

    samples = [(at(values), weights) for values, weights in drawn]
    functions = shown_functions(study, at(own), [one for one, _ in samples], MOST_FUNCTIONS)
    wanted = [
        (np.stack([values[name] for name in found.columns], axis=1)[:, None, :] == found.values[rare][None])
        .all(axis=2)
        .astype(np.float64)
        for values, _ in drawn
    ]
    return _unexplained(functions, wanted, [weights for _, weights in samples]) < KNOWN


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
    own: dict[str, np.ndarray],
    found: Patterns,
    rare: Bool[np.ndarray, " patterns"],
    points: int,
    rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], Float[np.ndarray, " points"]]:
    """Rows that are like this member's, with their weights: patterns as they are or with columns exchanged, and as many
    of rare patterns, each with the weight that it has; numbers lie between two rows'."""
    rows, few = len(next(iter(own.values()))), int(rare.sum())
    each = max(points // few, LEAST)
    of = np.concatenate([np.full(points, -1), np.repeat(np.arange(few), each)])
    weights = np.where(of < 0, 1.0, (found.counts[rare] / rows)[of] * points / each)
    first, second, third = rng.integers(rows, size=(3, len(of)))
    exchanged, share = rng.random(len(of)) < EXCHANGED, BETWEEN * rng.random(len(of))
    drawn: dict[str, np.ndarray] = {}
    for name, values in own.items():
        if name in found.columns:
            free = np.where(exchanged, values[rng.integers(rows, size=len(of))], values[first])
            drawn[name] = np.where(of < 0, free, found.values[rare][of, found.columns.index(name)])
        else:
            drawn[name] = values[second] + share * (values[third] - values[second])
    return drawn, weights


def _filled(values: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    gone = np.isnan(values)
    return np.where(gone, values[~gone].mean(), values) if gone.any() else values


def numbers_shown(study: Study, steps: int) -> int:
    """Numbers that the sums of the model show, at most."""
    formula = study.formula
    if formula is None:
        return 0
    ones = formula.intercept and study.question.family != "cox" and not study.question.site
    p = len(design_names(formula, study.columns, intercept=ones))
    half, counts = p * (p + 1) // 2, (p + 1) * (p + 2) // 2 + 2 * p
    if study.question.family == "linear":
        return counts + half + p + 3 + half * (study.question.errors == "robust")
    if study.question.family == "cox":
        return counts + steps * (half + p + 1)
    bends = study.question.family == "gamma" and study.link == "log"
    return counts + steps * (half * (2 if bends else 1) + p + 2) + half * (study.question.errors == "robust")


def refuse_determined(study: Study, others: float, steps: int, *, events: float | None = None) -> None:
    """Refuse a search that shows as many numbers as the others' rows hold cells: equations enough to solve for them.

    `others` counts joint rows less one's own. `events` are given where a Cox model has columns of yes and no alone:
    then each event is of few kinds, by how many of each kind were at risk.
    """
    if not counts_all(study):
        return
    what, count, cells = ("rows", others, len(study.modelled)) if events is None else ("events", events, 1)
    numbers = numbers_shown(study, steps)
    if count * cells <= numbers:
        linear = "" if study.question.family == "cox" else ", or take family = 'linear', which shows one step"
        raise BadStudy(
            f"the other members have {count:,.0f} {what}, and over at most {steps} steps this model's sums show "
            f"{numbers:,} numbers: enough to solve for these {what}. It needs more than {numbers // cells:,} {what} at "
            f"the others; leave columns out, or bring in more rows{linear}"
        )


def exposure_words(study: Study, steps: int) -> tuple[str, ...]:
    """What the sums tell of combinations of columns, from the formula and the declared levels alone."""
    formula = study.formula
    if formula is None or study.privacy is not None:
        return ()
    left = formula.response.event if isinstance(formula.response, Survival) else formula.response.column
    sizes = {
        name: len(study.column(name).coded) or 2
        for name in _explaining(study)
        if not study.column(name).numeric
    }
    if not study.column(left).numeric or study.question.family in ("binomial", "cox"):
        sizes[left] = 2
    if len(sizes) < FEWEST_COLUMNS - 1:
        return ()
    whole = all(name in sizes for name in _explaining(study))
    least, often = (
        study.disclosure.smallest_cell,
        f"over at most {steps} steps " if counts_all(study) else "",
    )
    first = (
        f"{', '.join(sizes)} can be combined in {prod(sizes.values()):,} ways, and the model {often}shows up to "
        f"{numbers_shown(study, steps):,} numbers. "
    )
    if counts_all(study) and whole:
        return (
            f"{first}A member can compute how many of the others' rows have each combination. So each member refuses "
            f"before it sends anything if a combination has 1 to {least - 1} of its own rows.",
        )
    if len(sizes) < FEWEST_COLUMNS:
        return (f"{first}A member can compute how many of the others' rows have each combination.",)
    return (
        f"{first}A member can compute how many of the others' rows have some of these combinations, and estimate "
        "others. Each member refuses before it sends anything if one that it finds computable has 1 to "
        f"{least - 1} of its own rows.",
    )
