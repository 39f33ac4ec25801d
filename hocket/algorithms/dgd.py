"""DGD: plain decentralised gradient descent."""

from __future__ import annotations

from typing import Any

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round


class Dgd(Algorithm):
    """Decentralised gradient descent; hides nothing [paper, Alg. 0].

    The yardstick: what the others are compared with, in convergence and in what neighbours learn.
    """

    name, title = "dgd", "DGD"

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        received = yield Broadcast(state)
        return agent.descend(agent.mix(state, received), k)
