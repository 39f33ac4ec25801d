"""Subgradient-push: gradient descent on directed links."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.push.push_method import PushMethod, quotient, up_to_one


class Pushed(NamedTuple):
    """The estimate, the two numbers that it is the quotient of, and steps that are still to be taken."""

    x: Any
    mass: Any
    """What is shared out: its sum over the network moves by gradients only."""
    share: Any
    """How much of all masses has come together here; one on average. None where all are one for good."""
    owed: Any
    """What of all steps so far was put off."""


class PushSum(PushMethod):
    """w ← Bw, s ← Bs, x = P_X(w/s), w ← w − α∇f(x): subgradient-push [Nedić and Olshevsky 2015].

    DGD for directed links, with its decaying steps: choose it as the yardstick there, and for objectives with kinks;
    `PushDiging` for the rest. On a set it projects what it reads off and not what it keeps, as push-sum dual averaging
    does [Tsianos, Lawlor and Rabbat 2012].
    """

    name, title = "push-sum", "Subgradient-push"

    by_share: bool = eqx.field(static=True, default=True)
    """Whether an agent whose share is below one takes that part of its step only, and the rest later. A small share, of
    an agent to whom few speak or whose links have long failed, magnifies a step by 1/s. Where weights balance and words
    arrive, shares are one and nothing differs. False: as printed."""

    def init(self, agent: Agent, x: Any) -> Pushed:
        return Pushed(x, x, 0 * x[:1] + 1, 0 * x)

    def round(self, agent: Agent, state: Pushed, k: Any) -> Round:
        said = (state.mass, state.share)
        received = yield Broadcast(said)
        mass, share = agent.mix(said, received)
        x = agent.prox(quotient(mass, share), k)
        owed = state.owed + agent.step(k) * agent.gradient(x)
        taken = up_to_one(share) * owed if self.by_share else owed
        return Pushed(x, mass - taken, share, owed - taken)
