"""A run on all devices of all processes that were started together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.experimental import multihost_utils

from hocket.algorithm import Algorithm
from hocket.engines.checkpoint import Checkpoint
from hocket.engines.cluster.joining import join
from hocket.engines.cluster.sharded import Sharded
from hocket.engines.cluster.traffic import Traffic, weigh
from hocket.engines.memory import explained
from hocket.engines.prepare import Measured, prepare
from hocket.engines.program import Program
from hocket.engines.simulator import Simulation, simulate
from hocket.errors import BadInput
from hocket.job import Job


def play_on_cluster(
    job: Job,
    algorithm: Algorithm,
    measured: Measured,
    *,
    tolerance: float | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool | None = None,
    marks: np.ndarray | None = None,
    exact: bool = False,
) -> tuple[Simulation, Traffic]:
    """Play a run with its agents spread over all devices; every process gets the whole result.

    For populations that outgrow one device. Numbers are the simulator's: noise is counted by round and link, wherever
    it is drawn.
    """
    watch = join()
    devices = jax.devices()
    _check(job, devices)
    with watch.over() if watch else nullcontext(), explained(job):
        program = _the_same(_on_host(lambda: prepare(job, algorithm, **vars(measured))))
        _check_seen_by_all(checkpoint)
        player = Sharded(program, devices)
        sim = simulate(
            program,
            job,
            tolerance=tolerance,
            checkpoint=checkpoint,
            progress=progress if jax.process_index() == 0 else False,
            marks=marks,
            exact=exact,
            player=player,
        )
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
