"""Models: any function of a pytree of parameters, as one of a flat vector; and the networks that the paper trains.

These are the networks of Shokri and Shmatikov (2015), and multinomial logistic regression. Weights start uniform within
±1/√(inputs of a unit), from a public seed. Convolutions are written as matrix products over patches: batched over
agents, XLA's own convolution is fourteen times slower on CPUs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int, PyTree, Shaped

from hocket.errors import BadProblem

Outputs = Float[Any, "batch classes"]
SIDE = 32
"""Images are padded to this many pixels a side."""
MEAN, SPREAD = 0.1307, 0.3081
"""Of MNIST's pixels, from 0 to 1: public constants that everybody scales by."""
KERNEL = 5


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
    module: Any = field(default=None, repr=False)
    """What it was made from, for the names of its layers; None for a function alone."""

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

    @cached_property
    def layers(self) -> frozenset[str]:
        """Names of the kinds of layers, and of what they keep, as far as its framework or its parameters tell."""
        names: set[str] = set()

        def noted(node: Any) -> bool:
            names.add(type(node).__name__)
            return False

        for tree in (self.parameters, self.module):
            paths, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=noted)
            names |= {str(getattr(key, "key", getattr(key, "name", ""))) for path, _ in paths for key in path}
        if any(base.__module__.startswith("flax.nnx") for base in type(self.module).__mro__):
            from flax import nnx  # pyright: ignore[reportMissingImports]

            names |= {type(node).__name__ for _, node in nnx.iter_graph(self.module)}
        return frozenset(names)

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

    return Model(apply, parameters, name=type(module).__name__, module=module)


def _from_nnx(module: Any) -> Model:
    from flax import nnx  # pyright: ignore[reportMissingImports]

    structure, parameters = nnx.split(module)

    def apply(parameters: Any, inputs: Any) -> Any:
        return nnx.merge(structure, parameters)(inputs)

    return Model(apply, parameters, name=type(module).__name__, module=module)


class Layer(NamedTuple):
    """outputs = inputs · weight + bias."""

    weight: Float[Any, "inputs outputs"]
    bias: Float[Any, " outputs"]

    def __call__(self, inputs: Float[Any, "... inputs"]) -> Float[Any, "... outputs"]:
        return inputs @ self.weight + self.bias


def mlp(sizes: Sequence[int] = (SIDE * SIDE, 128, 64, 10), *, seed: int = 0) -> Model:
    """Fully connected layers with rectifiers between them: 1024-128-64-10, 140,106 parameters.

    The paper's choice for MNIST. Square images fill the first layer, enlarged and padded as needed.
    """
    if len(sizes) < 2 or min(sizes) < 1:
        raise BadProblem(f"sizes = {tuple(sizes)} of an MLP; give at least inputs and outputs, all positive")

    def apply(layers: list[Layer], inputs: Any) -> Any:
        values = _flat_inputs(inputs, sizes[0])
        for layer in layers[:-1]:
            values = jax.nn.relu(layer(values))
        return layers[-1](values)

    rng = np.random.default_rng(seed)
    layers = [_layer(rng, *ends) for ends in pairwise(sizes)]
    return Model(apply, layers, name="MLP " + "-".join(map(str, sizes)))


def cnn(*, classes: int = 10, seed: int = 0) -> Model:
    """Two convolutions 5×5 (32 and 64 channels), tanh, max-pooling by 3 and 2, then 200 units: 105,506 parameters.

    The larger choice for MNIST. Sides shrink from 32 to 28, 9, 5 and 2 pixels: 256 numbers meet the 200 units.
    """

    def apply(layers: list[Layer], inputs: Any) -> Any:
        first, second, third, last = layers
        values = images(inputs)[..., None]
        values = max_pooled(jnp.tanh(first(patches(values))), 3)
        values = max_pooled(jnp.tanh(second(patches(values))), 2)
        values = jnp.tanh(third(values.reshape(len(values), -1)))
        return last(values)

    rng = np.random.default_rng(seed)
    ends = [(KERNEL**2, 32), (32 * KERNEL**2, 64), (64 * 2 * 2, 200), (200, classes)]
    return Model(apply, [_layer(rng, *each) for each in ends], name="CNN 32-64-200")


def logistic_regression(features: int, classes: int, *, l2: float = 1e-4) -> Model:
    """Multinomial logistic regression with (l2/2) ‖x‖² on weights and offsets, from zero.

    The paper's choice for Reuters, and convex: all agents that agree on the optimum agree on the model.
    """

    def apply(layer: Layer, inputs: Any) -> Any:
        return layer(_numbers(inputs).reshape(len(inputs), -1))

    zero = Layer(np.zeros((features, classes), np.float32), np.zeros(classes, np.float32))
    return Model(apply, zero, name=f"logistic regression {features}-{classes}", l2=l2)


def images(inputs: Shaped[Any, "batch side side"]) -> Float[Any, "batch 32 32"]:
    """Square images as numbers around 0, enlarged by a whole factor where they are small, padded to 32×32."""
    if inputs.ndim != 3 or inputs.shape[1] != inputs.shape[2] or inputs.shape[1] > SIDE:
        raise BadProblem(
            f"inputs of shape {inputs.shape[1:]} are no square images of at most {SIDE}×{SIDE} pixels"
        )
    values = _numbers(inputs)
    for axis in (1, 2):
        values = jnp.repeat(values, SIDE // inputs.shape[1], axis=axis)
    missing = SIDE - values.shape[1]
    around = (missing // 2, missing - missing // 2)
    return (jnp.pad(values, ((0, 0), around, around)) - MEAN) / SPREAD


def _numbers(inputs: Any) -> Any:
    """Bytes become numbers from 0 to 1, booleans 0 and 1."""
    scale = 1 / 255 if inputs.dtype == np.uint8 else 1
    return jnp.asarray(inputs, jnp.float32) * scale


def _flat_inputs(inputs: Any, width: int) -> Any:
    if inputs.ndim == 3 and width == SIDE * SIDE:
        inputs = images(inputs)
    return _numbers(inputs).reshape(len(inputs), -1)


def _layer(rng: np.random.Generator, inputs: int, outputs: int) -> Layer:
    reach = 1 / math.sqrt(inputs)
    return Layer(
        rng.uniform(-reach, reach, (inputs, outputs)).astype(np.float32),
        rng.uniform(-reach, reach, outputs).astype(np.float32),
    )


def patches(values: Float[Any, "batch side side channels"]) -> Float[Any, "batch left left numbers"]:
    """All 5×5 neighbourhoods, each as one row."""
    left = values.shape[1] - KERNEL + 1
    shifted = [
        values[:, down : down + left, right : right + left]
        for down in range(KERNEL)
        for right in range(KERNEL)
    ]
    return jnp.concatenate(shifted, axis=-1)


def max_pooled(
    values: Float[Any, "batch side side channels"], by: int
) -> Float[Any, "batch left left channels"]:
    """The largest of every `by`×`by` square; a rest at the edge is left out."""
    left = values.shape[1] // by
    whole = values[:, : left * by, : left * by]
    return whole.reshape(len(whole), left, by, left, by, -1).max(axis=(2, 4))
