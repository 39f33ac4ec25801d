"""The figure of a tuning: the last gap against the step, and the best run against rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hocket.report.figures import STYLES, Drawing
from hocket.report.panels import Guide, Panel, PlotLine, sheet

if TYPE_CHECKING:
    from hocket.bench.tuning import Trial, Tuning

LOWEST = 1e-16
MOST = 100.0
"""Of the gap at the start: steps that end farther out leave the figure."""


def curve(tuning: Tuning) -> Drawing:
    """Left how the last gap depends on the step, by parameters; right how the gap of the best falls."""
    groups: dict[str, list[Trial]] = {}
    for one in tuning.candidates:
        words = ", ".join(f"{name} {_short(value)}" for name, value in one.parameters.items())
        groups.setdefault(words, []).append(one)
    rows = {id(one): row for one, row in zip(tuning.candidates, tuning.rows(), strict=True)}
    chosen, cell = tuning.chosen, tuning.chosen.cell
    first = 1.0 if cell is None else float(cell.gap[0, 0])
    lines: list[PlotLine] = []
    for place, (words, some) in enumerate(groups.items()):
        known = [one for one in some if np.isfinite(one.gap) and one.gap < MOST * first]
        if known:
            low, high = (
                np.clip([rows[id(one)][end] for one in known], LOWEST, MOST * first)
                for end in ("low", "high")
            )
            lines.append(
                PlotLine(
                    words or "last gap",
                    np.array([one.size for one in known]),
                    np.maximum([one.gap for one in known], LOWEST),
                    low,
                    high,
                    style=place % len(STYLES),
                    strong=place < len(STYLES),
                )
            )
    smallest = min((float(line.y.min()) for line in lines), default=LOWEST)
    best = np.array([chosen.size, chosen.size])
    left = Panel(
        "Last gap against the step",
        "step",
        "last gap",
        lines,
        guides=[Guide(best, np.array([smallest, first]), f"best {chosen.size:.3g}")],
        lowest=smallest / 10,
        highest=MOST * first,
    )
    panels = [left]
    if cell is not None:
        after = cell.rounds > 0
        gaps = np.maximum(np.where(np.isfinite(cell.gap), cell.gap, np.nan)[:, after], LOWEST)
        panels.append(
            Panel(
                "Gap of the best",
                "rounds",
                "gap",
                [PlotLine.over_runs("", cell.rounds[after], gaps, style=1)],
            )
        )
    alt = (
        f"The last gap against the step; the best step is {chosen.size:.3g}, with a gap of {chosen.gap:.3g}."
    )
    return sheet([panels], size=(9.6, 4.4), alt=alt)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
