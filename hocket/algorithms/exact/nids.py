"""NIDS: EXTRA with a step that the network does not limit."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import PrimalDualMethod, Shape


class Differenced(NamedTuple):
    """The estimate, where the last gradient step led to, and the correction: it sums to zero over the network."""

    x: Any
    stepped: Any
    correction: Any


class Nids(PrimalDualMethod):
    """h = x − α∇f(x), u = h + x − (old h), c ← c + (Bu − u)/2, x ← P_X(h + c) [Li, Shi and Yan 2019].

    Choose it for objectives that differ in smoothness or networks that mix slowly: any step below 2/L will do, whatever
    the network is. Under noise functions that bend choose `AugDgm`.
    """

    name, title = "nids", "NIDS"

    first_alone: ClassVar[bool] = True
    """Whether the first step is an agent's own, before anything was received."""

    def init(self, agent: Agent, x: Any) -> Differenced:
        return Differenced(x, x, 0 * x)

    def round(self, agent: Agent, state: Differenced, k: Any) -> Round:
        stepped = state.x - agent.step(k) * agent.gradient(state.x)
        u = stepped + state.x - state.stepped
        received = yield Broadcast(u)
        pulled = (agent.mix(u, received) - u) / 2
        correction = state.correction + (pulled * (k > 1) if self.first_alone else pulled)
        return Differenced(agent.prox(stepped + correction, k), stepped, correction)

    def limit(self, shape: Shape) -> tuple[float, str]:
        return 2 / shape.smoothness, ""
