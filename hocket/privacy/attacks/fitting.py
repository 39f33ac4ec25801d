"""Polynomials read off gradients that are exact up to rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float

ROUNDINGS = 100.0
"""Misfit, in units of expected rounding, up to which values count as those of a polynomial."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A polynomial in each coordinate, ascending, and how far rounding may have moved its coefficients."""

    coefficients: Float[np.ndarray, "terms dim"]
    sd: Float[np.ndarray, "terms dim"]


def fit_polynomial(
    at: Float[np.ndarray, "rounds dim"],
    values: Float[np.ndarray, "rounds dim"],
    *,
    terms: int,
    rounding: Float[np.ndarray, " rounds"],
) -> Fit | None:
    """The separable polynomials through all values, by least squares; None where none fits up to rounding."""
    columns = [_column(x, y, terms, rounding) for x, y in zip(at.T, values.T, strict=True)]
    found = [column for column in columns if column is not None]
    if len(found) < len(columns):
        return None
    coefficients, sd = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    return Fit(coefficients, sd)


def _column(
    x: np.ndarray, y: np.ndarray, terms: int, rounding: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    centre, half = (x.max() + x.min()) / 2, (x.max() - x.min()) / 2
    if len(np.unique(x)) < terms:
        return None
    # On [−1, 1] the powers are far enough apart; there the system is solved, and then moved back.
    half = half or 1.0
    rows = np.vander((x - centre) / half, terms, increasing=True) / rounding[:, None]
    q, r = np.linalg.qr(rows)
    if np.linalg.cond(r) * np.finfo(np.float64).eps > 1:
        return None
    scaled = scipy.linalg.solve_triangular(r, q.T @ (y / rounding))
    misfit = rows @ scaled - y / rounding
    if np.sqrt(np.mean(misfit**2)) > ROUNDINGS:
        return None
    moved = _unscaled(centre, half, terms)
    factor = scipy.linalg.solve_triangular(r.T, moved.T, lower=True).T
    return moved @ scaled, np.linalg.norm(factor, axis=1)


def _unscaled(centre: float, half: float, terms: int) -> np.ndarray:
    """The matrix from coefficients in z = (x − centre) / half to coefficients in x."""
    matrix = np.zeros((terms, terms))
    for m in range(terms):
        for q in range(m + 1):
            matrix[q, m] = math.comb(m, q) * (-centre) ** (m - q) / half**m
    return matrix
