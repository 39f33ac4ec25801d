"""EXTRA: gradient descent that remembers how far agents have disagreed."""

from __future__ import annotations

from typing import Any, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import PrimalDualMethod, Shape


class Corrected(NamedTuple):
    """The estimate, and half of all that it was pulled by so far: it sums to zero over the network."""

    x: Any
    correction: Any


class Extra(PrimalDualMethod):
    """x ← P_X(Bx − α∇f(x) + c), c ← c + (Bx − x)/2: EXTRA, with a set PG-EXTRA [Shi, Ling, Wu and Yin 2015].

    Choose it where every exchange counts: one array a round, one gradient. The published recursion is in differences of
    two rounds; summed up it is this. Its step must suit the network; under noise functions that bend choose `AugDgm`.
    """

    name, title = "extra", "EXTRA"

    def init(self, agent: Agent, x: Any) -> Corrected:
        return Corrected(x, 0 * x)

    def round(self, agent: Agent, state: Corrected, k: Any) -> Round:
        received = yield Broadcast(state.x)
        v = agent.mix(state.x, received)
        stepped = v - agent.step(k) * agent.gradient(state.x) + state.correction
        return Corrected(agent.prox(stepped, k), state.correction + (v - state.x) / 2)

    def limit(self, shape: Shape) -> tuple[float, str]:
        least = shape.least_eigenvalue
        return 2 * least / shape.smoothness, f" and the least eigenvalue {least:.4g} of (I + B)/2"
