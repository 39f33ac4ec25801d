"""What algorithms without noise have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Spoken


class Noiseless(Algorithm):
    """One that adds nothing to what agents say, and needs no number to begin with: put it inside
    `FunctionSharing(inner=…)` where objectives must be hidden."""

    hides_nothing: ClassVar[bool] = True

    @classmethod
    def typical(cls, *, anchored: bool = False) -> Algorithm | None:
        return None if anchored else cls()

    def perturbation(self, agent: Agent, state: Any, spoken: Spoken, k: Any) -> Any:
        return 0 * state.x

    @property
    def open_anyway(self) -> str:
        return "it adds no noise, and whoever hears a member's words works its gradients out of them"

    def cure(self, *, exact: bool) -> str:
        return f"{self.name} hides nothing: plan function-sharing with {self.name} inside it"
