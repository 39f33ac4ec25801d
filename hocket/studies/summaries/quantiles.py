"""Quantiles over all members by bisection on joint counts, with no small count between two points that were asked for.

All quantiles of a column halve the same intervals, at points that halve what a normal column has in them. Before rows
are counted at a point, members are asked whether one of them would have 1 to `smallest_cell` − 1 rows of its own
between the point and its neighbours. Where one has, the interval stays whole, and the quantile is known to its width.
So a member that takes its own rows off a count, or a coalition theirs, is left with none or with enough in each. A vote
below 0 would take another's off: each member holds the sum of the others' against 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from hocket.algorithm import SecureSum
from hocket.errors import NotEstimable
from hocket.studies.disclosure.steering import CULPRIT
from hocket.studies.together import Analysis

FINE = 1e-3
"""Of a standard deviation: intervals that are narrower are not halved."""
MOST_HALVINGS = 16
"""Of one interval, two secure sums each. Without a limit a far tail takes a thousand, or never ends: beyond 8 standard
deviations a normal column has nothing left to halve."""
ROUNDED = 1e-3
"""By how much a sum of votes may differ from a whole number, at most."""
FUZZ = 1e-12
"""By what part a share of the rows may be above a count from rounding alone: 0.55 of 100 is 55.00000000000001."""
EDGE = 1e-9
"""How near to an interval's ends a quantile is looked for, as a part of its rows."""


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

    It is the smallest value up to which at least the share of the rows lies [type 1 of Hyndman and Fan].
    `rows`, `mean` and `sd` are those of all members together. Nobody's own value is asked for. Least and greatest
    values are not found this way, and are not shown.
    """
    share = np.array(shares, dtype=np.float64)
    # Halves of what a normal column has: about as many rows lie in each, and all quantiles share the points.
    left, right = np.zeros_like(share), np.ones_like(share)
    below, upto = np.zeros_like(share), np.full_like(share, rows)
    # No quantile is farther from the mean, whatever the values are [Cantelli].
    least, most = mean - sd * np.sqrt((1 - share) / share), mean + sd * np.sqrt(share / (1 - share))

    def ends() -> tuple[np.ndarray, np.ndarray]:
        return np.maximum(least, mean + sd * ndtri(left)), np.minimum(most, mean + sd * ndtri(right))

    halved = np.ones(len(share), dtype=bool)
    for _ in range(MOST_HALVINGS):
        low, high = ends()
        halved &= (high - low > FINE * sd) & (upto - below >= 2 * smallest)
        if not halved.any():
            break
        middle = (left + right) / 2
        points = [mean + sd * ndtri(one) for one in (left, middle, right)]
        few = [
            _few(values, start, point, smallest) or _few(values, point, end, smallest)
            for start, point, end in zip(*points, strict=True)
        ]
        vote = np.where(halved, few, 0.0)
        refused = yield SecureSum({"members with few rows beside a point": vote})
        votes = refused["members with few rows beside a point"]
        if (votes - vote < -ROUNDED).any():
            raise NotEstimable(
                "the others' votes on where few rows lie are below 0 in sum, and would take this member's off: "
                f"{CULPRIT}"
            )
        halved &= votes < 0.5
        if not halved.any():
            break
        own = (values[:, None] <= points[1]).sum(axis=0).astype(np.float64)
        total = yield SecureSum({"rows up to": np.where(halved, own, 0.0)})
        count = total["rows up to"]
        lower = count >= share * rows * (1 - FUZZ)
        right, upto = np.where(halved & lower, middle, right), np.where(halved & lower, count, upto)
        left, below = np.where(halved & ~lower, middle, left), np.where(halved & ~lower, count, below)
    low, high = ends()
    # Within what is left of the interval rows are taken to lie as a normal column's would.
    part = np.clip((share * rows - below) / np.maximum(upto - below, 1.0), EDGE, 1 - EDGE)
    place = np.clip(mean + sd * ndtri(left + (right - left) * part), low, high)
    within = np.maximum(place - low, high - place)
    return [(float(value), float(reach)) for value, reach in zip(place, within, strict=True)]


def _few(values: Float[np.ndarray, " rows"], left: float, right: float, smallest: int) -> bool:
    return 0 < int(((values > left) & (values <= right)).sum()) < smallest
