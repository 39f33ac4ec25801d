"""Problems: objectives f_j, the data behind them, where states may lie, and the optimum to measure against."""

from hocket.problems.least_squares import LeastSquares
from hocket.problems.logistic import Logistic
from hocket.problems.loss import Loss
from hocket.problems.objective import Average, Objective, WeightedSum
from hocket.problems.polynomial import Polynomial
from hocket.problems.samples import Samples

__all__ = ["Average", "LeastSquares", "Logistic", "Loss", "Objective", "Polynomial", "Samples", "WeightedSum"]
