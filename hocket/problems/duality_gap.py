"""How far below a point's value a convex function can go: a bound that is proved, whatever found the point.

A convex function lies above every one of its tangents, and above every average of them. The least value of such an
average over the set is a lower bound on the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from hocket.problems.sets import FeasibleSet, Simplex

Vector = Float[np.ndarray, " dim"]
Function = Callable[[Vector], tuple[float, Vector]]

REACH = 2.0
"""How far around x, in units of 1 + ‖x‖, better points are looked for where the set is larger than that."""
BESIDE = 1e-14
"""How far beside a kink its tangents are taken, in the same units."""
MOST_TANGENTS = 2000


def duality_gap(function: Function, x: Vector, feasible: FeasibleSet, weights: Vector) -> float:
    """No point of the set within REACH (1 + ‖x‖) of x has a value that is lower than that at x by more than this.

    By convexity a point D times as far off is lower by at most D times as much. `function` gives value and gradient,
    and is convex on the set; `weights` are those of its l1 part, at whose kinks one tangent would not do.
    """
    tangents = _tangents(function, x, feasible, weights)
    slope = sum((share * gradient for share, _, _, gradient in tangents), np.zeros(len(x)))
    height = sum(share * (value + gradient @ (x - at)) for share, at, value, gradient in tangents)
    gap = function(x)[0] - height + slope @ x - _least(slope, x, feasible)
    return max(float(gap), 0.0) if np.isfinite(gap) else float("inf")


def _tangents(
    function: Function, x: Vector, feasible: FeasibleSet, weights: Vector
) -> list[tuple[float, Vector, float, Vector]]:
    """Shares that sum to one, points, values and gradients: of x itself, or of all sides of the kinks that it is on.

    A share of (1 + θ)/2 to the right of a kink gives slope + λθ; θ is chosen such that this is zero.
    """
    kinks = (x == 0) & (weights > 0)
    beside = BESIDE * (1 + np.linalg.norm(x))
    if not kinks.any():
        return [(1.0, x, *function(x))]
    right = np.where(kinks, beside, x)
    smooth = function(right)[1] - np.where(kinks, weights, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(kinks, np.clip((1 - smooth / weights) / 2, 0.0, 1.0), 1.0)
    low, high = feasible.bounding_box(len(x))
    shares = np.where(kinks & (low >= 0), 1.0, np.where(kinks & (high <= 0), 0.0, shares))
    marks = np.unique(np.concatenate([[0.0, 1.0], shares[kinks]]))
    if len(marks) > MOST_TANGENTS:
        return [(1.0, x, *function(x))]
    found = []
    for left, end in pairwise(marks):
        side = np.where(shares >= end, beside, -beside)
        at = feasible.project(np.where(kinks, side, x))
        found.append((float(end - left), at, *function(at)))
    return found


def _least(slope: Vector, x: Vector, feasible: FeasibleSet) -> float:
    """A bound from below on slope · y over the points y of the set that are not too far from x; the best of several."""
    reach = REACH * (1 + np.linalg.norm(x))
    low, high = feasible.bounding_box(len(x))
    low, high = np.maximum(low, x - reach), np.minimum(high, x + reach)
    bounds = [np.where(slope > 0, slope * low, slope * high).sum(), slope @ x - reach * np.linalg.norm(slope)]
    center, radius = feasible.enclosing_ball(len(x))
    if np.isfinite(radius):
        bounds.append(slope @ center - radius * np.linalg.norm(slope))
    if isinstance(feasible, Simplex):
        bounds.append(feasible.bounding_box(len(x))[1][0] * slope.min())
    return float(max(bounds))
