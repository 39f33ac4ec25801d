"""A figure of what stays unknown as rounds go by: the uncertainty about whoever is known best."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hocket.privacy import Leakage
from hocket.report.figures import Drawing
from hocket.report.numbers import plain
from hocket.report.panels import Line, Note, Panel, sheet

LITTLE = 1e-12
"""Of the prior: an uncertainty below this is drawn as none."""


def leakage_figure(estimates: Mapping[str, Leakage]) -> Drawing | None:
    """How closely the best known gradient is known, a line for each estimate; None where all are known at once."""
    lines, known = [], []
    for style, (label, found) in enumerate(estimates.items()):
        rounds, least = _best_known(found)
        hidden = least > LITTLE * found.prior
        if hidden.any():
            last = int(np.flatnonzero(hidden)[-1]) + 1
            lines.append(Line(label, rounds[:last], least[:last], style=style))
        if not hidden[-1]:
            known.append(f"{label}: known exactly from round {rounds[np.argmin(hidden)]} on")
    if not lines:
        return None
    low, high = _decades(np.concatenate([line.y for line in lines]))
    prior = max(found.prior for found in estimates.values())
    panel = Panel(
        title="What stays unknown of the best known gradient",
        across=r"round $k$",
        up="standard deviation\n(units of a gradient)",
        lines=lines,
        notes=[Note("\n".join(known), 0.02, 0.04)],
        lowest=low,
        highest=high,
    )
    ends = [f"{line.label} from {plain(float(line.y[0]))} to {plain(float(line.y[-1]))}" for line in lines]
    alt = (
        "What a listener does not know of the gradient it knows best, as a standard deviation, against rounds, both "
        f"axes logarithmic; before anything is heard it is {plain(prior)}. It goes, for {'; for '.join(ends)}."
        + (f" {'; '.join(known)}." if known else "")
    )
    return sheet([[panel]], size=(9.6, 3.6), alt=alt)


def _decades(values: np.ndarray) -> tuple[float, float]:
    """Powers of ten with some air around all values."""
    return 10.0 ** np.floor(np.log10(values.min() / 2)), 10.0 ** np.ceil(np.log10(values.max() * 2))


def _best_known(found: Leakage) -> tuple[np.ndarray, np.ndarray]:
    rounds, sd = found.history["round"], found.history["sd"]
    return rounds, sd[:, list(found.honest)].min(axis=1)
