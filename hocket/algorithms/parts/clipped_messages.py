"""Messages that show a clipped gradient under noise, and nothing else of an agent's data.

A message is v + α (noise − g): where the agent was told to be, which follows from messages alone, and one sum. If noise
and g are whole numbers of one grid that sum is exact in floating point, and all that rounding does to a message it does
to what is certified anyway. Computed as x + α noise, with x = v − α g rounded by itself, the last bits can tell two
gradients apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.errors import BadAlgorithm

SLACK = 1 - 1e-12
"""Of the norm: more than rounding can add to a length, so that what is cut is never longer than it may be."""


class ClippedState(NamedTuple):
    """What an agent keeps from round to round."""

    x: Any
    """Its state, v − α g, which stays at home."""
    v: Any
    """What it mixed: an eavesdropper on all links knows it."""
    gradient: Any
    """g: the way of its last step, over α, cut to length and put on the grid."""


def first(x: Any) -> ClippedState:
    """Before round 1 nothing was descended: the start is public."""
    return ClippedState(x, x, 0 * x)


def clipped_round(agent: Agent, state: ClippedState, k: Any, clip: float, grid: float | None) -> Round:
    """One round of certified RSS-NB, which sends the clipped gradient of the last step under noise and nothing else."""
    if grid is not None and state.x.dtype != "float64":
        raise BadAlgorithm(f"grid = {grid:g} takes float64, and states here are {state.x.dtype}")
    noise, own = agent.noise("paired"), agent.noise("own")
    if own is not None:
        noise = noise + own
    w = state.v + agent.step(k - 1) * (noise - state.gradient)  # one exact sum, and then what is public
    received = yield Broadcast(w)
    v = agent.feasible.project(agent.mix(w, received))
    moved = agent.descend(v, k, project="mixed")
    gradient = cut((v - moved) / agent.step(k), clip, grid)
    return ClippedState(v - agent.step(k) * gradient, v, gradient)


def cut(way: Any, norm: float | None, unit: float | None) -> Any:
    """A vector no longer than `norm`, with every number rounded towards zero to a multiple of `unit`."""
    if way.dtype == object:
        raise BadAlgorithm(
            "a length is a square root, which fractions have not; leave clip= out, or take floats"
        )
    xp = way.__array_namespace__()
    if norm is not None:
        length = xp.sqrt(xp.sum(way * way))
        # Beyond all numbers nothing has a length; a word that is no number would show that a record led there.
        finite = xp.isfinite(length)
        way = xp.where(finite, way, xp.zeros_like(way))
        length = xp.where(finite, length, xp.zeros_like(length))
        way = way * xp.minimum(xp.ones_like(length), norm * SLACK / xp.maximum(length, 1e-300 + 0 * length))
    return way if unit is None else xp.trunc(way / unit) * unit
