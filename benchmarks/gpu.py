"""What privacy costs on a GPU, beside what the memory allows.

    python benchmarks/gpu.py            about two minutes, prints a table; needs a GPU
    python benchmarks/gpu.py --json     the same as JSON

1,024 agents with 8 neighbours each hold the 140,106 numbers of the MLP 1024-128-64-10, in float32; where they only
exchange messages, 140,112, the next multiple of 16.

Passes over all states are what an exchange is counted in, at the speed at which the device copies. DGD reads its own
state and 8 others' and writes one: deg + 2 passes, if every read goes to memory. The mixing kernel reads them from the
cache. Expected: at most 0.65 of that floor, with the pass to read and the pass to write of the (empty) gradient step.
RSS-NB also writes the messages and reads them again, and draws 4 pairs of numbers per agent and coordinate, once a
link: about 50 integer operations a pair, which take longer than the bytes do. Wanted: at most 2.2 ms. RSS-LB draws
twice as many, and writes and reads a message for every neighbour. Wanted: at most 3.5 ms. AugDGM mixes twice and
steps three arrays: 11 passes. JointAverage reads one array and writes two: 3.
With 40 local steps of batch 32 between exchanges the arithmetic of training is the larger part: RSS-NB at most 1.10
times DGD, RSS-LB at most 1.15 times.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hocket as hk
from hocket import learning
from hocket.engines.compiled.player import Compiled
from hocket.engines.prepare import prepare
from hocket.engines.schedule import STOPS, Looks
from hocket.engines.simulator import step_table
from hocket.learning.accuracy import judge
from hocket.learning.batches import stacked_shards
from hocket.learning.minibatches import Minibatches
from hocket.learning.training import PerExchange
from hocket.noise import threefry
from hocket.runs.job import Job

AGENTS, MANY, DEGREE, DIM = 1024, 4096, 8, 140_112
LOCAL_STEPS, BATCH, SAMPLES = 40, 32, 60
EXCHANGES, EXCHANGES_TRAINED, TURNS = 20, 4, 5
ALGORITHMS = {"DGD": hk.Dgd(), "RSS-NB": hk.RssNb(1.0), "RSS-LB": hk.RssLb(1.0)}
UNTRAINED = {"AugDGM": hk.AugDgm(), "JointAverage": hk.JointAverage()}
PASSES = {"DGD": DEGREE + 2, "AugDGM": 11, "JointAverage": 3}
"""Floors, in passes over all states."""


def seconds_per_turn(run: Callable[[], Any], turns: int) -> float:
    """Median seconds of one of the turns that a call plays, once it is compiled."""
    jax.block_until_ready(run())
    taken = []
    for _ in range(TURNS):
        began = time.perf_counter()
        jax.block_until_ready(run())
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) / turns


def copying(agents: int) -> float:
    """Seconds in which the device reads all states once and writes them once."""

    @jax.jit
    def copies(x: Any) -> Any:
        return jax.lax.fori_loop(0, EXCHANGES, lambda _, x: x + 1, x)

    states = jnp.zeros((agents, DIM), jnp.float32)
    return seconds_per_turn(lambda: copies(states), EXCHANGES)


def played(job: Job, algorithm: hk.Algorithm, exchanges: int, judged: Any = None) -> float:
    """Seconds that the simulator takes for one exchange, without measurements."""
    program = Compiled(prepare(job, algorithm, averaging=False, judge=judged))
    steps = step_table(job, 0)
    carry = program.begin(jnp.asarray(job.first_states, np.float32), steps)
    stops, looks = np.full(STOPS, exchanges + 1), Looks.nowhere()
    return seconds_per_turn(lambda: program.advance(carry, steps, stops, looks)[0].state, exchanges)


def exchanging(algorithm: hk.Algorithm, agents: int) -> float:
    """One exchange of agents whose objectives are zero: messages, noise and mixing, and nothing else."""
    problem = hk.Problem(
        lambda x, data: jnp.zeros((), x.dtype),
        np.zeros((agents, 1), np.float32),
        feasible=hk.Everywhere(),
        dim=DIM,
        optimum=0.0,
    )
    job = Job.asked(
        problem,
        hk.Network.random_regular(DEGREE, agents),
        algorithm,
        step=hk.Constant(0.1),
        rounds=10 * EXCHANGES,
        start=np.zeros(DIM),
        dtype=np.float32,
    )
    return played(job, algorithm, EXCHANGES)


def training(algorithm: hk.Algorithm, agents: int) -> float:
    """One exchange with its local steps; speed does not depend on what the images show."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (SAMPLES * agents, 28, 28), dtype=np.uint8)
    images = learning.Dataset("random images", pixels, rng.integers(0, 10, len(pixels)), 10)
    shards, model = learning.equal_shards(images, agents, seed=0), learning.mlp()
    objective = Minibatches(model, threefry.seed_key(0), LOCAL_STEPS, BATCH)
    job = Job.asked(
        hk.Problem(objective, stacked_shards(shards.parts), feasible=hk.Everywhere(), dim=model.dim),
        hk.Network.random_regular(DEGREE, agents),
        algorithm,
        step=PerExchange(hk.Constant(0.1), LOCAL_STEPS),
        rounds=10 * EXCHANGES_TRAINED,
        start=model.start,
        dtype=np.float32,
    )
    return played(job, algorithm, EXCHANGES_TRAINED, judge(model, images.take(np.arange(BATCH))))


