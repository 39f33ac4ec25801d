"""The networks of Shokri and Shmatikov (2015) that the paper trains, and multinomial logistic regression.

Weights start uniform within ±1/√(inputs of a unit), from a public seed. Convolutions are written as matrix products
over patches: batched over agents, XLA's own convolution is fourteen times slower on CPUs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from hocket.errors import BadProblem
from hocket.learning.models.model import Model

SIDE = 32
"""Images are padded to this many pixels a side."""
MEAN, SPREAD = 0.1307, 0.3081
"""Of MNIST's pixels, from 0 to 1: public constants that everybody scales by."""
KERNEL = 5


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
