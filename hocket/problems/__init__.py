"""Problems: objectives f_j, the data behind them, where states may lie, and the optimum to measure against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hocket.problems.objective import Average, Loss, Objective, Samples, WeightedSum
from hocket.problems.penalty import L1, ElasticNet, GroupLasso, Penalty, Proximal
from hocket.problems.polynomial import Polynomial
from hocket.problems.quadratic import Quadratic
from hocket.problems.regression import LeastSquares, Logistic

if TYPE_CHECKING:
    from hocket.problems.decent_bench import from_decent_bench

__all__ = [
    "L1",
    "Average",
    "ElasticNet",
    "GroupLasso",
    "LeastSquares",
    "Logistic",
    "Loss",
    "Objective",
    "Penalty",
    "Polynomial",
    "Proximal",
    "Quadratic",
    "Samples",
    "WeightedSum",
    "from_decent_bench",
]


def __getattr__(name: str) -> Any:
    if name != "from_decent_bench":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hocket.problems.decent_bench import from_decent_bench  # which imports this package

    return from_decent_bench
