"""Training speed beside PyTorch, one agent after the other and all agents stacked.

    python benchmarks/learning.py            a minute, prints a table

Five agents on a ring train the MLP 1024-128-64-10 with batches of 32 and speak every 40 steps. Floor: what the matrix
products of the steps take, 27 million multiplications each. Expected: at least 1.5 times the loop over agents, since
one compiled program trains all side by side, and no less than the stacked one. Take it on a quiet machine: on a busy
one PyTorch's threads wait for each other, and it looks slower than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from outcome import Claim, Section, fastest, rows
from racing import Contestant, Effort, race
from rivals.torch_models import Training, one_by_one, stacked

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

AGENTS, SAMPLES = 5, 60_000
TRAINING = Training(exchanges=2, local_steps=40, batch=32, step=0.1)
NOISE = 1.0


def images() -> learning.Dataset:
    """As many bytes as MNIST has; speed does not depend on what they show."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (SAMPLES, 28, 28), dtype=np.uint8)
    return learning.Dataset("random images", pixels, rng.integers(0, 10, SAMPLES), 10)


def simulated(algorithm: hk.Algorithm, shards: learning.Shards, training: Training) -> Callable[[], Any]:
    """The simulator's compiled exchanges, without measurements."""
    model = learning.mlp()
    objective = Minibatches(model, threefry.seed_key(0), training.local_steps, training.batch)
    job = Job.asked(
        hk.Problem(objective, stacked_shards(shards.parts), feasible=hk.Everywhere(), dim=model.dim),
        hk.Network.cycle(AGENTS),
        algorithm,
        step=PerExchange(hk.Constant(training.step), training.local_steps),
        rounds=training.exchanges,
        start=model.start,
        dtype=np.float32,
    )
    judged = judge(model, shards.parts[0].take(np.arange(training.batch)))
    program = Compiled(prepare(job, algorithm, averaging=False, judge=judged))
    steps = step_table(job, 0)
    carry = program.begin(jnp.asarray(job.first_states, np.float32), steps)
    stops, looks = np.full(STOPS, training.exchanges + 1), Looks.nowhere()
    return lambda: program.advance(carry, steps, stops, looks)[0].state


def sections(effort: Effort) -> list[Section]:
    """Agent-steps per second: local steps of all agents together."""
    shards = learning.equal_shards(images(), AGENTS, seed=0)
    work = AGENTS * TRAINING.local_steps * TRAINING.exchanges
    ours = [
        Contestant("hocket, DGD", simulated(hk.Dgd(), shards, TRAINING), work),
        Contestant("hocket, RSS-NB", simulated(hk.RssNb(NOISE), shards, TRAINING), work),
    ]
    rivals = [
        Contestant(
            f"PyTorch, {name}, {threads} thread{'s' * (threads > 1)}",
            way(shards, TRAINING, threads=threads),
            work,
        )
        for name, way in {"agent by agent": one_by_one, "agents stacked": stacked}.items()
        for threads in effort.threads
    ]
    paces = race(ours + rivals, turns=effort.turns, about="MLP")
    plain, private = (paces[one.name].rate for one in ours)
    title = f"training an MLP, {AGENTS} agents on a ring, {TRAINING.local_steps} local steps"
    return [
        Section(
            title,
            "agent-steps/s",
            rows(paces, yardstick="hocket, DGD"),
            [
                Claim(
                    "MLP: DGD over PyTorch agent by agent", plain / fastest(paces, "PyTorch, agent by"), 1.5
                ),
                Claim(
                    "MLP: DGD over PyTorch with agents stacked",
                    plain / fastest(paces, "PyTorch, agents"),
                    1.0,
                ),
                Claim("MLP: RSS-NB's time over DGD's, 40 local steps", plain / private, 1.2, at_least=False),
            ],
        )
    ]


if __name__ == "__main__":
    from reporting import show

    jax.config.update("jax_platforms", "cpu")
    show(sections(Effort.usual()))
