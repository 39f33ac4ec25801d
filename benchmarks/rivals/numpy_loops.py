"""What most would write first: a loop over rounds in NumPy, all agents in one array."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cases import Case

from hocket.networks.network import Network

BLOCK = 512
"""Rounds of noise drawn at once by the loop that thought of it."""


def dgd(case: Case, rounds: int) -> Callable[[], np.ndarray]:
    """DGD with a dense matrix of weights."""
    B, alpha = case.network.B, case.alpha[:rounds].tolist()

    def turn() -> np.ndarray:
        x = case.start
        for a in alpha:
            v = B @ x
            x = case.project(v - a * case.gradient(v))
        return x

    return turn


def rss_nb(case: Case, rounds: int, *, delta: float, block: int = 1) -> Callable[[], np.ndarray]:
    """RSS-NB; noise is drawn in every round, or for `block` rounds at once."""
    B, alpha = case.network.B, case.alpha[:rounds].tolist()
    deal, bound = incidence(case.network), bounds(case.network, case.start.shape[1], delta)
    shape = (block, 2, len(case.network.links), case.start.shape[1])

    def turn() -> np.ndarray:
        rng = np.random.default_rng(0)
        x = case.start
        for k, a in enumerate(alpha):
            if k % block == 0:
                pairs = rng.uniform(-1.0, 1.0, shape)
                noise = deal @ (bound * (pairs[:, 0] - pairs[:, 1]))
            w = x + a * noise[k % block] if k else x  # round 1 is unperturbed
            v = B @ w
            x = case.project(v - a * case.gradient(v))
        return x

    return turn


def incidence(network: Network) -> np.ndarray:
    """Who gains (1) and who loses (−1) what a link's two ends drew: a row per agent."""
    deal = np.zeros((network.n, len(network.links)))
    for link, (low, high) in enumerate(network.links.tolist()):
        deal[low, link], deal[high, link] = -1, 1
    return deal


def bounds(network: Network, dim: int, delta: float) -> np.ndarray:
    """The largest magnitude of one coordinate that a link's end may draw, so that ‖d‖ ≤ Δ."""
    degree = network.degrees[0][network.links].max(axis=1)
    return (delta / (2 * degree) / np.sqrt(dim))[:, None]
