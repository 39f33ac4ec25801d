"""Problems from the cost functions of decent-bench."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from hocket.errors import BadProblem
from hocket.problems.adapters.terms import Terms, Whole, assembled
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere, FeasibleSet

LIBRARY = "decent_bench"


def from_decent_bench(costs: Any, *, feasible: FeasibleSet | None = None) -> Problem:
    """The problem that decent-bench's costs make, an agent for each; or of its network's agents.

    Linear and logistic regressions, quadratics, l1 and l2 regularisers, their sums and multiples become objectives of
    hocket's own; other costs are called as they are. Batches are taken as a whole: gradients here are over all records.
    X is everything unless `feasible` is given. A constant in a cost is left out.
    """
    if hasattr(costs, "agents"):
        costs = costs.agents()
    # An agent has its cost; what can be called is a cost itself.
    given = [one if hasattr(one, "function") else getattr(one, "cost", one) for one in _listed(costs)]
    if not given:
        raise BadProblem("there are no costs; give one for each agent")
    for j, cost in enumerate(given):
        if not all(hasattr(cost, name) for name in ("function", "gradient", "shape")):
            raise BadProblem(
                f"the cost of agent {j} is a {type(cost).__name__}; give costs of decent-bench, or its network"
            )
    terms = [_terms(cost) for cost in given]
    where = Everywhere() if feasible is None else feasible
    return assembled(terms, [_whole(cost) for cost in given], feasible=where, whose="decent-bench")


def _listed(costs: Iterable[Any]) -> list[Any]:
    try:
        return list(costs)
    except TypeError:
        raise BadProblem(f"costs is a {type(costs).__name__}; give a list of costs, one per agent") from None


def _terms(cost: Any) -> Terms:
    found = Terms(math.prod(cost.shape))
    _take(cost, 1.0, found)
    return found


def _take(cost: Any, weight: float, into: Terms) -> None:
    """Take a cost apart; what it is is told by its name, so that the library need not be imported."""
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
        into.add_quadratic(_numpy(cost.A), _numpy(cost.b), weight)
    elif name == "L2RegularizerCost":
        into.l2 += weight
    elif name == "L1RegularizerCost":
        into.l1 += weight
    elif name != "ZeroCost":
        into.unknown = into.unknown or type(cost).__name__


def _records(cost: Any) -> tuple[np.ndarray, np.ndarray]:
    rows = np.stack([_numpy(features) for features, _ in cost.dataset])
    return rows, np.array([_numpy(target).item() for _, target in cost.dataset], dtype=np.float64)


def _whole(cost: Any) -> Whole:
    # Of a cost over records all of them are asked for, whatever its batches are.
    every = {"indices": "all"} if hasattr(cost, "dataset") else {}
    shape = tuple(cost.shape)

    def value(x: np.ndarray) -> float:
        return float(cost.function(_array(x.reshape(shape)), **every))

    def gradient(x: np.ndarray) -> np.ndarray:
        return _numpy(cost.gradient(_array(x.reshape(shape)), **every)).ravel()

    smooth, convex = (float(getattr(cost, name, math.nan)) for name in ("m_smooth", "m_cvx"))
    return Whole(value, gradient, None if math.isnan(smooth) else smooth, not math.isnan(convex))


def _numpy(array: Any) -> np.ndarray:
    """An array of any of its frameworks as NumPy's."""
    inside = getattr(array, "numpy", array)
    return np.asarray(inside() if callable(inside) else inside, dtype=np.float64)


def _array(x: np.ndarray) -> Any:
    """NumPy's numbers as the library takes them; whoever has a cost of its has imported it."""
    library: Any = sys.modules.get("decent_array")
    return x if library is None else library.interoperability.from_numpy(x)
