"""Models: the paper's networks to the last parameter, and everybody else's."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hocket.errors import BadProblem
from hocket.learning import Model, as_model, cnn, digits, logistic_regression, mlp
from hocket.learning.models import images, max_pooled, patches

DIGITS = digits().test


def test_parameter_counts_are_those_of_shokri_and_shmatikov() -> None:
    assert mlp().dim == 140_106
    assert cnn().dim == 105_506
    assert logistic_regression(2000, 46).dim == 46 * 2001


@pytest.mark.parametrize("build", [mlp, cnn], ids=["mlp", "cnn"])
def test_starts_follow_from_a_public_seed(build: Any) -> None:
    first, again, other = build(), build(), build(seed=1)
    np.testing.assert_array_equal(first.start, again.start)
    assert (first.start != other.start).any()
    assert first.start.dtype == np.float32


def test_images_are_enlarged_padded_and_centred() -> None:
    large = images(jnp.full((1, 28, 28), 255, jnp.uint8))
    assert large.shape == (1, 32, 32)
    background, ink = -0.1307 / 0.3081, (1 - 0.1307) / 0.3081
    np.testing.assert_allclose(large[0, 0], background, rtol=1e-5)
    np.testing.assert_allclose(large[0, 2:30, 2:30], ink, rtol=1e-5)
    assert images(jnp.zeros((1, 8, 8))).shape == (1, 32, 32)
    with pytest.raises(BadProblem, match="no square images"):
        images(jnp.zeros((1, 40, 40)))


def test_the_convolution_is_a_convolution() -> None:
    model = cnn()
    first = model.parameters[0]
    values = images(jnp.asarray(DIGITS.inputs[:2]))[..., None]
    theirs = jax.lax.conv_general_dilated(
        values,
        first.weight.reshape(5, 5, 1, 32),
        (1, 1),
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    np.testing.assert_allclose(first(patches(values)) - first.bias, theirs, atol=1e-5)
    pooled = jax.lax.reduce_window(theirs, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 3, 3, 1), "VALID")
    np.testing.assert_array_equal(max_pooled(theirs, 3), pooled)


def equinox_model() -> Any:
    return eqx.nn.Sequential(
        [
            eqx.nn.Lambda(lambda one: one.reshape(-1) / 255.0),
            eqx.nn.Linear(64, 10, key=jax.random.key(0)),
        ]
    )


def nnx_model() -> Any:
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self) -> None:
            self.linear = nnx.Linear(64, 10, rngs=nnx.Rngs(0))

        def __call__(self, inputs: Any) -> Any:
            return self.linear(inputs.reshape(len(inputs), -1) / 255.0)

    return Net()


def linen_pair() -> Any:
    from flax import linen

    class Net(linen.Module):
        @linen.compact
        def __call__(self, inputs: Any) -> Any:
            return linen.Dense(10)(inputs.reshape(len(inputs), -1) / 255.0)

    net = Net()
    return net.apply, net.init(jax.random.key(0), jnp.zeros((1, 8, 8)))


def plain_pair() -> Any:
    def scores(parameters: Any, inputs: Any) -> Any:
        return inputs.reshape(len(inputs), -1) / 255.0 @ parameters["weight"] + parameters["bias"]

    return scores, {"weight": np.zeros((64, 10)), "bias": np.zeros(10)}


@pytest.mark.parametrize("build", [equinox_model, nnx_model, linen_pair, plain_pair])
def test_models_of_all_kinds_become_functions_of_a_vector(build: Any) -> None:
    model = as_model(build())
    model.check(DIGITS.inputs, 10)
    assert model.dim == 650
    assert as_model(model) is model
    scores = model.scores(model.start, DIGITS.inputs[:3])
    assert scores.shape == (3, 10)
    assert (model.scores(2 * model.start + 1, DIGITS.inputs[:3]) != scores).any()
    np.testing.assert_array_equal(
        model.predict(model.start, DIGITS.inputs[:3]), np.asarray(scores).argmax(axis=1)
    )


def test_parameters_that_are_not_floating_point_are_named() -> None:
    whole = {"weight": np.zeros((64, 10)), "table": np.zeros(3, int)}
    with pytest.raises(
        BadProblem, match=r"parameter \['table'\] of mine is int64; parameters must be floating point"
    ):
        Model(lambda p, x: x, whole, name="mine")
    module = eqx.nn.Linear(4, 2, key=jax.random.key(0))
    module = eqx.tree_at(lambda m: m.bias, module, jnp.zeros(2, jnp.int32))
    with pytest.raises(BadProblem, match=r"parameter \.bias of Linear is int32"):
        as_model(module)
    with pytest.raises(BadProblem, match="parameter x of mine is float; "):
        Model(lambda p, x: x, 1.0, name="mine")
    with pytest.raises(BadProblem, match="has no parameters"):
        Model(lambda p, x: x, {}, name="mine")
    with pytest.raises(BadProblem, match="is not finite"):
        Model(lambda p, x: x, np.array([np.nan]), name="mine")


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(BadProblem, match="3 is no model"):
        as_model(3)
    with pytest.raises(BadProblem, match="l2 = -1"):
        logistic_regression(4, 2, l2=-1)
    with pytest.raises(BadProblem, match="of an MLP"):
        mlp((4,))
    from flax import linen

    with pytest.raises(BadProblem, match=r"pass the pair \(module.apply"):
        as_model(linen.Dense(3))


def test_a_model_that_does_not_fit_the_data_is_refused_at_the_door() -> None:
    with pytest.raises(BadProblem, match=r"MLP 10-3 fails on inputs of shape \(2, 8, 8\) and type uint8"):
        mlp((10, 3)).check(DIGITS.inputs, 3)
    with pytest.raises(BadProblem, match="at least 10 scores"):
        mlp((64, 3)).check(DIGITS.inputs, 10)
