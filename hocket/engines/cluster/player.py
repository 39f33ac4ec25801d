"""A run on all devices of all processes that were started together, and what crosses between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.experimental import multihost_utils

from hocket.algorithm import Algorithm, SecureSum, SendEach
from hocket.engines.checkpoint import Checkpoint
from hocket.engines.cluster.layout import Layout, crossing
from hocket.engines.cluster.processes import join
from hocket.engines.cluster.sharded import Sharded
from hocket.engines.compiled.program import Program
from hocket.engines.prepare import Measuring, prepare
from hocket.engines.simulator import Simulation, simulate
from hocket.engines.solver import explained
from hocket.engines.traffic import message_bytes, sent_in_round
from hocket.errors import BadInput
from hocket.runs.job import Job


@dataclass(frozen=True)
class Traffic:
    """Bytes between shards, in one round and over all of them. Measurements and checkpoints come on top."""

    processes: int
    shards: int
    links: int
    crossing: int
    """Links between shards: the cut."""
    bytes_needed: int
    """An agent's message once to every other shard with a neighbour; where neighbours are told apart, once to each."""
    bytes_moved: int
    """With what pads loads of one trip to one size."""

    @property
    def settings(self) -> dict[str, int]:
        """As it is stored with a run."""
        return asdict(self)

    def __str__(self) -> str:
        shards = f"{self.shards} shards in {self.processes} process{'es' if self.processes > 1 else ''}"
        excess = f" ({self.bytes_moved / self.bytes_needed:.2f} times that)" if self.bytes_needed else ""
        return (
            f"played as {shards}: {self.crossing:,} of {self.links:,} links cross, for which a round needs "
            f"{self.bytes_needed:,} bytes and moves {self.bytes_moved:,}{excess}"
        )


def weigh(job: Job, program: Program, layout: Layout) -> Traffic:
    """The traffic of one round of a program."""
    needed = moved = 0
    for outgoing in sent_in_round(job, program):
        size = message_bytes(outgoing)
        if isinstance(outgoing, SecureSum):  # up and down a tree of shards
            needed, moved = (count + 2 * (layout.shards - 1) * size for count in (needed, moved))
            continue
        timetable = layout.told if isinstance(outgoing, SendEach) else layout.said
        word = size // layout.tables.slots if isinstance(outgoing, SendEach) else size
        needed, moved = needed + timetable.needed * word, moved + timetable.moved * word
    return Traffic(
        processes=jax.process_count(),
        shards=layout.shards,
        links=len(layout.tables.links),
        crossing=crossing(layout.tables.links, layout.shard_of),
        bytes_needed=needed,
        bytes_moved=moved,
    )


def play_on_cluster(
    job: Job,
    algorithm: Algorithm,
    measured: Measuring,
    *,
    checkpoint: Checkpoint | None = None,
    progress: bool | None = None,
    **how: Any,
) -> tuple[Simulation, Traffic]:
    """Play a run with its agents spread over all devices; every process gets the whole result.

    For populations that outgrow one device; `how` is as for `simulate`. Numbers are the simulator's: noise is counted
    by round and link, wherever it is drawn.
    """
    watch = join()
    devices = jax.devices()
    _check(job, devices)
    with watch.over() if watch else nullcontext(), explained(job):
        program = _the_same(_on_host(lambda: prepare(job, algorithm, **vars(measured))))
        _check_seen_by_all(checkpoint)
        player = Sharded(program, devices)
        shown = progress if jax.process_index() == 0 else False
        sim = simulate(program, job, checkpoint=checkpoint, progress=shown, player=player, **how)
        return sim, weigh(job, program, player.layout)


def _check(job: Job, devices: list[Any]) -> None:
    agents, processes = job.own_network.n, jax.process_count()
    if len(devices) > agents:
        what = "processes" if processes == len(devices) else f"devices in {processes} processes"
        raise BadInput(
            f"there are {len(devices)} {what} for {agents} agent{'s' if agents > 1 else ''}, and each needs one to "
            f"play; start at most {agents}"
        )


def _on_host(build: Callable[[], Program]) -> Program:
    """A program in the host's memory: the devices get only what is theirs."""
    try:
        host = jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX was told to leave the CPU alone
        return build()
    with jax.default_device(host):
        return build()


def _the_same(program: Program) -> Program:
    """With the f* that process 0 found: other machines may round it otherwise, and must not end a run earlier."""
    best = multihost_utils.broadcast_one_to_all(np.asarray(program.best))
    return eqx.tree_at(lambda program: program.best, program, np.asarray(best))


def _check_seen_by_all(checkpoint: Checkpoint | None) -> None:
    if checkpoint is None:
        return
    there = np.asarray(multihost_utils.process_allgather(np.array(checkpoint.path.exists()))).reshape(-1)
    if there.any() and not there.all():
        raise BadInput(
            f"process {int(there.argmin())} does not see the checkpoint {checkpoint.path}, which others do; put it on "
            "a disk that all machines share"
        )
