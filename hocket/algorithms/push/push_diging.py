"""Push-DIGing: gradient tracking on directed links."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import SMALL
from hocket.algorithms.push.push_method import PushMethod, quotient, up_to_one
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.steps import Derived, Step


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

    name, title = "push-diging", "Push-DIGing"

    by_share: bool = eqx.field(static=True, default=True)
    """Whether an agent whose share is below one takes that part of its step only: α min(1, s) y. A small share, of an
    agent to whom few speak or whose links have long failed, magnifies a step by 1/s. Where weights balance and words
    arrive, shares are one and nothing differs. False: as printed."""

    def configure(
        self, problem: Problem, network: Network, step: Step | None, *, added: float = 0.0
    ) -> tuple[Self, Step]:
        if step is not None:
            return self, step
        smoothness = problem.constants().N
        if network.period > 1 or network.n > SMALL or smoothness is None or smoothness + added <= 0:
            raise BadAlgorithm(
                f"the step of {self.title} is derived from how much objectives bend and from the spectrum of weights "
                f"that stay, of {SMALL} agents at most; declare smoothness= of the problem, or give step="
            )
        second = float(np.sort(np.abs(np.linalg.eigvals(network.B)))[-2])
        bends = smoothness + added
        why = f"a rule of thumb from L̂ = {bends:.4g} and the second eigenvalue {second:.4g} of the weights"
        return self, Derived((1 - second) / 2 / bends, why=why)

    def init(self, agent: Agent, x: Any) -> PushTracked:
        gradient = agent.gradient(x)
        return PushTracked(x, x, 0 * x[:1] + 1, gradient, gradient)

    def round(self, agent: Agent, state: PushTracked, k: Any) -> Round:
        part = up_to_one(state.share) if self.by_share else 1
        said = (state.mass - agent.step(k) * part * state.y, state.share, state.y)
        received = yield Broadcast(said)
        mass, share, y = agent.mix(said, received)
        x = agent.prox(quotient(mass, share), k)
        gradient = agent.gradient(x)
        return PushTracked(x, mass, share, y + gradient - state.gradient, gradient)
