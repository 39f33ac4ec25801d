"""Problems from the functions of disropt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hocket.errors import BadProblem
from hocket.problems.adapters.terms import Terms, Whole, assembled
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere, FeasibleSet


def from_disropt(functions: Sequence[Any], *, feasible: FeasibleSet | None = None) -> Problem:
    """The problem that disropt's functions make, an agent for each; its problems' objectives will do, too.

    Quadratic and affine forms of the variable become hocket's quadratics; other functions are called as they are, with
    their subgradients. X is everything unless `feasible` is given: constraints are not taken over.
    """
    given = [getattr(one, "objective_function", one) for one in functions]
    if not given:
        raise BadProblem("there are no functions; give one for each agent")
    for j, one in enumerate(given):
        if not all(hasattr(one, name) for name in ("eval", "subgradient", "input_shape")):
            raise BadProblem(
                f"the function of agent {j} is a {type(one).__name__}; give functions of disropt"
            )
        if tuple(one.output_shape) != (1, 1):
            raise BadProblem(
                f"the function of agent {j} has values of shape {tuple(one.output_shape)}; an objective has one number"
            )
    where = Everywhere() if feasible is None else feasible
    return assembled(
        [_terms(one) for one in given], [_whole(one) for one in given], feasible=where, whose="disropt"
    )


def _terms(function: Any) -> Terms:
    dim = int(function.input_shape[0])
    found = Terms(dim)
    try:
        known: Any = function.get_parameters() if function.is_quadratic or function.is_affine else None
    except NotImplementedError:  # of some sums it knows what they are, and not their numbers
        known = None
    if known is None:
        found.unknown = type(function).__name__
        return found
    *bend, slope, _ = (np.asarray(part, dtype=np.float64) for part in known)  # xᵀPx + qᵀx + r, or qᵀx + r
    found.add_quadratic(2 * bend[0] if bend else np.zeros((dim, dim)), slope.ravel(), 1.0)
    return found


def _whole(function: Any) -> Whole:
    def value(x: np.ndarray) -> float:
        return float(np.asarray(function.eval(x.reshape(-1, 1))).item())

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.asarray(function.subgradient(x.reshape(-1, 1)), dtype=np.float64).ravel()

    return Whole(value, gradient)
