"""Runs that several checks look at; each is played once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import FunctionSharing, RssLb, RssNb
from hocket.engines.solver import solve
from hocket.engines.sweep import Sweep, sweep
from hocket.experiments.tradeoff.level import INVERSE_SQRT, START, small_polynomials
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.problems.standard import heterogeneous_polynomials, paper_polynomials
from hocket.runs.run import Run
from hocket.steps import Power, Step
from hocket.theory import Monitor, monitor

RING = Network.cycle(5)
STEP = Power(1.0, 20, 0.75)
STEPS: tuple[Step, ...] = (INVERSE_SQRT, STEP, Power(1.0, 0, 1))
DELTAS = (0.1, 1.0, 30.0)
ROUNDS = 200

RSS: dict[str, Callable[[float], Algorithm]] = {"RSS-NB": RssNb, "RSS-LB": RssLb}


@cache
def kept(name: str, delta: float = 1.0, step: Step = INVERSE_SQRT, seed: int = 0) -> Run:
    """A short run of RSS-NB or RSS-LB on the ring, every word kept; the paper's polynomials on [−1, 1]."""
    return solve(
        small_polynomials(),
        RING,
        RSS[name](delta),
        step=step,
        rounds=ROUNDS,
        start=list(START),
        seed=seed,
        keep="transcript",
        progress=False,
    )


@cache
def kept_fs() -> Run:
    """A short run of function sharing on the ring, every word kept; agents that want different things."""
    return solve(
        heterogeneous_polynomials(),
        RING,
        FunctionSharing(4, 0.1),
        step=STEP,
        rounds=ROUNDS,
        start=list(START),
        keep="transcript",
        progress=False,
    )


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
    """d: what noise added to every word of a kept run, in units of a gradient; zero where there is no link.

    The diagonal is what an agent adds to its own word before it mixes: its noise in RSS-NB, nothing in RSS-LB.
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
    problems: dict[str, Any] = {"paper": paper_polynomials, "heterogeneous": heterogeneous_polynomials}
    networks: dict[str, Any] = {"C5": Network.cycle, "K5": Network.complete}
    chosen: Problem = problems[problem]()
    return sweep(
        chosen,
        networks[network](5),
        algorithms[name],
        step=STEP,
        rounds=10_000,
        start=list(START),
        seeds=range(100),
        time_average=False,
        progress=False,
    )
