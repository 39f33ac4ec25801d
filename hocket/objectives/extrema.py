"""The least and the largest value of a polynomial on an interval.

Both lie at an end or where the derivative vanishes. Many polynomials are done at once: the roots of all
derivatives of one degree are the eigenvalues of one stack of companion matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

NEGLIGIBLE = 1e-17
"""A term this much smaller than the largest, all over the interval, is below what float64 can add."""


class Extrema(NamedTuple):
    """Least and largest value of each row, and where the least is taken."""

    least: Float[np.ndarray, " rows"]
    argleast: Float[np.ndarray, " rows"]
    largest: Float[np.ndarray, " rows"]


def extrema(
    coefficients: Float[np.ndarray, "rows terms"],
    low: Float[np.ndarray, " rows"],
    high: Float[np.ndarray, " rows"],
) -> Extrema:
    """Extrema of Σ_m a_m x^m, ascending coefficients per row, on [low, high]; the ends may be infinite."""
    slope = derivative(coefficients)
    reach = 1 + _root_bound(slope)  # further out nothing turns
    left, right = np.where(np.isinf(low), -reach, low), np.where(np.isinf(high), reach, high)
    ends = np.stack([left, right], axis=1)
    turns = np.clip(_roots(slope, abs(ends).max(axis=1)), ends[:, :1], ends[:, 1:])
    points = np.concatenate([ends, turns], axis=1)
    values = evaluate(coefficients[:, :, None], points)
    degree = _degree(abs(coefficients))
    leading = np.take_along_axis(coefficients, degree[:, None], axis=1)[:, 0]
    for end, bound, outwards in ((0, low, (-1.0) ** degree * leading), (1, high, leading)):
        endless = np.isinf(bound) & (degree > 0)
        values[endless, end] = np.copysign(np.inf, outwards[endless])
    rows, least = np.arange(len(points)), values.argmin(axis=1)
    return Extrema(values[rows, least], points[rows, least], values.max(axis=1))


def evaluate(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Σ_m a_m x^m by Horner's rule, the terms on axis 1 of `coefficients`."""
    result = np.zeros(np.broadcast_shapes(coefficients[:, 0].shape, x.shape))
    for term in reversed(range(coefficients.shape[1])):
        result = result * x + coefficients[:, term]
    return result


def derivative(coefficients: np.ndarray) -> np.ndarray:
    """Coefficients of the derivative, the terms on axis 1; a constant's is [0]."""
    if coefficients.shape[1] == 1:
        return np.zeros_like(coefficients)
    powers = np.arange(1, coefficients.shape[1])
    return coefficients[:, 1:] * powers.reshape(-1, *[1] * (coefficients.ndim - 2))


def _degree(sizes: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """The last term of each row that is larger than `floor`, or 0."""
    return np.where(sizes > floor, np.arange(sizes.shape[1]), 0).max(axis=1)


def _root_bound(coefficients: np.ndarray) -> np.ndarray:
    """Fujiwara's bound on the size of every root, 2 max_k |a_{d−k}/a_d|^{1/k}; 0 for constants."""
    degree = _degree(abs(coefficients))
    with np.errstate(divide="ignore"):
        logs = np.log(abs(coefficients))
    below = degree[:, None] - np.arange(coefficients.shape[1])
    lower = np.where(below > 0, logs, -np.inf)
    leading = np.where(degree > 0, np.take_along_axis(logs, degree[:, None], axis=1)[:, 0], 0.0)
    return 2 * np.exp((lower - leading[:, None]) / np.maximum(below, 1)).max(axis=1)


def _roots(coefficients: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Candidates for the real roots within ±scale: the real parts of all roots, padded with 0.

    Roots that coincide come out as a complex cluster, so imaginary parts are dropped instead of judged; a
    candidate that is no root does no harm, since the caller evaluates them all.
    """
    rows, terms = coefficients.shape
    with np.errstate(divide="ignore"):
        logs = np.log(abs(coefficients)) + np.arange(terms) * np.log(scale)[:, None]
    top = logs.max(axis=1, keepdims=True)
    # In units of the interval, and of the largest term: no power overflows.
    scaled = np.sign(coefficients) * np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    degree = _degree(abs(scaled), NEGLIGIBLE)
    found = np.zeros((rows, max(terms - 1, 1)))
    for d in np.unique(degree[degree > 0]):
        chosen = np.flatnonzero(degree == d)
        companion = np.zeros((len(chosen), d, d))
        companion[:, np.arange(1, d), np.arange(d - 1)] = 1
        companion[:, :, -1] = -scaled[chosen, :d] / scaled[chosen, d, None]
        found[chosen, :d] = np.linalg.eigvals(companion).real * scale[chosen, None]
    return found
