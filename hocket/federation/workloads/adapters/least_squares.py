"""A task of linear regression, by records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.federation.state.digest import digest_of
from hocket.federation.workloads.task import Vector
from hocket.problems.regression import record_coefficients


@dataclass(frozen=True, eq=False)
class LeastSquaresTask:
    """Σ ½ (aᵀx − b)² over a member's records, as a sum.
    The choice for linear regression: it gives its coefficients too, so that function sharing can hide it on a grid.
    """

    rows: Float[np.ndarray, "records dim"]
    targets: Float[np.ndarray, " records"]
    objectives: str = "quadratic"
    """The class that the objective is of."""

    def __post_init__(self) -> None:
        rows, targets = np.shape(self.rows), np.shape(self.targets)
        if len(rows) != 2 or targets != rows[:1] or not rows[0]:
            raise BadInput(
                f"records of shape {rows} and targets of shape {targets}; give (records, dim) and one target for each"
            )

    @property
    def dimension(self) -> int:
        return np.shape(self.rows)[1]

    def start(self, seed: int) -> Vector:
        return np.zeros(self.dimension)

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        return (self.rows @ x - self.targets) @ self.rows

    def coefficients(self) -> Float[np.ndarray, "records width"]:
        """What each record adds to the coefficients of the objective; it stays with the member."""
        return record_coefficients(self.rows, self.targets)

    def data_digest(self) -> bytes:
        return digest_of(self.data_rows())

    def data_rows(self) -> list[np.ndarray]:
        """Its records row by row, for digests that stay at home."""
        return [np.asarray(self.rows), np.asarray(self.targets)]

    def measure(self, x: Vector) -> dict[str, float]:
        return {"loss": float(((self.rows @ x - self.targets) ** 2).sum() / 2)}

    def export(self, x: Vector, path: Path) -> None:
        np.save(path.with_suffix(".npy"), x)
