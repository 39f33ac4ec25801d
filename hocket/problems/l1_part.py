"""The l1 part of an objective, Σ_c λ_c |x_c|: found by its kinks, and stepped over by its proximal map.

A penalty such as that of the lasso is written inside a loss like everything else. A solver for smooth functions stops
beside a kink and calls that a minimum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from hocket.problems.sets import FeasibleSet, Simplex

Vector = Float[np.ndarray, " dim"]
Gradient = Callable[[Vector], Vector]

BESIDE = 1e-13
"""How far from zero the two sides of a kink are looked at."""
NUDGE = 1e-150
"""Where gradients are taken for a coordinate that is zero: what a library says at the kink itself is its own choice."""
REAL = 1e-6
"""Part of the gradient's size from which on a jump is a kink, and none is rounding or curvature."""


def l1_weights(gradient: Gradient, feasible: FeasibleSet, dim: int) -> Vector:
    """λ, a weight per coordinate whose kink lies in the set; zero where there is none, or where kinks are not of this
    form. Nothing rests on it: an optimum that was found with wrong weights gets no certificate.
    """
    draws = np.random.default_rng(0)
    chosen = draws.random(dim) < 0.5
    jumps = [_jump(gradient, feasible.project(draws.normal(size=dim)), half) for half in (chosen, ~chosen)]
    again = _jump(gradient, np.zeros(dim), np.ones(dim, dtype=bool))
    size = np.abs(gradient(np.full(dim, BESIDE))).max(initial=0.0) + np.abs(again).max(initial=0.0)
    if not all(np.isfinite(one).all() for one in (*jumps, again, size)):
        return np.zeros(dim)
    apart, floor = jumps[0] + jumps[1], REAL * (1 + size)
    low, high = feasible.bounding_box(dim)
    kinked = (apart > floor) & (low <= 0) & (high >= 0)
    same = np.abs(apart - again) <= floor
    return np.where(kinked, apart / 2, 0.0) if same[kinked].all() else np.zeros(dim)


def _jump(gradient: Gradient, x: Vector, zeroed: np.ndarray) -> Vector:
    """By how much the gradient jumps over the kinks of these coordinates, all of them at once."""
    sides = [gradient(np.where(zeroed, side * BESIDE, x)) for side in (1.0, -1.0)]
    return np.where(zeroed, sides[0] - sides[1], 0.0)


def beside_kinks(x: Vector, weights: Vector) -> Vector:
    """The same point, off every kink by nothing that counts."""
    return np.where((x == 0) & (weights > 0), NUDGE, x)


def proximal(x: Vector, weights: Vector, feasible: FeasibleSet) -> Vector:
    """The point of the set that minimises ½ ‖y − x‖² + Σ_c weights_c |y_c|.

    Exact on boxes, everywhere, on balls around zero, and on simplices, where the penalty is linear.
    """
    if not weights.any():
        return feasible.project(x)
    if isinstance(feasible, Simplex):
        return feasible.project(x - weights)
    return feasible.project(np.sign(x) * np.maximum(np.abs(x) - weights, 0.0) + 0.0)  # no −0
