"""How much noise RSS-NB deals on each link: Δ split over links, in time and between neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Setting
from hocket.algorithms.parts.parameters import (
    LONGEST_RUN,
    check_added,
    check_choice,
    check_distribution,
    check_share,
    check_size,
    is_zero,
    sd_within_norm,
    tabulated,
)
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Paired

if TYPE_CHECKING:
    from hocket.algorithms.rss_nb import RssNb

Levels = Float[np.ndarray, "phases links"]


def check_delta(algorithm: RssNb) -> None:
    """Refuse a Δ, a share or a way to draw that is none."""
    check_size("delta", algorithm.delta)
    check_share("persistent", algorithm.persistent)
    check_distribution(algorithm.distribution, algorithm.failure)
    check_choice("split", algorithm.split, link="Δ over an agent's links", paper="Δ over all agents")
    if algorithm.split == "paper" and algorithm.distribution == "gaussian":
        raise BadAlgorithm(
            "split='paper' bounds every single draw, and normal draws are bounded in their sum; use split='link'"
        )


def pairwise_noise(algorithm: RssNb, setting: Setting) -> Mapping[str, Draw]:
    """Fresh noise between neighbours, and persistent noise if it has a share; none where Δ is zero."""
    given = tabulated(algorithm.given, setting, first=2)
    check_added(given, setting, algorithm.delta)
    if given is None and is_zero(algorithm.delta):
        return {}
    network, normal = setting.network, algorithm.distribution == "gaussian"
    part = (
        link_sd(setting, algorithm.failure)
        if normal
        else link_share(setting, algorithm.split) / np.sqrt(setting.dim)
    )
    scale = algorithm.delta * part
    how: dict[str, Any] = {"width": setting.dim, "normal": normal}
    # Bounds add, and so do variances: either way fresh and persistent noise together use Δ up.
    fresh = np.sqrt(1 - algorithm.persistent**2) if normal else 1 - algorithm.persistent
    drawn: dict[str, Draw] = {"paired": Paired(fresh * scale, label=1, first=2, given=given, **how)}
    if algorithm.persistent > 0:
        # α_{k−1} exceeds α_k by at most this ratio; what it scales pays for it, so that ‖d‖ ≤ Δ still holds.
        ratio = setting.step.max_ratio(setting.rounds)
        drawn["persistent"] = Paired(
            algorithm.persistent / ratio * persistent_scale(scale, network),
            label=2,
            once=True,
            active=None if network.constant_support else network.active,
            **how,
        )
    return drawn


def persistent_scale(scale: Levels, network: Network) -> Levels:
    """The same in all phases, within the tightest one's bound: a known ratio would tell noise from gradient."""
    return np.where(network.active, scale, np.inf).min(axis=0, keepdims=True)


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
