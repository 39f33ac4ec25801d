"""Checkpoints: a run that was stopped goes on from where it was, to the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import numpy as np

from hocket import __version__
from hocket.engines.compiled.measures import measures_kind
from hocket.engines.prepare import fingerprint
from hocket.engines.schedule import recorded_rounds
from hocket.errors import BadInput
from hocket.runs.job import Job
from hocket.runs.storage import read_arrays, write_arrays

if TYPE_CHECKING:
    from hocket.engines.simulator import Simulation

EVERY = 30.0
"""Seconds between checkpoints."""


@dataclass
class Checkpoint:
    """Where a run keeps its last good state."""

    folder: Path
    since: float = 0.0
    """Seconds of work since it was last written."""

    @property
    def path(self) -> Path:
        return self.folder / "checkpoint.npz"

    def save_if_due(self, sim: Simulation, seconds: float) -> None:
        """Save unless it was done a moment ago, given the seconds of work since this was last asked."""
        self.since += seconds
        if self.since >= EVERY:
            self.save(sim)

    def save(self, sim: Simulation) -> Path:
        """Write the run's carry and what was measured so far."""
        self.since = 0.0
        leaves = jax.tree.leaves(sim.whole)
        if not sim.player.writes:
            return self.path
        self.folder.mkdir(parents=True, exist_ok=True)
        arrays = {f"carry/{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        arrays["hocket"] = np.array(__version__)
        arrays["fingerprint"] = np.array(_fingerprint(sim))
        arrays["steps"] = _some_steps(sim.job, sim.done)
        arrays["round"] = np.array([k for k, _ in sim.history], dtype=np.int64)
        for name in measures_kind(sim.player.program)._fields:
            arrays[f"history/{name}"] = np.array([getattr(measured, name) for _, measured in sim.history])
        write_arrays(self.path, arrays)
        return self.path

    def restore(self, sim: Simulation) -> None:
        """Take a run up again, if there is a checkpoint of this very run."""
        if not self.path.exists():
            return
        arrays = read_arrays(self.path)
        if str(arrays.get("fingerprint")) != _fingerprint(sim):
            raise BadInput(
                f"{self.path} belongs to another run: problem, network, algorithm, step, start, seed or precision "
                "differ; name another folder, or delete it to start afresh"
            )
        leaves, structure = jax.tree.flatten(sim.carry)
        stored = [arrays[f"carry/{i}"] for i in range(len(leaves))]
        done = int(stored[0]) - 1
        if done > sim.rounds:
            raise BadInput(f"{self.path} is already at round {done}; ask for at least as many rounds")
        if not np.array_equal(arrays["steps"], _some_steps(sim.job, done)):
            raise BadInput(
                f"{self.path} was reached with other step sizes than {sim.job.step}; take those, name another "
                "folder, or delete it to start afresh"
            )
        kind = measures_kind(sim.player.program)
        if any(f"history/{name}" not in arrays for name in kind._fields):
            raise BadInput(
                f"{self.path} was written by another version of hocket, which measured other things; go on with that "
                "version, name another folder, or delete it to start afresh"
            )
        sim.carry = sim.player.spread(jax.tree.unflatten(structure, stored))
        rows = [
            kind(*(arrays[f"history/{name}"][i] for name in kind._fields))
            for i in range(len(arrays["round"]))
        ]
        sim.history = list(zip(arrays["round"].tolist(), rows, strict=True))


def _fingerprint(sim: Simulation) -> str:
    return fingerprint(sim.player.program, sim.job.first_states)


def _some_steps(job: Job, done: int) -> np.ndarray:
    """Step sizes up to round `done`, at the rounds that a run of that length would record."""
    return np.array([job.step(int(k)) for k in recorded_rounds(max(done, 1)) if 1 <= k <= done])
