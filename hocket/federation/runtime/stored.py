"""A member's objective and its noise as one sum of whole numbers, made before its first message and kept on its disk.

Noise of a link comes from the key that its two ends keep, as whole numbers drawn without rounding: both draw the same,
and nobody chooses it. Own noise comes from the operating system. Once the sum is on the disk its parts are not needed
any more: gradients are those of the sum, whatever is said follows from it, and so it is in every later run on the same
data. Only who leaves takes something off: the noise on its own link, which it knows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from hocket.errors import BadInput
from hocket.federation.runtime.role import MemberRole
from hocket.federation.workloads.task import Task, Vector
from hocket.links.keys.noise_keys import secret_bytes
from hocket.noise.discrete_gaussian import Bits
from hocket.noise.stored_sum import StoredSum, Whole

LABEL = 8
"""Names the stream of a link's whole numbers; see `hocket.links.keys.noise_keys`."""


@lru_cache(maxsize=64)
def link_draws(key: bytes, stored: StoredSum, dim: int) -> tuple[Whole, Whole]:
    """What the two ends of a link drew once under their key, with its σ: that of the lower-numbered end first."""
    return stored.of_link(Bits(secret_bytes(key, LABEL)), dim)


def dealt(role: MemberRole, once: Mapping[int, bytes], neighbours: Iterable[int]) -> Whole:
    """What these neighbours and this agent dealt each other, in units of the grid: it gains from one what it loses."""
    stored, dim = _stored(role), role.plan.dim
    total = np.zeros(stored.family.width(dim), dtype=object)
    for neighbour in neighbours:
        lower, higher = link_draws(once[neighbour], role.stored_on(neighbour), dim)
        total = total + (lower - higher if role.index > neighbour else higher - lower)
    return total


def lost(role: MemberRole, once: Mapping[int, bytes]) -> np.ndarray | None:
    """Coefficients of the noise that was dealt with those who left; None while all are there."""
    if not role.dropped & once.keys() or role.stored is None:
        return None
    return _stored(role).values(dealt(role, once, sorted(role.dropped & once.keys())))


def formed(role: MemberRole, once: Mapping[int, bytes], task: Task) -> Whole:
    """f̂_j: the task's objective, the noise of all links and this member's own."""
    stored = _stored(role)
    own = stored.of_own(Bits(os.urandom), role.plan.dim)
    objective = stored.objective(coefficients_of(task, stored, role.plan.dim))
    return stored.checked(objective + dealt(role, once, sorted(once)) + own)


def coefficients_of(task: Task, stored: StoredSum, dim: int) -> np.ndarray:
    """What each record adds to the coefficients of a task's objective; refused where the task does not tell."""
    tell: Callable[[], Any] | None = getattr(task, "coefficients", None)
    if tell is None:
        raise BadInput(
            "this plan puts objectives on a grid, and the task gives gradients only; give it coefficients(), a row per "
            "record, as LeastSquaresTask has, or have a plan drawn up without a grid"
        )
    records, width = np.asarray(tell(), dtype=np.float64), stored.family.width(dim)
    if records.ndim != 2 or records.shape[1] != width:
        raise BadInput(
            f"the task's coefficients have shape {records.shape}; under this plan's noise a record has {width}: "
            f"{stored.family.hides}"
        )
    return records


@dataclass(frozen=True)
class StoredTask:
    """A task whose objective is the stored sum: what it gives at a point depends on that alone."""

    task: Task
    """The member's own, for its dimension and its public start."""
    stored: StoredSum
    total: tuple[int, ...]

    @property
    def dimension(self) -> int:
        return self.task.dimension

    def start(self, seed: int) -> Vector:
        return self.task.start(seed)

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        """∇f̂_j at x, of whole numbers in float64: what rounding does, it does to the sum."""
        return np.asarray(self.stored.family.gradient(x.astype(np.float64), self._coefficients))

    @cached_property
    def _coefficients(self) -> np.ndarray:
        return self.stored.values(np.array(self.total, dtype=object))


def _stored(role: MemberRole) -> StoredSum:
    assert role.stored is not None
    return role.stored
