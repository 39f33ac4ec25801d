"""Exponents fitted to many runs, with how sure one may be of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

RESAMPLES = 400
LEVEL = 0.95


@dataclass(frozen=True)
class Exponent:
    """p in y ∝ x^p, and the interval that holds 95 % of it when the runs are drawn again."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{signed(self.value)} [{signed(self.low)}, {signed(self.high)}]"


def signed(value: float) -> str:
    """A number in two decimals with a real minus.

    >>> signed(-1.98)
    '−1.98'
    """
    return f"{value:.2f}".replace("-", "−")


def exponent(x: Any, values: Float[np.ndarray, "runs points"], *, seed: int = 0) -> Exponent:
    """The exponent of the median over runs: a straight line through its logarithms, bootstrapped over runs.

    >>> runs = np.outer([1.0, 2.0, 3.0], [1.0, 4.0, 16.0])
    >>> print(exponent([1, 2, 4], runs))
    2.00 [2.00, 2.00]
    """
    place, rng = np.log(np.asarray(x, dtype=np.float64)), np.random.default_rng(seed)
    again = rng.integers(len(values), size=(RESAMPLES, len(values)))
    slopes = [_slope(place, values[rows]) for rows in again]
    low, high = np.quantile(slopes, ((1 - LEVEL) / 2, (1 + LEVEL) / 2)).tolist()
    return Exponent(_slope(place, values), low, high)


def late_half(count: int) -> slice:
    """The second half of so many points, two at least: what a fit of the end is made of."""
    return slice(max(min(count // 2, count - 2), 0), None)


def _slope(place: np.ndarray, values: np.ndarray) -> float:
    return float(np.polyfit(place, np.log(np.median(values, axis=0)), 1)[0])
