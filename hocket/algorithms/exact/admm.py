"""ADMM on the links: agents agree by prices on how far neighbours are apart."""

from __future__ import annotations

from typing import Any, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import PrimalDualMethod, Shape
from hocket.algorithms.parts.parameters import check_positive
from hocket.rationals import matching


class Priced(NamedTuple):
    """The estimate, and the prices of this agent's links, added up and times α: they sum to zero over the network."""

    x: Any
    price: Any


class Admm(PrimalDualMethod):
    """p ← p + θ(x − Bx), x ← P_X(x − (α∇f(x) + p + θ(x − Bx)) / (1 + 2θ)): linearised decentralised ADMM, DLM [Ling,
    Shi, Wu and Ribeiro 2015], with the weights of B for its links and each agent among its own neighbours.

    Choose it where one word of x a round is wanted and the network mixes badly: as with `Nids`, any step below 2/L will
    do. θ is the penalty of ADMM, times α. Under noise functions that bend choose `AugDgm`.
    """

    name, title = "admm", "ADMM"

    penalty: float = 1.0
    """θ = αc: how dear it is to differ from a neighbour. More of it brings agents together sooner, and moves them
    less."""

    def __check_init__(self) -> None:
        check_positive("penalty", self.penalty, "without one agents never agree")

    def init(self, agent: Agent, x: Any) -> Priced:
        return Priced(x, 0 * x)

    def round(self, agent: Agent, state: Priced, k: Any) -> Round:
        received = yield Broadcast(state.x)
        penalty = matching(self.penalty, state.x)
        apart = penalty * (state.x - agent.mix(state.x, received))
        price, share = state.price + apart, 1 / (1 + 2 * penalty)
        stepped = state.x - share * (agent.step(k) * agent.gradient(state.x) + price + apart)
        return Priced(agent.with_part(share).prox(stepped, k), price)

    def limit(self, shape: Shape) -> tuple[float, str]:
        return 2 / shape.smoothness, ""
