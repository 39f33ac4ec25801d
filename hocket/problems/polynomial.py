"""Polynomials, the same in every coordinate or one per coordinate, and their extrema on an interval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped
from numpy.polynomial import Polynomial as Series

from hocket.errors import BadProblem
from hocket.problems.objective import Name, Objective
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.quadratic import quadratic_width, squares
from hocket.problems.sets import FeasibleSet, Simplex
from hocket.rationals import is_exact, matching

CENTERS = (-1.0, 2.0, 0.5, -0.5, 1.0)
"""How far each is moved where agents must differ."""

NEGLIGIBLE = 1e-17
"""A term this much smaller than the largest, all over the interval, is below what float64 can add."""
FLAT = 1e-12
"""Curvature above −FLAT times its largest coefficient counts as zero: (x − 1)⁴ is convex, rounding or not."""


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
    """Extrema of Σ_m a_m x^m, ascending coefficients per row, on [low, high]; the ends may be infinite.

    They lie at an end or where the derivative vanishes. Many polynomials are done at once: the roots of all derivatives
    of one degree are the eigenvalues of one stack of companion matrices.
    """
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


class Polynomial(Objective):
    """f_j(x) = Σ_c Σ_m a_m x_c^m, or with a_{m,c} where each coordinate has its own polynomial.

    The choice for the paper's examples and for function sharing; works on fractions. Data: ascending
    coefficients, (degree + 1,) per agent, or (degree + 1, dim).
    """

    exact: ClassVar[bool] = True

    def value(self, x: Shaped[Any, " dim"], data: Any) -> Any:
        return _horner(matching(data, x), x).sum()

    def gradient(self, x: Shaped[Any, " dim"], data: Any) -> Shaped[Any, " dim"]:
        coefficients = matching(data, x)
        return _horner([power * coefficients[power] for power in range(1, len(coefficients))], x)

    def prepared(self, data: Any, dim: int, name: Name) -> np.ndarray:
        coefficients = np.asarray(data)
        if coefficients.ndim not in (2, 3) or not coefficients.shape[1]:
            raise BadProblem(
                f"polynomial coefficients have shape {coefficients.shape}; "
                "give (agents, degree + 1), or (agents, degree + 1, dim)"
            )
        if coefficients.ndim == 3 and coefficients.shape[2] != dim:
            raise BadProblem(
                f"the coefficients are for {coefficients.shape[2]} coordinates; the problem has {dim}"
            )
        return coefficients if is_exact(coefficients) else coefficients.astype(np.float64)

    def pooled(self, data: Any) -> tuple[Objective, Any]:
        return self, data.sum(axis=0) / len(data)

    def degree(self, data: Any) -> int:
        used = np.asarray(data != 0).reshape(len(data), data.shape[1], -1).any(axis=(0, 2))
        return int(np.max(np.flatnonzero(used), initial=0))

    def objective_class(self, data: Any) -> ObjectiveClass:
        return ObjectiveClass("polynomial", self.degree(data))

    def quadratic(self, data: Any, dim: int) -> np.ndarray | None:
        if self.degree(np.asarray(data)[None]) > 2:
            return None
        rows = self.by_coordinate(data, dim, terms=3)
        full = np.zeros(quadratic_width(dim), dtype=rows.dtype)
        full[:dim], full[squares(dim)] = rows[1], rows[2]
        return full[None]

    def by_coordinate(self, data: Any, dim: int, *, terms: int) -> Shaped[np.ndarray, "terms dim"]:
        """One agent's coefficients, a column per coordinate, up to so many terms: higher ones are zero."""
        given = np.asarray(data)
        given = np.repeat(given[:, None], dim, axis=1) if given.ndim == 1 else given
        rows = np.zeros((max(terms, len(given)), dim), dtype=given.dtype)
        rows[: len(given)] = given
        return rows[:terms]

    def convex(self, data: Any, feasible: FeasibleSet, dim: int) -> bool | None:
        bends, low, high = _rows(derivative(derivative(np.asarray(data, dtype=np.float64))), feasible, dim)
        if np.all(extrema(bends, low, high).least >= -FLAT * abs(bends).max(axis=1)):
            return True
        # On a simplex coordinates move together, so one that bends down may be outweighed.
        return None if isinstance(feasible, Simplex) else False

    def least_curvature(self, data: Any, feasible: FeasibleSet, dim: int) -> float | None:
        bends, low, high = _rows(derivative(derivative(np.asarray(data, dtype=np.float64))), feasible, dim)
        return float(extrema(bends, low, high).least.min())

    def constants(self, data: Any, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        slopes = derivative(np.asarray(data, dtype=np.float64))
        steepest = _largest_size(slopes, feasible, dim)
        # Coordinates that share polynomial and bounds are computed once and counted `dim` times.
        norms = np.sqrt((steepest**2).sum(axis=1) * (dim / steepest.shape[1]))
        return _known(norms), _known(_largest_size(derivative(slopes), feasible, dim))

    def least(self, data: Any, feasible: FeasibleSet, dim: int) -> Float[np.ndarray, " dim"]:
        """Where one agent's polynomial is least on a product of intervals; NaN where it falls forever."""
        rows, low, high = _rows(np.asarray(data, dtype=np.float64)[None], feasible, dim)
        found = extrema(rows, low, high)
        return np.broadcast_to(np.where(np.isfinite(found.least), found.argleast, np.nan), dim) + 0.0  # no −0


def _horner(coefficients: Any, x: Shaped[Any, " dim"]) -> Shaped[Any, " dim"]:
    if not len(coefficients):
        return x.__array_namespace__().zeros_like(x)
    *lower, result = coefficients
    for coefficient in reversed(lower):
        result = result * x + coefficient
    return result + 0 * x if not lower else result  # a constant, too, has one value per coordinate


def _rows(
    coefficients: np.ndarray, feasible: FeasibleSet, dim: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row per agent and coordinate, with its interval; one coordinate stands for all that are alike."""
    low, high = feasible.bounding_box(dim)
    if coefficients.ndim == 2 and np.all(low == low[0]) and np.all(high == high[0]):
        low, high = low[:1], high[:1]
    if coefficients.ndim == 2:
        coefficients = np.broadcast_to(coefficients[:, :, None], (*coefficients.shape, len(low)))
    agents, terms = coefficients.shape[:2]
    return coefficients.transpose(0, 2, 1).reshape(-1, terms), np.tile(low, agents), np.tile(high, agents)


def _largest_size(
    coefficients: np.ndarray, feasible: FeasibleSet, dim: int
) -> Float[np.ndarray, "agents width"]:
    """max |polynomial| over each coordinate's interval."""
    found = extrema(*_rows(coefficients, feasible, dim))
    return np.maximum(abs(found.least), abs(found.largest)).reshape(len(coefficients), -1)


def _known(bounds: np.ndarray) -> float | None:
    largest = float(bounds.max())
    return largest if np.isfinite(largest) else None


def moved_apart(rows: Sequence[Any]) -> list[np.ndarray]:
    """Polynomials moved along the axis, each by one of CENTERS in turn."""
    return [Series(row)(Series([-c, 1])).coef for row, c in zip(rows, cycle(CENTERS), strict=False)]
