"""Symmetric matrices as they travel: half of their numbers, each with a name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float


def packed(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " half"]:
    """The upper half, row by row."""
    return matrix[np.triu_indices(len(matrix))]


def unpacked(half: Float[np.ndarray, " half"]) -> Float[np.ndarray, "n n"]:
    """The matrix whose upper half it is.

    >>> unpacked(np.array([1.0, 2.0, 3.0]))
    array([[1., 2.],
           [2., 3.]])
    """
    n = (int(np.sqrt(8 * len(half) + 1)) - 1) // 2
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n)] = half
    return matrix + np.triu(matrix, 1).T


def pairs(names: Sequence[str]) -> tuple[str, ...]:
    """What the numbers of the half are called."""
    return tuple(
        first if first == second else f"{first} and {second}"
        for first, second in combinations_with_replacement(names, 2)
    )


def products(
    X: Float[np.ndarray, "rows columns"], weights: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, "columns columns"]:
    """XᵀWX."""
    return X.T @ (weights[:, None] * X)
