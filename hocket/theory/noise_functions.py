"""What the noise functions of FS add to L and N: it is DGD on f_j + p_j [maths, decision 10]."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, Plan
from hocket.families import NoiseFunctions
from hocket.noise import Paired
from hocket.sets import FeasibleSet

Coefficients = Float[np.ndarray, "links 2 width"]


def added_constants(
    algorithm: Algorithm, plan: Plan, feasible: FeasibleSet, drawn: Coefficients | None = None
) -> tuple[float, float]:
    """Bounds on ‖∇p_j‖ and on the Lipschitz constant of ∇p_j over the set, for every agent.

    Of the functions `drawn` on the links where they are known, else of the worst that the bound allows.
    """
    functions = algorithm.functions
    assert functions is not None
    degree, given = functions.family.degree, algorithm.draws(plan)["function"]
    if drawn is None and isinstance(given, Paired) and given.given is not None:
        drawn = np.asarray(given.given[0], dtype=np.float64)
    sizes = _worst(functions, plan) if drawn is None else _sizes(drawn, plan)
    if not functions.powers:
        return _of_waves(sizes.reshape(len(sizes), 2, degree, plan.dim))
    low, high = feasible.bounding_box(plan.dim)
    reach = np.maximum(abs(low), abs(high))
    return _of_powers(sizes.reshape(len(sizes), degree + 1, plan.dim), reach)


def _worst(functions: NoiseFunctions, plan: Plan) -> Float[np.ndarray, "agents width"]:
    """Two draws per link, each within the bound, all of one sign."""
    degree = np.bincount(plan.network.links.ravel(), minlength=plan.network.n)
    width = functions.family.width(plan.dim)
    return np.repeat(2.0 * degree[:, None] * functions.bound, width, axis=1)


def _sizes(drawn: Coefficients, plan: Plan) -> Float[np.ndarray, "agents width"]:
    """|coefficient| of p_j = Σ_i (s^{i,j} − s^{j,i})."""
    gained = drawn[:, 0] - drawn[:, 1]  # by the higher-numbered end
    total = np.zeros((plan.network.n, drawn.shape[2]))
    np.add.at(total, plan.network.links[:, 1], gained)
    np.subtract.at(total, plan.network.links[:, 0], gained)
    return abs(total)


def _of_powers(
    sizes: Float[np.ndarray, "agents terms dim"], reach: Float[np.ndarray, " dim"]
) -> tuple[float, float]:
    m = np.arange(sizes.shape[1])[:, None]
    slope = (sizes * m * reach ** np.maximum(m - 1, 0)).sum(axis=1)
    bend = (sizes * m * (m - 1) * reach ** np.maximum(m - 2, 0)).sum(axis=1)
    # p_j is a sum over coordinates: its Hessian is diagonal, and the largest entry bounds it.
    return float(np.linalg.norm(slope, axis=1).max()), float(bend.max())


def _of_waves(sizes: Float[np.ndarray, "agents 2 terms dim"]) -> tuple[float, float]:
    m = np.arange(1, sizes.shape[2] + 1)[:, None]
    # a cos(mx) + b sin(mx) is one wave of height √(a² + b²).
    height = np.hypot(sizes[:, 0], sizes[:, 1])
    slope, bend = (height * m).sum(axis=1), (height * m**2).sum(axis=1)
    return float(np.linalg.norm(slope, axis=1).max()), float(bend.max())
