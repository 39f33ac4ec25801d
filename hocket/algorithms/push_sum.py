"""Subgradient-push: gradient descent on directed links."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from hocket.agent import Agent
from hocket.algorithm import Round, Say
from hocket.algorithms.push_method import PushMethod


class Pushed(NamedTuple):
    """The estimate, and the two numbers that it is the quotient of."""

    x: Any
    mass: Any
    """What is shared out: its sum over the network moves by gradients only."""
    share: Any
    """How much of all masses has come together here; one on average."""


class PushSum(PushMethod):
    """w ← Bw, s ← Bs, x = P_X(w/s), w ← w − α∇f(x): subgradient-push [Nedić and Olshevsky 2015].

    DGD for directed links, with its decaying steps: choose it as the yardstick there, and for objectives with kinks;
    `PushDiging` for the rest. On a set it projects what it reads off and not what it keeps, as push-sum dual averaging
    does [Tsianos, Lawlor and Rabbat 2012].
    """

    key: ClassVar[str] = "push-sum"
    label: ClassVar[str] = "Subgradient-push"
    in_words: ClassVar[str] = "subgradient-push"

    def setup(self, agent: Agent, x: Any) -> Pushed:
        return Pushed(x, x, 0 * x[:1] + 1)

    def round(self, agent: Agent, state: Pushed, k: Any) -> Round:
        said = (state.mass, state.share)
        heard = yield Say(said)
        mass, share = agent.mix(said, heard)
        x = agent.prox(mass / share, k)
        return Pushed(x, mass - agent.step(k) * agent.gradient(x), share)
