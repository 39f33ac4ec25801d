"""Any smooth convex loss, minimised over the rows of all members by L-BFGS on totals of its value and gradient.

The loss may be written with NumPy, JAX or PyTorch: what counts is a function from a point to this member's own value
and gradient. Exchanges are counted in tens, where gossip needs thousands of rounds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithm import SecureSum
from hocket.errors import NotEstimable
from hocket.studies.together import Analysis

Vector = Float[np.ndarray, " dim"]
Loss = Callable[[Vector], tuple[float, Vector]]
"""This member's value and gradient at a point; the joint loss is their sum."""
DECREASE, FLATTER = 1e-4, 0.9
"""By how much a step must lower the value, and flatten its slope [Armijo; Wolfe]."""


@dataclass(frozen=True)
class Minimum:
    """Where the joint loss is smallest, the same at every member."""

    x: Vector
    value: float
    slope: float
    """The gradient's largest entry there."""
    totals: int


def minimise(
    loss: Loss, start: Vector, *, tolerance: float = 1e-9, memory: int = 20, most: int = 1_000, bits: int = 64
) -> Analysis[Minimum]:
    """The minimum of the sum of all members' losses; `start` must be the same at all members.

    Ends where no entry of the joint gradient is above `tolerance` times the larger of 1 and the value at the start.
    """
    joint = _Joint(loss, bits, most)
    x = np.array(start, dtype=np.float64)
    value, gradient = yield from joint.at(x)
    goal = tolerance * max(1.0, abs(value))
    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=memory)
    while np.abs(gradient).max(initial=0.0) > goal:
        direction = -_rescaled(gradient, pairs)
        first = 1.0 if pairs else min(1.0, 1.0 / float(np.abs(gradient).sum()))
        step, after, slope = yield from _searched(joint, x, value, gradient, direction, first)
        if step == 0.0:  # rounding alone is left
            break
        move, change = step * direction, slope - gradient
        if float(move @ change) > 1e-300:
            pairs.append((move, change))
        x, value, gradient = x + move, after, slope
    return Minimum(x, value, float(np.abs(gradient).max(initial=0.0)), joint.totals)


class _Joint:
    """The joint loss, which counts how often it was asked for."""

    def __init__(self, loss: Loss, bits: int, most: int):
        self.loss, self.bits, self.most, self.totals = loss, bits, most, 0

    def at(self, x: Vector) -> Analysis[tuple[float, Vector]]:
        if self.totals == self.most:
            raise NotEstimable(
                f"no minimum in {self.most} totals: scale the columns, or see whether the loss is convex and has one"
            )
        value, gradient = self.loss(x)
        total = yield SecureSum(
            {"value": np.array([float(value)]), "gradient": np.asarray(gradient, dtype=np.float64)},
            bits=self.bits,
        )
        self.totals += 1
        return float(total["value"][0]), total["gradient"]


def _rescaled(gradient: Vector, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """The gradient times an estimate of the inverse curvature [two loops over what was seen]."""
    if not pairs:
        return gradient
    q, shares = gradient.copy(), list[float]()
    for move, change in reversed(pairs):
        share = float(move @ q) / float(move @ change)
        shares.append(share)
        q -= share * change
    move, change = pairs[-1]
    q *= float(move @ change) / float(change @ change)
    for (move, change), share in zip(pairs, reversed(shares), strict=True):
        q += move * (share - float(change @ q) / float(move @ change))
    return q


def _searched(
    joint: _Joint, x: Vector, value: float, gradient: Vector, direction: Vector, step: float
) -> Analysis[tuple[float, float, Vector]]:
    """A step that lowers the value and flattens the slope, by bisection; 0 where none does."""
    downhill = float(gradient @ direction)
    low, high = 0.0, np.inf
    rounding = 1e-14 * max(1.0, abs(value))
    for _ in range(40):
        after, slope = yield from joint.at(x + step * direction)
        if not after <= value + DECREASE * step * downhill + rounding:
            high = step
        elif float(slope @ direction) < FLATTER * downhill:
            low = step
        else:
            return step, after, slope
        step = (low + high) / 2 if np.isfinite(high) else 2 * step
    if not np.isfinite(high):
        raise NotEstimable("the loss falls without end along a line: it has no minimum")
    return 0.0, value, gradient
