"""What a compiled program really moves between shards, read off from its code."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np

import hocket as hk
from hocket.engines.cluster.sharded import Sharded, _advance
from hocket.engines.prepare import prepare
from hocket.engines.schedule import STOPS, Looks
from hocket.engines.simulator import step_table
from hocket.runs.job import Job
from tests.laws.table import quadratics
from tests.units.engine_cases import STEP

SIZES = {"f32": 4, "f64": 8}
PERMUTE = re.compile(r"= (f32|f64)\[([\d,]*)\]\S* collective-permute\(.*source_target_pairs=\{(.*?)\}\}")


def bytes_in_program(network: hk.Network, algorithm: hk.Algorithm) -> int:
    """Bytes that all shards together send in one round: a permutation sends its operand once for every pair."""
    job = Job.asked(quadratics(network.n, 2, 1), network, algorithm, step=STEP, rounds=60)
    with jax.enable_x64(True):
        player = Sharded(prepare(job, algorithm, averaging=True), jax.devices())
        steps = step_table(job, 0)
        carry = player.begin(jnp.asarray(job.first_states), steps)
        program = _advance.lower(
            player._blueprint,
            player._mesh,
            player._numbers,
            carry,
            player._everywhere(steps),
            np.full(STOPS, 2),
            Looks.nowhere(),
        )
        return sum(_sent(line) for line in program.compile().as_text().splitlines())


def _sent(line: str) -> int:
    found = PERMUTE.search(line)
    if found is None:
        return 0
    kind, shape, pairs = found.groups()
    numbers = int(np.prod([int(axis) for axis in shape.split(",") if axis]))
    return numbers * SIZES[kind] * (pairs.count("{") + (not pairs.startswith("{")))
