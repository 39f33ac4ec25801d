"""Joint averaging: everybody steps from the common point, and all are shown the average and nothing else."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Spoken, Total


class Stepped(NamedTuple):
    """The common point, and where this agent's own steps lead from it."""

    x: Any
    own: Any


class JointAverage(Algorithm):
    """Own steps from a point that all have, then the exact average of what came of them.

    Choose it where a few members train or fit together and can afford a sum over all of them in every round: it
    converges as with a server, and without one; nobody sees anything but the average. Over links the sum is masked in
    a finite group, so that what honest members that hang together say is uniform but for their sum. What the sum
    itself tells is all there is to learn.
    """

    key: ClassVar[str] = "joint-average"
    label: ClassVar[str] = "Joint average"
    in_words: ClassVar[str] = "joint averaging"
    sums: ClassVar[bool] = True
    averages: ClassVar[bool] = True

    @classmethod
    def typical(cls, *, anchored: bool = False) -> JointAverage | None:
        return None if anchored else cls()

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        total = yield Total(state.own)
        mean = total / agent.members
        return Stepped(mean, agent.descend(mean, k))

    def setup(self, agent: Agent, x: Any) -> Stepped:
        return Stepped(x, x)

    def perturbation(self, agent: Agent, state: Any, spoken: Spoken, k: Any) -> Any:
        return 0 * state.x
