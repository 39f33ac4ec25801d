"""RSS-NB: noise dealt in pairs, which cancels over the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import equinox as eqx

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.algorithms.parts.pairwise_noise import check_delta, pairwise_noise
from hocket.algorithms.parts.parameters import Distribution, Given, check_company
from hocket.noise.draws import Draw


class RssNb(Algorithm):
    """DGD on states perturbed by noise that is dealt in pairs and sums to zero over the network [paper, Alg. 1].

    Choose it to reproduce the paper, where neighbours can agree on noise in secret; every neighbour gets the same
    message, so traffic equals DGD's. It hides slopes only, and those only from an observer who does not average:
    `persistent` is the share of the noise that is drawn once and reused, which averaging does not remove. Round 1 is
    not perturbed: the start must be public. No certificate is made of it: `CertifiedRssNb` has one.
    """

    name, title = "rss-nb", "RSS-NB"

    delta: float
    """Δ: bound on the norm of the noise, ‖d_j‖ ≤ Δ."""
    persistent: float = 0.0
    """The share of Δ that is drawn once and reused."""
    split: Literal["link", "paper"] = eqx.field(static=True, default="link")
    """Δ shared over an agent's links, or as in the paper over all agents, which leaves less for each draw."""
    given: Given = None
    """Your own s^{sender,receiver} in place of random draws: (sender, receiver, k) -> vector, or an array."""
    distribution: Distribution = eqx.field(static=True, default="uniform")
    """`uniform`: ‖d_j‖ ≤ Δ for certain. `gaussian`: except with probability `failure`; its shape gives less away."""
    failure: float = 1e-6
    """δ: the probability that normal noise exceeds Δ, anywhere in a run."""

    def __check_init__(self) -> None:
        check_delta(self)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        return pairwise_noise(self, setting)

    def round(self, agent: Agent, x: Any, k: Any) -> Round:
        # Persistent noise is scaled like the gradient inside x, α_{k−1}: scaled by α_k, their ratio would tell them
        # apart.
        w = agent.perturb(x, paired=agent.step(k), persistent=agent.step(k - 1))  # lines 4 to 6
        received = yield Broadcast(w)  # line 7
        # Its own noisy message, as everybody else: with its clean state in the mix, the next would tell twice.
        return agent.descend(agent.mix(w, received), k)  # lines 8 and 9

    def validate(self, setting: Setting) -> None:
        check_company(setting)
