"""Figures: how fast runs converge, legible in print, in black and white, and to the colour-blind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from hocket.report.numbers import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1b1e23"
"""The colour of text, axes and the yardstick; on a page it becomes the page's own text colour."""
STYLES = (
    (INK, "-", "o"),
    ("#0072b2", "--", "s"),
    ("#d55e00", "-.", "^"),
    ("#009e73", (0, (5, 1.5, 1, 1.5, 1, 1.5)), "D"),
    ("#cc79a7", ":", "v"),
    ("#e69f00", (0, (8, 2)), "P"),
)
"""Colour, line and marker of each curve: any one of the three tells curves apart (colours after Okabe and Ito)."""
ROUNDING = 1e-16
"""What falls below this part of its largest value is rounding error, and is drawn on the floor of the figure."""


@dataclass(frozen=True)
class Curve:
    """The measurements of one algorithm, over one run or over many."""

    label: str
    rounds: Int[np.ndarray, " points"]
    """Completed rounds at each point."""
    gap: Float[np.ndarray, "runs points"]
    disagreement: Float[np.ndarray, "runs points"]


@dataclass(frozen=True)
class Drawing:
    """A figure as it goes into files and pages."""

    svg: str
    png: bytes
    alt: str
    """What it shows, for those who cannot see it."""

    def save(self, folder: Path, name: str) -> None:
        """Write NAME.svg and NAME.png."""
        (folder / f"{name}.svg").write_text(self.svg, encoding="utf-8")
        (folder / f"{name}.png").write_bytes(self.png)

    @property
    def inline(self) -> str:
        """The SVG for use inside a page, in the colours of the page."""
        body = self.svg[self.svg.index("<svg") :]
        return body.replace(INK, "currentColor").replace("<svg", '<svg role="presentation"', 1)


def convergence(curves: Sequence[Curve]) -> Drawing:
    """Gap and disagreement against rounds, both axes logarithmic; median and 10 to 90 % band over runs."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    _panel(left, curves, "gap", "gap to the optimum,\nlargest over agents (units of the objective)")
    _panel(right, curves, "disagreement", "distance from the mean,\nlargest over agents (units of x)")
    if len(curves) > 1:
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(curves), frameon=False, handlelength=3.2)
    return _drawn(figure, _describe(curves))


def _panel(axes: Axes, curves: Sequence[Curve], what: str, label: str) -> None:
    values = np.concatenate([getattr(curve, what).ravel() for curve in curves])
    values = values[np.isfinite(values)]
    axes.set_xlabel("round k (the start is round 1)")
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    if not (values > 0).any():
        axes.text(0.5, 0.5, "zero throughout" if values.size else "not known", transform=axes.transAxes, ha="center")
        axes.set(xticks=[], yticks=[])
        return
    floor = values.max() * ROUNDING
    lowest = 1.0
    for place, curve in enumerate(curves):
        low, middle, high = (np.maximum(part, floor) for part in _band(getattr(curve, what)))
        colour, line, marker = STYLES[place % len(STYLES)]
        k = curve.rounds + 1  # x_1 is the start: a logarithmic axis has no place for zero
        axes.fill_between(k, low, high, color=colour, alpha=0.16, linewidth=0)
        axes.plot(
            k,
            middle,
            color=colour,
            linestyle=line,
            marker=marker,
            markevery=_spread(k, offset=place / len(curves)),
            markersize=5,
            markerfacecolor="none" if place % 2 else colour,
            linewidth=1.6,
            label=curve.label,
        )
    axes.set(xscale="log", yscale="log")
    axes.grid(True, which="major", color=INK, alpha=0.12, linewidth=0.6)
    axes.minorticks_off()
    if (values < floor).any():
        axes.set_ylim(bottom=floor)
        axes.text(0.02, 0.02, f"floor: rounding, {plain(floor)} or less", transform=axes.transAxes, fontsize=8)


def _band(values: Float[np.ndarray, "runs points"]) -> Float[np.ndarray, "three points"]:
    finite = np.where(np.isfinite(values), values, np.nan)
    known = ~np.isnan(finite).all(axis=0)
    band = np.full((3, values.shape[1]), np.nan)
    band[:, known] = np.nanquantile(finite[:, known], (0.1, 0.5, 0.9), axis=0)
    return band


def _spread(k: np.ndarray, *, offset: float, count: int = 9) -> list[int]:
    """Points for markers, evenly spread on a logarithmic axis; curves that run together get theirs in turn."""
    wanted = (np.arange(count) + offset) / count * np.log(k[-1])
    return sorted(set(np.abs(np.log(k)[:, None] - wanted).argmin(axis=0).tolist()))


def _drawn(figure: Figure, alt: str) -> Drawing:
    from matplotlib import rc_context

    # Glyphs become outlines, so that the figure looks the same on every machine; no date, so that it has the same bytes.
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": alt}):
        svg, png = StringIO(), BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None}, transparent=True)
        figure.savefig(png, format="png", dpi=160, facecolor="white")
    return Drawing(svg.getvalue(), png.getvalue(), alt)


def _describe(curves: Sequence[Curve]) -> str:
    ends = [
        f"{curve.label} from {plain(np.median(curve.gap[:, 0]))} to {plain(np.median(curve.gap[:, -1]))}"
        for curve in curves
    ]
    return f"Two plots against rounds, both axes logarithmic: gap and disagreement. The gap goes: {'; '.join(ends)}."
