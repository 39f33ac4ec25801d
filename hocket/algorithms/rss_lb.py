"""RSS-LB: noise that each agent balances over its own neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, SendEach, Setting
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.parameters import (
    Given,
    bounded_by,
    check_balance,
    check_company,
    check_each,
    check_size,
    tabulated,
)
from hocket.errors import BadAlgorithm
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import Balanced, Draw


class RssLb(Algorithm):
    """Noise balanced by each agent alone, a different word to each neighbour [paper, Alg. 2].

    Choose it to reproduce the paper, where neighbours cannot agree on noise. It hides nothing from all neighbours
    together, and an agent with one neighbour has nothing to balance with: it is refused unless `unprotected` says to go
    on.
    """

    key: ClassVar[str] = "rss-lb"
    label: ClassVar[str] = "RSS-LB"
    analysed: ClassVar[bool] = True
    tells: ClassVar[bool] = True
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "words"
    masks_starts: ClassVar[bool] = True

    delta: float
    """Δ: bound on the norm of the noise, ‖d_{j,i}‖ ≤ Δ."""
    unprotected: bool = eqx.field(static=True, default=False)
    """Let agents with a single neighbour speak without noise."""
    noise: Given = None
    """Your own d_{sender,receiver} in place of random draws: (sender, receiver, k) -> vector, or an array."""

    def __check_init__(self) -> None:
        check_size("delta", self.delta)

    @classmethod
    def typical(cls, *, persistent: bool = False) -> RssLb | None:
        return None if persistent else cls(1.0, unprotected=True)

    @property
    def caveat(self) -> str:
        return (
            "RSS-LB hides nothing from whoever hears all that an agent tells its neighbours. Use it to reproduce the "
            "paper; for objectives that are declared polynomials choose function sharing."
        )

    @property
    def open_anyway(self) -> str:
        return "everything is open to whoever hears all that a member tells"

    @property
    def soon_open(self) -> bool:
        return True

    @property
    def plain(self) -> bool:
        return True

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        w = agent.add_noise("balanced", state, agent.step(k))  # a row per neighbour
        received = yield SendEach(w)
        return agent.descend(agent.mix(state, received), k)  # d_{j,j} = 0: to itself an agent says its state

    @property
    def unproved(self) -> tuple[str, ...]:
        # Pairwise noise cancels whatever it is; balance is up to whoever brings the noise along, and checked in a run.
        return () if self.noise is None else ("your own noise is balanced",)

    def bounded_noise(self) -> tuple[bool | None, str]:
        return bounded_by(self.delta, self.noise)

    def masked(self) -> Algorithm | str:
        if not self.unprotected:
            return self  # its noise begins in round 1
        return (
            "unprotected RSS-LB may say states without noise, and a start that depends on data must not be said so; "
            "give everybody two links and leave unprotected out"
        )

    def check(self, setting: Setting) -> None:
        check_company(setting)
        lonely = np.flatnonzero((setting.network.degrees == 1).any(axis=0))
        if len(lonely) and not self.unprotected:
            names = ", ".join(map(str, lonely[:8])) + (", …" if len(lonely) > 8 else "")
            raise BadAlgorithm(
                f"RSS-LB cannot hide agent {names}: it has one neighbour, and balance forces its noise to zero; "
                "give it a second link, use RSS-NB, or pass unprotected=True to go on without noise there"
            )

    def silent(self) -> Algorithm:
        return Dgd()

    def effective(self) -> Algorithm:
        return Dgd() if self.delta == 0 and self.noise is None else self

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        towards = weights_towards(setting)
        gamma = self.delta * amplitude(towards) / np.sqrt(setting.dim)
        given = tabulated(self.noise, setting, first=1)
        check_balance(given, setting)
        check_each(given, setting, "delta", self.delta)
        return {"balanced": Balanced(gamma, towards, width=setting.dim, label=3, given=given)}


def weights_towards(setting: Setting) -> np.ndarray:
    """B[i, j] for agent j and the neighbour i in each of its slots: (period, agents, slots)."""
    network = setting.network
    tables = tabulate(network, slots_needed=True)
    return np.where(tables.filled, network.weight[:, tables.link, tables.direction], 0.0)


def amplitude(towards: np.ndarray) -> np.ndarray:
    """1 / ‖P‖_∞ with P = I − bbᵀ/‖b‖²: what keeps every balanced word within the bound [maths, decision 6]."""
    length = (towards**2).sum(axis=2, keepdims=True)
    share = np.divide(towards, length, out=np.zeros_like(towards), where=length > 0)
    # Row i of P has 1 − b_i²/‖b‖² on the diagonal and −b_i b_l/‖b‖² elsewhere.
    rows = 1 - towards * share + share * (towards.sum(axis=2, keepdims=True) - towards)
    norm = np.where(towards > 0, rows, 0).max(axis=2, initial=0.0)
    alone = (towards > 0).sum(axis=2) < 2
    return np.where(alone, 0.0, 1 / np.where(alone, 1.0, norm))
