"""The look of figures: legible in print, in black and white, and to the colour-blind; the same in files and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
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


def marked_points(x: np.ndarray, *, offset: float, count: int = 9) -> list[int]:
    """Points for markers, evenly spread on a logarithmic axis; curves that run together take turns."""
    place = np.log(x / x[0])
    wanted = (np.arange(count) + offset) / count * place[-1]
    return sorted(set(np.abs(place[:, None] - wanted).argmin(axis=0).tolist()))
