"""A task from a loss written in JAX."""

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


@dataclass(frozen=True, eq=False)
class JaxTask:
    """Gradients of `loss(x, data)` by JAX, over all data or over batches drawn in every step.
    The choice for models written in JAX, Flax or Equinox once their parameters are one vector.
    """

    loss: Callable[[Any, Any], Any]
    data: Any
    """Arrays whose leading axis counts samples, in any nesting."""
    dimension: int
    batch: int | None = None
    """Samples per step, without replacement; None for all of them."""
    first: Callable[[int], Vector] | None = None
    objectives: str = "any"
    """The class that the loss over all data is of, such as "quadratic"; of batches none can be said."""

    def __post_init__(self) -> None:
        if self.batch is not None and self.objectives != "any":
            raise BadInput(
                f"a task over batches of {self.batch} says that its objective is {self.objectives}: every step has "
                'another; leave batch= away, or say objectives="any"'
            )

    def start(self, seed: int) -> Vector:
        return np.zeros(self.dimension) if self.first is None else self.first(seed)

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        data = self.data
        if self.batch is not None:
            size = len(jax.tree.leaves(data)[0])
            rows = rng.choice(size, min(self.batch, size), replace=False)
            data = jax.tree.map(itemgetter(rows), data)
        with jax.enable_x64(x.dtype == np.float64):
            return np.asarray(self._gradient(x, data))

    def data_digest(self) -> bytes:
        return digest_of(self.data_rows())

    def data_rows(self) -> list[np.ndarray]:
        """Its records row by row, for digests that stay at home."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self.data)]

    def measure(self, x: Vector) -> dict[str, float]:
        with jax.enable_x64(x.dtype == np.float64):
            return {"loss": float(self._loss(x, self.data))}

    def export(self, x: Vector, path: Path) -> None:
        np.save(path.with_suffix(".npy"), x)

    @cached_property
    def _gradient(self) -> Any:
        return jax.jit(jax.grad(self.loss))  # pyright: ignore[reportUnknownMemberType]

    @cached_property
    def _loss(self) -> Any:
        return jax.jit(self.loss)  # pyright: ignore[reportUnknownMemberType]
