"""Figures: how fast runs converge, legible in print, in black and white, and to the colour-blind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from hocket.report.tables import plain

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
"""Colour, line and marker of each curve, any one of which tells curves apart; colours after Okabe and Ito."""
LOOK = {
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.fonttype": "path",  # letters become outlines: the figure looks the same on every machine
}
LARGEST = 307
"""The power of ten at which axes end, whatever a run that diverges has reached: the next is no float64."""
DEPTH = 1e-12
"""A curve that falls below this part of the largest value leaves the figure: the rest is near rounding."""


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
    alt: str
    """What it shows, for those who cannot see it."""
    paint: Callable[[], bytes] = field(repr=False, compare=False)
    """Makes the PNG, which takes as long as all the rest, and which pages do without."""

    @cached_property
    def png(self) -> bytes:
        """The same in pixels."""
        return self.paint()

    def save(self, folder: Path, name: str) -> None:
        """Write NAME.svg and NAME.png."""
        (folder / f"{name}.svg").write_text(self.svg, encoding="utf-8")
        (folder / f"{name}.png").write_bytes(self.png)

    @property
    def inline(self) -> str:
        """The SVG for use inside a page, in the page's own text colour and its --curve-1 to --curve-5."""
        body = self.svg[self.svg.index("<svg") :].replace("<svg", '<svg aria-hidden="true"', 1)
        for place, (colour, _, _) in enumerate(STYLES):
            body = body.replace(colour, f"var(--curve-{place}, {colour})" if place else "currentColor")
        return body


def convergence(curves: Sequence[Curve]) -> Drawing:
    """Gap and disagreement against rounds, both axes logarithmic; median and 10 to 90 % band over runs."""
    return drawn(lambda figure: _lay_out(figure, curves), size=(9.6, 4.5), alt=_describe(curves))


def drawn(lay_out: Callable[[Figure], None], *, size: tuple[float, float], alt: str) -> Drawing:
    """A figure of the house style, laid out by a function, in inches; the same numbers give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # The salt makes the names inside the SVG, and so its bytes, the same on every run.
    look: dict[Any, Any] = {**LOOK, "svg.hashsalt": alt}
    with rc_context(look):
        figure = Figure(figsize=size, layout="constrained")
        lay_out(figure)
        for ground in (figure.patch, *(axes.patch for axes in figure.axes)):
            ground.set(facecolor="none", edgecolor="none")
        # Straight to the canvas: `savefig` would draw everything twice, once to find where it goes.
        FigureCanvasSVG(figure).print_svg(file := StringIO(), metadata={"Date": None})

    def paint() -> bytes:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        with rc_context(look):
            figure.set(dpi=160, facecolor="white")
            FigureCanvasAgg(figure).print_png(file := BytesIO())
        return file.getvalue()

    return Drawing(file.getvalue(), alt, paint)


def _lay_out(figure: Figure, curves: Sequence[Curve]) -> None:
    left, right = figure.subplots(1, 2, sharex=True)
    _panel(left, curves, "gap", "Gap to the optimum", r"$\max_j\ f(x_j) - f^*$   (units of the objective)")
    _panel(right, curves, "disagreement", "Disagreement", r"$\max_j\ \|x_j - \bar{x}\|$   (units of x)")
    runs = max(len(curve.gap) for curve in curves)
    if len(curves) > 1:
        figure.legend(
            *left.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=len(curves),
            handlelength=3.4,
            title=f"median and 10–90 % band of {runs} runs" if runs > 1 else None,
            title_fontsize=9,
        )


def _panel(axes: Axes, curves: Sequence[Curve], what: str, title: str, label: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
    axes.set_xlabel(r"round $k$   ($x_1$ is the start)")
    axes.set_ylabel(label)
    values = np.concatenate([getattr(curve, what).ravel() for curve in curves])
    values = values[np.isfinite(values)]
    positive = values[values > 0]
    if not positive.size:
        axes.text(
            0.5, 0.5, "zero throughout" if values.size else "not known", transform=axes.transAxes, ha="center"
        )
        axes.set_yticks([])
        return
    floor, ceiling = _decades(positive)
    axes.set(xscale="log", yscale="log", ylim=(floor, ceiling))
    for place, curve in enumerate(curves):
        _draw(axes, curve, what, place, among=len(curves), floor=floor)
    axes.grid(True, which="major", color=INK, alpha=0.12, linewidth=0.6)
    axes.minorticks_off()
    hidden = f"below {plain(floor)}" if (positive < floor).any() else "zero" if (values <= 0).any() else None
    if hidden:
        axes.text(0.02, 0.03, f"{hidden} not drawn", transform=axes.transAxes, fontsize=8.5, style="italic")


def _draw(axes: Axes, curve: Curve, what: str, place: int, *, among: int, floor: float) -> None:
    low, middle, high = _band(getattr(curve, what))
    colour, line, marker = STYLES[place % len(STYLES)]
    k = curve.rounds + 1  # after k rounds stands x_{k+1}
    if len(curve.gap) > 1:
        axes.fill_between(k, np.maximum(low, floor / 10), high, color=colour, alpha=0.16, linewidth=0)
    axes.plot(
        k,
        np.where(middle > 0, middle, np.nan),  # zero has no place on a logarithmic axis
        color=colour,
        linestyle=line,
        linewidth=1.6,
        marker=marker if among > 1 else None,
        markevery=marked_points(k, offset=place / among),
        markersize=5,
        markerfacecolor="none" if place % 2 else colour,
        label=curve.label,
    )


def _decades(positive: np.ndarray) -> tuple[float, float]:
    """Powers of ten around the values, no farther down than DEPTH, with some air above."""
    highest = np.ceil(np.log10(positive.max()))
    lowest = np.floor(np.log10(max(positive.min(), positive.max() * DEPTH)))
    return 10.0**lowest, 2 * 10.0 ** min(max(highest, lowest + 1), LARGEST)


def _band(values: Float[np.ndarray, "runs points"]) -> Float[np.ndarray, "three points"]:
    finite = np.where(np.isfinite(values), values, np.nan)
    known = ~np.isnan(finite).all(axis=0)
    band = np.full((3, values.shape[1]), np.nan)
    band[:, known] = np.nanquantile(finite[:, known], (0.1, 0.5, 0.9), axis=0)
    return band


def marked_points(x: np.ndarray, *, offset: float, count: int = 9) -> list[int]:
    """Points for markers, evenly spread on a logarithmic axis; curves that run together take turns."""
    place = np.log(x / x[0])
    wanted = (np.arange(count) + offset) / count * place[-1]
    return sorted(set(np.abs(place[:, None] - wanted).argmin(axis=0).tolist()))


def _describe(curves: Sequence[Curve]) -> str:
    ends = [
        f"{curve.label} from {plain(np.median(curve.gap[:, 0]))} to {plain(np.median(curve.gap[:, -1]))}"
        for curve in curves
    ]
    plots = "Two plots against rounds, gap and disagreement, all axes logarithmic."
    return f"{plots} The gap goes, for {'; for '.join(ends)}."
