"""Gradients of logistic regression, taken apart: what attacks on them start from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from hocket.errors import BadInput
from hocket.learning.attacks.knowledge import Seen
from hocket.learning.models import Layer, Model

ROUNDING = 1e-6
"""Words are in single precision: noise that a gradient has in any case, relative to its size."""


@dataclass(frozen=True, eq=False)
class Series:
    """Gradients as sums over a batch, split into weights and offsets, in units of their noise."""

    weights: Float[np.ndarray, "rounds features classes"]
    """Where the gradients were taken."""
    offsets: Float[np.ndarray, "rounds classes"]
    by_weight: Float[np.ndarray, "rounds features classes"]
    by_offset: Float[np.ndarray, "rounds classes"]
    sd: Float[np.ndarray, " rounds"]
    differences: bool
    """Whether only differences between rounds are free of noise that is always the same."""
    rounding: float
    """Standard deviation of what rounding alone does."""

    @staticmethod
    def of(seen: Seen, model: Model, batch: int) -> Series:
        shape = _shape(model)
        gradients = batch * (seen.values - model.l2 * seen.at)
        cut = shape[0] * shape[1]
        differences = seen.offset_sd > 0 and len(gradients) > 1
        noise = seen.sd**2 + (0.0 if differences else seen.offset_sd**2)
        floor = ROUNDING * np.sqrt(np.mean(gradients**2))
        return Series(
            weights=seen.at[:, :cut].reshape(-1, *shape),
            offsets=seen.at[:, cut:],
            by_weight=gradients[:, :cut].reshape(-1, *shape),
            by_offset=gradients[:, cut:],
            sd=np.sqrt(batch**2 * noise + floor**2),
            differences=differences,
            rounding=floor,
        )

    @property
    def classes(self) -> int:
        return self.offsets.shape[1]

    @property
    def clear(self) -> bool:
        """Whether rounding is all the noise there is."""
        return bool(self.sd.max() <= 10 * self.rounding)

    def thinned(self, most: int) -> Series:
        """At most so many rounds, evenly spaced."""
        kept = np.unique(np.linspace(0, len(self.sd) - 1, most).astype(int))
        rows = {
            name: getattr(self, name)[kept] for name in ("weights", "offsets", "by_weight", "by_offset", "sd")
        }
        return replace(self, **rows)

    def whitened(self, rows: Float[np.ndarray, "rounds ..."]) -> Float[np.ndarray, "rounds ..."]:
        """Rows with noise of unit size, and without what all of them share if that is hidden."""
        shape = (-1,) + (1,) * (rows.ndim - 1)
        weight = (1 / self.sd**2).reshape(shape)
        if self.differences:
            rows = rows - (weight * rows).sum(axis=0) / weight.sum()
        return rows / self.sd.reshape(shape)

    def errors(
        self, inputs: Float[np.ndarray, "rows features"], labels: Int[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "rounds rows classes"]:
        """p(z) − 1_y in every round."""
        return self.probabilities(inputs) - np.eye(self.classes)[labels]

    def probabilities(
        self, inputs: Float[np.ndarray, "rows features"]
    ) -> Float[np.ndarray, "rounds rows classes"]:
        """p(z): what the model of every round made of inputs."""
        scores = inputs @ self.weights + self.offsets[:, None]
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        return scores / scores.sum(axis=2, keepdims=True)


def _shape(model: Model) -> tuple[int, int]:
    if not isinstance(model.parameters, Layer):
        raise BadInput(
            f"gradients of {model.name} have no closed-form inverse here; this attack is for logistic_regression"
        )
    features, classes = np.shape(model.parameters.weight)
    return features, classes
