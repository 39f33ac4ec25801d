"""Training alone: what an agent can do without the others."""

from __future__ import annotations

from typing import Any

from hocket.agent import Agent
from hocket.algorithm import Algorithm


class Alone(Algorithm):
    """Every agent descends on its own data and says nothing.

    A baseline: what joining is worth. Perfectly private, and as good as one shard allows.
    """

    def round(self, agent: Agent, state: Any, k: Any) -> Any:
        return agent.descend(state, k)
