"""The centralised baseline: all data in one place."""

from __future__ import annotations

from typing import Any

from hocket.agent import Agent
from hocket.algorithm import Algorithm
from hocket.networks.network import Network
from hocket.problems.problem import Problem


class Centralised(Algorithm):
    """Projected gradient descent on (1/n) Σ_j f_j over the pooled data (SGD-C).

    What could be had if everybody trusted one server; divided by n so that its step compares with an agent's.
    """

    name, title = "centralised", "centralised"

    def round(self, agent: Agent, state: Any, k: Any) -> Any:
        return agent.descend(state, k)

    def arrange(self, problem: Problem, network: Network) -> tuple[Problem, Network]:
        return problem.pooled(), Network.single()
