"""Noise shared among links that are not alike, beside the same on all: by how much less does, and what runs gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hocket.algorithms import FunctionSharing
from hocket.engines.sweep import sweep
from hocket.networks.network import Network
from hocket.privacy.dp.calibrate import noise_at_worst
from hocket.privacy.dp.edge_noise import EdgeNoise, optimise_links
from hocket.problems.standard import polynomials
from hocket.steps import Power

MOVED = 0.4
"""The norm of a quadratic that is moved between any two, hidden with μ = 1 in runs."""
PLAYED = 1.25
"""How many times the variance equal noise takes where runs are played, too."""
ROUNDS, STEP = 3_000, Power(1.0, 20, 0.75)


@dataclass(frozen=True, eq=False)
class ByLink:
    """Noise by link beside the same on all, for one irregular graph."""

    name: str
    colluders: int
    transfer: EdgeNoise
    record: EdgeNoise
    worst: tuple[float, float]
    """The deviation of noise at the agent who has most, for a unit moved with μ = 1: alike on links, and by link."""
    gap: tuple[float, float] | None
    """The median gap of runs that hide a quadratic of norm MOVED: alike, and by link; None where none were played."""


def irregular() -> tuple[tuple[str, Network, int], ...]:
    """Graphs whose links are not alike."""
    wheel = [(0, j) for j in range(1, 8)] + [(j, j % 7 + 1) for j in range(1, 8)]
    cliques = [(i + 5 * part, j + 5 * part) for part in (0, 1) for i in range(5) for j in range(i + 1, 5)]
    chord = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2)]
    return (
        ("a ring of 5 with a chord", Network(chord), 1),
        ("a wheel of 8", Network(wheel), 1),
        ("a wheel of 8", Network(wheel), 2),
        ("two cliques of 5, two bridges", Network([*cliques, (0, 5), (1, 6)]), 1),
        ("a grid of 4 by 4", Network.grid(4, 4), 1),
        ("a ring of 8, equal links", Network.cycle(8), 1),
    )


def by_link(name: str, network: Network, colluders: int, runs: int) -> ByLink:
    """For a unit moved, and for a record within five per cent of the least own noise."""
    limit = 1.05**2 / (network.n - colluders)
    moved = optimise_links(network, colluders, limit=1.0)
    alike = np.full(len(network.links), np.sqrt(moved.equal / 2))
    both = (alike, moved.sigma)
    return ByLink(
        name,
        colluders,
        moved,
        optimise_links(network, colluders, limit=limit, protect="record", own=1.0),
        (noise_at_worst(network, both[0]), noise_at_worst(network, both[1])),
        None
        if moved.gain < PLAYED
        else (_gap(network, MOVED * both[0], runs), _gap(network, MOVED * both[1], runs)),
    )


def _gap(network: Network, sigma: np.ndarray, runs: int) -> float:
    """Of function sharing on quadratics of unlike centres, in the median of so many seeds."""
    problem = polynomials([[0.0, j % 3 - 1.0, 1.0] for j in range(network.n)], box=(-5.0, 5.0))
    found = sweep(
        problem,
        network,
        FunctionSharing(2, sd=sigma),
        rounds=ROUNDS,
        seeds=range(runs),
        step=STEP,
        time_average=False,
        progress=False,
    )
    return float(np.median(found.gap))
