"""Problems: objectives f_j, the data behind them, where states may lie, and the optimum to measure against."""

from hocket.problems.objective import Average, Loss, Objective, Samples, WeightedSum
from hocket.problems.penalty import L1, ElasticNet, GroupLasso, Penalty, Proximal
from hocket.problems.polynomial import Polynomial
from hocket.problems.quadratic import Quadratic
from hocket.problems.regression import LeastSquares, Logistic

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
]
