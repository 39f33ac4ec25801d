"""The cells of studies with [privacy]: a promise for one row, under every key of a study and every pair of them.

Two tables differ in one row. Every member's own generator is run on each, both are handed the same sums, and how far
the numbers of one member move is held against the noise of the members whom nobody knows. The ε of that is worked out
here; nothing of hocket's accounts is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from scipy.special import log_ndtr, ndtr

from hocket.errors import BadStudy, HocketError
from hocket.secagg.noise_share import GRID_BITS, variances
from hocket.secagg.summands import flat
from hocket.studies import Table, check_table, parse_study
from hocket.studies.disclosure.promise import Among
from hocket.studies.results.results import concluded
from hocket.studies.spec.columns import ColumnSection
from hocket.studies.spec.study import SECTIONS
from tests.claims.cells import Result

Row = tuple[Any, Any, Any, Any]
"""Cells of y, x, t and g."""
OTHERS: list[Row] = [
    (50.0, 1.0, 2.0, "a"),
    (10.0, -2.0, 5.0, "b"),
    (90.0, 4.0, 8.0, "c"),
    (40.0, 0.0, 3.0, "a"),
]
CORNERS: list[Row] = [
    *itertools.product((0.0, 100.0), (-3.0, 5.0), (1.0, 9.0), ("a", "c")),
    (50.0, 1.0, 5.0, "b"),
    (1e12, -1e12, 1e12, "b"),
    (-1e12, 1e12, -1e12, "c"),
    (100.0, 0.0, 1.0, "b"),
    (None, 5.0, 9.0, "a"),
    (100.0, None, 1.0, "c"),
    (0.0, -3.0, None, None),
]
"""Rows at the ends of all declared ranges, in the middle, far outside, and with cells missing."""
BASE: dict[str, Any] = {
    "study": {"title": "T", "formula": "y ~ x + C(g)"},
    "columns": {
        "y": {"range": [0, 100]},
        "x": {"range": [-3, 5]},
        "t": {"range": [1, 9]},
        "g": {"levels": ["a", "b", "c"]},
        "h": {"from": "x", "map": "x > 0"},
    },
    "privacy": {"epsilon": 1.0, "delta": 1e-6},
    "disclosure": {"fewest_rows": 1},
}
PATCHES: dict[str, list[Any]] = {
    "study.title": ["other"],
    "study.question": ["what?"],
    "study.formula": [
        "",
        "y ~ x",
        "y ~ x + C(g) + log(t) + x:C(g) + h",
        "y ~ x^2 + x^3 + sqrt(t)",
        "y ~ x:t + x*C(g)*h",
        "y ~ 0 + C(g)",
        "log(t) ~ x",
        "h ~ t",
        "y^2 ~ x",
        "y ~ rcs(x, -1, 0, 1)",
        "y ~ log(x)",
    ],
    "study.family": ["binomial", "poisson", "gamma", "cox"],
    "study.link": ["identity", "log"],
    "study.offset": ["t"],
    "study.weights": ["t"],
    "study.site": [True],
    "study.errors": ["robust"],
    "study.ties": ["breslow"],
    "study.confidence": [0.9],
    "study.where": [["t >= 5"], ["x > -3", "t < 9"], ["h == 1"]],
    "penalty.ridge": [0.1],
    "penalty.lasso": [0.1],
    "penalty.standardised": [False],
    "describe.columns": [["x"], ["x", "t", "g", "h"], ["g"], ["x", "x"]],
    "describe.rows": ["analysed"],
    "describe.quantiles": [[], [0.1, 0.9]],
    "describe.cross": [[["g", "h"]], [["g", "h"], ["h", "g"], ["g", "g"]]],
    "describe.histograms": [6, 100],
    "survival.time": ["t"],
    "evaluate.held_out": [0.5],
    "disclosure.fewest_rows": [5],
    "disclosure.smallest_cell": [1],
    "disclosure.smallest_own_cell": [2],
    "disclosure.parameters_per_row": [1.0],
    "disclosure.fewest_different": [1],
    "privacy.epsilon": [0.01, 8.0, 1e9],
    "privacy.delta": [0.1, 1e-12],
    "columns.x.source": ["t"],
    "columns.x.map": ["x > 1", ["1", "5"]],
    "columns.g.levels": [["a", "b"]],
    "columns.g.reference": ["c"],
    "columns.x.units": ["mg"],
    "columns.x.per": [10.0],
    "columns.x.range": [None, [0.0, 1e-320], [-1e308, 1e308], [1e16, 1e16 + 2], [-5e-324, 5e-324]],
    "columns.y.range": [[0.0, 1e200], [0.0, 5e-324]],
    "columns.x.missing": ["refuse", "mean"],
    "columns.y.missing": ["mean"],
    "columns.t.missing_values": [[9]],
    "columns.x.label": ["X"],
}
"""By key of a study: values that stand for it."""
SUMMED: dict[str, list[Any]] = {
    "members": [2, 7],
    "colluders": [2],
    "sums": ["as a liar likes"],
}
"""What is no key of a study: who takes part, and what comes back as the sum."""
AXES: dict[str, list[Any]] = PATCHES | SUMMED


def missing() -> Iterator[str]:
    """Keys of a study that are in the code and not here, or the other way."""
    known = {tuple(one.split(".")[:: len(one.split(".")) - 1]) for one in PATCHES}
    there = {(section, key) for section, model in SECTIONS.items() for key in model.model_fields}
    there |= {("columns", key) for key in ColumnSection.model_fields}
    there -= {("survival", key) for key in ("event", "grid", "by")} | {
        ("evaluate", "bins"),
        ("evaluate", "threshold"),
    }
    for section, key in sorted(known ^ there):
        yield f"[{section}] {key} is in the code or in the table alone: see PATCHES in tests/claims/studies.py"


@dataclass(frozen=True)
class StudyCell:
    """A study with a promise, and which keys are changed: by key, the place of a value."""

    changed: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return " × ".join(["study", *(f"{key} = {AXES[key][place]!r}" for key, place in self.changed)])

    @property
    def values(self) -> dict[str, Any]:
        return {key: AXES[key][place] for key, place in self.changed}


def cells() -> Iterator[StudyCell]:
    """The study itself, with one key changed, and with every pair."""
    each = [(key, place) for key, values in AXES.items() for place in range(len(values))]
    yield StudyCell()
    yield from (StudyCell((one,)) for one in each)
    yield from (StudyCell(pair) for pair in itertools.combinations(each, 2) if pair[0][0] != pair[1][0])


def tables_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The study as its file has it."""
    found = {
        name: {key: dict(v) if isinstance(v, dict) else v for key, v in part.items()}
        for name, part in BASE.items()
    }
    for key, value in values.items():
        if key in SUMMED:
            continue
        *path, last = key.split(".")
        part = found
        for name in path:
            part = part.setdefault(name, {})
        part["from" if last == "source" else last] = value
        if path[-1] == "survival":
            part |= {"event": "h", "grid": [1.0, 2.0]}
        if last == "map":
            part.pop("range", None)
        if value is None:
            part.pop(last, None)
    return found


