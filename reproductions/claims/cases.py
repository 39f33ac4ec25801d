"""Runs that several checks look at, each played once, and random instances of Theorem 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import networkx
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import FunctionSharing, RssLb, RssNb
from hocket.engines.solver import solve
from hocket.engines.sweep import Sweep
from hocket.networks.network import Network
from hocket.privacy.graph.guarantees import guarantees
from hocket.privacy.witness.witness import Witness, witness
from hocket.problems.problem import Problem
from hocket.problems.standard import heterogeneous_polynomials, polynomials
from hocket.runs.run import Run
from hocket.steps import Power, Step
from hocket.theory import Monitor, monitor
from reproductions.polynomials.runs import START, STEP, Task
from reproductions.tradeoff.noise_level import INVERSE_SQRT, small_polynomials

RING = Network.cycle(5)
STEPS: tuple[Step, ...] = (INVERSE_SQRT, STEP, Power(1.0, 0, 1))
DELTAS = (0.1, 1.0, 30.0)
ROUNDS = 200

RSS: dict[str, Callable[[float], Algorithm]] = {"RSS-NB": RssNb, "RSS-LB": RssLb}
EXACT_ROUNDS, DEGREE = 3, 4
"""Of random instances."""


def played(
    problem: Problem, algorithm: Algorithm, *, step: Step = STEP, rounds: int = 10_000, **asked: Any
) -> Run:
    """A run on the ring, from the usual start."""
    return solve(
        problem, RING, algorithm, step=step, rounds=rounds, start=list(START), progress=False, **asked
    )


def recorded(problem: Problem, algorithm: Algorithm, **asked: Any) -> Run:
    """A short run on the ring, every message kept."""
    return played(problem, algorithm, rounds=ROUNDS, keep="transcript", **asked)


@cache
def kept(name: str, delta: float = 1.0, step: Step = INVERSE_SQRT, seed: int = 0) -> Run:
    """A short run of RSS-NB or RSS-LB on the ring, every message kept; the paper's polynomials on [−1, 1]."""
    return recorded(small_polynomials(), RSS[name](delta), step=step, seed=seed)


@cache
def kept_fs() -> Run:
    """A short run of function sharing on the ring, every message kept; agents that want different things."""
    return recorded(heterogeneous_polynomials(), FunctionSharing(4, 0.1))


@cache
def monitors() -> tuple[Monitor, ...]:
    """Short runs of both algorithms at several Δ, steps and seeds, held against the theory round by round."""
    return tuple(
        monitor(kept(name, delta, step, seed))
        for name in RSS
        for step in STEPS
        for delta in DELTAS
        for seed in range(2)
    )


def tightest(name: str) -> tuple[bool, float]:
    """Whether one bound holds in every round of all those runs, and how close any of them came to it."""
    margins = [seen[name] for seen in monitors() if name not in seen.skipped]
    return all(margin.holds for margin in margins), min(margin.ratio for margin in margins)


def added(run: Run, step: Step = INVERSE_SQRT) -> Float[np.ndarray, "rounds senders receivers dim"]:
    """d: what noise added to every message of a kept run, in units of a gradient; zero where there is no link.

    The diagonal is what an agent adds to its own message before it mixes: its noise in RSS-NB, nothing in RSS-LB.
    """
    assert run.transcript is not None
    assert run.path is not None
    words, states, n = run.transcript.words[0], run.path[:-1], run.network.n
    alpha = step.table(1, len(words))[:, None]
    out = np.zeros((len(words), n, n, states.shape[2]))
    for j in range(n):
        for slot, i in enumerate(run.network.neighbours(j)):
            out[:, j, i] = ((words[:, j] if words.ndim == 3 else words[:, j, slot]) - states[:, j]) / alpha
        if words.ndim == 3:
            out[:, j, j] = (words[:, j] - states[:, j]) / alpha
    return out


def mixed(run: Run) -> Float[np.ndarray, "rounds agents dim"]:
    """e_k^j = Σ_i B[j,i] d_k^{i,j}: what noise added to the mix of every agent."""
    return np.einsum("ji,kijd->kjd", run.network.B, added(run))


@cache
def many(name: str, problem: str, network: str) -> Sweep:
    """100 seeds and 10,000 rounds of an algorithm, under the conditions of Theorem 1."""
    algorithms: dict[str, Algorithm] = {
        "RSS-NB": RssNb(1.0),
        "RSS-LB": RssLb(1.0),
        "FS": FunctionSharing(4, 0.1),
    }
    on = {"paper": "the paper's", "heterogeneous": "heterogeneous"}[problem]
    return Task(on, network, algorithms[name], seeds=100, rounds=10_000).run()


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
        rounds=EXACT_ROUNDS,
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
            network = Network(graph)
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
