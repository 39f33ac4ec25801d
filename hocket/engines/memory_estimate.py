"""When a device's memory is too small: how much a run needs, and what to lower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import jax
import numpy as np

from hocket.engines.compiled import Compiled
from hocket.engines.program import Steps
from hocket.engines.recorder import readable
from hocket.engines.simulator import table_length
from hocket.errors import OutOfMemory
from hocket.runs.job import Job

COPIES = 4
"""States held at once where nobody has measured: before and after a round, mixed, and their time average."""


@dataclass
class Estimate:
    """How much memory a run needs on one device, as well as it is known so far."""

    job: Job
    compiled: Compiled | None = None
    """The program, once it is laid out."""

    @property
    def bytes(self) -> float:
        """The compiler's own account where it gets that far, else data and states."""
        job, shape = self.job, jax.ShapeDtypeStruct
        if self.compiled is not None:
            steps = Steps(shape((), int), shape((table_length(job),), job.dtype))
            with suppress(
                jax.errors.JaxRuntimeError
            ):  # a compiler that measures on the device needs room there
                return self.compiled.bytes_needed(shape(job.first_states.shape, job.dtype), steps)
        data = sum(np.size(leaf) for leaf in jax.tree.leaves(job.own_problem.groups))
        return (data + COPIES * job.first_states.size) * job.dtype.itemsize / jax.device_count()


@contextmanager
def explained(job: Job) -> Iterator[Estimate]:
    """Turn the compiler's words about memory into ones that say what to do."""
    estimate = Estimate(job)
    try:
        yield estimate
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if "RESOURCE_EXHAUSTED" not in str(error) and "out of memory" not in str(error).lower():
            raise
        raise OutOfMemory(_message(estimate)) from error


def _message(estimate: Estimate) -> str:
    job, device = estimate.job, jax.local_devices()[0]
    limit = (device.memory_stats() or {}).get("bytes_limit")
    has = "" if limit is None else f" and {device.device_kind} offers {readable(limit)}"
    half = "take dtype='float32', " if job.dtype == np.float64 else ""
    agents, dim = job.first_states.shape
    return (
        f"out of memory on {device.platform}:{device.id}: the run needs about {readable(estimate.bytes)}{has}; {half}"
        f"leave the time average out, lower the agents ({agents:,}), their dimension ({dim:,}) or their data, or "
        "spread the agents over more devices with engine='cluster'"
    )
