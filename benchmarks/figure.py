"""The table as a picture: how fast everybody is, one panel for each kind of work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, NullFormatter
from outcome import Section

OURS, THEIRS = "#0b5fa5", "#b9770e"


def draw(sections: Sequence[Section], folder: Path, about: str) -> list[Path]:
    """SVG and PNG of all sections; returns where they are."""
    heights = [len(section.rows) for section in sections]
    figure, panels = pyplot.subplots(
        len(sections),
        figsize=(8.2, 0.27 * sum(heights) + 0.85 * len(sections)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    for section, axes in zip(sections, panels[:, 0], strict=True):
        _panel(axes, section)
    figure.supxlabel(about, fontsize=7, color="0.35")
    paths = [folder / f"results.{kind}" for kind in ("svg", "png")]
    for path in paths:
        figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return paths


def _panel(axes: pyplot.Axes, section: Section) -> None:
    found = sorted(section.rows, key=lambda row: row.rate)
    rates = [row.rate for row in found]
    colours = [OURS if row.ours else THEIRS for row in found]
    # Dots, since a bar's length means nothing where the axis has no zero.
    axes.hlines(range(len(found)), min(rates) / 2.5, rates, color="0.88", linewidth=1)
    axes.scatter(rates, range(len(found)), color=colours, s=28, zorder=2)
    axes.set_yticks(range(len(found)), [row.name for row in found])
    axes.set_ylim(-0.6, len(found) - 0.4)
    axes.set_xscale("log")
    axes.set_xlim(min(rates) / 2.5, max(rates) * 6)
    axes.xaxis.set_major_formatter(FuncFormatter(_written))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for place, row in enumerate(found):
        beside = f"   {row.rate:,.3g}" if row.rate < 1000 else f"   {row.rate:,.0f}"
        if row.accuracy is not None:
            beside += f", {100 * row.accuracy:.0f} % right"
        axes.text(row.rate, place, beside, va="center", fontsize=7)
    axes.set_title(f"{section.title}: {section.unit}", loc="left", fontsize=9)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _written(value: float, _place: int) -> str:
    return f"{value / 1e6:,.0f} M" if value >= 1e6 else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
