"""What an attacker knows of samples before it hears anything: how they look on average, label by label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.learning.data.dataset import Dataset

FLOOR = 1e-2
"""Variance that every direction is left with, over the mean: a pixel that is dark in all public samples need not be."""


@dataclass(frozen=True, eq=False)
class Public:
    """Samples as a normal distribution around the mean of their label, with the same axes for all labels."""

    means: Float[np.ndarray, "classes features"]
    axes: Float[np.ndarray, "features features"]
    """Columns along which features vary independently."""
    variance: Float[np.ndarray, " features"]
    """Along each axis."""

    @property
    def guess(self) -> Float[np.ndarray, " features"]:
        """The best guess of somebody who heard nothing."""
        return self.means.mean(axis=0)


def features(data: Dataset) -> Float[np.ndarray, "samples features"]:
    """Inputs as the rows of numbers that a linear model multiplies: bytes become numbers from 0 to 1."""
    scale = 255.0 if data.inputs.dtype == np.uint8 else 1.0
    return data.inputs.reshape(len(data), -1).astype(np.float64) / scale


def public_knowledge(data: Dataset) -> Public:
    """What samples of the same kind, which anybody may have, say about those that are attacked."""
    rows = features(data)
    missing = sorted(set(range(data.classes)) - set(data.labels.tolist()))
    if missing:
        raise BadInput(f"no public sample has label {missing[0]}; give at least one of every label")
    means = np.stack([rows[data.labels == label].mean(axis=0) for label in range(data.classes)])
    apart = rows - means[data.labels]
    variance, axes = np.linalg.eigh(apart.T @ apart / len(apart))
    return Public(means, axes, np.maximum(variance, 0) + FLOOR * max(variance.mean(), FLOOR))
