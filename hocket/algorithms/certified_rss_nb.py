"""RSS-NB with normal noise on which a certificate of differential privacy stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.algorithms.parts.clipped_messages import clipped_round, first
from hocket.algorithms.parts.pairwise_noise import persistent_scale
from hocket.algorithms.parts.parameters import check_company, check_share, check_size, is_positive
from hocket.errors import BadAlgorithm
from hocket.noise.draws import Draw, Gaussian, Paired
from hocket.noise.round_grid import GridOwn, GridPaired, RoundGrid
from hocket.noise.stds import Stds, as_stds, hashable, on_links
from hocket.noise.stored_sum import check_unit


@final
class CertifiedRssNb(Algorithm):
    """RSS-NB with normal noise, scaled like the gradient it hides, and a projection before the step.

    Choose it on large sparse networks. `hk.certify` bounds what anybody learns of a record, over all rounds, if there
    is noise of each agent's `own`, if gradients are clipped, and if no agent's last state is released: publish
    `run.published`, never `run.x`. On a `grid` that is a theorem about the machine's own numbers.
    """

    name, title = "certified-rss-nb", "certified RSS-NB"

    sd: Stds = eqx.field(converter=as_stds)
    """σ: the standard deviation of one directed draw between neighbours, per coordinate and in units of a gradient. One
    number, one for each of `net.links` in order, or by ends, {(0, 1): 2.0, …}."""
    own: float = 0.0
    """τ: that of the independent noise that every agent adds to its message, which nothing cancels."""
    persistent: float = 0.0
    """The share of σ that is drawn once and reused: it hides what stays the same, and no record."""
    clip: float | None = eqx.field(static=True, default=None)
    """C: the length to which a gradient, or all local steps of an exchange over α_k, is cut; None for as it comes."""
    grid: float | None = eqx.field(static=True, default=None)
    """The unit of a public grid, a power of two such as 2**-20: clipped gradients and noise are whole numbers of it and
    their sum is exact."""

    def __check_init__(self) -> None:
        check_size("sd", self.sd)
        check_size("own", self.own)
        check_share("persistent", self.persistent)
        check_clip(self.clip)
        if self.clip is not None and is_positive(self.persistent):
            raise BadAlgorithm(
                "persistent noise hides what stays the same, and no record; with clip= take persistent = 0"
            )
        if self.grid is not None:
            check_unit(self.grid)
            if self.clip is None:
                raise BadAlgorithm(f"grid = {self.grid:g}: a gradient on a grid has a length; give clip= too")

    @property
    def round_grid(self) -> RoundGrid | None:
        """The grid that its noise is drawn on, if it is."""
        return None if self.grid is None else RoundGrid(float(self.grid), hashable(self.sd), float(self.own))

    def init(self, agent: Agent, x: Any) -> Any:
        return x if self.clip is None else first(x)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        if self.clip is not None:
            return (yield from clipped_round(agent, state, k, self.clip, self.grid))
        before = agent.step(k - 1)  # of the gradient inside the state; zero in round 1, whose state is public
        w = agent.perturb(state, paired=before, own=before, persistent=before)
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k, project="mixed")

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        network = setting.network
        how: dict[str, Any] = {"width": setting.dim}
        scale = np.where(network.active, on_links(self.sd, network), 0.0)
        if (grid := self.round_grid) is not None:
            whole: dict[str, Any] = how | {"grid": grid, "rounds": setting.rounds}
            drawn: dict[str, Draw] = {"paired": GridPaired(scale, label=1, first=2, normal=True, **whole)}
            return drawn | ({"own": GridOwn(np.asarray(self.own), label=7, **whole)} if self.own > 0 else {})
        fresh = np.sqrt(1 - self.persistent**2)  # variances add
        drawn = {"paired": Paired(fresh * scale, label=1, first=2, normal=True, **how)}
        if self.persistent > 0:
            drawn["persistent"] = Paired(
                self.persistent * persistent_scale(scale, network),
                label=2,
                once=True,
                active=None if network.constant_support else network.active,
                normal=True,
                **how,
            )
        if self.own > 0:
            drawn["own"] = Gaussian(np.asarray(self.own), label=7, **how)
        return drawn

    def validate(self, setting: Setting) -> None:
        check_company(setting)
        on_links(self.sd, setting.network)
        if (grid := self.round_grid) is not None:
            grid.check(setting.network, self.clip or 0.0)


def check_clip(clip: float | None) -> None:
    """Refuse a length that is none."""
    if clip is not None and not 0 < clip < float("inf"):
        raise BadAlgorithm(f"clip = {clip}; it is the length of a gradient: choose it positive and finite")
