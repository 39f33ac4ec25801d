"""How much noise RSS-NB deals on each link, and what certificates know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Setting
from hocket.algorithms.parameters import LONGEST_RUN, check_added, is_positive, sd_within_norm, tabulated
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Gaussian, Paired
from hocket.noise.mechanism import Mechanism
from hocket.noise.round_grid import GridOwn, GridPaired, RoundGrid
from hocket.noise.stds import hashable, on_links
from hocket.noise.stored_sum import check_unit

if TYPE_CHECKING:
    from hocket.algorithms.rss_nb import RssNb

Levels = Float[np.ndarray, "phases links"]


def draws_of(algorithm: RssNb, setting: Setting) -> Mapping[str, Draw]:
    """Fresh noise between neighbours, an anchor if it has one, and noise of each agent's own."""
    normal, scale = algorithm.normal, link_scale(algorithm, setting)
    # Bounds add, and so do variances: either way fresh noise and anchor together use Δ up.
    fresh = np.sqrt(1 - algorithm.persistent**2) if normal else 1 - algorithm.persistent
    # α_{k−1} exceeds α_k by at most this ratio; whatever it scales pays for it, so that ‖d‖ ≤ Δ still holds.
    ratio = 1.0 if algorithm.by_std else setting.step.max_ratio(setting.rounds)
    late = ratio if algorithm.scaled_with_gradient else 1.0
    given = tabulated(algorithm.noise, setting, first=2)
    check_added(given, setting, algorithm.delta)
    how: dict[str, Any] = {"width": setting.dim}
    if (grid := grid_of(algorithm)) is not None:
        whole: dict[str, Any] = how | {"grid": grid, "rounds": setting.rounds}
        dealt: dict[str, Draw] = {"paired": GridPaired(scale, label=1, first=2, normal=True, **whole)}
        return dealt | (
            {"own": GridOwn(np.asarray(algorithm.own), label=7, **whole)} if algorithm.own > 0 else {}
        )
    draws: dict[str, Draw] = {
        "paired": Paired(fresh / late * scale, label=1, first=2, given=given, normal=normal, **how)
    }
    if algorithm.persistent > 0:
        # The same in all phases, within the tightest one's bound: a known ratio would tell anchor from gradient.
        steady = np.where(setting.network.active, scale, np.inf).min(axis=0, keepdims=True)
        active = None if setting.network.constant_support else setting.network.active
        draws["persistent"] = Paired(
            algorithm.persistent / ratio * steady, label=2, once=True, active=active, normal=normal, **how
        )
    if algorithm.own > 0:
        draws["own"] = Gaussian(np.asarray(algorithm.own), label=7, **how)
    return draws


def mechanism_of(algorithm: RssNb, setting: Setting) -> Mechanism | str:
    """The normal noise that certificates can rest on; or why there is none."""
    counted = algorithm.normal and algorithm.noise is None
    if not counted and not algorithm.own > 0:
        whose = "uniform noise" if algorithm.noise is None else "noise that a user brought along"
        return (
            f"{algorithm.title} deals {whose}, of which no certificate is made: take normal noise, sd= of it"
        )
    draws, grid, own = draws_of(algorithm, setting), grid_of(algorithm), float(algorithm.own)
    # Where own noise is normal and the rest is not, the rest is taken for known, which is safe.
    sd = np.asarray(draws["paired"].sd) * counted
    if grid is not None:
        # A silent link has no noise, and counts for none.
        sd, own = np.array([[*map(grid.counted_as, row)] for row in sd.tolist()]), grid.counted_as(own)
    return Mechanism(
        on="gradients",
        link_sd=sd,
        own_sd=own,
        persistent_sd=np.asarray(draws["persistent"].sd)[0] * counted if "persistent" in draws else None,
        scaled_by="last step" if algorithm.scaled_with_gradient else "this step",
        projects="before the step" if algorithm.project == "mixed" else "after the step",
        exact=grid is not None,
        sensitivity=None if algorithm.clip is None else 2 * algorithm.clip,
    )


def grid_of(algorithm: RssNb) -> RoundGrid | None:
    """The grid that its noise is drawn on, if it is."""
    if algorithm.grid is None:
        return None
    return RoundGrid(float(algorithm.grid), hashable(algorithm.sd), float(algorithm.own))


def check_clip(algorithm: RssNb) -> None:
    """Refuse a length that is none, and a grid on which something would not be whole."""
    clip, grid = algorithm.clip, algorithm.grid
    if clip is not None and not 0 < clip < float("inf"):
        raise BadAlgorithm(f"clip = {clip}; it is the length of a gradient: choose it positive and finite")
    if clip is not None and algorithm.scaled_by == "this step":
        raise BadAlgorithm(
            "a clipped gradient is said under noise of its own scale; take scaled_by='last step'"
        )
    if clip is not None and is_positive(algorithm.persistent):
        raise BadAlgorithm(
            "an anchor hides what stays the same, and no record; with clip= take persistent = 0"
        )
    if grid is None:
        return
    check_unit(grid)
    if clip is None or not algorithm.normal or algorithm.noise is not None:
        raise BadAlgorithm(
            f"grid = {grid:g}: on a grid noise is normal, sd=, and the gradient under it has a length, clip=; give both"
        )


def link_scale(algorithm: RssNb, setting: Setting) -> Levels:
    """Largest magnitude of one coordinate of a directed draw, or its deviation if normal, by phase and link."""
    if algorithm.by_std:
        return np.where(setting.network.active, on_links(algorithm.sd, setting.network), 0.0)
    if algorithm.normal:
        return algorithm.delta * link_sd(setting, algorithm.failure)
    return algorithm.delta * link_share(setting, algorithm.split) / np.sqrt(setting.dim)


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
