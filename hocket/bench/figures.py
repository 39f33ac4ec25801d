"""Figures of a comparison: gaps against what they cost, and performance profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hocket.bench.cost import Spending
from hocket.errors import BadInput
from hocket.report.figures import STYLES, Drawing
from hocket.report.panels import Note, Panel, PlotLine, sheet
from hocket.report.tables import plain

if TYPE_CHECKING:
    from hocket.bench.comparison import Cell, Comparison

MOST = 2 * len(STYLES)
"""Curves that can be told apart in one figure; of more algorithms the best are drawn."""
LOWEST = 1e-13
"""Where axes of relative gaps end: the rest is rounding."""
GRID = 90
WIDTH = 110
"""Characters that a legend has room for."""
FEW = 4
"""Curves up to which bands over problems and networks are drawn: more of them hide each other."""
SPENT: dict[Spending, str] = {
    "rounds": "rounds",
    "bytes": "bytes sent by an agent",
    "gradients": "gradients of an agent",
    "seconds": "seconds of one run, beside all others",
}


def overview(comparison: Comparison, *, goal: float) -> Drawing:
    """All problems and networks at once: gaps as parts of the gap at the start, and shares of runs that arrived."""
    names, left = drawn_names(comparison)
    above = [_gaps(comparison, names, what) for what in ("rounds", "bytes")]
    middle = [_gaps(comparison, names, what) for what in ("gradients", "seconds")]
    below = [_profile(comparison, names, what, goal) for what in ("rounds", "bytes")]
    note = f"; the best {len(names)} of {len(comparison.algorithms)} algorithms" if left else ""
    runs = len(comparison.places) * len(comparison.seeds)
    banded = len(names) <= FEW or len(comparison.places) == 1
    band = f"median{' and 10–90 % band' if banded else ''} of {runs:,} runs" if runs > 1 else "one run"
    alt = (
        "Gaps to the optimum against rounds, bytes, gradients and seconds, and performance profiles, for "
        f"{', '.join(names)}."
    )
    rows = [*_level([above, middle]), below]
    return sheet(rows, size=(9.6, 10.6), alt=alt, title=f"{band}{note}", columns=_columns(names))


def by_place(comparison: Comparison, *, most: int = 12) -> Drawing:
    """Gaps against rounds, a panel for each problem and network."""
    names, _ = drawn_names(comparison)
    panels = [
        _gaps(comparison.only(problems=problem, networks=network), names, "rounds", f"{problem}, {network}")
        for problem, network in comparison.places[:most]
    ]
    width = 2 if len(panels) % 3 == 1 else 3
    rows = [panels[i : i + width] for i in range(0, len(panels), width)]
    alt = f"Gaps against rounds on {len(panels)} problems and networks, for {', '.join(names)}."
    return sheet(_level(rows), size=(9.6, 1.2 + 2.7 * len(rows)), alt=alt, columns=_columns(names))


def _columns(names: Sequence[str]) -> int:
    """How many columns of a legend fit, by the longest name."""
    return int(np.clip(WIDTH // (max(map(len, names)) + 9), 1, len(STYLES)))


def _level(rows: list[list[Panel]]) -> list[list[Panel]]:
    """The same panels, all of them down to where the deepest one ends."""
    lowest = min(panel.lowest or 1.0 for row in rows for panel in row)
    return [[replace(panel, lowest=lowest) for panel in row] for row in rows]


def drawn_names(comparison: Comparison) -> tuple[list[str], int]:
    """The algorithms that are drawn, in the order in which they were given, and how many are left."""
    names = list(comparison.algorithms)
    if len(names) <= MOST:
        return names, 0
    best = set(comparison.ranking().algorithms[:MOST])
    return [name for name in names if name in best], len(names) - MOST


def _look(place: int) -> dict[str, int | bool]:
    return {"style": place % len(STYLES), "strong": place < len(STYLES)}


def _gaps(comparison: Comparison, names: Sequence[str], what: Spending, title: str = "") -> Panel:
    """Relative gaps against what they cost, over all problems, networks and seeds."""
    lines: list[PlotLine] = []
    lowest = 1.0
    banded = len(names) <= FEW or len(comparison.places) == 1
    for place, name in enumerate(names):
        cells = [cell for cell in comparison.cells if cell.algorithm == name]
        if not cells:
            continue
        first = min(cell.spent(what)[1] for cell in cells)
        last = min(cell.spent(what)[-1] for cell in cells)  # beyond, some are not there any more
        if not last > first > 0:
            continue  # nothing of this is spent: no messages, say
        grid = np.geomspace(first, last, GRID)
        values = np.concatenate([_held(cell, what, grid) for cell in cells])
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=0, method="nearest")
        seen = np.isfinite(middle) & (middle < 1e30)
        several = len(values) > 1 and banded
        lines.append(
            PlotLine(
                name,
                grid[seen],
                np.maximum(middle, LOWEST / 10)[seen],
                low[seen] if several else None,
                np.minimum(high, 1e30)[seen] if several else None,
                **_look(place),  # type: ignore[arg-type]
            )
        )
        lowest = min(lowest, float(middle[seen].min(initial=1.0)))
    floor = max(LOWEST, 10.0 ** np.floor(np.log10(max(lowest, 1e-300))))
    notes = [Note(f"below {plain(LOWEST)} not drawn", 0.02, 0.03)] if lowest < LOWEST else []
    return Panel(
        title or f"Gap against {SPENT[what].split()[0]}",
        SPENT[what],
        "gap, as part of the first",
        lines,
        notes=notes,
        lowest=floor,
        highest=30.0,
    )


def _held(cell: Cell, what: Spending, grid: np.ndarray) -> np.ndarray:
    """Every run's gap at each point of a grid of what is spent: that of its last measurement before."""
    at = np.searchsorted(cell.spent(what), grid * (1 + 1e-9), side="right") - 1
    gaps = np.where(np.isnan(cell.relative_gap), np.inf, cell.relative_gap)
    return gaps[:, np.maximum(at, 0)]


