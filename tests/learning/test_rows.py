"""Clipping per record holds whatever a model does with a batch; models whose records know of each other are refused."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx
from jax.flatten_util import ravel_pytree

import hocket as hk
from hocket import learning
from hocket.errors import BadProblem
from hocket.federation import ClippedTask
from hocket.learning.batches import Shard
from hocket.learning.clipping import Clip, PoissonBatches, clipped_sum
from hocket.learning.layer_gradients import clipped_by_layer
from hocket.learning.minibatches import Minibatches
from hocket.learning.models import Layer, Model
from hocket.learning.rows import check_rows

FEATURES, CLASSES, BATCH = 6, 3, 8
RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=shape).astype(np.float32) / 2 for shape in ((FEATURES, 16), (16, CLASSES))]
KEY = jax.random.key(7)


def batch_norm(parameters: Any, x: Any) -> Any:
    first, second = parameters
    h = x @ first
    return jnp.tanh((h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5)) @ second


def dropout(parameters: Any, x: Any) -> Any:
    """By a fixed key: what is dropped depends on how many records there are, and where one stands."""
    first, second = parameters
    h = jax.nn.relu(x @ first)
    return (2 * h * jax.random.bernoulli(KEY, 0.5, h.shape)) @ second


def by_place(parameters: Any, x: Any) -> Any:
    first, second = parameters
    return jnp.tanh(x @ first) @ second * (1 + jnp.arange(len(x)))[:, None]


def by_rank(parameters: Any, x: Any) -> Any:
    """Nothing that derivatives show: the first record in order is told so."""
    first, second = parameters
    return jnp.tanh(x @ first) @ second + (x[:, :1] == x[:, :1].max())


def attention(parameters: Any, x: Any) -> Any:
    first, second = parameters
    h = x @ first
    return (jax.nn.softmax(h @ h.T) @ h) @ second


def tokens(layers: list[Layer], x: Any) -> Any:
    """Three tokens of two numbers in a record, and layers that see (records · tokens, numbers)."""
    first, second = layers
    return second(jnp.tanh(first(x.reshape(-1, 2)))).reshape(len(x), 3, CLASSES).mean(axis=1)


def plain(parameters: Any, x: Any) -> Any:
    first, second = parameters
    return jnp.tanh(x @ first) @ second


class Normed(nnx.Module):
    def __init__(self, normalised: Any) -> None:
        self.first, self.last = (
            nnx.Linear(*ends, rngs=nnx.Rngs(0)) for ends in ((FEATURES, 16), (16, CLASSES))
        )
        self.norm = normalised

    def __call__(self, x: Any) -> Any:
        return self.last(jnp.tanh(self.norm(self.first(x))))


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(CLASSES)(linen.BatchNorm(use_running_average=True)(linen.Dense(16)(x)))


TOKENS = [
    Layer(RNG.normal(size=shape).astype(np.float32), np.zeros(shape[1], np.float32))
    for shape in ((2, 5), (5, 3))
]
INTERACTING = {
    "batch normalisation": Model(batch_norm, WEIGHTS),
    "dropout by a fixed key": Model(dropout, WEIGHTS),
    "place in the batch": Model(by_place, WEIGHTS),
    "rank in the batch": Model(by_rank, WEIGHTS),
    "attention over records": Model(attention, WEIGHTS),
    "zeros at the start": Model(batch_norm, [0 * weight for weight in WEIGHTS]),
    "a loss over the batch": Model(plain, WEIGHTS, loss=lambda s, y: (s[:, 0] - s[:, 0].mean()) ** 2 + 0 * y),
    "nnx.BatchNorm": learning.as_model(Normed(nnx.BatchNorm(16, rngs=nnx.Rngs(0)))),
}
MEASURED = ("batch normalisation", "dropout by a fixed key", "rank in the batch", "attention over records")
APART = {
    "plain": Model(plain, WEIGHTS),
    "tokens": Model(tokens, TOKENS),
    "mlp": learning.mlp((FEATURES, 5, CLASSES)),
    "logistic": learning.logistic_regression(FEATURES, CLASSES),
    "nnx.LayerNorm": learning.as_model(Normed(nnx.LayerNorm(16, rngs=nnx.Rngs(0)))),
    "equinox": learning.as_model(eqx.nn.MLP(FEATURES, CLASSES, 16, depth=2, key=jax.random.key(0))),
}


def clouds(count: int, seed: int, *, far: bool = False) -> learning.Dataset:
    rng = np.random.default_rng(seed)
    inputs, labels = rng.normal(size=(count, FEATURES)), rng.integers(CLASSES, size=count)
    if far:
        inputs[0] = 1000 * np.sign(rng.normal(size=FEATURES))
    return learning.Dataset("clouds", inputs.astype(np.float32), labels.astype(np.int32), classes=CLASSES)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, {"clip": Clip(1.0)}) for name in INTERACTING),
        ("batch normalisation", {"private": learning.DpSgd(1.0)}),
    ],
)
def test_a_model_whose_records_know_of_each_other_is_refused(name: str, how: dict[str, Any]) -> None:
    shards = [clouds(30, seed) for seed in range(3)]
    given: dict[str, Any] = {"test": clouds(9, 9), "epochs": 1, "local_steps": 1, "batch": BATCH} | how
    with pytest.raises(
        BadProblem, match=r"no record of it has a gradient of its own.*LayerNorm or GroupNorm"
    ):
        hk.train(INTERACTING[name], shards, hk.Network.cycle(3), hk.Dgd(), **given)


def test_a_whole_step_is_cut_whatever_a_model_does_with_a_batch() -> None:
    """Nothing is said of single records there, and nothing is refused."""
    model, shards = INTERACTING["batch normalisation"], [clouds(30, seed) for seed in range(3)]
    clip = Clip(0.01, per="member")
    run = hk.train(
        model, shards, hk.Network.cycle(3), hk.Dgd(), test=clouds(9, 9), epochs=1, batch=BATCH, clip=clip
    )
    assert any("one member replaced" in remark for remark in run.remarks)


@pytest.mark.parametrize("name", APART)
def test_a_model_that_looks_at_one_record_at_a_time_is_not(name: str) -> None:
    check_rows(APART[name], clouds(1, 0).inputs, CLASSES)


def test_images_and_bytes_are_tried_as_they_come() -> None:
    check_rows(learning.cnn(classes=3), np.zeros((1, 8, 8), np.uint8), 3)
    check_rows(learning.mlp(), np.zeros((1, 28, 28), np.uint8), 10)


def test_layers_are_known_by_name_where_they_would_pass_for_others() -> None:
    """One that uses running means looks at single records, and learns these means from batches all the same."""
    module = Linen()
    model = learning.as_model((module.apply, module.init(KEY, jnp.zeros((2, FEATURES)))))
    with pytest.raises(BadProblem, match=r"has the layer BatchNorm_0, which takes means over a batch"):
        check_rows(model, clouds(1, 0).inputs, CLASSES)


def test_a_model_that_is_odd_about_one_record_is_refused_in_words() -> None:
    shape = clouds(1, 0).inputs
    with pytest.raises(BadProblem, match="fails on a batch of 1, or its loss does"):
        check_rows(Model(lambda p, x: jnp.squeeze(plain(p, x)), WEIGHTS), shape, CLASSES)
    with pytest.raises(BadProblem, match=r"losses of shape \(\) for a batch of 1, where a row and a number"):
        check_rows(Model(plain, WEIGHTS, loss=lambda s, y: s.mean() + 0 * y[0]), shape, CLASSES)


@pytest.mark.parametrize("name", [*MEASURED, "plain", "tokens", "mlp"])
def test_the_stated_sensitivity_holds_for_every_model_measured(name: str) -> None:
    """Even for those that are refused: same coins, one record replaced by an outlier."""
    model = (INTERACTING | APART)[name]
    poisson, norm = PoissonBatches.of(BATCH, 40, 40), 0.5
    objective = Minibatches(model, (np.uint32(1), np.uint32(2)), 3, BATCH, clip=Clip(norm), poisson=poisson)

    def gradients(data: learning.Dataset) -> np.ndarray:
        shard = Shard(jnp.asarray(data.inputs), jnp.asarray(data.labels), jnp.asarray(40), jnp.asarray(0))
        return np.asarray(jax.jit(objective.gradients)(jnp.asarray(model.start), shard, 1))

    moved = max(
        np.linalg.norm(gradients(clouds(40, seed)) - gradients(clouds(40, seed, far=True)), axis=1).max()
        for seed in range(3)
    )
    assert moved <= Clip(norm).sensitivity(BATCH) * (1 + 1e-4)  # float32, sums of a few gradients


def test_tokens_belong_to_their_record_in_the_fast_path() -> None:
    """Each record's whole gradient is cut, not each token's; beside one gradient after the other."""
    data, model = clouds(BATCH, 3), APART["tokens"]
    inputs, labels = jnp.asarray(10 * data.inputs), jnp.asarray(data.labels)

    def losses(parameters: Any, inputs: Any, labels: Any) -> Any:
        return model.loss(model.apply(parameters, inputs), labels)

    fast = clipped_by_layer(losses, TOKENS, inputs, labels, 0.3)
    assert fast is not None
    slopes = [
        ravel_pytree(jax.grad(lambda p, i=i: losses(p, inputs[i : i + 1], labels[i : i + 1])[0])(TOKENS))[0]
        for i in range(BATCH)
    ]
    lengths = [float(jnp.linalg.norm(slope)) for slope in slopes]
    assert max(lengths) > 0.6
    expected = sum(slope * min(1, 0.3 / length) for slope, length in zip(slopes, lengths, strict=True))
    np.testing.assert_allclose(ravel_pytree(fast)[0], expected, atol=1e-5)


def test_a_gradient_is_as_long_as_it_is_where_squares_of_its_parts_are_not() -> None:
    """Input 1e19 and error 1e-20 make a slope of 0.1, which a norm of 0.01 must cut; their squares are 1e38 and 0."""
    layer = Layer(jnp.zeros((1, 1)), jnp.zeros(1))
    inputs, labels = jnp.full((1, 1), 1e19, jnp.float32), jnp.zeros(1, np.int32)

    def losses(parameters: Any, inputs: Any, labels: Any) -> Any:
        return 1e-20 * parameters(inputs)[:, 0]

    total = clipped_sum(losses, layer, inputs, labels, 0.01)
    assert np.linalg.norm(ravel_pytree(total)[0]) == pytest.approx(0.01, rel=1e-5)


@pytest.mark.parametrize("model", [batch_norm, dropout, attention], ids=lambda one: one.__name__)
def test_members_over_links_cut_single_records_of_the_same_models(model: Any) -> None:
    """A task's loss sees one record, and nothing of a batch: the sensitivity holds whatever is inside."""
    rows = np.random.default_rng(0).normal(size=(20, FEATURES)).astype(np.float32)
    x = np.concatenate([weight.ravel() for weight in WEIGHTS])

    def loss(p: Any, row: Any) -> Any:
        weights = p[: FEATURES * 16].reshape(FEATURES, 16), p[FEATURES * 16 :].reshape(16, CLASSES)
        return -jax.nn.log_softmax(model(weights, row[None]))[0, 0]

    def gradient(data: np.ndarray, seed: int) -> np.ndarray:
        task = ClippedTask(loss, data, len(x), clip=0.5, batch=5, size=20)
        return task.gradient(x, 1, 0, np.random.default_rng(seed))

    other = rows.copy()
    other[3] = 1000.0
    moved = [np.linalg.norm(gradient(rows, seed) - gradient(other, seed)) for seed in range(6)]
    assert model is batch_norm or max(moved) > 0.01  # normalised alone, a record is zero
    assert max(moved) <= 2 * 0.5 / 5 * (1 + 1e-5)
