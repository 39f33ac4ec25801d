"""AugDGM: gradient tracking in which what is said has been stepped already."""

from __future__ import annotations

from typing import Any

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import TrackingMethod
from hocket.algorithms.exact.gradient_tracking import Tracked


class AugDgm(TrackingMethod):
    """w = P_X(x − αy), x ← Bw, y ← B(y + ∇f(new x) − ∇f(old x)) [Xu, Zhu, Soh and Xie 2015].

    Choose it first: it needs tens of rounds where DGD needs thousands, bears the largest steps of those that track
    gradients, and is the one to put inside function sharing whose noise bends.
    """

    name, title = "aug-dgm", "AugDGM"

    def init(self, agent: Agent, x: Any) -> Tracked:
        gradient = agent.gradient(x)
        return Tracked(x, gradient, gradient)

    def round(self, agent: Agent, state: Tracked, k: Any) -> Round:
        w = agent.prox(state.x - agent.step(k) * state.y, k)
        received = yield Broadcast(w)
        x = agent.mix(w, received)
        gradient = agent.gradient(x)
        tracked = state.y + gradient - state.gradient
        received = yield Broadcast(tracked)
        return Tracked(x, agent.mix(tracked, received), gradient)

    def contraction(self, slack: float, condition: float) -> tuple[float, float, float]:
        rest = 1 - slack
        return rest**2 * (1 + condition), rest * (1 + rest), slack**2
