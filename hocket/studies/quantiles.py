"""Quantiles over the rows of all members, by bisection on joint counts: nobody's own value is asked for, nor shown.

An interval is no longer halved once it holds fewer rows than a cell that may be shown, or is narrower than a
thousandth of a standard deviation. Least and greatest values are not found this way, and are not shown.
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
) -> Analysis[list[float]]:
    """A quantile for each share; `rows`, `mean` and `sd` are those of all members together."""
    share = np.array(shares, dtype=np.float64)
    # No quantile is farther from the mean, whatever the values are [Cantelli].
    low = mean - sd * np.sqrt((1 - share) / share)
    high = mean + sd * np.sqrt(share / (1 - share))
    below, upto = np.zeros_like(share), np.full_like(share, rows)
    while True:
        halved = (high - low > FINE * sd) & (upto - below >= smallest)
        if not halved.any():
            return [float(one) for one in (low + high) / 2]
        middle = (low + high) / 2
        # Those that are found go on being counted at the same place, so that a total tells nothing of who is done.
        counts = (values[:, None] <= middle).sum(axis=0).astype(np.float64)
        total = yield Total({"rows up to": counts})
        count = total["rows up to"]
        left = count >= share * rows
        high, upto = np.where(halved & left, middle, high), np.where(halved & left, count, upto)
        low, below = np.where(halved & ~left, middle, low), np.where(halved & ~left, count, below)
