"""Quantiles over all members by bisection on joint counts, with no small count between two points that were asked for.

All quantiles of a column halve the same intervals. Before rows are counted at a point, members are asked whether one of
them would have 1 to `smallest_cell` − 1 rows of its own between the point and its neighbours; where one has, the
interval stays whole, and the quantile is known to its width. So whoever takes its own rows off a count, or a coalition
theirs, is left with none or with enough in each interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Total
from hocket.studies.together import Analysis

FINE = 1e-3
"""Of a standard deviation: intervals that are narrower are not halved."""


def joint_quantiles(
    values: Float[np.ndarray, " rows"],
    shares: Sequence[float],
    *,
    rows: float,
    mean: float,
    sd: float,
    smallest: int,
) -> Analysis[list[tuple[float, float]]]:
    """A quantile for each share, and how far it may be from that of the pooled rows.

    `rows`, `mean` and `sd` are those of all members together. Nobody's own value is asked for. Least and greatest
    values are not found this way, and are not shown.
    """
    share = np.array(shares, dtype=np.float64)
    # No quantile is farther from the mean, whatever the values are [Cantelli]. One interval for all: they share points.
    low = np.full_like(share, (mean - sd * np.sqrt((1 - share) / share)).min())
    high = np.full_like(share, (mean + sd * np.sqrt(share / (1 - share))).max())
    # Beyond the outer ends no row was counted: the outer intervals have no end there.
    left_end, right_end = np.full_like(share, -np.inf), np.full_like(share, np.inf)
    below, upto = np.zeros_like(share), np.full_like(share, rows)
    open_ = np.ones(len(share), dtype=bool)
    while True:
        open_ &= (high - low > FINE * sd) & (upto - below >= 2 * smallest)
        if not open_.any():
            break
        middle = (low + high) / 2
        few = [
            _few(values, left, point, smallest) or _few(values, point, right, smallest)
            for left, point, right in zip(left_end, middle, right_end, strict=True)
        ]
        refused = yield Total({"members with few rows beside a point": np.where(open_, few, 0.0)})
        open_ &= refused["members with few rows beside a point"] < 0.5
        if not open_.any():
            break
        own = (values[:, None] <= middle).sum(axis=0).astype(np.float64)
        total = yield Total({"rows up to": np.where(open_, own, 0.0)})
        count = total["rows up to"]
        left = open_ & (count >= share * rows)
        right = open_ & ~left
        high, right_end, upto = (
            np.where(left, new, old) for new, old in ((middle, high), (middle, right_end), (count, upto))
        )
        low, left_end, below = (
            np.where(right, new, old) for new, old in ((middle, low), (middle, left_end), (count, below))
        )
    # Rows spread evenly over what is left of the interval.
    place = low + (high - low) * np.clip((share * rows - below) / np.maximum(upto - below, 1.0), 0.0, 1.0)
    within = np.maximum(place - low, high - place)
    return [(float(value), float(reach)) for value, reach in zip(place, within, strict=True)]


def _few(values: Float[np.ndarray, " rows"], left: float, right: float, smallest: int) -> bool:
    return 0 < int(((values > left) & (values <= right)).sum()) < smallest
