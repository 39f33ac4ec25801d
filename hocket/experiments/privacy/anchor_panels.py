"""Anchors in three panels: how they are scaled, whether they are kept, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hocket.experiments.privacy.anchors import Told
from hocket.experiments.privacy.runs import Privacy
from hocket.report.figures import INK, STYLES
from hocket.report.numbers import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

NONE, WRONG, RIGHT = 1, 2, 5
"""Rows of STYLES."""


def anchor_panels(figure: SubFigure, found: Privacy) -> None:
    """Lines: foretold by `leakage`. Marks: least squares on the words of real runs."""
    scaled, kept, cost = figure.subplots(1, 3)
    decaying, constant = "α_k ∝ 1/k", "α constant"
    rounds = {(told.step, told.scaling): told for told in found.over_rounds}
    runs = {(told.step, told.scaling, told.kept): told for told in found.over_runs}

    _dress(scaled, "One run, $\\alpha_k \\propto 1/k$", r"rounds $K$", "error over Δ")
    for scaling, style, words in (
        ("", NONE, "no anchor"),
        ("α_{k−1}", RIGHT, r"anchor scaled by $\alpha_{k-1}$"),
        ("α_k", WRONG, r"… by $\alpha_k$, wrongly"),
    ):
        _told(scaled, rounds[decaying, scaling], style, words)

    _dress(kept, f"Many runs of {found.size.run_rounds} rounds", "runs", "error over Δ")
    for step, strong, name in ((constant, True, "constant step"), (decaying, False, r"step $\propto 1/k$")):
        _told(kept, runs[step, "α_{k−1}", True], RIGHT, f"anchors kept, {name}", strong=strong)
        _told(kept, runs[step, "α_{k−1}", False], NONE, f"drawn anew, {name}", strong=strong)
    if (decaying, "α_k", True) in runs:
        _told(
            kept,
            runs[decaying, "α_k", True],
            WRONG,
            r"kept, wrongly scaled, step $\propto 1/k$",
            strong=False,
        )

    _dress(cost, "Fixed point at a constant step", r"step $\alpha$", r"gap of the average   (units of $f$)")
    delta = max(found.size.deltas)
    biases = [bias for bias in found.biases if bias.delta == delta and bias.average is not None]
    alphas = [float(bias.step.removeprefix("α = ")) for bias in biases]
    for name, style in (("DGD", 0), ("RSS-NB", NONE), ("RSS-NB, anchored", RIGHT)):
        gaps = [bias.average[name] for bias in biases if bias.average is not None]
        colour, dashes, marker = STYLES[style]
        label = name if name == "DGD" else f"{name}, Δ = {delta:g}"
        cost.plot(alphas, gaps, color=colour, linestyle=dashes, marker=marker, markersize=5, label=label)
    size = found.size
    for axes, x in ((scaled, size.anchor_rounds), (kept, size.runs), (cost, size.alphas)):
        _ticks(axes, x)
        axes.legend(frameon=False, fontsize=8, handlelength=3.0, loc="best")


def _dress(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, which="major", color=INK, alpha=0.12, linewidth=0.6)
    axes.tick_params(labelsize=8.5)


def _ticks(axes: Axes, x: Sequence[float]) -> None:
    """Numbers as people write them: the axes span little more than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xticks(list(x), labels=[f"{value:g}" for value in x])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())


def _told(axes: Axes, told: Told, style: int, words: str, *, strong: bool = True) -> None:
    colour, dashes, marker = STYLES[style]
    x = told.rounds if len(set(told.rounds)) > 1 else told.runs
    axes.plot(x, told.foretold, color=colour, linestyle=dashes, linewidth=1.6 if strong else 1.0)
    fill = colour if strong else "white"
    axes.plot(
        x, told.measured, color=colour, linestyle="none", marker=marker, markersize=5, markerfacecolor=fill
    )
    axes.plot(
        [], [], color=colour, linestyle=dashes, marker=marker, markersize=5, markerfacecolor=fill, label=words
    )
