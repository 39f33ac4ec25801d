"""RSS-NB with momentum: the noise of one algorithm, the descent of another."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import hocket as hk
from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.noise import Draw


class Rolling(NamedTuple):
    """An agent's estimate, and its last move."""

    x: Any
    move: Any


class HeavyBall(Algorithm):
    """Descent with momentum (Polyak, 1964) under RSS-NB's noise; a candidate, about which nothing is proved here.

    Choose it where plain descent crawls along a valley. The last move holds noise, too, and a part of that is sent
    again."""

    delta: float
    """Δ: bound on the norm of the noise, as in RSS-NB."""
    momentum: float = 0.5
    """The part of its last move that an agent makes once more."""

    def init(self, agent: Agent, x: Any) -> Rolling:
        return Rolling(x, 0 * x)

    def round(self, agent: Agent, state: Rolling, k: Any) -> Round:
        w = agent.perturb(state.x, paired=agent.step(k))
        received = yield Broadcast(w)
        v = agent.mix(w, received)
        ahead = v + self.momentum * state.move
        x = agent.feasible.project(ahead - agent.step(k) * agent.gradient(v))
        return Rolling(x, x - v)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        return hk.RssNb(self.delta).noise(setting)
