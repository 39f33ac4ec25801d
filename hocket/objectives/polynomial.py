"""Polynomials, the same in every coordinate or one per coordinate."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Shaped

from hocket.errors import BadProblem
from hocket.objectives.extrema import derivative, extrema
from hocket.objectives.objective import Name, Objective
from hocket.rationals import is_exact, matching
from hocket.sets import FeasibleSet, Simplex

FLAT = 1e-12
"""Curvature above −FLAT times its largest coefficient counts as zero: (x − 1)⁴ is convex, rounding or not."""


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

    def convex(self, data: Any, feasible: FeasibleSet, dim: int) -> bool | None:
        bends, low, high = _rows(derivative(derivative(np.asarray(data, dtype=np.float64))), feasible, dim)
        if np.all(extrema(bends, low, high).least >= -FLAT * abs(bends).max(axis=1)):
            return True
        # On a simplex coordinates move together, so one that bends down may be outweighed.
        return None if isinstance(feasible, Simplex) else False

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
