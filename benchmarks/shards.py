"""Shards of a cluster to be timed: laid out once, played together, or each by itself, as often as one likes."""

from __future__ import annotations

import json
import os
import resource
import socket
import struct
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, PartitionSpec

import hocket as hk
from hocket.algorithm import SecureSum, SendEach
from hocket.engines.cluster.player import Traffic, weigh
from hocket.engines.cluster.routes import SHARDS, Routes, Trip
from hocket.engines.cluster.shard import cut
from hocket.engines.cluster.sharded import Sharded
from hocket.engines.compiled.player import Compiled, legs
from hocket.engines.compiled.rounds import begin
from hocket.engines.prepare import prepare
from hocket.engines.schedule import STOPS, Looks
from hocket.engines.simulator import step_table
from hocket.engines.traffic import message_bytes, sent_in_round
from hocket.runs.job import Job

STEP, LONGEST = 0.01, 4000
"""A step that is given saves looking for one; and the most rounds that are ever timed."""
BYTES_ACKED = 120
"""Where Linux keeps, in what it tells of a TCP connection, how many bytes the other side has taken."""


def rings(n: int, count: int) -> hk.Network:
    """So many rings through all agents in random orders: nearly regular, and built in no time however large."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(count)]
    ends = [(order, np.roll(order, 1)) for order in orders]
    links = np.unique(np.concatenate([np.minimum(*pair) * n + np.maximum(*pair) for pair in ends]))
    return hk.Network(np.column_stack(np.divmod(links, n)), n=n, name=f"{count} rings of {n}")


def bowls(n: int, dim: int) -> hk.Problem:
    """Quadratics with minimisers of their own."""
    centre = np.random.default_rng(0).uniform(-1, 1, size=(n, dim))
    table = np.stack([centre**2, -2 * centre, np.ones_like(centre)], axis=1)
    return hk.polynomials(table, box=(-5, 5), dim=dim, optimum=0.0)


class Stage:
    """A run of an algorithm on rings, ready to be played; within `jax.enable_x64(True)`."""

    def __init__(self, algorithm: hk.Algorithm, n: int, dim: int, degree: int):
        self.job = Job.asked(bowls(n, dim), rings(n, degree // 2), algorithm, step=STEP, rounds=LONGEST)
        self.program = prepare(self.job, self.job.algorithm, averaging=False)
        self.steps = step_table(self.job, 0)

    def together(self) -> Played:
        """Played by all processes."""
        return Played(self, Sharded(self.program, jax.devices()))

    def in_one_place(self) -> Played:
        """Played by the simulator."""
        return Played(self, Compiled(self.program))


class Played:
    """Rounds from the start on, by whichever player."""

    def __init__(self, stage: Stage, player: Any):
        self.stage, self.player = stage, player
        self.start = player.begin(stage.job.first_states.astype(stage.job.dtype), stage.steps)

    def rounds(self, count: int) -> Any:
        """Where the agents stand after so many rounds, once they are there."""
        stops = np.full(STOPS, 1 + count)
        return jax.block_until_ready(
            self.player.advance(self.start, self.stage.steps, stops, Looks.nowhere())[0]
        )

    def states(self, count: int) -> np.ndarray:
        """All agents' states after so many rounds, in the order of their numbers."""
        return np.asarray(hk.algorithm.x_of(self.player.whole(self.rounds(count)).state))

    @property
    def traffic(self) -> Traffic:
        """What crosses in a round, by the plan of trips."""
        return weigh(self.stage.job, self.stage.program, self.player.layout)

    @property
    def loads(self) -> list[list[int]]:
        """Bytes that a shard sends in each permutation of a round, message by message."""
        layout, found = self.player.layout, []
        for outgoing in sent_in_round(self.stage.job, self.stage.program):
            assert not isinstance(outgoing, SecureSum), "sums over all agents are no permutation"
            timetable = layout.told if isinstance(outgoing, SendEach) else layout.said
            word = message_bytes(outgoing) // (
                self.stage.program.tables.slots if isinstance(outgoing, SendEach) else 1
            )
            found.append([trip.load * word for trip in timetable.routes(0).trips])
        return found

    def alone(self) -> Callable[[int], Any]:
        """Plays rounds of this process's shard by itself: all it computes, packs and unpacks, and nothing crosses.

        What it would send to others it sends to itself. The numbers are wrong and the work is the same.
        """
        layout, shard = self.player.layout, jax.process_index()
        part = cut(self.stage.program, layout, shard)
        shut_in = {
            name: Routes(tuple(Trip(((0, 0),), trip.rows) for trip in routes.trips))
            for name in ("said_routes", "told_routes")
            if (routes := getattr(part.population, name)) is not None
        }
        part = replace(part, population=replace(part.population, **shut_in))
        numbers, rest = eqx.partition(part, eqx.is_array)
        here, mesh = PartitionSpec(), Mesh(np.array(jax.local_devices()[:1]), (SHARDS,))

        def on_this_device(function: Callable[..., Any], count: int) -> Any:
            def one(numbers: Any, *args: Any) -> Any:
                return function(eqx.combine(numbers, rest), *args)

            return jax.jit(
                jax.shard_map(one, mesh=mesh, in_specs=(here,) * count, out_specs=here, check_vma=False)
            )

        numbers, steps = jax.device_put((numbers, self.stage.steps), jax.local_devices()[0])
        rows = self.stage.job.first_states.astype(self.stage.job.dtype)[layout.agents[shard]]
        start = on_this_device(begin, 3)(numbers, rows, steps)
        advance = on_this_device(lambda *args: legs(*args)[0], 5)
        return lambda count: jax.block_until_ready(
            advance(numbers, start, steps, np.full(STOPS, 1 + count), Looks.nowhere())
        )


