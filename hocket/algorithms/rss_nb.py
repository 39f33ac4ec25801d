"""RSS-NB: noise dealt in pairs, which cancels over the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Say, Setting
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.parameters import (
    LONGEST_RUN,
    Distribution,
    Given,
    bounded_by,
    check_company,
    check_distribution,
    check_share,
    check_size,
    sd_within_norm,
    tabulated,
)
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Paired
from hocket.problems.problem import Problem


class RssNb(Algorithm):
    """Noise dealt in pairs, zero over the network [paper, Alg. 1].

    Choose it to reproduce the paper, where neighbours can agree on noise in secret; every neighbour hears the same
    word, so traffic equals DGD's. It hides slopes only, and those only from who is not patient: `anchor` is the share
    of the noise that is drawn once and kept, which averaging does not take off. Round 1 is unperturbed: the start must
    be public.
    """

    key: ClassVar[str] = "rss-nb"
    label: ClassVar[str] = "RSS-NB"
    caveat: ClassVar[str] = (
        "RSS-NB hides slopes only: whoever hears all words of honest agents that hang together reads everything else "
        "of their objectives exactly, however much noise there is (the sum attack). Use it to reproduce the paper; for "
        "objectives that are declared polynomials choose function sharing."
    )
    open_anyway: ClassVar[str] = "everything but slopes is open to whoever hears all words (the sum attack)"
    analysed: ClassVar[bool] = True
    plain: ClassVar[bool] = True
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "words"
    noise_on: ClassVar[Literal["objective", "gradients"] | None] = "gradients"
    soon_open: ClassVar[bool] = True
    masks_starts: ClassVar[bool] = True

    delta: float
    """Δ: bound on the norm of the noise, ‖d_j‖ ≤ Δ."""
    anchor: float = 0.0
    """The share of Δ that is drawn once and kept."""
    split: Literal["link", "paper"] = eqx.field(static=True, default="link")
    """Δ shared over an agent's links, or as in the paper over all agents, which leaves less for each draw."""
    noise: Given = None
    """Your own s^{sender,receiver} in place of random draws: (sender, receiver, k) -> vector, or an array."""
    distribution: Distribution = eqx.field(static=True, default="uniform")
    """`uniform`: ‖d_j‖ ≤ Δ for certain. `gaussian`: save with probability `failure`; its shape gives less away."""
    failure: float = 1e-6
    """δ: the probability that normal noise exceeds Δ, anywhere in a run."""

    def __check_init__(self) -> None:
        check_size("delta", self.delta)
        check_share("anchor", self.anchor)
        check_distribution(self.distribution, self.failure)
        if self.split not in ("link", "paper"):
            raise BadAlgorithm(
                f"split = {self.split!r}; choose 'link', Δ over an agent's links, or 'paper', Δ over all agents"
            )
        if self.split == "paper" and self.distribution == "gaussian":
            raise BadAlgorithm(
                "split='paper' bounds every single draw, and normal draws are bounded in their sum; use split='link'"
            )

    @classmethod
    def typical(cls, *, anchored: bool = False) -> RssNb:
        return cls(1.0, anchor=0.5 if anchored else 0.0)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        w = state + agent.step(k) * agent.paired_noise(k)  # eq. (2): sums to zero over the network
        anchor = agent.anchor_noise()
        if anchor is not None:
            # Scaled by α_{k−1} like the gradient inside x_k: scaled by α_k, their ratio would tell the two apart.
            w = w + agent.step(k - 1) * anchor
        heard = yield Say(w)
        return agent.descend(agent.mix(w, heard), k)  # lines 8 and 9

    @property
    def title(self) -> str:
        return f"{self.label}, anchored" if self.keeps_noise else self.label

    @property
    def keeps_noise(self) -> bool:
        return self.anchor > 0

    def cure(self, *, exact: bool) -> str:
        if exact or self.keeps_noise:
            return ""
        return (
            "give part of the noise an anchor (--anchor 0.5), more noise (--delta), or fewer rounds, which hides "
            "slopes and nothing else; for declared polynomials plan function-sharing"
        )

    def masked(self) -> Algorithm | str:
        if self.anchor < 1:
            return MaskedStart(self)
        return (
            "with anchor = 1 there is no fresh noise, so round 1 would say a start that depends on data without any; "
            "give the anchor a smaller share"
        )

    def bounded_noise(self) -> tuple[bool | None, str]:
        if self.noise is None and self.distribution == "gaussian" and self.delta:
            chance = f"{1 - self.failure:.9g}"
            return (
                None,
                f"normal noise is within Δ = {self.delta:g} with probability {chance}, not for certain",
            )
        return bounded_by(self.delta, self.noise)

    def check(self, setting: Setting) -> None:
        check_company(setting)

    def silent(self) -> Algorithm:
        return Dgd()

    def effective(self) -> Algorithm:
        return Dgd() if self.delta == 0 and self.noise is None else self

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        normal = self.distribution == "gaussian"
        scale = self.delta * (
            self.link_sd(setting) if normal else self.link_share(setting) / np.sqrt(setting.dim)
        )
        # Bounds add, and so do variances: either way fresh noise and anchor together use Δ up.
        fresh = np.sqrt(1 - self.anchor**2) if normal else 1 - self.anchor
        given = tabulated(self.noise, setting, first=2)
        draws = {
            "paired": Paired(fresh * scale, width=setting.dim, label=1, first=2, given=given, normal=normal)
        }
        if self.anchor > 0:
            # α_{k−1} exceeds α_k by at most this ratio; the anchor's share pays for it, so that ‖d‖ ≤ Δ still holds.
            ratio = setting.step.max_ratio(setting.rounds)
            # The same in all phases, within the tightest one's bound: a known ratio would tell anchor from gradient.
            steady = np.where(setting.network.active, scale, np.inf).min(axis=0, keepdims=True)
            draws["anchor"] = Paired(
                self.anchor / ratio * steady,
                width=setting.dim,
                label=2,
                once=True,
                active=None if setting.network.constant_support else setting.network.active,
                normal=normal,
            )
        return draws

    def link_share(self, setting: Setting) -> np.ndarray:
        """The part of Δ that one directed draw may use, by phase and link [maths, decision 4]."""
        network = setting.network
        if self.split == "paper":
            return np.where(network.active, 1 / (2 * network.n), 0.0)
        return np.where(network.active, 1 / (2 * _busier_end(network)), 0.0)

    def link_sd(self, setting: Setting) -> np.ndarray:
        """The deviation of one normal draw's coordinate, as a part of Δ, by phase and link.

        With 2 deg(j) such draws d_j is normal, and longer than Δ in no round and for no agent save with `failure`.
        """
        network = setting.network
        whole = sd_within_norm(setting.dim, events=network.n * LONGEST_RUN, failure=self.failure)
        return np.where(network.active, whole / np.sqrt(2 * _busier_end(network)), 0.0)

    def remarks(self, problem: Problem, network: Network) -> list[str]:
        if self.distribution == "uniform":
            return []
        return [
            f"noise is normal: within Δ = {self.delta:g} with probability {1 - self.failure:.9g}, not for certain"
        ]


class MaskedStart(Algorithm):
    """RSS-NB with fresh noise in round 1 too.
    For a start that is not public; the anchor begins in round 2 as ever.
    """

    algorithm: RssNb

    @property
    def delta(self) -> float:
        """Δ: bound on the norm of the noise."""
        return self.algorithm.delta

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return self.algorithm.round(agent, state, k)

    def setup(self, agent: Agent, x: Any) -> Any:
        return self.algorithm.setup(agent, x)

    def check(self, setting: Setting) -> None:
        self.algorithm.check(setting)

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        drawn = self.algorithm.draws(setting)
        return {
            name: replace(draw, first=1) if isinstance(draw, Paired) and not draw.once else draw
            for name, draw in drawn.items()
        }


def _busier_end(network: Network) -> np.ndarray:
    """The larger degree of each link's ends, by phase; 1 where both are silent."""
    return np.maximum(network.degrees[:, network.links].max(axis=2), 1)