def _profile(comparison: Comparison, names: Sequence[str], what: Spending, goal: float) -> Panel:
    """The share of runs that arrive within a multiple of what the best takes [Dolan and Moré 2002]."""
    nothing = np.full(len(comparison.seeds), np.inf)
    cells = [[comparison.cell(*place, name) for place in comparison.places] for name in names]
    scores = [[nothing if cell is None else cell.reached(goal, what) for cell in row] for row in cells]
    all_of_them = np.stack([np.concatenate(row) for row in scores])
    best = all_of_them.min(axis=0)
    solved = np.isfinite(best)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(solved, all_of_them / best, np.inf)
    ratio = np.where(np.isnan(ratio), 1.0, ratio)  # zero over zero: both arrived at once
    finite = ratio[np.isfinite(ratio)]
    most = max(float(finite.max(initial=2.0)) * 1.2, 2.0)
    grid = np.geomspace(1.0, most, 200)
    lines = [
        PlotLine(name, grid, (row[None, :] <= grid[:, None] * (1 + 1e-9)).mean(axis=1), **_look(place))  # type: ignore[arg-type]
        for place, (name, row) in enumerate(zip(names, ratio, strict=True))
    ]
    words = "" if solved.all() else f"{1 - solved.mean():.0%} of the runs nobody solved"
    return Panel(
        f"Performance profile, {what}",
        f"{what} to {plain(goal)} of the first gap, over the least of all",
        "share of runs within",
        lines,
        notes=[Note(words, 0.98, 0.03, "right")] if words else [],
        lowest=0.0,
        highest=1.04,
        linear="up",
    )


def written(drawing: Drawing, path: str | Path | None) -> Drawing:
    """A drawing, and the same in a file."""
    if path is not None:
        path = Path(path)
        if path.suffix not in (".svg", ".png"):
            raise BadInput(f"{path} is neither .svg nor .png; name a file that ends in one of these")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(drawing.png if path.suffix == ".png" else drawing.svg.encode())
    return drawing
