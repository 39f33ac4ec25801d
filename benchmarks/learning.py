"""Training speed beside a plain PyTorch loop over agents, in one process.

    python benchmarks/learning.py            a minute or two, prints a table; needs the extra `bench`
    python benchmarks/learning.py --json     the same as JSON

Five agents on a ring train the MLP 1024-128-64-10 with batches of 32 and speak every 40 steps. The rival is what most
would write: a model and an optimiser for each agent, one after the other, and an average with the neighbours. It is
given images already padded and scaled, and draws no noise; hocket pads and scales in every step. Expected: at least 1.5
times its agent-steps per second, since one compiled program trains all agents side by side. Turns are interleaved; the
ratio is that of the medians, against the faster of PyTorch on one thread and on all. Take it on a quiet machine: on a
busy one PyTorch's threads wait for each other, and it looks slower than it is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import hocket as hk
from hocket import learning, threefry
from hocket.engines.compiled import Compiled
from hocket.engines.prepare import prepare
from hocket.engines.schedule import STOPS
from hocket.engines.simulator import step_table
from hocket.job import Job
from hocket.learning.batches import stacked_shards
from hocket.learning.exchanges import PerExchange
from hocket.learning.judging import judge
from hocket.learning.minibatches import Minibatches

AGENTS, SAMPLES = 5, 60_000
LOCAL_STEPS, BATCH, STEP = 40, 32, 0.1
EXCHANGES, TURNS = 4, 7
NOISE = 1.0
SIDE, MEAN, SPREAD = 32, 0.1307, 0.3081


def images() -> learning.Dataset:
    """As many bytes as MNIST has; speed does not depend on what they show."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (SAMPLES, 28, 28), dtype=np.uint8)
    return learning.Dataset("random images", pixels, rng.integers(0, 10, SAMPLES), 10)


def hocket(algorithm: hk.Algorithm, shards: learning.Shards) -> Callable[[], Any]:
    """The simulator's compiled exchanges, without measurements."""
    model = learning.mlp()
    objective = Minibatches(model, threefry.seed_key(0), LOCAL_STEPS, BATCH)
    job = Job.asked(
        hk.Problem(objective, stacked_shards(shards.parts), feasible=hk.Everywhere(), dim=model.dim),
        hk.Network.cycle(AGENTS),
        algorithm,
        step=PerExchange(hk.Constant(STEP), LOCAL_STEPS),
        rounds=EXCHANGES,
        start=model.start,
        dtype=np.float32,
    )
    judged = judge(model, shards.parts[0].take(np.arange(BATCH)))
    program = Compiled(prepare(job, algorithm, averaging=False, judge=judged))
    steps = step_table(job, 0)
    carry = program.begin(jnp.asarray(job.first_states, np.float32), steps)
    stops, wanted = np.full(STOPS, EXCHANGES + 1), np.zeros(STOPS, dtype=bool)
    return lambda: jax.block_until_ready(program.advance(carry, steps, stops, wanted)[0].state)


def pytorch(shards: learning.Shards, threads: int) -> Callable[[], Any]:
    """A loop over agents, each with its own model, optimiser and shuffled shard."""
    edge = (SIDE - 28) // 2
    data = [
        (
            torch.nn.functional.pad(
                (torch.from_numpy(part.inputs).float() / 255 - MEAN) / SPREAD,
                (edge,) * 4,
                value=-MEAN / SPREAD,
            ).flatten(1),
            torch.from_numpy(part.labels).long(),
        )
        for part in shards.parts
    ]
    relu = torch.nn.ReLU
    models = [
        torch.nn.Sequential(
            torch.nn.Linear(SIDE * SIDE, 128),
            relu(),
            torch.nn.Linear(128, 64),
            relu(),
            torch.nn.Linear(64, 10),
        )
        for _ in range(AGENTS)
    ]
    optimisers = [torch.optim.SGD(model.parameters(), lr=STEP) for model in models]
    loss = torch.nn.CrossEntropyLoss()

    def exchange() -> None:
        with torch.no_grad():
            said = [torch.nn.utils.parameters_to_vector(model.parameters()) for model in models]
            for j, model in enumerate(models):
                mixed = (said[j - 1] + said[j] + said[(j + 1) % AGENTS]) / 3
                torch.nn.utils.vector_to_parameters(mixed, model.parameters())

    def run() -> None:
        torch.set_num_threads(threads)
        for _ in range(EXCHANGES):
            exchange()
            for model, optimiser, (inputs, labels) in zip(models, optimisers, data, strict=True):
                order = torch.randperm(len(labels))[: LOCAL_STEPS * BATCH].view(LOCAL_STEPS, BATCH)
                for rows in order:
                    optimiser.zero_grad()
                    loss(model(inputs[rows]), labels[rows]).backward()
                    optimiser.step()

    return run


def race(rivals: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds of each, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for run in rivals.values():
        run()
    for _ in range(TURNS):
        for name, run in rivals.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def machine() -> dict[str, Any]:
    """Where the numbers were taken, and how busy it was."""
    about = Path("/proc/cpuinfo")
    models = (
        [line for line in about.read_text().splitlines() if "model name" in line] if about.exists() else []
    )
    return {
        "processor": models[0].partition(": ")[2] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "jax": jax.__version__,
        "torch": torch.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    shards = learning.equal_shards(images(), AGENTS, seed=0)
    rivals = {
        f"PyTorch, threads: {threads}": pytorch(shards, threads) for threads in {1, torch.get_num_threads()}
    }
    ours = {
        "hocket, DGD": hocket(hk.Dgd(), shards),
        "hocket, RSS-NB": hocket(hk.RssNb(NOISE), shards),
    }
    seconds = race(rivals | ours)
    steps, best = AGENTS * LOCAL_STEPS * EXCHANGES, min(seconds[name] for name in rivals)
    rows = [
        {"name": name, "agent_steps_per_s": steps / taken, "ratio": best / taken}
        for name, taken in seconds.items()
    ]
    if arguments.json:
        print(json.dumps({"machine": machine(), "rows": rows}, indent=2))
        return
    print(", ".join(f"{key}: {value}" for key, value in machine().items()))
    for row in rows:
        print(f"{row['name']:30}{row['agent_steps_per_s']:>10,.0f} agent-steps/s{row['ratio']:>8.2f} x")


if __name__ == "__main__":
    main()
