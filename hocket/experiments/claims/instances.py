"""Random instances of Theorem 2: networks, coalitions and false objectives, run in exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import networkx
import numpy as np

from hocket.algorithms import FunctionSharing
from hocket.engines.solver import solve
from hocket.networks.network import Network
from hocket.privacy.topology.guarantees import guarantees
from hocket.privacy.witness.witness import Witness, witness
from hocket.problems.standard import polynomials
from hocket.steps import Power

ROUNDS = 3
DEGREE = 4


@dataclass(frozen=True)
class Tried:
    """One instance, and the disguise that was found for it."""

    network: Network
    coalition: frozenset[int]
    witness: Witness


def disguised(*, whole_sets: bool, instances: int) -> list[Tried]:
    """Disguises of single agents where P1 should hold, or of whole sets where P2 should."""
    rng = np.random.default_rng(0)
    return [_disguise(rng, whole_sets) for _ in range(instances)]


def _disguise(rng: np.random.Generator, whole_sets: bool) -> Tried:
    colluders = int(rng.integers(1, 4))
    network = _network(rng, colluders, whole_sets)
    agents = rng.permutation(network.n).tolist()
    coalition, honest = frozenset(agents[:colluders]), agents[colluders:]
    chosen = honest[: int(rng.integers(1, len(honest)))] if whole_sets else honest[:1]
    run = solve(
        polynomials([_polynomial(rng) for _ in range(network.n)], box=(-2, 2)),
        network,
        FunctionSharing(DEGREE, 1.0),
        step=Power(Fraction(1, 10), 1),
        rounds=ROUNDS,
        start=Fraction(1, 2),
        seed=int(rng.integers(2**31)),
        engine="exact",
    )
    return Tried(
        network, coalition, witness(run, coalition, {j: _polynomial(rng) for j in chosen}, fill="least")
    )


def _network(rng: np.random.Generator, colluders: int, whole_sets: bool) -> Network:
    """A random connected network that P1, or P2, is promised on."""
    while True:
        n = int(rng.integers(colluders + 3, 9))
        graph = networkx.gnp_random_graph(n, 0.6, seed=int(rng.integers(2**31)))
        if networkx.is_connected(graph):
            network = Network.from_networkx(graph)
            promised = guarantees(network, colluders)
            if promised.p2 if whole_sets else promised.p1:
                return network


def _polynomial(rng: np.random.Generator) -> list[Fraction]:
    """Convex, in halves: a random slope, and even powers with coefficients of zero or more."""
    return [
        Fraction(0),
        Fraction(int(rng.integers(-6, 7)), 2),
        Fraction(int(rng.integers(0, 5)), 2),
        Fraction(0),
        Fraction(int(rng.integers(0, 3)), 2),
    ]
