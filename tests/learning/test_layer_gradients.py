"""Clipping by layers beside clipping by one gradient after the other, which knows nothing of layers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from hocket import learning
from hocket.learning.clipping import clipped_sum
from hocket.learning.layer_gradients import clipped_by_layer
from hocket.learning.models import Layer

MODELS = {
    "logistic": (learning.logistic_regression(9, 3), (3, 3)),
    "mlp": (learning.mlp((9, 8, 5, 3)), (3, 3)),
    "cnn": (learning.cnn(classes=3), (8, 8)),
}
PRESENT = jnp.asarray([True, True, False, True])


def batch(shape: tuple[int, ...], seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.normal(size=(4, *shape)), np.float32), jnp.asarray(rng.integers(3, size=4))


def one_by_one(model: Any, parameters: Any, *rest: Any) -> Any:
    """The same model with its layers as plain pairs, which nothing is known of."""
    layers, structure = jax.tree.flatten(parameters, is_leaf=lambda node: isinstance(node, Layer))

    def losses(pairs: Any, inputs: Any, labels: Any) -> Any:
        built = structure.unflatten([Layer(*pair) for pair in pairs])
        return model.loss(model.apply(built, inputs), labels)

    return clipped_sum(losses, [tuple(layer) for layer in layers], *rest)


@pytest.mark.parametrize("name", MODELS)
def test_layers_give_the_sum_that_single_gradients_give(name):
    model, shape = MODELS[name]
    rng = np.random.default_rng(1)
    parameters = model.unravel(jnp.asarray(0.3 * rng.normal(size=model.dim), np.float32))
    inputs, labels = batch(shape)

    def losses(parameters: Any, inputs: Any, labels: Any) -> Any:
        return model.loss(model.apply(parameters, inputs), labels)

    for norm in (0.05, 1e6):  # all cut, none cut
        rest = (inputs, labels, norm, PRESENT)
        ours = clipped_by_layer(losses, parameters, *rest)
        assert ours is not None
        theirs = ravel_pytree(one_by_one(model, parameters, *rest))[0]
        # float32: sums in another order, relative to the largest entry
        np.testing.assert_allclose(ravel_pytree(ours)[0], theirs, atol=1e-5 * float(jnp.abs(theirs).max()))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_a_sample_whose_gradient_is_no_number_counts_for_nothing(bad):
    model, shape = MODELS["mlp"]
    inputs, labels = batch(shape)
    parameters = model.unravel(jnp.asarray(model.start))

    def losses(parameters: Any, inputs: Any, labels: Any) -> Any:
        return model.loss(model.apply(parameters, inputs), labels)

    spoilt = inputs.at[1].set(bad)
    found = clipped_by_layer(losses, parameters, spoilt, labels, 0.1)
    without = clipped_by_layer(losses, parameters, inputs, labels, 0.1, jnp.arange(4) != 1)
    jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(ours, theirs, atol=1e-7), found, without)


def test_layers_that_are_used_twice_or_in_another_way_are_left_alone():
    layer = Layer(jnp.eye(3), jnp.zeros(3))
    inputs, labels = batch((3,))
    for apply in (
        lambda one, x: one(jnp.tanh(one(x))),
        lambda one, x: x @ one.weight,
        lambda one, x: jax.vmap(one)(x),
        lambda one, x: jax.lax.scan(lambda h, row: (h + one(row), h), jnp.zeros(3), x)[1],
    ):
        assert (
            clipped_by_layer(lambda p, x, _, f=apply: f(p, x).sum(axis=-1), layer, inputs, labels, 1.0)
            is None
        )


class Scaled(Layer):
    """Three times what a layer makes of its inputs."""

    def __call__(self, inputs: Any) -> Any:
        return 3 * super().__call__(inputs)


def test_a_layer_of_somebodys_own_is_no_layer_that_gradients_are_known_of():
    inputs, labels = batch((3,))
    layer = Scaled(jnp.eye(3), jnp.zeros(3))
    assert clipped_by_layer(lambda p, x, _: p(x).sum(axis=-1), layer, inputs, labels, 1.0) is None
