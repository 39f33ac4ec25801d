"""Gradient tracking: agents agree on the average gradient as well as on x."""

from __future__ import annotations

from typing import Any, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import Shape, TrackingMethod


class Tracked(NamedTuple):
    """The estimate, the tracked average gradient, and this agent's own gradient at x."""

    x: Any
    y: Any
    gradient: Any


class GradientTracking(TrackingMethod):
    """x ← P_X(Bx − αy), y ← By + ∇f(new x) − ∇f(old x): DIGing [Nedić, Olshevsky and Shi 2017].

    Choose it where one exchange in a round is dear: it says x and y together. `AugDgm` bears larger steps, and noise
    functions that bend.
    """

    name, title = "gradient-tracking", "DIGing"

    def init(self, agent: Agent, x: Any) -> Tracked:
        gradient = agent.gradient(x)
        return Tracked(x, gradient, gradient)

    def round(self, agent: Agent, state: Tracked, k: Any) -> Round:
        said = (state.x, state.y)
        received = yield Broadcast(said)
        v, y = agent.mix(said, received)
        x = agent.prox(v - agent.step(k) * state.y, k)
        gradient = agent.gradient(x)
        return Tracked(x, y + gradient - state.gradient, gradient)

    def bold_step(self, shape: Shape) -> float:
        # Its own step is not mixed before it is taken: on graphs that mix at once it bears half of what AugDGM does.
        return min(0.4 / shape.smoothness, super().bold_step(shape))

    def contraction(self, slack: float, condition: float) -> tuple[float, float, float]:
        return 1 + condition, 2 + slack, slack**2
