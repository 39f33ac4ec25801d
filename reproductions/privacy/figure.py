"""The figure: what attacks reconstruct, and below it what persistent noise does and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hocket.report.figures import INK, STYLES, Drawing, drawn
from hocket.report.tables import plain
from reproductions.privacy.anchors import SCALINGS, STEPS, Told
from reproductions.privacy.reconstruction import Reconstruction
from reproductions.privacy.runs import Privacy
from reproductions.privacy.setting import ALGORITHMS, SIGHTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

HIGHEST, LOWEST = 2.0, 1.5e-3
STRIP = (1e-15, 1e-10)
"""The part of the axis, set off below, on which exact attacks are: nothing lies in between."""
DECAYING, CONSTANT = STEPS
RIGHTLY, WRONGLY = SCALINGS
Place = Literal["lower left", "upper left"]
FRESH, WRONG, RIGHT = 1, 2, 5
"""Rows of STYLES."""


def drawing(found: Privacy) -> Drawing:
    """All panels in one figure."""
    rows = len(found.size.deltas)
    return drawn(lambda figure: _lay_out(figure, found), size=(12.0, 3.6 + 3.1 * rows), alt=_alt(found))


def _lay_out(figure: Figure, found: Privacy) -> None:
    parts: Any = figure.subfigures(2, 1, height_ratios=(len(found.size.deltas) * 3.1, 3.2))
    above, below = parts
    reconstruction_panels(above, found)
    anchor_panels(below, found)


def _alt(found: Privacy) -> str:
    first, last = found.size.rounds[0], found.size.rounds[-1]
    delta = found.size.deltas[0]
    courses = []
    for one in found.reconstructions:
        if one.delta == delta and not one.exact:
            start, end = (plain(float(np.median(one.error[:, place]))) for place in (0, -1))
            courses.append(f"{one.algorithm} from {start} to {end} ({one.sight.title})")
    exact = sorted({f"{one.algorithm} ({one.sight.title})" for one in found.reconstructions if one.exact})
    return (
        "Plots of the reconstruction error against rounds, both axes logarithmic, a column for everybody who looks and "
        f"a row for each noise level. At Δ = {delta:g} from {first} to {last} rounds: {'; '.join(courses)}. Exact: "
        f"{', '.join(exact)}. Below, three plots about persistent noise: how its scaling matters, how many "
        f"runs average it "
        "away unless they are kept, and the gap they leave at a constant step."
    )


def reconstruction_panels(figure: SubFigure, found: Privacy) -> None:
    """Lines: predicted by `leakage`. Marks: medians of attacks on real runs, with 10 to 90 % bars."""
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
            if column == len(sights) - 1:
                within = upper.transAxes
                upper.text(0.98, 0.88, "a guess of zero", transform=within, fontsize=8, ha="right", va="top")
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


def anchor_panels(figure: SubFigure, found: Privacy) -> None:
    """Lines: predicted by `leakage`. Marks: least squares on the messages of real runs."""
    scaling, keeping, cost = figure.subplots(1, 3)
    _scaling_panel(scaling, found)
    _keeping_panel(keeping, found)
    _cost_panel(cost, found)


def _scaling_panel(axes: Axes, found: Privacy) -> None:
    _dress(axes, r"One run, $\alpha_k \propto 1/k$", r"rounds $K$", "error over Δ")
    told = {one.scaling: one for one in found.over_rounds if one.step == DECAYING}
    _told(axes, told[""], FRESH, "no anchor")
    _told(axes, told[RIGHTLY], RIGHT, r"anchor scaled by $\alpha_{k-1}$")
    _told(axes, told[WRONGLY], WRONG, r"persistent noise scaled by $\alpha_k$, wrongly")
    _finish(axes, found.size.anchor_rounds, room=2.0)


def _keeping_panel(axes: Axes, found: Privacy) -> None:
    _dress(axes, f"Many runs of {found.size.run_rounds} rounds", "runs", "error over Δ")
    told = {(one.step, one.scaling, one.kept): one for one in found.over_runs}
    for step, strong, name in ((CONSTANT, True, "constant step"), (DECAYING, False, r"step $\propto 1/k$")):
        _told(axes, told[step, RIGHTLY, True], RIGHT, f"anchors kept, {name}", strong=strong)
        _told(axes, told[step, RIGHTLY, False], FRESH, f"drawn anew, {name}", strong=strong)
    wrong = told.get((DECAYING, WRONGLY, True))
    if wrong is not None:
        _told(axes, wrong, WRONG, r"kept, wrongly scaled, step $\propto 1/k$", strong=False)
    _finish(axes, found.size.runs, room=9.0)


def _cost_panel(axes: Axes, found: Privacy) -> None:
    _dress(axes, "Fixed point at a constant step", r"step $\alpha$", r"gap of the average   (units of $f$)")
    delta = max(found.size.deltas)
    averages = [bias.average for bias in found.biases if bias.delta == delta and bias.average is not None]
    for name, style in (("DGD", 0), ("RSS-NB", FRESH), ("RSS-NB, persistent", RIGHT)):
        colour, dashes, marker = STYLES[style]
        gaps = [average[name] for average in averages]
        label = name if name == "DGD" else f"{name}, Δ = {delta:g}"
        axes.plot(
            found.size.alphas, gaps, color=colour, linestyle=dashes, marker=marker, markersize=5, label=label
        )
    _finish(axes, found.size.alphas, room=1.5, place="upper left")


def _dress(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(True, which="major", color=INK, alpha=0.12, linewidth=0.6)
    axes.tick_params(labelsize=8.5)


def _finish(axes: Axes, x: Sequence[float], *, room: float, place: Place = "lower left") -> None:
    """Numbers as people write them, since the axes span little more than a decade, and room for the legend."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xticks(list(x), labels=[f"{value:g}" for value in x])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.set_ylim(bottom=axes.get_ylim()[0] / room)
    axes.legend(fontsize=8, handlelength=3.0, loc=place)


def _told(axes: Axes, told: Told, style: int, words: str, *, strong: bool = True) -> None:
    colour, dashes, marker = STYLES[style]
    x = told.rounds if len(set(told.rounds)) > 1 else told.runs
    axes.plot(x, told.foretold, color=colour, linestyle=dashes, linewidth=1.6 if strong else 1.0)
    fill = colour if strong else "none"
    axes.plot(
        x, told.measured, color=colour, linestyle="none", marker=marker, markersize=5, markerfacecolor=fill
    )
    axes.plot(
        [], [], color=colour, linestyle=dashes, marker=marker, markersize=5, markerfacecolor=fill, label=words
    )
