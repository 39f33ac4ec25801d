"""What algorithms without noise have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Outgoing


class Noiseless(Algorithm):
    """One that adds nothing to what agents say, and needs no number to begin with: put it inside
    `FunctionSharing(inner=…)` where objectives must be hidden."""

    hides_nothing: ClassVar[bool] = True

    @classmethod
    def typical(cls, *, persistent: bool = False) -> Algorithm | None:
        return None if persistent else cls()

    def perturbation(self, agent: Agent, state: Any, outgoing: Outgoing, k: Any) -> Any:
        return 0 * state.x

    @property
    def open_anyway(self) -> str:
        return "it adds no noise, and whoever hears a member's words works its gradients out of them"

    def fix(self, *, exact: bool) -> str:
        return f"{self.name} hides nothing: plan function-sharing with {self.name} inside it"
