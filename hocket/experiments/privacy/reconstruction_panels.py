"""Reconstruction error against rounds: a row per noise level, a column for everybody who looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.experiments.privacy.reconstruction import Reconstruction
from hocket.experiments.privacy.runs import Privacy
from hocket.experiments.privacy.setting import ALGORITHMS, SIGHTS
from hocket.report.figures import INK, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

HIGHEST, LOWEST = 2.0, 1.5e-3
STRIP = (1e-15, 1e-10)
"""The part of the axis, set off below, on which exact attacks are: nothing lies in between."""


def reconstruction_panels(figure: SubFigure, found: Privacy) -> None:
    """Lines: foretold by `leakage`. Marks: medians of attacks on real runs, with 10 to 90 % bars."""
    sights = [sight for sight in SIGHTS if sight.network in found.size.networks]
    rows = len(found.size.deltas)
    grid = figure.add_gridspec(2 * rows, len(sights), height_ratios=(6, 1) * rows)
    for row, delta in enumerate(found.size.deltas):
        for column, sight in enumerate(sights):
            upper = figure.add_subplot(grid[2 * row, column])
            lower = figure.add_subplot(grid[2 * row + 1, column], sharex=upper)
            _panel(
                upper,
                lower,
                [one for one in found.reconstructions if (one.sight, one.delta) == (sight, delta)],
            )
            _label_left(upper, lower, delta if column == 0 else None)
            lower.set_xlabel(r"rounds $K$" if row == rows - 1 else "")
            lower.tick_params(labelbottom=row == rows - 1)
            if row == 0:
                upper.set_title(sight.title, loc="left", fontweight="bold", fontsize=10)
        upper.text(0.98, 0.88, "a guess of zero", transform=upper.transAxes, fontsize=8, ha="right", va="top")
    _legend(figure, found.size.algorithms)


def _label_left(upper: Axes, lower: Axes, delta: float | None) -> None:
    """Words and numbers on the vertical axes; neither where Δ is None."""
    if delta is not None:
        upper.set_ylabel(f"Δ = {delta:g}:  error of $\\nabla f_0(x^*)$\nover a typical gradient")
        lower.set_ylabel("exact", fontsize=8.5)
    for axes in (upper, lower):
        axes.tick_params(labelleft=delta is not None)


def _legend(figure: SubFigure, algorithms: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for name in algorithms:
        colour, dashes, marker = _style(name)
        handles.append(
            Line2D([], [], color=colour, linestyle=dashes, marker=marker, markerfacecolor=_fill(name))
        )
    figure.legend(
        handles,
        algorithms,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        handlelength=3.4,
        fontsize=9.5,
    )


def _style(name: str) -> tuple[str, Any, str]:
    return STYLES[ALGORITHMS.index(name)]


def _fill(name: str) -> str:
    """Marks that lie on others are hollow."""
    return _style(name)[0] if name in ("DGD", "RSS-NB", "FS") else "none"


def _panel(upper: Axes, lower: Axes, curves: list[Reconstruction]) -> None:
    for axes, limits in ((upper, (LOWEST, HIGHEST)), (lower, STRIP)):
        axes.set(xscale="log", yscale="log", ylim=limits)
        axes.grid(True, which="major", color=INK, alpha=0.12, linewidth=0.6)
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8.5)
    upper.spines["bottom"].set_visible(False)
    upper.tick_params(bottom=False, labelbottom=False)
    lower.set_yticks([1e-14, 1e-11])
    upper.axhline(1.0, color=INK, alpha=0.35, linewidth=0.8)
    exact = [curve for curve in curves if curve.exact]
    for place, curve in enumerate(exact):
        _marks(
            lower, curve, slice(place, None, len(exact))
        )  # they lie on top of each other, so they take turns
    for curve in curves:
        if not curve.exact:
            _marks(upper, curve, slice(None))
            _line(upper, curve)
            if curve.algorithm == "RSS-NB" and curve.sight.threat == "states":
                _guide(upper, curve)


def _guide(axes: Axes, curve: Reconstruction) -> None:
    """A slope of −1/2, below a curve."""
    x = np.array([max(curve.rounds) / 100, max(curve.rounds)], dtype=np.float64)
    y = 0.5 * curve.medians[-1] * np.sqrt(x[-1] / x)
    axes.plot(x, y, color=INK, linestyle=(0, (1, 2)), linewidth=1.1)
    axes.annotate(
        r"$1/\sqrt{K}$", (x[0], y[0]), xytext=(-4, -2), textcoords="offset points", fontsize=8.5, ha="right"
    )


def _marks(axes: Axes, curve: Reconstruction, shown: slice) -> None:
    colour, _, marker = _style(curve.algorithm)
    low, middle, high = np.quantile(curve.error[:, shown], (0.1, 0.5, 0.9), axis=0)
    axes.errorbar(
        curve.rounds[shown],
        middle,
        yerr=(middle - low, high - middle),
        color=colour,
        linestyle="none",
        elinewidth=0.9,
        marker=marker,
        markersize=5,
        markerfacecolor=_fill(curve.algorithm),
    )


def _line(axes: Axes, curve: Reconstruction) -> None:
    colour, dashes, _ = _style(curve.algorithm)
    shown = curve.forecast.rounds >= min(curve.rounds) / 1.5
    axes.plot(
        curve.forecast.rounds[shown],
        curve.forecast.error[shown],
        color=colour,
        linestyle=dashes,
        linewidth=1.5,
    )
