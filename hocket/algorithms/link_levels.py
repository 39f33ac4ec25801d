"""How much of a bound Δ on an agent's noise each of its links may use."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Setting
from hocket.algorithms.parameters import LONGEST_RUN, sd_within_norm
from hocket.networks.network import Network

Levels = Float[np.ndarray, "phases links"]


def link_share(setting: Setting, split: Literal["link", "paper"]) -> Levels:
    """The part of Δ that one directed draw may use, by phase and link [maths, decision 4]."""
    network = setting.network
    if split == "paper":
        return np.where(network.active, 1 / (2 * network.n), 0.0)
    return np.where(network.active, 1 / (2 * _busier_end(network)), 0.0)


def link_sd(setting: Setting, failure: float) -> Levels:
    """The deviation of one normal draw's coordinate, as a part of Δ, by phase and link.

    With 2 deg(j) such draws d_j is normal, and longer than Δ in no round and for no agent save with `failure`.
    """
    network = setting.network
    whole = sd_within_norm(setting.dim, events=network.n * LONGEST_RUN, failure=failure)
    return np.where(network.active, whole / np.sqrt(2 * _busier_end(network)), 0.0)


def _busier_end(network: Network) -> np.ndarray:
    """The larger degree of each link's ends, by phase; 1 where both are silent."""
    return np.maximum(network.degrees[:, network.links].max(axis=2), 1)
