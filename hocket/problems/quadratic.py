"""Quadratics, cross terms and all, by their coefficients."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int, Shaped

from hocket.errors import BadProblem
from hocket.problems.objective import Name, Objective
from hocket.problems.objective_class import QUADRATIC, ObjectiveClass
from hocket.problems.sets import FeasibleSet, Simplex
from hocket.rationals import is_exact, matching

FLAT = 1e-12
"""An eigenvalue above minus this part of the largest is zero, but for rounding."""


def quadratic_width(dim: int) -> int:
    """Coefficients of a quadratic, its constant left out: a slope for each coordinate, and one for each pair p ≤ q."""
    return dim * (dim + 3) // 2


@cache
def squares(dim: int) -> Int[np.ndarray, " dim"]:
    """Where the coefficients of x_p² stand."""
    rows, columns = np.triu_indices(dim)
    return dim + np.flatnonzero(rows == columns)


@cache
def _pairs(dim: int) -> Int[np.ndarray, "dim dim"]:
    """Where the coefficient of x_p x_q stands, for every p and q."""
    place = np.zeros((dim, dim), dtype=np.int64)
    rows, columns = np.triu_indices(dim)
    place[rows, columns] = place[columns, rows] = dim + np.arange(len(rows))
    return place


class Quadratic(Objective):
    """f_j(x) = Σ_p c_p x_p + Σ_{p≤q} c_pq x_p x_q, which need not be convex.

    The choice for quadratics that come as numbers and not as records; works on fractions. Data: (agents, d(d+3)/2),
    slopes first, then the pairs p ≤ q row by row: x_1 … x_d, x_1², x_1 x_2, …, x_d².
    """

    exact: ClassVar[bool] = True

    def value(self, x: Shaped[Any, " dim"], data: Any) -> Any:
        slope, bend = _parts(x, data)
        return slope @ x + x @ (bend @ x) / 2

    def gradient(self, x: Shaped[Any, " dim"], data: Any) -> Shaped[Any, " dim"]:
        slope, bend = _parts(x, data)
        return slope + bend @ x

    def prepared(self, data: Any, dim: int, name: Name) -> np.ndarray:
        coefficients, width = np.asarray(data), quadratic_width(dim)
        if coefficients.ndim != 2 or coefficients.shape[1] != width:
            raise BadProblem(
                f"quadratic coefficients have shape {coefficients.shape}; in {dim} dimensions give (agents, {width}): "
                "slopes, then one for each pair p ≤ q"
            )
        return coefficients if is_exact(coefficients) else coefficients.astype(np.float64)

    def pooled(self, data: Any) -> tuple[Objective, Any]:
        return self, data.sum(axis=0) / len(data)

    def objective_class(self, data: Any) -> ObjectiveClass:
        return QUADRATIC

    def quadratic(self, data: Any, dim: int) -> np.ndarray | None:
        return np.asarray(data)[None]

    def convex(self, data: Any, feasible: FeasibleSet, dim: int) -> bool | None:
        size = np.linalg.eigvalsh(hessians(data, dim))
        if np.all(size[:, 0] >= -FLAT * abs(size).max(axis=1)):
            return True
        # On a simplex coordinates move together, so what bends down may not be felt.
        return None if isinstance(feasible, Simplex) else False

    def least_curvature(self, data: Any, feasible: FeasibleSet, dim: int) -> float | None:
        return float(np.linalg.eigvalsh(hessians(data, dim))[:, 0].min())

    def constants(self, data: Any, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        bends, slopes = hessians(data, dim), np.asarray(data, dtype=np.float64)[:, :dim]
        center, radius = feasible.enclosing_ball(dim)
        curvature = abs(np.linalg.eigvalsh(bends)).max(axis=1)
        # ∇f is affine: its norm at the centre, plus what the curvature can add on the way to the rim.
        steepest = np.linalg.norm(slopes + bends @ center, axis=1) + curvature * radius
        return float(steepest.max()) if np.isfinite(radius) else None, float(curvature.max())


def _parts(x: Shaped[Any, " dim"], data: Any) -> tuple[Any, Any]:
    """The slopes and the Hessian, in the numbers of `x`."""
    dim = x.shape[0]
    coefficients = matching(data, x)
    # x_p² bends by twice its coefficient, x_p x_q by its own, in both places.
    return coefficients[:dim], coefficients[_pairs(dim)] * (1 + np.eye(dim, dtype=np.int64))


def hessians(data: Any, dim: int) -> Float[np.ndarray, "agents dim dim"]:
    """The second derivatives of quadratics, by their coefficients."""
    coefficients = np.asarray(data, dtype=np.float64)
    return coefficients[:, _pairs(dim)] * (1 + np.eye(dim))
