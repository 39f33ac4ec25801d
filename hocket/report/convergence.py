"""The figure of convergence: gap and disagreement against rounds, for one run or for many of several algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.report.figures import Drawing
from hocket.report.panels import Note, Panel, PlotLine, sheet
from hocket.report.tables import plain

LARGEST = 307
"""The power of ten at which axes end, whatever a run that diverges has reached: the next is no float64."""
DEPTH = 1e-12
"""A curve that falls below this part of the largest value leaves the figure: the rest is near rounding."""
MEASURED = {
    "gap": ("Gap to the optimum", r"$\max_j\ f(x_j) - f^*$   (units of the objective)"),
    "loss": ("Loss", "loss"),
}
"""What stands on the left: the loss where the optimum is not known."""
History = Mapping[str, Any]


def convergence(histories: Mapping[str, History]) -> Drawing:
    """Gap and disagreement against rounds, both axes logarithmic; the median and the 10 to 90 % band over runs.

    By the name of each algorithm the history of its run, or of a sweep over seeds.
    """
    known = any(np.isfinite(history["gap"]).any() for history in histories.values())
    what = "gap" if known or not all("loss" in history for history in histories.values()) else "loss"
    title, up = MEASURED[what]
    row = [
        _panel(histories, what, title, up),
        _panel(histories, "disagreement", "Disagreement", r"$\max_j\ \|x_j - \bar{x}\|$   (units of x)"),
    ]
    gaps = {name: np.atleast_2d(history[what]) for name, history in histories.items()}
    ends = [
        f"{name} from {plain(np.median(gap[:, 0]))} to {plain(np.median(gap[:, -1]))}"
        for name, gap in gaps.items()
    ]
    plots = f"Two plots against rounds, {what} and disagreement, all axes logarithmic."
    runs = max(map(len, gaps.values()))
    return sheet(
        [row],
        size=(9.6, 4.5),
        alt=f"{plots} The {what} goes, for {'; for '.join(ends)}.",
        title=f"median and 10–90 % band of {runs} runs" if runs > 1 else None,
        columns=len(gaps),
    )


def _panel(histories: Mapping[str, History], what: str, title: str, up: str) -> Panel:
    across = r"round $k$   ($x_1$ is the start)"
    measured = {name: np.atleast_2d(history[what]) for name, history in histories.items()}
    values = np.concatenate([each.ravel() for each in measured.values()])
    values = values[np.isfinite(values)]
    positive = values[values > 0]
    if not positive.size:
        why = Note("zero throughout" if values.size else "not known", 0.5, 0.5, "center")
        return Panel(title, across, up, lines=[], notes=[why])
    highest = np.ceil(np.log10(positive.max()))
    lowest = np.floor(np.log10(max(positive.min(), positive.max() * DEPTH)))
    floor = 10.0**lowest
    lines: list[PlotLine] = []
    for place, (name, each) in enumerate(measured.items()):
        low, middle, high = _band(each)
        band = (np.maximum(low, floor / 10), high) if len(each) > 1 else (None, None)
        label = name if len(measured) > 1 else ""
        lines.append(PlotLine(label, np.asarray(histories[name]["round"]) + 1, middle, *band, style=place))
    hidden = f"below {plain(floor)}" if (positive < floor).any() else "zero" if (values <= 0).any() else ""
    return Panel(
        title,
        across,
        up,
        lines,
        notes=[Note(f"{hidden} not drawn", 0.02, 0.03)] if hidden else [],
        lowest=floor,
        highest=2 * 10.0 ** min(max(highest, lowest + 1), LARGEST),
    )


def _band(values: Float[np.ndarray, "runs points"]) -> Float[np.ndarray, "three points"]:
    """The 10 %, 50 % and 90 % quantiles of the finite values at each point; NaN where there are none."""
    finite = np.where(np.isfinite(values), values, np.nan)
    known = ~np.isnan(finite).all(axis=0)
    band = np.full((3, values.shape[1]), np.nan)
    band[:, known] = np.nanquantile(finite[:, known], (0.1, 0.5, 0.9), axis=0)
    return band
