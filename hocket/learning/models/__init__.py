"""Models: any function of a pytree of parameters, made into a function of one flat vector."""

from hocket.learning.models.model import Model, as_model
from hocket.learning.models.networks import cnn, logistic_regression, mlp

__all__ = ["Model", "as_model", "cnn", "logistic_regression", "mlp"]
