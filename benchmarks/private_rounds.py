"""What a round costs under each way to hide it, over a round of DGD, on one CPU.

    python benchmarks/private_rounds.py                 three minutes, prints two tables
    python benchmarks/private_rounds.py NAME...         some rows of them: polynomials, single, training …

Floor: RSS-LB draws the numbers that RSS-NB draws, and writes and reads a message for every neighbour where RSS-NB has
one for all; function sharing adds its noise function's slope to a gradient, and reads four numbers a coordinate for it;
DP-SGD needs the length of every sample's gradient, which in a layer follows from what goes in and what comes back, and
a normal number for every parameter and step. Ways take turns in one process, and a ratio is of median processor times:
some virtual machines leave out a thread's time now and then, so that the least is none.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from cases import Case, least_squares, logistic, polynomials, simulated

import hocket as hk
from hocket import learning
from hocket.learning.baselines import Clipping
from hocket.learning.batches import stacked_shards
from hocket.learning.minibatches import Minibatches
from hocket.noise import threefry

TURNS = 15
WAYS = {
    "DGD": hk.Dgd(),
    "RSS-NB": hk.RssNb(1.0),
    "RSS-LB": hk.RssLb(1.0),
    "FS, degree 4": hk.FunctionSharing(degree=4, bound=1.0),
}


def wide(network: hk.Network, dim: int, rounds: int, name: str) -> Case:
    """A parabola for every agent and coordinate: gradients that cost next to nothing."""
    rng = np.random.default_rng(0)
    table = np.stack(
        [np.zeros((network.n, dim)), rng.normal(size=(network.n, dim)), np.ones((network.n, dim))], 1
    )
    problem = hk.polynomials(table, box=(-5, 5), optimum=0.0)
    start = np.zeros((network.n, dim))
    return Case(name, problem, network, hk.Constant(0.01), rounds, start, lambda v: v, lambda v: v, {})


CASES: dict[str, tuple[Callable[[], Case], type]] = {
    "polynomials": (lambda: polynomials(1 << 19), np.float64),
    "logistic regression": (lambda: logistic(1024), np.float64),
    "least squares": (lambda: least_squares(4), np.float64),
    "single precision, ring": (
        lambda: wide(hk.Network.cycle(5), 140_106, 16, "ring of 5, D = 140,106"),
        np.float32,
    ),
    "single precision, degree 8": (
        lambda: wide(hk.Network.random_regular(8, 64), 14_011, 16, "64 agents of degree 8, D = 14,011"),
        np.float32,
    ),
}


def times(turns: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median processor time of each, in turns; the first compiles and does not count."""
    taken: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(TURNS + 1):
        for name, turn in turns.items():
            began = time.process_time()
            jax.block_until_ready(turn())
            taken[name].append(time.process_time() - began)
    return {name: statistics.median(some[1:]) for name, some in taken.items()}


def rounds_of(names: list[str]) -> None:
    """Every way on every problem."""
    print(
        f"{'µs a round':36}" + "".join(f"{name:>14}" for name in WAYS) + "   LB over NB   FS, of DGD's speed"
    )
    for name, (build, dtype) in CASES.items():
        if names and not any(word in name for word in names):
            continue
        with jax.enable_x64(dtype is np.float64):
            case = build()
            found = times({way: simulated(case, one, dtype=dtype)[0] for way, one in WAYS.items()})
        shown = "".join(f"{1e6 * seconds / case.rounds:14.3g}" for seconds in found.values())
        ratios = found["RSS-LB"] / found["RSS-NB"], found["DGD"] / found["FS, degree 4"]
        print(f"{case.name:36}{shown}{ratios[0]:13.2f}{ratios[1]:21.2f}", flush=True)


def training() -> None:
    """Five agents' local steps on an MLP of 140,106 parameters: plain, and clipped by sample with noise."""
    rng, steps, batch, model = np.random.default_rng(0), 10, 32, learning.mlp()
    images = rng.integers(0, 256, (5, 400, 28, 28), dtype=np.uint8)
    parts = [learning.Dataset("random images", one, rng.integers(0, 10, 400), 10) for one in images]
    data, start = jax.device_put(stacked_shards(parts)), jax.device_put(np.tile(model.start, (5, 1)))

    def descended(clipping: Clipping | None) -> Callable[[], Any]:
        objective = Minibatches(model, threefry.seed_key(0), steps, batch, clipping=clipping)
        how: dict[str, Any] = {"step": 0.1, "feasible": hk.Everywhere(), "plus": None}
        played = jax.jit(lambda v, data: jax.vmap(lambda x, one: objective.local(one)(x, 1, **how))(v, data))
        return lambda: played(start, data)

    ways = {"DGD": None, "DP-SGD": Clipping(np.float32(1.0), np.float32(0.5))}
    found = times({name: descended(clipping) for name, clipping in ways.items()})
    shown = "".join(f"{name:>10}{1e3 * seconds / steps:8.2f}" for name, seconds in found.items())
    print(f"ms a local step of five agents{shown}   DP-SGD over DGD {found['DP-SGD'] / found['DGD']:.2f}")


if __name__ == "__main__":
    wanted = sys.argv[1:]
    if wanted != ["training"]:
        rounds_of(wanted)
    if not wanted or "training" in wanted:
        training()
