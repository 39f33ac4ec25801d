"""Objectives f_j: what one agent minimises, given its own data."""

from hocket.objectives.least_squares import LeastSquares
from hocket.objectives.logistic import Logistic
from hocket.objectives.loss import Loss
from hocket.objectives.objective import Average, Objective
from hocket.objectives.polynomial import Polynomial
from hocket.objectives.samples import Samples
from hocket.objectives.weighted_sum import WeightedSum

__all__ = ["Average", "LeastSquares", "Logistic", "Loss", "Objective", "Polynomial", "Samples", "WeightedSum"]
