"""A task whose gradients are cut record by record, over batches that nobody else knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import jax
import numpy as np

from hocket.errors import BadInput
from hocket.federation.state.digest import digest_of
from hocket.federation.workloads.task import Vector
from hocket.learning.clipping import Clip, PoissonBatches, clipped_total

ARRAYS: tuple[type, ...] = (np.ndarray, jax.Array)


@dataclass(frozen=True, eq=False)
class ClippedTask:
    """Gradients of `loss(x, record)` by JAX, each cut to length `clip`, summed up, divided by `batch`, which is public.
    The choice where a plan's noise is to hide single records: hk.certify takes `sensitivity`.

    In every round each record takes part by a coin of its own, with probability batch/size. Coins come from a secret of
    this member's own, so that less noise does (Theorem S, a plan's --rate). A plan for it takes one local step, since
    a second one would depend on a record in ways that no clipping bounds.
    """

    loss: Callable[[Any, Any], Any]
    """Of one record, and asked about one at a time. It must hold no other records by itself: normalise data by public
    constants beforehand, and not by means over all records."""
    data: Any
    """Arrays whose leading axis counts records, in any nesting."""
    dimension: int
    clip: float
    batch: int
    size: int
    """How many records a member is said to have, in public; not how many it has."""
    first: Callable[[int], Vector] | None = None
    objectives: str = "any"

    def __post_init__(self) -> None:
        Clip(self.clip)  # refuses what is no length
        if not 0 < self.batch <= self.size:
            raise BadInput(
                f"batch = {self.batch} of size = {self.size}; a batch has one record at least, and not more"
            )
        parts: list[Any] = jax.tree.leaves(self.data)
        for part in parts or [self.data]:
            dtype: Any = getattr(part, "dtype", None)
            is_array = any(isinstance(part, kind) for kind in ARRAYS)
            if not is_array or not np.ndim(part) or np.dtype(dtype).kind not in "biuf":
                kind = type(part).__name__ if dtype is None else f"{dtype} of shape {np.shape(part)}"
                raise BadInput(
                    f"data= holds a part that is {kind}; give arrays of numbers whose leading axis counts records, "
                    "such as table.to_numpy(dtype=float), in tuples or dictionaries"
                )
        lengths = sorted({len(part) for part in parts})
        if len(lengths) > 1:
            raise BadInput(
                f"the arrays of data= have {lengths[0]} and {lengths[-1]} rows; a record is one row of each of them: "
                "give arrays of one length, and hand what all records share to the loss"
            )

    @property
    def rate(self) -> float:
        """How likely a record is to take part in a round."""
        return self._batches.rate

    def sensitivity(self, *, replace: bool = False) -> float:
        """S: how far a record added or removed, or `replace`d, moves a gradient; on a grid, √D units more.

        Rounds are the plan's and the rate follows from the declared `size`: neither shows how many records there are.
        """
        return (2 if replace else 1) * self.clip / self.batch

    def start(self, seed: int) -> Vector:
        return np.zeros(self.dimension) if self.first is None else self.first(seed)

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        if h:
            raise BadInput(
                "gradients are cut record by record, and a second local step would depend on a record in ways that no "
                "clipping bounds; have a plan drawn up with one local step, or an algorithm that cuts the whole way"
            )
        room, records = self._batches.room, len(jax.tree.leaves(self.data)[0])
        if not records:
            return np.zeros_like(
                x
            )  # as with records of which none takes part: one record fewer must not show
        rows = np.flatnonzero(rng.random(records) < self.rate)[:room]
        padded = np.zeros(room, dtype=np.int64)
        padded[: len(rows)] = rows
        # What a narrower type cannot hold is not finite, and its record counts as zero: where warnings are errors one
        # record would take all others' part away.
        with jax.enable_x64(x.dtype == np.float64), np.errstate(over="ignore"):
            total = self._total(x, jax.tree.map(itemgetter(padded), self.data), np.arange(room) < len(rows))
            return np.asarray(total) / self.batch

    def data_digest(self) -> bytes:
        return digest_of(self.data_rows())

    def data_rows(self) -> list[np.ndarray]:
        """Its records row by row, for digests that stay at home."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self.data)]

    def export(self, x: Vector, path: Path) -> None:
        np.save(path.with_suffix(".npy"), x)

    @cached_property
    def _batches(self) -> PoissonBatches:
        return PoissonBatches.of(self.batch, self.size, len(jax.tree.leaves(self.data)[0]))

    @cached_property
    def _total(self) -> Any:
        def total(x: Any, records: Any, present: Any) -> Any:
            return clipped_total(lambda p, record: self.loss(p, record), x, records, self.clip, present)

        return jax.jit(total)  # pyright: ignore[reportUnknownMemberType]
