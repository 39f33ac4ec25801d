"""RSS-NB: noise dealt in pairs, which cancels over the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import equinox as eqx

from hocket.agent import Agent, Projection
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.algorithms.clipped_messages import clipped_round, first
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.masked_start import MaskedStart
from hocket.algorithms.parameters import (
    Distribution,
    Given,
    bounded_by,
    check_choice,
    check_company,
    check_distribution,
    check_share,
    check_size,
    is_positive,
)
from hocket.algorithms.rss_nb_noise import check_clip, draws_of, grid_of, mechanism_of
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw
from hocket.noise.mechanism import Mechanism
from hocket.noise.stds import Stds, as_stds, in_words, is_above_zero, is_by_link, on_links
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem


class RssNb(Algorithm):
    """Noise dealt in pairs, zero over the network [paper, Alg. 1].

    As printed, choose it to reproduce the paper, where neighbours can agree on noise in secret; every neighbour hears
    the same word, so traffic equals DGD's. It hides slopes only, and those only from who is not patient: `persistent`
    is the share of the noise that is drawn once and kept, which averaging does not take off. Round 1 is unperturbed:
    the start must be public.

    With noise of each agent's `own`, which nothing cancels, `hk.certify` bounds what anybody learns of a record, over
    all rounds, if gradients are clipped and no agent's last state is released: publish `run.published`, never `run.x`.
    `RssNb.certified` sets all of that.
    """

    key: ClassVar[str] = "rss-nb"
    label: ClassVar[str] = "RSS-NB"
    analysed: ClassVar[bool] = True
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "words"
    noise_on: ClassVar[Literal["objective", "gradients"] | None] = "gradients"
    masks_starts: ClassVar[bool] = True

    delta: float
    """Δ: bound on the norm of the noise, ‖d_j‖ ≤ Δ."""
    persistent: float = 0.0
    """The share of Δ that is drawn once and kept."""
    split: Literal["link", "paper"] = eqx.field(static=True, default="link")
    """Δ shared over an agent's links, or as in the paper over all agents, which leaves less for each draw."""
    noise: Given = None
    """Your own s^{sender,receiver} in place of random draws: (sender, receiver, k) -> vector, or an array."""
    distribution: Distribution = eqx.field(static=True, default="uniform")
    """`uniform`: ‖d_j‖ ≤ Δ for certain. `gaussian`: save with probability `failure`; its shape gives less away."""
    failure: float = 1e-6
    """δ: the probability that normal noise exceeds Δ, anywhere in a run."""
    sd: Stds = eqx.field(default=0.0, converter=as_stds)
    """σ: the deviation of one directed normal draw, per coordinate and in units of a gradient, in place of Δ. One
    number, one for each of `net.links` in order, or by ends, {(0, 1): 2.0, …}."""
    own: float = 0.0
    """τ: the deviation of normal noise that every agent adds to its word by itself, and that nothing cancels."""
    project: Projection = eqx.field(static=True, default="stepped")
    """`stepped`: states are projected onto X after the step, as in the paper. `mixed`: what was mixed is, before it."""
    scaled_by: Literal["auto", "this step", "last step"] = eqx.field(static=True, default="auto")
    """Whether fresh noise is scaled by α_k, as in the paper, or by α_{k−1} as the gradient in the word is. `auto`: the
    latter where there is `own` noise, so that every round costs the same."""
    clip: float | None = eqx.field(static=True, default=None)
    """C: the way of every step, or of all local steps of an exchange, is cut to α_k C; None for as it comes."""
    grid: float | None = eqx.field(static=True, default=None)
    """The unit of a public grid, a power of two such as 2**-20: clipped gradients and noise are whole numbers of it and
    their sum is exact, so that a certificate is a theorem about the machine's own numbers."""

    def __check_init__(self) -> None:
        check_size("delta", self.delta)
        check_share("persistent", self.persistent)
        check_distribution(self.distribution, self.failure)
        check_size("sd", self.sd)
        check_size("own", self.own)
        check_choice("split", self.split, link="Δ over an agent's links", paper="Δ over all agents")
        check_choice(
            "project", self.project, stepped="states after the step", mixed="what is mixed before it"
        )
        check_choice(
            "scaled_by", self.scaled_by, "this step", "last step", auto="either, as noise asks for it"
        )
        if (is_by_link(self.sd) or is_positive(self.sd)) and (
            is_positive(self.delta) or self.split == "paper"
        ):
            raise BadAlgorithm(
                f"sd = {in_words(self.sd)} beside delta = {self.delta:g} and split = {self.split!r}: both say how "
                "large noise between neighbours is; leave sd out, or take delta = 0 and split='link'"
            )
        check_clip(self)
        if self.split == "paper" and self.distribution == "gaussian":
            raise BadAlgorithm(
                "split='paper' bounds every single draw, and normal draws are bounded in their sum; use split='link'"
            )

    @classmethod
    def certified(cls, sd: Stds, own: float = 0.0, **options: Any) -> RssNb:
        """With normal noise that certificates know: `sd` between neighbours, `own` by each agent alone.

        What was mixed is projected, before the step, and noise is scaled as the gradient is that it hides.
        """
        known: dict[str, Any] = {"distribution": "gaussian", "project": "mixed", "scaled_by": "last step"}
        return cls(0.0, sd=sd, own=own, **known | options)

    @classmethod
    def with_certificate(
        cls, sd: Stds, own: float, *, unit: float, clip: float | None, objectives: ObjectiveClass
    ) -> RssNb:
        return cls.certified(sd, own, clip=clip, grid=None if clip is None else unit)

    @classmethod
    def typical(cls, *, persistent: bool = False) -> RssNb:
        return cls(1.0, persistent=0.5 if persistent else 0.0)

    def setup(self, agent: Agent, x: Any) -> Any:
        return x if self.clip is None else first(x)

    @property
    def plain(self) -> bool:
        return True

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        if self.clip is not None:
            return (yield from clipped_round(self, agent, state, k))
        w = type(self).word(self, agent, state, k)  # a module's bound methods take 70 µs each to look up
        received = yield Broadcast(w)
        # Its own noisy word, as everybody else: with its clean state in the mix, what it says next would tell twice.
        return agent.descend(agent.mix(w, received), k, project=self.project)  # lines 8 and 9

    def word(self, agent: Agent, state: Any, k: Any) -> Any:
        """What an agent says in round k."""
        # In one pass where an engine can, and where no class of somebody's own says what noise there is.
        if (
            type(self) is RssNb
            and agent.adds("paired")
            and agent.own_noise(k) is agent.persistent_noise() is None
        ):
            return agent.add_noise(
                "paired", state, agent.step(k - 1) if self.late(agent, k) else agent.step(k)
            )
        return state + type(self).noise_in_message(self, agent, k)

    def noise_in_message(self, agent: Agent, k: Any) -> Any:
        """What stands between an agent's state and its word in round k."""
        own, persistent = agent.own_noise(k), agent.persistent_noise()
        before = agent.step(k - 1)  # of the gradient inside x_k; none in round 1, whose state is public
        scale = before if type(self).late(self, agent, k) else agent.step(k)
        added = scale * agent.paired_noise(k)  # eq. (2): zero over the network
        if own is not None:
            added = added + scale * own
        if persistent is not None:
            # Scaled by α_{k−1} like the gradient inside x_k: scaled by α_k, their ratio would tell the two apart.
            added = added + before * persistent
        return added

    def late(self, agent: Agent, k: Any) -> bool:
        """Whether an agent scales fresh noise by the last step; told by what it was dealt, as numbers are compiled."""
        late = self.scaled_by == "last step" or self.clip is not None
        return late or (self.scaled_by == "auto" and agent.own_noise(k) is not None)

    @property
    def caveat(self) -> str:
        if self.own > 0:
            return (
                "Noise of its own makes of RSS-NB's sum attack an average, over rounds and agents; how much that is "
                "of one record, hk.certify says, if gradients are clipped. Publish run.published, never run.x."
            )
        return (
            "RSS-NB hides slopes only: whoever hears all words of honest agents that hang together reads everything "
            "else of their objectives exactly, however much noise there is (the sum attack). Use it to reproduce the "
            "paper; for objectives that are declared polynomials choose function sharing."
        )

    @property
    def open_anyway(self) -> str:
        if self.own > 0:
            return ""
        return "everything but slopes is open to whoever hears all words (the sum attack)"

    @property
    def soon_open(self) -> bool:
        return not self.own > 0

    @property
    def altered(self) -> str:
        if self.own > 0:
            return "noise of each agent's own, which does not cancel"
        if self.clip is not None:
            return "gradients that are cut to a length"
        return "a projection before the step" if self.project == "mixed" else ""

    @property
    def scaled_with_gradient(self) -> bool:
        late = self.scaled_by == "last step" or self.clip is not None
        return late or (self.scaled_by == "auto" and self.own > 0)

    @property
    def withholds_x(self) -> bool:
        return self.own > 0

    @property
    def by_std(self) -> bool:
        """Whether σ says how large noise between neighbours is, and not Δ."""
        return is_above_zero(self.sd)

    @property
    def normal(self) -> bool:
        """Whether pairwise noise is normal."""
        return self.distribution == "gaussian" or self.by_std

    @property
    def noise_bound(self) -> float | None:
        return None if self.by_std or self.own > 0 else super().noise_bound

    @property
    def reach_beyond(self) -> float | None:
        # Projected before the step, a state lies outside by as much as its gradient moves it.
        return None if self.project == "mixed" or self.clip is not None else self.noise_bound

    @property
    def title(self) -> str:
        return f"{self.label}, anchored" if self.keeps_noise else self.label

    @property
    def keeps_noise(self) -> bool:
        return self.persistent > 0

    @property
    def taken_for_granted(self) -> tuple[str, ...]:
        return (
            ()
            if self.clip is None
            else (f"gradients were no longer than {self.clip:g}, to which they are cut",)
        )

    def fix(self, *, exact: bool) -> str:
        if exact or self.keeps_noise or self.own > 0:
            return ""
        return (
            "give part of the noise an anchor (--persistent 0.5), more noise (--delta), or fewer rounds, which hides "
            "slopes and nothing else; for declared polynomials plan function-sharing"
        )

    def masked(self) -> Algorithm | str:
        if self.persistent < 1:
            return MaskedStart(self)
        return (
            "with persistent = 1 there is no fresh noise, so round 1 would send a start that depends on data as it "
            "is; choose a smaller persistent="
        )

    def bounded_noise(self) -> tuple[bool | None, str]:
        if self.by_std or self.own > 0:
            return None, "normal noise given by its deviation keeps within no bound for certain"
        if self.noise is None and self.distribution == "gaussian" and self.delta:
            chance = f"{1 - self.failure:.9g}"
            return (
                None,
                f"normal noise is within Δ = {self.delta:g} with probability {chance}, not for certain",
            )
        return bounded_by(self.delta, self.noise)

    def check(self, setting: Setting) -> None:
        check_company(setting)
        on_links(self.sd, setting.network)
        if (grid := grid_of(self)) is not None:
            grid.check(setting.network, self.clip or 0.0)

    def silent(self) -> Algorithm:
        return Dgd()

    def effective(self) -> Algorithm:
        silent = self.delta == 0 and self.noise is None and not self.by_std and self.own == 0
        return Dgd() if silent and self.project == "stepped" and self.clip is None else self

    def by_coordinate(self, setting: Setting) -> Algorithm:
        """Where no gradient is longer than the clip, all it does is to round."""
        return replace(self, clip=None, grid=None)

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        return draws_of(self, setting)

    def mechanism(self, setting: Setting) -> Mechanism | str:
        return mechanism_of(self, setting)

    def remarks(self, problem: Problem, network: Network) -> list[str]:
        if self.own > 0:
            return [
                f"noise of σ = {in_words(self.sd)} between neighbours, and of τ = {self.own:g} by each agent alone"
                if self.by_std
                else f"noise of τ = {self.own:g} by each agent alone, beside what cancels",
                "agents' last states stay at home: publish run.published, never run.x",
            ]
        if self.by_std:
            return [
                f"noise is normal, of σ = {in_words(self.sd)} per draw and coordinate: within no bound for certain"
            ]
        if self.distribution == "uniform":
            return []
        return [
            f"noise is normal: within Δ = {self.delta:g} with probability {1 - self.failure:.9g}, not for certain"
        ]
