"""The density of a sum of uniform draws, tabulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

CELLS = 4096


@dataclass(frozen=True, eq=False)
class Density:
    """A symmetric density on [−reach, reach], linear between equally spaced points."""

    reach: float
    heights: Float[np.ndarray, " points"]
    """From 0 to `reach`."""

    def __call__(self, u: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """The density at u; zero outside its support."""
        place = np.abs(u) * ((len(self.heights) - 1) / self.reach)
        cell = np.minimum(place.astype(np.int64), len(self.heights) - 2)
        low = self.heights[cell]
        between = low + (place - cell) * (self.heights[cell + 1] - low)
        return np.where(place <= len(self.heights) - 1, between, 0.0)


def density_of_sum(bounds: Sequence[float]) -> Density:
    """The density of a sum of independent draws, each uniform within its own bound.

    The sum of two is a trapezium, known exactly; each further draw averages the density over its own width.
    """
    widths = sorted((float(b) for b in bounds if b > 0), reverse=True)
    reach = sum(widths)
    x = np.linspace(-reach, reach, 2 * CELLS + 1)
    if len(widths) == 1:
        heights = np.full_like(x, 1 / (2 * reach))
    else:
        first, second = widths[:2]
        heights = np.clip((first + second - abs(x)) / (4 * first * second), 0, 1 / (2 * first))
    for width in widths[2:]:
        steps = (heights[1:] + heights[:-1]) / 2 * (x[1] - x[0])
        below = np.concatenate([[0.0], np.cumsum(steps)])
        heights = (np.interp(x + width, x, below) - np.interp(x - width, x, below)) / (2 * width)
    return Density(reach, np.maximum(heights[CELLS:], 0.0))