def permutations(size: int, trips: int, often: int) -> Callable[[], Any]:
    """Passes so many bytes on over so many trips at once, as one message of a round does; all of it so many times
    over."""
    count = jax.process_count()
    mesh, spec = Mesh(np.array(jax.devices()), (SHARDS,)), PartitionSpec(SHARDS)

    def passed_on(parts: list[Any]) -> list[Any]:
        pairs = [[(i, (i + 1 + trip) % count) for i in range(count)] for trip in range(trips)]
        return [jax.lax.ppermute(part, SHARDS, one) for part, one in zip(parts, pairs, strict=True)]

    def all_of_it(parts: list[Any]) -> list[Any]:
        return jax.lax.fori_loop(0, often, lambda _, parts: passed_on(parts), parts)

    play = jax.jit(jax.shard_map(all_of_it, mesh=mesh, in_specs=spec, out_specs=spec))
    whole = np.zeros((count, size // 4), np.float32)
    sharding = jax.sharding.NamedSharding(mesh, spec)
    parts = [
        jax.make_array_from_callback(whole.shape, sharding, lambda where: whole[where]) for _ in range(trips)
    ]
    return lambda: jax.block_until_ready(play(parts))


def timed(function: Callable[[], Any]) -> float:
    """Seconds that a call takes where all processes begin at once: those of the slowest."""
    multihost_utils.sync_global_devices("begin")
    began = time.perf_counter()
    function()
    return slowest(time.perf_counter() - began)


def slowest(seconds: float) -> float:
    """The most that any process has."""
    return float(np.max(multihost_utils.process_allgather(np.array(seconds))))


def sent() -> int:
    """Bytes that this process has sent over all its connections, and the other side has taken; as Linux counts."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError), socket.socket(fileno=os.dup(int(name))) as one:
            told = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            if len(told) >= BYTES_ACKED + 8:
                total += struct.unpack_from("Q", told, BYTES_ACKED)[0]
    return total


def peak() -> int:
    """Bytes that this process had in memory at most, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def ask(script: str, processes: int, *arguments: str) -> Any:
    """What process 0 of so many writes down, each running this script as a member."""
    from hocket.engines.cluster.local_processes import run_together

    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "found.json"
        command = [str(Path(script).resolve()), "--member", str(answer), *arguments]
        ended = run_together(["hocket.engines.cluster", *command], processes)
        if not ended.well:
            raise SystemExit(f"processes of the group failed: exit codes {ended.codes}")
        return json.loads(answer.read_text())