def evaluate(cell: StudyCell) -> Result:
    """Refused, or played with every two rows."""
    values = cell.values
    members, colluders = values.get("members", 4), values.get("colluders", 1)
    try:
        study = parse_study(tables_of(values))
    except BadStudy as error:
        return Result("refused", why=str(error))
    if study.formula is None and study.describe is None:
        return Result("no such cell")
    if colluders >= members:
        return Result("no such cell")
    among, wild = Among(members, colluders), "sums" in values
    corners = _corners(study)
    try:
        seen = [_seen(study, row, among, wild) for row in [*corners, None]]
    except TooLittleNoise as error:
        return Result("refused", why=str(error))
    kept = [one for one in seen if one is not None]
    if not kept:
        return Result("refused", why="every table is refused by its member's own check")
    assert study.privacy is not None
    mu = max((_mu(a, b, members - colluders) for a, b in itertools.combinations(kept, 2)), default=0.0)
    found = epsilon(mu, study.privacy.delta)
    return Result("played", study.privacy.epsilon, found, why=f"μ = {mu:.6g}")


class TooLittleNoise(Exception):
    """The study is refused, and none of its tables."""


def _corners(study: Any) -> list[Row]:
    """The rows to be told apart; ends of ranges that a cell declares otherwise take part."""
    more = []
    for place, name in enumerate("yxt"):
        ends = study.column(name).range
        for end in ends or ():
            for far in (OTHERS[0], CORNERS[0]):
                more.append((*far[:place], end, *far[place + 1 :]))
        for far in (OTHERS[0], CORNERS[0]) if ends is not None else ():
            more.append((*far[:place], ends[0] + (ends[1] / 2 - ends[0] / 2) / 3, *far[place + 1 :]))
    return list(dict.fromkeys([*CORNERS, *more]))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Seen:
    """What one member gave to every sum, and all that follows."""

    values: tuple[np.ndarray, ...]
    variances: tuple[np.ndarray, ...]
    shape: tuple[Any, ...]
    """What is told for certain: names, bits, the end, and the results of the same sums."""


