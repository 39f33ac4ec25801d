"""Exact numbers: NumPy object arrays of `Fraction`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def is_exact(x: Any) -> bool:
    """Whether `x` is an object array, that is, holds fractions instead of floats."""
    return x.dtype == object


def as_fractions(values: Any) -> np.ndarray:
    """The same numbers as fractions: every float is one, exactly."""
    given = np.asarray(values)
    return np.array([_fraction(value) for value in given.ravel().tolist()], dtype=object).reshape(given.shape)


def _fraction(value: float | Fraction | np.generic[Any]) -> Fraction:
    # A NumPy integer inside a fraction would overflow where Python's own grows.
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def matching(values: Any, x: Any) -> Any:
    """`values` made ready to meet `x`: as fractions where `x` is exact, as they are otherwise."""
    return as_fractions(values) if is_exact(x) else values
