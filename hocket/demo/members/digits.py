"""What the members of the demonstration learn: to read digits by softmax regression, each from its own fifth of them.

Written twice: in NumPy, as a member runs it, and in JAX, as the simulator replays it. Neither knows of the other's
noise, and both come to the same numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hocket.federation.workloads.task import GradientTask
from hocket.learning.data.dataset import Dataset, Split, digits
from hocket.learning.shards import equal_shards
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball

MEMBERS = ("avon", "brent", "clyde", "derwent", "exe")
CLASSES, FEATURES = 10, 65
DIMENSION = CLASSES * FEATURES
L2 = 1e-3
RADIUS = 20.0


def member_task(member: int) -> GradientTask:
    """One member's task, on its own shard."""
    features, targets = _arrays(_shards()[member])

    def gradient(x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        weights = x.reshape(FEATURES, CLASSES)
        error = _softmax(features @ weights) - targets
        return (features.T @ error / len(features) + L2 * weights).ravel()

    def measure(x: np.ndarray) -> dict[str, float]:
        chance = _softmax(features @ x.reshape(FEATURES, CLASSES))
        return {"loss": float(-np.log((chance * targets).sum(axis=1)).mean()), "accuracy": accuracy(x)}

    return GradientTask(DIMENSION, gradient, measures=measure)


def everybody() -> Problem:
    """The same objectives in one place, for the simulator."""
    parts = [_arrays(part) for part in _shards()]
    size = min(len(features) for features, _ in parts)
    data = tuple(np.stack([part[which][:size] for part in parts]) for which in (0, 1))
    # The curvature of softmax is at most half of that of its features [Böhning 1992].
    smoothness = max(np.linalg.eigvalsh(rows.T @ rows / size)[-1] for rows in data[0]) / 2 + L2
    return Problem(
        _loss, data, feasible=Ball(RADIUS), dim=DIMENSION, convex=True, smoothness=float(smoothness)
    )


def accuracy(x: np.ndarray) -> float:
    """The share of held-out digits that a state reads rightly."""
    features, targets = _arrays(_split().test)
    right: np.ndarray = (features @ x.reshape(FEATURES, CLASSES)).argmax(1) == targets.argmax(1)
    return float(right.mean())


def _loss(x: Any, data: Any) -> Any:
    features, targets = data
    weights = x.reshape(FEATURES, CLASSES)
    logits = jax.nn.log_softmax(features @ weights)
    return -jnp.mean(jnp.sum(logits * targets, axis=1)) + L2 / 2 * jnp.sum(x * x)


def _softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def _arrays(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Pixels between 0 and 1 with a constant beside them, and labels as rows of the unit matrix."""
    pixels = data.inputs.reshape(len(data), -1) / 255.0
    return np.hstack([pixels, np.ones((len(pixels), 1))]), np.eye(CLASSES)[data.labels]


@cache
def _split() -> Split:
    return digits()


@cache
def _shards() -> tuple[Dataset, ...]:
    parts = equal_shards(_split().train, len(MEMBERS)).parts
    size = min(map(len, parts))  # equal to the sample, so that both versions hold the same data
    return tuple(part.take(np.arange(size), part.name) for part in parts)
