"""Models of other libraries, and plain functions."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax

from hocket.errors import BadProblem
from hocket.learning.models.model import Model


def as_model(model: Any) -> Model:
    """A model from what users have: a `Model`, an Equinox or Flax module, or a pair (function, parameters).

    A function takes a pytree of parameters and a batch of inputs. Equinox modules take a single input, as is the
    custom there; Flax modules a batch. A Flax linen module holds no parameters: pass (module.apply, variables).
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, tuple) and len(model) == 2 and callable(model[0]):
        function, parameters = model
        return Model(function, parameters, name=getattr(function, "__qualname__", "the function"))
    if isinstance(model, eqx.Module) and callable(model):
        return _from_equinox(model)
    if any(base.__module__.startswith("flax.nnx") for base in type(model).__mro__):
        return _from_nnx(model)
    if any(base.__module__.startswith("flax.linen") for base in type(model).__mro__):
        raise BadProblem(
            f"{type(model).__name__} is a Flax linen module, which holds no parameters; pass the pair "
            "(module.apply, module.init(key, inputs))"
        )
    raise BadProblem(
        f"{model!r} is no model; give a Model, an Equinox or Flax module, or a pair (function, parameters)"
    )


def _from_equinox(module: Any) -> Model:
    # All arrays are parameters: one that is no floating-point number is then refused by its name.
    parameters, rest = eqx.partition(module, eqx.is_array)

    def apply(parameters: Any, inputs: Any) -> Any:
        return jax.vmap(eqx.combine(parameters, rest))(inputs)

    return Model(apply, parameters, name=type(module).__name__)


def _from_nnx(module: Any) -> Model:
    from flax import nnx  # pyright: ignore[reportMissingImports]

    structure, parameters = nnx.split(module)

    def apply(parameters: Any, inputs: Any) -> Any:
        return nnx.merge(structure, parameters)(inputs)

    return Model(apply, parameters, name=type(module).__name__)
