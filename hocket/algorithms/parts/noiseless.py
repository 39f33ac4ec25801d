"""What algorithms without noise have in common."""

from __future__ import annotations

from typing import Any

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Outgoing


class Noiseless(Algorithm):
    """One that adds nothing to what agents send, and needs no number to begin with: put it inside
    `FunctionSharing(inner=…)` where objectives must be hidden."""

    def perturbation(self, agent: Agent, state: Any, outgoing: Outgoing, k: Any) -> Any:
        return 0 * state.x
