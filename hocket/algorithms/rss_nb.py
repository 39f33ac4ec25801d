"""RSS-NB: noise dealt in pairs, which cancels over the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Plan, Round, Say
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.given import Given, check_company, check_share, check_size, tabulated
from hocket.errors import BadAlgorithm
from hocket.noise import Draw, Paired


class RssNb(Algorithm):
    """Noise dealt in pairs, zero over the network [paper, Alg. 1].

    Choose it when neighbours can agree on noise in secret; every neighbour hears the same word, so traffic equals
    DGD's. `anchor` is the share of the noise that is drawn once and kept, which a patient neighbour cannot average
    away. Round 1 is unperturbed: the start must be public.
    """

    delta: float
    """Δ: bound on the norm of the noise, ‖d_j‖ ≤ Δ."""
    anchor: float = 0.0
    split: Literal["link", "paper"] = eqx.field(static=True, default="link")
    noise: Given = None
    """Your own s^{sender,receiver} in place of random draws: (sender, receiver, k) -> vector, or an array."""

    def __check_init__(self) -> None:
        check_size("delta", self.delta)
        check_share("anchor", self.anchor)
        if self.split not in ("link", "paper"):
            raise BadAlgorithm(
                f"split = {self.split!r}; choose 'link', Δ over an agent's links, or 'paper', Δ over all agents"
            )

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        w = state + agent.step(k) * agent.paired_noise(k)  # eq. (2): sums to zero over the network
        # Scaled by α_{k−1} like the gradient inside x_k: scaled by α_k, their ratio would tell the two apart.
        w = w + agent.step(k - 1) * agent.anchor_noise()
        heard = yield Say(w)
        return agent.descend(agent.mix(w, heard), k)  # lines 8 and 9

    def check(self, plan: Plan) -> None:
        check_company(plan)

    def effective(self) -> Algorithm:
        return Dgd() if self.delta == 0 and self.noise is None else self

    def draws(self, plan: Plan) -> Mapping[str, Draw]:
        bound = self.delta * self.link_share(plan) / np.sqrt(plan.dim)
        given = tabulated(self.noise, plan, first=2)
        draws = {"paired": Paired((1 - self.anchor) * bound, width=plan.dim, label=1, first=2, given=given)}
        if self.anchor > 0:
            # α_{k−1} exceeds α_k by at most this ratio; the anchor's share pays for it, so that ‖d‖ ≤ Δ still holds.
            ratio = plan.step.max_ratio(plan.rounds)
            # The same in all phases, within the tightest one's bound: a known ratio would tell anchor from gradient.
            steady = np.where(plan.network.active, bound, np.inf).min(axis=0, keepdims=True)
            draws["anchor"] = Paired(
                self.anchor / ratio * steady,
                width=plan.dim,
                label=2,
                once=True,
                active=None if plan.network.constant_support else plan.network.active,
            )
        return draws

    def link_share(self, plan: Plan) -> np.ndarray:
        """The part of Δ that one directed draw may use, by phase and link [maths, decision 4]."""
        network = plan.network
        if self.split == "paper":
            return np.where(network.active, 1 / (2 * network.n), 0.0)
        ends = network.degrees[:, network.links]
        return np.where(network.active, 1 / (2 * np.maximum(ends.max(axis=2), 1)), 0.0)
