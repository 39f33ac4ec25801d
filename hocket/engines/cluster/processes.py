"""Processes find each other by `jax.distributed`, and tell each other what one of them knows."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from hocket.engines.cluster.liveness import LivenessWatch
from hocket.errors import BadInput, ClusterError
from hocket.files import json_value

ADDRESS, COUNT, NUMBER = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
"""Variables by which processes are started by hand: where process 0 listens, how many there are, and which this is."""
TIMEOUT = "HOCKET_CLUSTER_TIMEOUT"
"""The variable for how many seconds a process waits for the others."""
LAUNCHERS = ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
"""What Slurm, Open MPI and other MPIs set to the number of processes."""
HEARTBEAT = 100
"""Seconds until JAX itself ends a process whose cluster is broken: the last resort, after our own watch."""


@dataclass(frozen=True)
class ClusterPlace:
    """What a process needs to know to find the others; None where JAX finds it by itself."""

    address: str | None = None
    count: int | None = None
    number: int | None = None


_watch: LivenessWatch | None = None


def join() -> LivenessWatch | None:
    """Join the processes that were started together; a process that was started alone stays alone.

    Before anything is computed with JAX: afterwards its devices are fixed. A second call does nothing.
    """
    global _watch
    call = _called(os.environ)
    if call is None or _watch is not None or jax.distributed.is_initialized():
        return _watch
    seconds = float(os.environ.get(TIMEOUT, 300))
    if call.address is not None and call.number != 0:
        _reach(call.address, seconds)
    # Without collectives of its own the CPU cannot compute across processes; GPUs have NCCL, and ignore this.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    impatient = threading.Timer(seconds, _give_up, [seconds])
    impatient.daemon = True
    impatient.start()
    try:
        jax.distributed.initialize(
            call.address,
            call.count,
            call.number,
            cluster_detection_method="mpi4py" if "PMI_SIZE" in os.environ and call.address is None else None,
            initialization_timeout=int(seconds) + HEARTBEAT,
            heartbeat_timeout_seconds=HEARTBEAT,
            shutdown_timeout_seconds=HEARTBEAT,
        )
    except RuntimeError as error:
        raise BadInput(
            f"this process cannot join a cluster any more ({error}); call hocket.engines.cluster.join() before "
            "anything is computed, or start it with hocket cluster run"
        ) from error
    finally:
        impatient.cancel()
    state = _state()
    _watch = LivenessWatch(
        state.client,
        jax.process_index(),
        jax.process_count(),
        listening=lambda: _listens(state.coordinator_address, 1.0),
    )
    _watch.start()
    _watch.speak_when_aborted()
    with _silent_output(), _watch.over():
        multihost_utils.sync_global_devices("hocket")
    return _watch


@contextmanager
def _silent_output() -> Generator[None]:
    """While processes connect: Gloo greets on standard output, which belongs to the answer."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _called(environment: Mapping[str, str]) -> ClusterPlace | None:
    """How this process was started; None if alone."""
    if ADDRESS in environment and COUNT in environment:
        missing = [name for name in (COUNT, NUMBER) if not environment.get(name, "").isdigit()]
        if missing:
            raise BadInput(
                f"{ADDRESS} is set, but {missing[0]} is not a whole number; set all three, or none"
            )
        count, number = int(environment[COUNT]), int(environment[NUMBER])
        if not number < count:
            raise BadInput(f"{NUMBER} = {number} of {COUNT} = {count}; processes are numbered from 0")
        return ClusterPlace(environment[ADDRESS], count, number)
    started = [int(environment[name]) for name in LAUNCHERS if environment.get(name, "").isdigit()]
    return ClusterPlace() if started and max(started) > 1 else None


def _reach(address: str, seconds: float) -> None:
    """Wait until process 0 listens: JAX would end this process without a word about where it looked."""
    if not re.fullmatch(r".+:\d+", address):
        raise BadInput(f"{ADDRESS} = {address!r}; write HOST:PORT, where process 0 listens")
    deadline = time.monotonic() + seconds
    while not _listens(address, min(seconds, 5.0)):
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"the coordinator of the cluster, process 0 at {address}, cannot be reached after {seconds:g} s; check "
                "the address, that process 0 runs, and that no firewall is in between"
            )
        time.sleep(0.2)


def _listens(address: str, seconds: float) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except OSError:
        return False
    return True


def _give_up(seconds: float) -> None:
    state = _state()
    # JAX is waiting in C++ and would end the process from there, after a stack trace: nothing can be raised here.
    sys.stderr.write(
        f"hocket: process {state.process_id} of {state.num_processes} waited {seconds:g} s for the others at the "
        f"coordinator {state.coordinator_address}; check that all of them were started, with this address\n"
    )
    sys.stderr.flush()
    os._exit(1)


def _state() -> Any:
    # JAX shows its connection to the coordinator nowhere else.
    from jax._src.distributed import global_state

    return global_state


def told_by_first(value: Any) -> Any:
    """What process 0 has, in every process; anything that fits into JSON."""
    text = json.dumps(value).encode()
    # A collective needs the same shape everywhere, so how long the text is goes ahead of it.
    length = int(multihost_utils.broadcast_one_to_all(np.int32(len(text))))
    told = multihost_utils.broadcast_one_to_all(np.frombuffer(text[:length].ljust(length), np.uint8))
    return json_value(np.asarray(told).tobytes())
