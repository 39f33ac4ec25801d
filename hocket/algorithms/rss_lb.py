"""RSS-LB: noise that each agent balances over its own neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, SendEach, Setting
from hocket.algorithms.parts.parameters import (
    Given,
    check_balance,
    check_company,
    check_each,
    check_size,
    is_zero,
    tabulated,
)
from hocket.errors import BadAlgorithm
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import Balanced, Draw


class RssLb(Algorithm):
    """Noise balanced by each agent alone, a different message to each neighbour [paper, Alg. 2].

    Choose it to reproduce the paper, where neighbours cannot agree on noise. It hides nothing from all neighbours
    together, and an agent with one neighbour has nothing to balance with: it is refused unless `unprotected` says to go
    on.
    """

    name, title = "rss-lb", "RSS-LB"

    delta: float
    """Δ: bound on the norm of the noise, ‖d_{j,i}‖ ≤ Δ."""
    unprotected: bool = eqx.field(static=True, default=False)
    """Let agents with a single neighbour speak without noise."""
    given: Given = None
    """Your own d_{sender,receiver} in place of random draws: (sender, receiver, k) -> vector, or an array."""

    def __check_init__(self) -> None:
        check_size("delta", self.delta)

    def round(self, agent: Agent, x: Any, k: Any) -> Round:
        w = agent.perturb(x, balanced=agent.step(k))  # lines 4 to 6: a row per neighbour
        received = yield Broadcast(x) if agent.noise("balanced") is None else SendEach(w)  # line 7
        return agent.descend(
            agent.mix(x, received), k
        )  # lines 8 and 9; d_{j,j} = 0: its own message is its state

    def validate(self, setting: Setting) -> None:
        check_company(setting)
        lonely = np.flatnonzero((setting.network.degrees == 1).any(axis=0))
        if len(lonely) and not self.unprotected:
            names = ", ".join(map(str, lonely[:8])) + (", …" if len(lonely) > 8 else "")
            raise BadAlgorithm(
                f"RSS-LB cannot hide agent {names}: it has one neighbour, and balance forces its noise to zero; "
                "give it a second link, use RSS-NB, or pass unprotected=True to go on without noise there"
            )

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        given = tabulated(self.given, setting, first=1)
        check_balance(given, setting)
        check_each(given, setting, "delta", self.delta)
        if given is None and is_zero(self.delta):
            return {}
        towards = weights_towards(setting)
        gamma = self.delta * amplitude(towards) / np.sqrt(setting.dim)
        return {"balanced": Balanced(gamma, towards, width=setting.dim, label=3, given=given)}


def weights_towards(setting: Setting) -> np.ndarray:
    """B[i, j] for agent j and the neighbour i in each of its slots: (period, agents, slots)."""
    network = setting.network
    tables = tabulate(network, slots_needed=True)
    return np.where(tables.filled, network.weight[:, tables.link, tables.direction], 0.0)


def amplitude(towards: np.ndarray) -> np.ndarray:
    """1 / ‖P‖_∞ with P = I − bbᵀ/‖b‖²: what keeps every balanced message within the bound [maths, decision 6]."""
    length = (towards**2).sum(axis=2, keepdims=True)
    share = np.divide(towards, length, out=np.zeros_like(towards), where=length > 0)
    # Row i of P has 1 − b_i²/‖b‖² on the diagonal and −b_i b_l/‖b‖² elsewhere.
    rows = 1 - towards * share + share * (towards.sum(axis=2, keepdims=True) - towards)
    norm = np.where(towards > 0, rows, 0).max(axis=2, initial=0.0)
    alone = (towards > 0).sum(axis=2) < 2
    return np.where(alone, 0.0, 1 / np.where(alone, 1.0, norm))
