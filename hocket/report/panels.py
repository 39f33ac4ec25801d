"""Figures of many panels: lines with bands, slopes to compare them with, words where they are needed.

For what an experiment shows at once: several problems side by side, or one question asked in several ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from hocket.report.figures import INK, STYLES, Drawing, drawn, marked_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Float[np.ndarray, " points"]

MARKED = 12
"""Lines of more points than this carry markers here and there only."""


@dataclass(frozen=True, eq=False)
class PlotLine:
    """A median over runs, and the band around it."""

    label: str
    """Its name in the legend; empty for a line that needs none."""
    x: Points
    y: Points
    low: Points | None = None
    high: Points | None = None
    style: int = 0
    """Row of STYLES: what kind of thing this is."""
    strong: bool = True
    """Thick and filled, or thin and hollow: tells two levels of one kind apart without colour."""

    @staticmethod
    def over_runs(label: str, x: Any, values: Float[np.ndarray, "runs points"], **look: Any) -> PlotLine:
        """The median and the 10 to 90 % band of many runs."""
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=0)
        several = len(values) > 1
        return PlotLine(
            label, np.asarray(x), middle, low if several else None, high if several else None, **look
        )


@dataclass(frozen=True, eq=False)
class Guide:
    """A dotted line to hold a curve against, and what it is."""

    x: Points
    y: Points
    words: str


@dataclass(frozen=True)
class Note:
    """Words at a place, given as parts of the panel's width and height."""

    words: str
    x: float
    y: float
    align: Literal["left", "center", "right"] = "left"


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes, logarithmic unless said otherwise."""

    title: str
    across: str
    up: str
    lines: Sequence[PlotLine]
    guides: Sequence[Guide] = ()
    notes: Sequence[Note] = ()
    lowest: float | None = None
    """Where the axis ends below; what lies deeper leaves the panel."""
    highest: float | None = None
    """Where it ends above, if not just above the lines."""
    linear: Literal["", "up", "both"] = ""
    """Axes that are not logarithmic: for shares, and for time that is counted evenly."""
    legend: Literal["upper left", "lower left"] | None = None
    """Where the panel's own legend stands; None for one legend below all panels."""


def sheet(
    panels: Sequence[Sequence[Panel]],
    *,
    size: tuple[float, float],
    alt: str,
    title: str | None = None,
    columns: int | None = None,
) -> Drawing:
    """Rows of panels as one figure; a row with one panel has it over the full width.

    Panels of one row share their vertical axis where they have the same label. `title` heads the common legend, which
    has a column for each kind of line, or as many as are asked for.
    """
    return drawn(lambda figure: _lay_out(figure, panels, title, columns), size=size, alt=alt)


def _lay_out(
    figure: Figure, panels: Sequence[Sequence[Panel]], title: str | None, columns: int | None
) -> None:
    width = int(np.lcm.reduce([len(row) for row in panels]))
    grid = figure.add_gridspec(len(panels), width)
    common: dict[int, dict[str, Any]] = {}
    for place, row in enumerate(panels):
        span, first = width // len(row), None
        for column, panel in enumerate(row):
            shared = first if first is not None and panel.up == row[0].up else None
            cell = grid[place, column * span : (column + 1) * span]
            axes = figure.add_subplot(cell, sharey=shared)
            first = axes if first is None else first
            _draw(axes, panel)
            axes.set_ylabel("" if shared else panel.up)
            if panel.legend is not None:
                axes.legend(loc=panel.legend, fontsize=8.5, handlelength=3.2)
                continue
            named = [line for line in panel.lines if line.label]
            for handle, line in zip(axes.get_legend_handles_labels()[0], named, strict=True):
                common.setdefault(line.style, {})[line.label] = handle
    if common:
        _common_legend(figure, common, title, columns)


def _common_legend(
    figure: Figure, common: dict[int, dict[str, Any]], title: str | None, columns: int | None
) -> None:
    """One legend below all panels, a column for each kind of line, or line by line in so many columns."""
    from matplotlib.lines import Line2D

    if columns is not None:
        lines = [entry for kind in common.values() for entry in kind.items()]
        common = {place: dict(lines[place::columns]) for place in range(min(columns, len(lines)))}
    rows = max(map(len, common.values()))
    entries = [
        entry
        for column in common.values()
        for entry in [*column.items(), *[("", Line2D([], [], linestyle="none"))] * (rows - len(column))]
    ]
    figure.legend(
        [handle for _, handle in entries],
        [label for label, _ in entries],
        loc="outside lower center",
        ncols=len(common),
        handlelength=3.4,
        title=title,
        title_fontsize=9,
    )


def _draw(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left", fontweight="bold", fontsize=10.5)
    axes.set_xlabel(panel.across)
    axes.set(xscale="linear" if panel.linear == "both" else "log", yscale="linear" if panel.linear else "log")
    if not panel.lines:
        axes.set_yticks([])
    if panel.lowest is not None and panel.highest is not None:
        axes.set_ylim(panel.lowest, panel.highest)  # before there are lines, or margins overflow beyond 1e307
    for place, line in enumerate(panel.lines):
        _draw_line(axes, line, offset=place / len(panel.lines), logarithmic=not panel.linear)
    for guide in panel.guides:
        axes.plot(guide.x, guide.y, color=INK, linestyle=(0, (1, 2)), linewidth=1.1)
        axes.annotate(
            guide.words,
            (float(guide.x[-1]), float(guide.y[-1])),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=8.5,
            va="center",
        )
    for note in panel.notes:
        axes.text(
            note.x, note.y, note.words, transform=axes.transAxes, fontsize=8.5, style="italic", ha=note.align
        )
    if panel.lowest is not None:
        axes.set_ylim(bottom=panel.lowest)
    if panel.highest is not None:
        axes.set_ylim(top=panel.highest)
    axes.grid(True, which="major", color=INK, alpha=0.12, linewidth=0.6)
    axes.minorticks_off()


def _draw_line(axes: Axes, line: PlotLine, *, offset: float, logarithmic: bool) -> None:
    colour, dashes, marker = STYLES[line.style % len(STYLES)]
    if line.low is not None and line.high is not None:
        floor = np.finfo(np.float64).tiny
        seen = line.high > 0
        low = np.maximum(line.low, floor)
        axes.fill_between(line.x, low, line.high, where=seen, color=colour, alpha=0.13, linewidth=0)
    axes.plot(
        line.x,
        # Zero has no place on a logarithmic axis.
        np.where(line.y > 0, line.y, np.nan) if logarithmic else line.y,
        color=colour,
        linestyle=dashes,
        linewidth=1.9 if line.strong else 1.1,
        marker=marker,
        markevery=marked_points(line.x, offset=offset, count=7) if len(line.x) > MARKED else None,
        markersize=5,
        markerfacecolor=colour if line.strong else "none",
        label=line.label,
    )
