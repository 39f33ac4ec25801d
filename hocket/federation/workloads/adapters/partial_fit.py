"""A task from a linear model in the manner of scikit-learn, which learns by `partial_fit`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.federation.state.digest import digest_of
from hocket.federation.workloads.task import Vector


@dataclass(frozen=True, eq=False)
class PartialFitTask:
    """Steps of a linear model's own `partial_fit`, read as gradients: (before − after) / eta0.
    The choice for SGDClassifier and SGDRegressor. Not for FS, whose theorem is about objectives, not about steps.

    Make the model with `learning_rate="constant"`; its `eta0` only sets the scale of what is read.
    """

    model: Any
    features: np.ndarray
    targets: np.ndarray
    classes: np.ndarray | None = None
    """All classes that any member has; None for a regression."""
    batch: int = 32

    def __post_init__(self) -> None:
        self._fit(self.features[:1], self.targets[:1])  # lets the model find its shapes

    @property
    def dimension(self) -> int:
        return self.model.coef_.size + self.model.intercept_.size

    def start(self, seed: int) -> Vector:
        return np.zeros(self.dimension)

    def gradient(self, x: Vector, k: int, h: int, rng: np.random.Generator) -> Vector:
        self._fill(x)
        rows = rng.choice(len(self.features), min(self.batch, len(self.features)), replace=False)
        self._fit(self.features[rows], self.targets[rows])
        # One pass takes a step per sample; their mean is one step over the batch.
        after = np.concatenate([self.model.coef_.ravel(), np.ravel(self.model.intercept_)])
        return (x - after) / (self.model.eta0 * len(rows))

    def data_digest(self) -> bytes:
        return digest_of(self.features, self.targets)

    def data_rows(self) -> list[np.ndarray]:
        """Its records row by row, for digests that stay at home."""
        return [np.asarray(self.features), np.asarray(self.targets)]

    def export(self, x: Vector, path: Path) -> None:
        """The coefficients; scikit-learn's own format is a pickle, which hocket neither writes nor reads."""
        self._fill(x)
        np.savez(path.with_suffix(".npz"), coef=self.model.coef_, intercept=self.model.intercept_)

    def _fit(self, features: np.ndarray, targets: np.ndarray) -> None:
        if self.classes is None:
            self.model.partial_fit(features, targets)
        else:
            self.model.partial_fit(features, targets, classes=self.classes)

    def _fill(self, x: Vector) -> None:
        size = self.model.coef_.size
        self.model.coef_ = np.array(x[:size], dtype=np.float64).reshape(self.model.coef_.shape)
        self.model.intercept_ = np.array(x[size:], dtype=np.float64).reshape(self.model.intercept_.shape)
        self.model.t_ = 1.0
