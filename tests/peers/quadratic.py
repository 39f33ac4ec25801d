"""A small task for members in processes of their own: quadratics with minima that differ from member to member."""

from __future__ import annotations

import os
import time

import numpy as np

from hocket.federation.workloads.task import GradientTask

DIMENSION = 3
MARKER = b"\x40\x09\x21\xfb\x54\x44\x2d\x18"
PAUSE = float(os.environ.get("QUADRATIC_PAUSE", "0"))


def target(member: int) -> np.ndarray:
    """Where a member alone would go."""
    return np.random.default_rng(member).normal(size=DIMENSION)


def task_of(member: int) -> GradientTask:
    """Gradients of half the squared distance to the member's target, shaken a little by its own randomness."""
    aim = target(member)

    def gradient(x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        time.sleep(PAUSE)
        return x - aim + 0.01 * rng.normal(size=DIMENSION)

    return GradientTask(DIMENSION, gradient, measures=lambda x: {"loss": float(np.sum((x - aim) ** 2) / 2)})


def task() -> GradientTask:
    """The task of the member that the environment names."""
    return task_of(int(os.environ["QUADRATIC_MEMBER"]))
