"""Problems from the cost functions of decent-bench, which this does not import.

Costs are taken apart by the names of their classes. Where all agents' parts are of one form that hocket has, so is the
problem, with its constants, its optimum and its compiled rounds; else costs are called as they are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems.objective import Objective
from hocket.problems.penalty import L1
from hocket.problems.problem import Problem
from hocket.problems.quadratic import Quadratic
from hocket.problems.sets import Everywhere, FeasibleSet
from hocket.problems.standard import least_squares, logistic

LIBRARY = "decent_bench"
AGREE = 1e-6
"""How far gradients of one objective may be apart, of two libraries with sums in another order."""
SAME = 1e-12
"""Weights of a regulariser that differ by this part are one weight."""


def from_decent_bench(costs: Any, *, feasible: FeasibleSet | None = None) -> Problem:
    """The problem that decent-bench's costs make, an agent for each; or of its network's agents.

    Linear and logistic regressions, quadratics, l1 and l2 regularisers, their sums and multiples become objectives of
    hocket's own; other costs are called as they are. Batches are taken as a whole: gradients here are over all records.
    X is everything unless `feasible` is given. A constant in a cost is left out.
    """
    if hasattr(costs, "agents"):
        costs = costs.agents()
    if not hasattr(costs, "__iter__"):
        raise BadProblem(f"costs is a {type(costs).__name__}; give a list of costs, one per agent")
    # An agent has its cost; what can be called is a cost itself.
    given = [one if hasattr(one, "function") else getattr(one, "cost", one) for one in costs]
    if not given:
        raise BadProblem("there are no costs; give one for each agent")
    for j, cost in enumerate(given):
        if not all(hasattr(cost, name) for name in ("function", "gradient", "shape")):
            raise BadProblem(
                f"the cost of agent {j} is a {type(cost).__name__}; give costs of decent-bench, or its network"
            )
    dims = sorted({math.prod(cost.shape) for cost in given})
    if len(dims) != 1:
        raise BadProblem(f"the costs are for {dims} coordinates; give those of one problem, an agent each")
    where = Everywhere() if feasible is None else feasible
    own = _recognised([_parts_of(cost, dims[0]) for cost in given], dims[0], where)
    return own if own is not None and _agrees(own, given) else _called(given, dims[0], where)


@dataclass
class CostTerms:
    """One agent's objective as a sum: ½ xᵀHx + qᵀx, records, (l2/2) ‖x‖², l1 ‖x‖₁; constants are left out."""

    bend: np.ndarray
    slope: np.ndarray
    quadratics: int = 0
    """How many quadratics are in these two."""
    squares: list[tuple[np.ndarray, np.ndarray, float]] = field(default_factory=list[Any])
    """(rows, targets, weight) of weight · mean of ½ (aᵀx − b)²."""
    classes: list[tuple[np.ndarray, np.ndarray, float]] = field(default_factory=list[Any])
    """(rows, labels, weight) of weight · mean of log(1 + exp(−y aᵀx))."""
    l2: float = 0.0
    l1: float = 0.0
    unknown: bool = False
    """Whether there is a part whose form nobody recognised."""

    def coefficients(self) -> np.ndarray:
        """All but ‖x‖₁ as a quadratic, by its coefficients."""
        bend, slope = self.bend + self.l2 * np.eye(len(self.slope)), self.slope
        for rows, targets, weight in self.squares:
            bend = bend + weight * rows.T @ rows / len(rows)
            slope = slope - weight * rows.T @ targets / len(rows)
        p, q = np.triu_indices(len(slope))
        return np.concatenate([slope, np.where(p == q, 0.5, 1.0) * bend[p, q]])


def _parts_of(cost: Any, dim: int) -> CostTerms:
    found = CostTerms(np.zeros((dim, dim)), np.zeros(dim))
    _take(cost, 1.0, found)
    return found


def _take(cost: Any, weight: float, into: CostTerms) -> None:
    """Take a cost apart by the names of its classes."""
    name = type(cost).__name__ if type(cost).__module__.startswith(LIBRARY) else ""
    if name == "SumCost":
        for part in cost.costs:
            _take(part, weight, into)
    elif name in ("ScaledCost", "_EmpiricalScaledCost"):
        _take(cost.cost, weight * float(cost.scalar), into)
    elif name == "EmpiricalRegularizedCost":
        _take(cost.empirical_cost, weight, into)
        _take(cost.regularizer, weight, into)
    elif name == "_CompositeRegularizerCost":
        for part, share in cost._terms:
            _take(part, weight * float(share), into)
    elif name == "LinearRegressionCost":
        into.squares.append((*_records(cost), weight))
    elif name == "LogisticRegressionCost":
        into.classes.append((*_records(cost), weight))
    elif name == "QuadraticCost":
        bend = _numpy(cost.A)
        into.quadratics += 1
        into.bend = into.bend + weight * (bend + bend.T) / 2
        into.slope = into.slope + weight * _numpy(cost.b)
    elif name == "L2RegularizerCost":
        into.l2 += weight
    elif name == "L1RegularizerCost":
        into.l1 += weight
    elif name != "ZeroCost":
        into.unknown = True


def _records(cost: Any) -> tuple[np.ndarray, np.ndarray]:
    rows = np.stack([_numpy(features) for features, _ in cost.dataset])
    return rows, np.array([_numpy(target).item() for _, target in cost.dataset], dtype=np.float64)


