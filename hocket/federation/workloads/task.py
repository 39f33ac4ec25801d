"""What a member computes at home: gradients of its own objective, on data that never leave it.

A task only gives gradients; steps, projection, noise and averaging are hocket's. It may be written in any framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.federation.state.digest import digest_of
from hocket.problems.sets import FeasibleSet

Vector = Float[np.ndarray, " dim"]


@runtime_checkable
class Task(Protocol):
    """One member's objective. A task may also have `measure`, `export`, `data_digest`, `data_rows`, `state` and
    `restore`; see `GradientTask`. It may say of which class its objective is, `objectives`; without that it is `any`.
    """

    @property
    def dimension(self) -> int:
        """How many numbers a state has; the same for all members."""
        ...

    def start(self, seed: int) -> Vector:
        """The public start: the same for all members, and independent of data."""
        ...

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        """∇f_j at x, in local step h of round k. Whatever is random must come from `rng`, or a crash shows."""
        ...


@dataclass(frozen=True)
class GradientTask:
    """A task from a plain function of (x, k, h, rng).
    The choice where you have the gradient already; the adapters make one from a model and a loss.
    """

    dimension: int
    function: Callable[[Vector, int, int, np.random.Generator], Vector]
    first: Callable[[int], Vector] | None = None
    """seed -> x_1; zeros if there is none."""
    measures: Callable[[Vector], Mapping[str, float]] | None = None
    """What to watch during the run, such as the loss at x; it stays with this member."""
    save: Callable[[Vector, Path], None] | None = None
    """Writes a finished model in the framework's own format."""
    objectives: str = "any"
    """The class that the objective is of, such as "polynomial:2", if the gradient is of one function and over all
    records in every step; a plan that promises a class is run by no other task."""
    data: Any = None
    """What gradients come from: arrays, files as `Path`, or lists and dictionaries of them. A digest of it, which stays
    with this member, tells whether data are still those of earlier runs under the same name."""

    def start(self, seed: int) -> Vector:
        return np.zeros(self.dimension) if self.first is None else self.first(seed)

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        return self.function(x, k, h, rng)

    def data_digest(self) -> bytes | None:
        """A digest of the data; None if none were named."""
        return None if self.data is None else digest_of(self.data)

    def data_rows(self) -> Any:
        """The data, if they are rows; digests of them stay at home too."""
        return [] if self.data is None else self.data

    def measure(self, x: Vector) -> Mapping[str, float]:
        return {} if self.measures is None else self.measures(x)

    def export(self, x: Vector, path: Path) -> None:
        if self.save is None:
            np.save(path.with_suffix(".npy"), x)
        else:
            self.save(x, path)


@dataclass(frozen=True, eq=False)
class LocalSteps:
    """H gradient steps of α_k/H between two exchanges, each projected: what an agent does by itself.

    With H = 1 this is line 9 of the paper's algorithms. Whatever a task draws, such as the samples of a batch, follows
    from a seed of this member's own: it comes from the operating system, is kept in its journal, is another in every
    round and step, and is never said. So a round that is computed again after a crash comes out the same, and nobody
    else knows which samples were drawn, as accounts of differential privacy by sampling assume.
    """

    task: Task
    count: int
    seeds: Callable[[int, int], int]
    """(round, local step) -> the seed; `known_seeds` where nothing needs to be hidden."""
    counted_as_zero: Callable[[int, str], None] | None = None
    """Where a certificate stands: told of the round and the reason when a gradient cannot be used. It then counts as
    zero and the run goes on, since a member that stops shows its neighbours something of its data. None: such a
    gradient is refused."""

    def __call__(
        self, v: Any, k: Any, *, step: Any, feasible: FeasibleSet, plus: Callable[[Any], Any] | None
    ) -> Any:
        x = v
        for h in range(self.count):
            gradient = self.gradient(x, k, h)
            if plus is not None:
                gradient = gradient + plus(x)
            with np.errstate(all="ignore"):  # found below, also where warnings are errors
                moved = x - step / self.count * gradient
            if self.counted_as_zero is None or np.isfinite(moved).all():
                x = feasible.project(moved)
        return x

    def gradient(self, x: Vector, k: int, h: int) -> Vector:
        """The task's gradient, checked: an error names the round."""
        seed = self.seeds(k, h)  # what fails here is no fault of the task's
        try:
            found = self.asked(x, k, h, seed)
        except Exception as error:
            # A record may make any library raise anything, at a point that a neighbour has chosen.
            if self.counted_as_zero is None:
                raise
            return self._zero(x, k, f"the task raised {type(error).__name__}")
        if np.isfinite(found).all():
            return found
        if self.counted_as_zero is not None:
            return self._zero(x, k, "not finite")
        raise BadInput(
            f"the task's gradient in round {k} is not finite; take smaller steps, bound X, or look at the data"
        )

    def asked(self, x: Vector, k: int, h: int, seed: int = 0) -> Vector:
        """The task's gradient, of the right shape and type; it may not be finite."""
        found = np.asarray(self.task.gradient(x, k, h, np.random.default_rng(seed)))
        if found.shape != x.shape:
            raise BadInput(
                f"the task's gradient in round {k} has shape {found.shape}; states have {x.shape}: return one number "
                "per coordinate"
            )
        with np.errstate(all="ignore"):  # what a narrower type cannot hold is not finite, or zero
            return found.astype(x.dtype, copy=False)

    def _zero(self, x: Vector, k: int, reason: str) -> Vector:
        assert self.counted_as_zero is not None
        self.counted_as_zero(k, reason)
        return np.zeros_like(x)


def known_seeds(k: int, h: int) -> int:
    """Seeds that everybody knows: for trials and tests, never for a run."""
    return k * 2**32 + h


def is_repeatable(task: Task, start: Vector, *, certified: bool = False) -> bool:
    """Whether a step that is computed twice comes out the same, bit for bit: then a crash leaves no trace.

    Refuses a task that cannot be asked at this public point. One whose gradient is not finite there is refused too, but
    not in a `certified` run, where it counts as zero.
    """
    steps = LocalSteps(task, 1, known_seeds)
    ask = steps.asked if certified else steps.gradient
    return ask(start, 1, 0).tobytes() == ask(start, 1, 0).tobytes()
