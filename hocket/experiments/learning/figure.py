"""The figure: accuracy against epochs on both networks, and below it accuracy against noise."""

from __future__ import annotations

import numpy as np

from hocket.experiments.learning.methods import CANCELLING, DGD, FS, INDEPENDENT, LB, NB, SGD_C
from hocket.experiments.learning.outcomes import Found, name_of
from hocket.report.figures import Drawing
from hocket.report.panels import Guide, Line, Note, Panel, sheet

SHOWN = 8
"""Points of a per cent that a panel shows."""
STYLES = {DGD: 0, NB: 1, LB: 2, FS: 3, SGD_C: 4, INDEPENDENT: 5}


def drawing(found: Found) -> Drawing | None:
    """A panel for each network, and one for the noise where that was varied; None where there is nothing to draw."""
    panels = [[_epochs(found, network) for network in found.size.networks], [_noise(found)]]
    rows = [drawn for row in panels if (drawn := [panel for panel in row if panel.lines])]
    if not rows:
        return None
    title = f"mean over agents; median and 10–90 % band of {found.size.seeds} seeds; thin: less noise, thick: more"
    return sheet(rows, size=(9.6, 4.6 * len(rows)), alt=_alt(found), title=title)


def _epochs(found: Found, network: str) -> Panel:
    lines = []
    compared = [(SGD_C, 0.0), (DGD, 0.0), *((m, level) for m in CANCELLING for level in found.size.levels)]
    for method, level in compared:
        summary = found.of(method, level, network=network)
        if summary is not None and summary.curves.shape[1] > 1:  # one that diverged at once has no curve
            curves = summary.curves[:, 1:]  # at the start everybody guesses
            lines.append(
                Line.over_runs(
                    name_of(method, level),
                    np.array(summary.outcomes[0].epochs[1 : 1 + curves.shape[1]]),
                    curves,
                    style=STYLES[method],
                    strong=level != found.size.levels[0],
                )
            )
    return Panel(
        title=f"{found.subject.title}, {network}, equal shards",
        across="epochs",
        up="accuracy on held-out data, %",
        lines=lines,
        lowest=_lowest(lines),
        linear="both",
    )


def _noise(found: Found) -> Panel:
    lines = []
    for method in (*CANCELLING, INDEPENDENT):
        levels = found.levels(method)
        if len(levels) > 2:
            reached = np.stack([s.reached for level in levels if (s := found.of(method, level)) is not None])
            lines.append(Line.over_runs(method, np.array(levels), reached.T, style=STYLES[method]))
    plain = found.of(DGD)
    guides = []
    if lines and plain is not None:
        guides = [Guide(lines[0].x[[0, -1]], np.full(2, plain.mean), "DGD")]
    lowest = _lowest(lines)
    steep = any(line.y.min() < lowest for line in lines)
    return Panel(
        title=f"Accuracy against noise, {found.size.networks[0]}",
        across="noise per coordinate and local step, over the rms of a gradient",
        up="accuracy at the end, %",
        lines=lines,
        guides=guides,
        notes=[Note("lines that leave the panel: see the table", 0.98, 0.03, "right")] if steep else [],
        lowest=lowest,
        linear="up",
        legend="lower left",
    )


def _lowest(lines: list[Line]) -> float:
    """Some points below the best that was reached, so that ends can be told apart; what fails leaves the panel."""
    return max((float(line.y.max()) for line in lines), default=100.0) - SHOWN


def _alt(found: Found) -> str:
    ends = [
        f"{name_of(method, level)} {summary.mean:.2f} %"
        for method in (SGD_C, DGD, *CANCELLING)
        for level in (found.size.levels if method in CANCELLING else (0.0,))
        if (summary := found.of(method, level)) is not None
    ]
    return (
        f"Accuracy against epochs on {found.subject.title}, five agents. At the end, on "
        f"{found.size.networks[0]}: {'; '.join(ends)}. Below, accuracy against noise."
    )
