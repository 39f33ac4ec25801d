"""A model as agents see it: outputs from a flat vector of parameters; from other libraries and plain functions too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int, PyTree, Shaped

from hocket.errors import BadProblem

# A model as agents see it: outputs from a flat vector of parameters and a batch of inputs.

Outputs = Float[Any, "batch classes"]


def cross_entropy(outputs: Outputs, labels: Int[Any, " batch"]) -> Float[Any, " batch"]:
    """−log of the probability that softmax gives to the label, sample by sample."""
    picked = jnp.take_along_axis(jax.nn.log_softmax(outputs), labels[:, None], axis=1)
    return -picked[:, 0]


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier: `apply(parameters, inputs)` gives a row of scores per input.

    Parameters are any pytree of floating-point arrays, and their values are the start of every agent: one public
    start, which must not depend on data.
    """

    apply: Callable[[PyTree, Any], Outputs]
    parameters: PyTree = field(repr=False)
    name: str = "model"
    loss: Callable[[Outputs, Any], Float[Any, " batch"]] = cross_entropy
    """Of every sample in a batch."""
    l2: float = 0.0
    """Adds (l2/2) ‖x‖² to the loss."""

    def __post_init__(self) -> None:
        leaves = jax.tree_util.tree_leaves_with_path(self.parameters)
        if not leaves:
            raise BadProblem(f"{self.name} has no parameters; there is nothing to learn")
        for path, leaf in leaves:
            kind = getattr(leaf, "dtype", type(leaf).__name__)
            if not (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)):
                raise BadProblem(
                    f"parameter {jax.tree_util.keystr(path) or 'x'} of {self.name} is {kind}; parameters must be "
                    "floating point: convert it, or keep it out of the parameters"
                )
            if not np.isfinite(np.asarray(leaf, np.float64)).all():
                raise BadProblem(
                    f"parameter {jax.tree_util.keystr(path) or 'x'} of {self.name} is not finite; start from numbers"
                )
        if not (np.isfinite(self.l2) and self.l2 >= 0):
            raise BadProblem(f"l2 = {self.l2} of {self.name}; it must be a finite number of zero or more")

    @cached_property
    def _flat(self) -> tuple[Float[np.ndarray, " dim"], Callable[[Any], PyTree]]:
        single = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), self.parameters)
        flat, unravel = ravel_pytree(single)
        return np.asarray(flat), unravel

    @property
    def dim(self) -> int:
        """How many parameters there are."""
        return len(self.start)

    @property
    def start(self) -> Float[np.ndarray, " dim"]:
        """The parameters as one vector, in single precision."""
        return self._flat[0]

    @property
    def unravel(self) -> Callable[[Any], PyTree]:
        """Parameters from a vector."""
        return self._flat[1]

    def scores(self, x: Float[Any, " dim"], inputs: Shaped[Any, "batch ..."]) -> Outputs:
        """The outputs at parameters x."""
        return self.apply(self.unravel(jnp.asarray(x, jnp.float32)), inputs)

    def predict(self, x: Float[Any, " dim"], inputs: Shaped[Any, "batch ..."]) -> Int[np.ndarray, " batch"]:
        """The likeliest label of every input, at parameters x: an agent's `run.x[j]`, or `run.mean`."""
        return np.asarray(jnp.argmax(self.scores(x, inputs), axis=1))

    def penalty(self, parameters: PyTree) -> Any:
        """The part of the loss that depends on no sample."""
        return self.l2 / 2 * sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(parameters))

    def check(self, inputs: Shaped[Any, "batch ..."], classes: int) -> None:
        """Refuse inputs that do not fit, or too few scores for the labels."""
        sample = jax.ShapeDtypeStruct((2, *np.shape(inputs)[1:]), inputs.dtype)
        try:
            outputs = jax.eval_shape(self.apply, self.unravel(jnp.asarray(self.start)), sample)
        except Exception as error:
            raise BadProblem(
                f"{self.name} fails on inputs of shape {sample.shape} and type {sample.dtype}: {error}; it must take "
                "a batch of samples as the data hold them"
            ) from error
        shape = getattr(outputs, "shape", ())
        if len(shape) != 2 or shape[0] != 2 or shape[1] < classes:
            raise BadProblem(
                f"{self.name} gives outputs of shape {shape} for 2 samples; it must give 2 rows of at least {classes} "
                "scores, one per label"
            )


# Models of other libraries, and plain functions.


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
