"""Push-DIGing: gradient tracking on directed links."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Round, Say
from hocket.algorithms.push_method import PushMethod


class PushTracked(NamedTuple):
    """The estimate, what it is the quotient of, the tracked gradient, and this agent's own gradient at x."""

    x: Any
    mass: Any
    share: Any
    y: Any
    gradient: Any


class PushDiging(PushMethod):
    """u ← B(u − αy), s ← Bs, x = P_X(u/s), y ← By + ∇f(new x) − ∇f(old x) [Nedić, Olshevsky and Shi 2017].

    Choose it on directed links and in weather: a constant step, the optimum itself, gaps that fall by a factor in every
    round. Objectives should be strongly convex together. On a set it projects what it reads off, which is measured and
    not proved.
    """

    key: ClassVar[str] = "push-diging"
    label: ClassVar[str] = "Push-DIGing"

    def setup(self, agent: Agent, x: Any) -> PushTracked:
        gradient = agent.gradient(x)
        return PushTracked(x, x, 0 * x[:1] + 1, gradient, gradient)

    def round(self, agent: Agent, state: PushTracked, k: Any) -> Round:
        said = (state.mass - agent.step(k) * state.y, state.share, state.y)
        heard = yield Say(said)
        mass, share, y = agent.mix(said, heard)
        x = agent.prox(mass / share, k)
        gradient = agent.gradient(x)
        return PushTracked(x, mass, share, y + gradient - state.gradient, gradient)