def _recognised(terms: Sequence[CostTerms], dim: int, feasible: FeasibleSet) -> Problem | None:
    """The problem in a form of hocket's own; None where none fits all agents."""
    l1, l2 = (_shared([getattr(one, name) for one in terms]) for name in ("l1", "l2"))
    if any(one.unknown for one in terms) or l1 is None:
        return None
    prox = L1(l1) if l1 > 0 else None
    forms = {(len(one.squares), len(one.classes), one.quadratics) for one in terms}
    if l2 is not None and forms == {(1, 0, 0)} and all(one.squares[0][2] > 0 for one in terms):
        rows, targets = (
            [np.sqrt(one.squares[0][2]) * one.squares[0][place] for one in terms] for place in (0, 1)
        )
        return least_squares(rows, targets, l2=l2, reduction="mean", feasible=feasible, prox=prox)
    if l2 is not None and forms == {(0, 1, 0)} and all(one.classes[0][2] == 1.0 for one in terms):
        rows, labels = ([one.classes[0][place] for one in terms] for place in (0, 1))
        return logistic(rows, labels, l2=l2, reduction="mean", feasible=feasible, prox=prox)
    if not any(one.classes for one in terms):
        data = np.stack([one.coefficients() for one in terms])
        return Problem(Quadratic(), data, feasible=feasible, dim=dim, prox=prox)
    return None


def _shared(weights: Sequence[float]) -> float | None:
    """The weight that all have; None where they differ or one is negative, which no penalty may be."""
    first = weights[0]
    alike = all(abs(one - first) <= SAME * max(1.0, abs(first)) for one in weights)
    return float(first) if alike and first >= 0 else None


def _agrees(problem: Problem, costs: Sequence[Any]) -> bool:
    """Whether every agent's gradient is its cost's: another release may mean something else by the same name."""
    x = np.random.default_rng(0).normal(size=problem.dim)
    kink = problem.penalty.weight * np.sign(x) if isinstance(problem.penalty, L1) else 0.0
    return all(
        np.allclose(problem.gradient(j, x) + kink, _functions(cost)[1](x), rtol=AGREE, atol=AGREE)
        for j, cost in enumerate(costs)
    )


def _called(costs: Sequence[Any], dim: int, feasible: FeasibleSet) -> Problem:
    """The problem that calls the library's own costs, with what these say of themselves; NaN is unknown there."""
    bends, convex = ([float(getattr(one, name, math.nan)) for one in costs] for name in ("m_smooth", "m_cvx"))
    values, gradients = zip(*map(_functions, costs), strict=True)
    return Problem(
        Called(values, gradients),
        np.arange(len(costs)),
        feasible=feasible,
        dim=dim,
        convex=None if np.isnan(convex).any() else True,
        smoothness=max(bends) if np.isfinite(bends).all() else None,
    )


def _functions(cost: Any) -> tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]:
    """The value and the gradient of a cost, of NumPy arrays."""
    # Of a cost over records all of them are asked for, whatever its batches are.
    every = {"indices": "all"} if hasattr(cost, "dataset") else {}
    shape = tuple(cost.shape)

    def value(x: np.ndarray) -> float:
        return float(cost.function(_array(x.reshape(shape)), **every))

    def gradient(x: np.ndarray) -> np.ndarray:
        return _numpy(cost.gradient(_array(x.reshape(shape)), **every)).ravel()

    return value, gradient


def _numpy(array: Any) -> np.ndarray:
    """An array of any of its frameworks as NumPy's."""
    inside = getattr(array, "numpy", array)
    return np.asarray(inside() if callable(inside) else inside, dtype=np.float64)


def _array(x: np.ndarray) -> Any:
    """NumPy's numbers as the library takes them; anybody who has a cost of its has imported it."""
    library: Any = sys.modules.get("decent_array")
    return x if library is None else library.interoperability.from_numpy(x)


class Called(Objective):
    """f_j(x) and ∇f_j(x) by calling a function of NumPy arrays for each.

    The fallback for costs whose form nobody recognised: it goes back to Python in every round, so it is as slow as they
    are, and nothing but what is declared is known of it. Data: the number of each agent's function.
    """

    functions: tuple[Callable[[np.ndarray], float], ...] = eqx.field(static=True)
    gradients: tuple[Callable[[np.ndarray], np.ndarray], ...] = eqx.field(static=True)

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        return self._call(self.functions, (), x, data)

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        return self._call(self.gradients, x.shape, x, data)

    def pooled(self, data: PyTree) -> tuple[Objective, PyTree]:
        members = [int(j) for j in np.asarray(data)]

        def value(x: np.ndarray) -> float:
            return float(np.mean([self.functions[j](x) for j in members]))

        def gradient(x: np.ndarray) -> np.ndarray:
            return np.mean([self.gradients[j](x) for j in members], axis=0)

        return Called((value,), (gradient,)), np.asarray(0)

    def _call(self, those: tuple[Callable[[np.ndarray], Any], ...], shape: Any, x: Any, data: Any) -> Any:
        def here(x: Any, j: Any) -> np.ndarray:
            point = np.asarray(x, dtype=np.float64)
            return np.asarray(those[int(j)](point), dtype=x.dtype).reshape(shape)

        if isinstance(x, np.ndarray):
            return here(x, data)
        form = jax.ShapeDtypeStruct(shape, x.dtype)
        return jax.pure_callback(here, form, x, data, vmap_method="sequential")
