"""The figure: what attacks reconstruct, and below it what anchors do and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.experiments.privacy.anchor_panels import anchor_panels
from hocket.experiments.privacy.reconstruction_panels import reconstruction_panels
from hocket.experiments.privacy.runs import Privacy
from hocket.report.figures import Drawing, drawn
from hocket.report.tables import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        f"{', '.join(exact)}. Below, three plots about anchors: how their scaling matters, how many runs average them "
        "away unless they are kept, and the gap they leave at a constant step."
    )
