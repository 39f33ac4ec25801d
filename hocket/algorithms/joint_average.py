"""Joint averaging: everybody steps from the common point, and all are shown the average and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Outgoing, Round, SecureSum, Setting
from hocket.algorithms.certified_rss_nb import check_clip
from hocket.algorithms.parts.clipped_messages import cut
from hocket.algorithms.parts.parameters import check_size
from hocket.noise.draws import Draw, Gaussian


class Stepped(NamedTuple):
    """The common point, and where this agent's own steps lead from it."""

    x: Any
    own: Any


@final
class JointAverage(Algorithm):
    """Own steps from a point that all have, then the exact average of what came of them.

    Choose it where a few members train or fit together and can afford a sum over all of them in every round: it
    converges as with a server, and without one; nobody sees anything but the average. Over links the sum is masked in
    a finite group, so that what honest members that are connected say is uniform but for their sum. What the sum
    itself tells is all there is to learn.

    With noise of each agent's `own` the sum hides records as well: the shares of the honest add up, which is the
    accuracy of central differential privacy without a centre. `hk.certify` says how much, given `clip`.
    """

    name, title = "joint-average", "Joint average"

    own: float = 0.0
    """τ: the deviation of normal noise that every agent adds to what it gives, per coordinate and in units of a
    gradient, and that nothing cancels."""
    clip: float | None = eqx.field(static=True, default=None)
    """C: the way of every step, or of all local steps of an exchange, is cut to α_k C; None for as it comes."""

    def __check_init__(self) -> None:
        check_size("own", self.own)
        check_clip(self.clip)

    def init(self, agent: Agent, x: Any) -> Any:
        return Stepped(x, x)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        # Scaled by α_{k−1} like the gradient in what is given: every round then costs the same. The start is public.
        total: Any = yield SecureSum(agent.perturb(state.own, own=agent.step(k - 1)))
        return self.stepped(agent, total / agent.members, k)

    def stepped(self, agent: Agent, mean: Any, k: Any) -> Stepped:
        """The average that all received, and where this agent's own steps lead from it."""
        if agent.noise("own") is not None:
            mean = agent.feasible.project(mean)
        after = agent.descend(mean, k)
        if self.clip is not None:
            after = mean - agent.step(k) * cut((mean - after) / agent.step(k), self.clip, None)
        return Stepped(mean, after)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        return {"own": Gaussian(np.asarray(self.own), label=7, width=setting.dim)} if self.own > 0 else {}

    def perturbation(self, agent: Agent, state: Any, outgoing: Outgoing, k: Any) -> Any:
        noise = agent.noise("own")
        return 0 * state.x if noise is None else noise
