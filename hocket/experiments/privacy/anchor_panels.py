"""Anchors in three panels: how they are scaled, whether they are kept, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from hocket.experiments.privacy.anchors import SCALINGS, STEPS, Told
from hocket.experiments.privacy.runs import Privacy
from hocket.report.figures import INK, STYLES
from hocket.report.tables import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

DECAYING, CONSTANT = STEPS
RIGHTLY, WRONGLY = SCALINGS
Place = Literal["lower left", "upper left"]
FRESH, WRONG, RIGHT = 1, 2, 5
"""Rows of STYLES."""


def anchor_panels(figure: SubFigure, found: Privacy) -> None:
    """Lines: foretold by `leakage`. Marks: least squares on the words of real runs."""
    scaling, keeping, cost = figure.subplots(1, 3)
    _scaling_panel(scaling, found)
    _keeping_panel(keeping, found)
    _cost_panel(cost, found)


def _scaling_panel(axes: Axes, found: Privacy) -> None:
    _dress(axes, r"One run, $\alpha_k \propto 1/k$", r"rounds $K$", "error over Δ")
    told = {one.scaling: one for one in found.over_rounds if one.step == DECAYING}
    _told(axes, told[""], FRESH, "no anchor")
    _told(axes, told[RIGHTLY], RIGHT, r"anchor scaled by $\alpha_{k-1}$")
    _told(axes, told[WRONGLY], WRONG, r"anchor scaled by $\alpha_k$, wrongly")
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
    for name, style in (("DGD", 0), ("RSS-NB", FRESH), ("RSS-NB, anchored", RIGHT)):
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
    axes.spines[["top", "right"]].set_visible(False)
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
    axes.legend(frameon=False, fontsize=8, handlelength=3.0, loc=place)


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