def _seen(study: Any, row: Row | None, among: Among, wild: bool) -> Seen | None:
    """What the member gives with this row, or without any; None where its own check refuses its table."""
    rows = [*([] if row is None else [row]), *OTHERS]
    table = Table.of(dict(zip("yxtg", map(list, zip(*rows, strict=True)), strict=True)))
    try:
        understood = check_table(study, table, among)[1]
    except BadStudy as error:
        if row == CORNERS[0] and "fewer than" in str(error) and "units of the grid" in str(error):
            raise TooLittleNoise(str(error)) from None
        return None
    generator, received = concluded(understood), None
    values, spread, shape = [], [], []
    rng = np.random.default_rng(3)
    for _ in range(50):
        try:
            total = generator.send(received)
        except StopIteration as end:
            data = replace(end.value, own_remarks=()).data
            shape.append(str({key: one for key, one in data.items() if key != "rows_by_member"}))
            break
        except (HocketError, ArithmeticError, ValueError, IndexError) as error:  # as a rehearsal takes them
            shape.append(f"{type(error).__name__}: {error}")
            break
        values.append(flat(total.values))
        spread.append(np.array(variances(total.values, total.noise), dtype=float))
        shape.append((len(values[-1]), total.bits, str(total.names)))
        # The same sums come back in both worlds, so that what differs is this member's doing.
        received = jax.tree.map(lambda own: _sum(np.shape(own), rng if wild else None), total.values)
    return Seen(tuple(values), tuple(spread), tuple(shape))


def _sum(shape: tuple[int, ...], rng: np.random.Generator | None) -> np.ndarray:
    return np.full(shape, 100.0) if rng is None else rng.normal(size=shape) * 1e6


def _mu(a: Seen, b: Seen, honest: int) -> float:
    """μ of telling two tables apart by all sums, from which a coalition takes its own noise."""
    if a.shape != b.shape:
        return math.inf
    squared = 0.0
    for one, other, s, r in zip(a.values, b.values, a.variances, b.variances, strict=True):
        moved = (one - other) * 2.0**GRID_BITS
        if (s != r).any() or (moved[s == 0] != 0).any() or not np.isfinite(moved).all():
            return math.inf
        whole = s > 0
        squared += float((moved[whole] ** 2 / (honest * s[whole])).sum())
    return math.sqrt(squared)


def epsilon(mu: float, delta: float) -> float:
    """ε at δ of telling N(0, 1) from N(μ, 1), by halving."""
    if mu == 0 or math.isinf(mu):
        return mu

    def fails(eps: float) -> float:
        return float(ndtr(mu / 2 - eps / mu) - math.exp(min(eps + log_ndtr(-mu / 2 - eps / mu), 0.0)))

    low, high = 0.0, mu * mu / 2 + 40 * mu
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if fails(middle) > delta else (low, middle)
    return high
