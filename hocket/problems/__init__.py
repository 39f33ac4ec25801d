"""Problems: objectives f_j, the data behind them, where states may lie, and the optimum to measure against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hocket.problems.objective import Average, Loss, Objective, Samples, WeightedSum
from hocket.problems.penalty import L1, ElasticNet, GroupLasso, Penalty, Proximal
from hocket.problems.polynomial import Polynomial
from hocket.problems.quadratic import Quadratic
from hocket.problems.regression import LeastSquares, Logistic

if TYPE_CHECKING:
    from hocket.problems.adapters import from_decent_bench, from_disropt

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
    "from_disropt",
]


def __getattr__(name: str) -> Any:
    # Adapters make problems, which import this package.
    if name not in ("from_decent_bench", "from_disropt"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hocket.problems import adapters

    return getattr(adapters, name)
