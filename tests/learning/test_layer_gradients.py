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


@pytest.mark.parametrize("seed", range(3))
def test_places_that_cancel_are_added_up_as_they_were_measured(seed):
    """A record whose places nearly cancel: rounding left thousands of what was cut to one."""
    rng = np.random.default_rng(seed)
    half = (rng.normal(size=(32, 2)) * [1e9, 1e3]).astype(np.float32)
    record = np.concatenate([half, half * np.array([1, -1], np.float32)])[rng.permutation(64)]
    beside = rng.normal(size=(7, 64, 2)).astype(np.float32)

    def losses(parameters: Any, inputs: Any, labels: Any) -> Any:
        (layer,) = parameters
        return (layer(inputs[..., :1]) * inputs[..., 1:]).sum(axis=(1, 2))

    @jax.jit
    def total(inputs: Any) -> Any:
        parameters = [Layer(jnp.zeros((1, 2)), jnp.zeros(2))]
        cut = clipped_by_layer(losses, parameters, inputs, jnp.zeros(8, int), 1.0)
        assert cut is not None
        return ravel_pytree(cut)[0]

    with_it, without = (total(np.concatenate([beside, one[None]])) for one in (record, 0 * record))
    assert np.linalg.norm(with_it - without) <= 1 + 1e-5


def test_a_length_is_of_single_precision_whatever_a_model_computes_in():
    def losses(parameters: Any, inputs: Any, labels: Any) -> Any:
        scores = parameters[0](inputs.astype(jnp.bfloat16))
        return scores[:, 0]

    for seed in range(5):
        inputs = np.random.default_rng(seed).normal(size=(1, 3000)).astype(np.float32)
        parameters = [Layer(jnp.zeros((3000, 2)), jnp.zeros(2))]
        cut = clipped_by_layer(losses, parameters, inputs, jnp.zeros(1, int), 1.0)
        assert np.linalg.norm(ravel_pytree(cut)[0]) <= 1 + 1e-5