def measured(agents: int, many: int, say: Callable[[str], None]) -> dict[str, Any]:
    copy = copying(agents)
    say(f"copy of all states: {1e3 * copy:.3f} ms, {8e-12 * agents * DIM / copy:.2f} TB/s")
    rows = []
    kinds = {"exchange": (exchanging, ALGORITHMS | UNTRAINED), "40 local steps": (training, ALGORITHMS)}
    for kind, (call, algorithms) in kinds.items():
        for name, algorithm in algorithms.items():
            taken = call(algorithm, agents)
            dgd = next((row["ms"] for row in rows if row["kind"] == kind), 1e3 * taken)
            rows.append({"kind": kind, "algorithm": name, "ms": 1e3 * taken, "over_dgd": 1e3 * taken / dgd})
            say(f"{kind:16}{name:13}{1e3 * taken:9.3f} ms{rows[-1]['over_dgd']:8.3f} x DGD")
    exchanges = {row["algorithm"]: row["ms"] for row in rows if row["kind"] == "exchange"}
    floors = {name: 1e3 * passes * copy / 2 for name, passes in PASSES.items()}
    for name, floor in floors.items():
        say(f"{name} over its floor of {PASSES[name]} passes, {floor:.3f} ms: {exchanges[name] / floor:.2f}")
    large = {name: 1e3 * training(ALGORITHMS[name], many) for name in ("DGD", "RSS-NB")}
    for name, ms in large.items():
        say(f"{many:,} agents, 40 local steps, {name}: {ms:.1f} ms")
    return {
        "device": str(jax.devices()[0].device_kind),
        "jax": jax.__version__,
        "agents": agents,
        "dim": DIM,
        "copy_ms": 1e3 * copy,
        "floors_ms": floors,
        "rows": rows,
        f"agents_{many}_ms": large,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--agents", type=int, default=AGENTS)
    parser.add_argument("--many", type=int, default=MANY)
    arguments = parser.parse_args()
    if jax.default_backend() == "cpu" and arguments.agents == AGENTS:
        raise SystemExit(
            "no GPU found by JAX; install its GPU build, or try a small size: --agents 16 --many 32"
        )
    silent = arguments.json
    found = measured(
        arguments.agents, arguments.many, lambda line: None if silent else print(line, flush=True)
    )
    if arguments.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
