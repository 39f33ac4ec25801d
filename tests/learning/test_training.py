"""Training: the same algorithms, on models and small batches."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.engines import checkpoint as checkpoints
from hocket.errors import BadAlgorithm, BadInput, BadProblem, Diverged
from hocket.learning import (
    Alone,
    Dataset,
    digits,
    equal_shards,
    evaluate,
    gradient_rms,
    label_shards,
    logistic_regression,
    mlp,
    own_shards,
    train,
)

DATA = digits()
AGENTS = 4
EACH = 359
SHARDS = equal_shards(DATA.train.take(np.arange(AGENTS * EACH)), AGENTS)
RING = hk.Network.cycle(AGENTS)
L2 = 1e-2
LINEAR = logistic_regression(64, 10, l2=L2)
NET = mlp((64, 12, 10))
ALGORITHMS = {
    "dgd": hk.Dgd(),
    "rss-nb": hk.RssNb(1.0),
    "rss-nb-anchored": hk.RssNb(1.0, persistent=0.5),
    "rss-lb": hk.RssLb(1.0),
    "fs": hk.FunctionSharing(2, 0.002),
    "independent": hk.IndependentNoise(0.02),
    "centralised": hk.Centralised(),
}


def learn(model: Any = NET, algorithm: Any = None, shards: Any = SHARDS, **options: Any) -> hk.Run:
    given = {"test": DATA.test, "epochs": 2, "local_steps": 20, "batch": 16, "step": 0.2}
    return train(model, shards, RING, algorithm or hk.Dgd(), **(given | options))


USUALLY = ("rss-nb", "rss-lb", "fs")
"""Algorithms that every run of the tests trains with; the others are left to the slow ones."""


@pytest.mark.parametrize(
    ("name", "feasible"),
    [
        ("rss-nb", None),
        *(
            pytest.param(name, hk.Ball(0.7), marks=() if name in USUALLY else pytest.mark.slow)
            for name in ALGORITHMS
        ),
    ],
)
def test_one_step_of_all_samples_is_the_algorithm_as_printed(name: str, feasible: Any) -> None:
    """H = 1 and batches of whole shards: the very run that `solve` makes of the same loss, noise included."""

    def loss(x: Any, data: Any) -> Any:
        inputs, labels = data
        weight, bias = x[:640].reshape(64, 10), x[640:]
        scores = jax.nn.log_softmax(inputs @ weight + bias)
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1)) + L2 / 2 * x @ x

    features = np.stack([part.inputs.reshape(-1, 64) / 255 for part in SHARDS.parts])
    labels = np.stack([part.labels for part in SHARDS.parts])
    problem = hk.Problem(
        loss, (features, labels), feasible=feasible or hk.Everywhere(), dim=650, convex=False
    )
    step = hk.Power(0.5, 1, 0.75)
    solved = hk.solve(problem, RING, ALGORITHMS[name], rounds=6, step=step, dtype=np.float32, seed=3)
    trained = learn(
        LINEAR, ALGORITHMS[name], step=step, local_steps=1, batch=EACH, epochs=6, feasible=feasible, seed=3
    )
    assert trained.rounds == 6
    np.testing.assert_allclose(trained.x, solved.x, atol=2e-6)  # float32, six steps, other summation orders
    np.testing.assert_allclose(trained.noise.rms, solved.noise.rms, rtol=0.1)  # measured at other rounds
    if feasible is not None:
        assert np.linalg.norm(trained.x, axis=1).max() <= 0.7 + 1e-6


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in USUALLY else pytest.mark.slow) for name in ALGORITHMS]
)
def test_everybody_learns(name: str) -> None:
    run = learn(algorithm=ALGORITHMS[name], epochs=25, step=0.3)
    accuracy = run.history["accuracy"]
    assert accuracy[0].max() < 0.3
    assert accuracy[-1].min() > 0.88
    assert run.history["mean_accuracy"][-1] > 0.88
    np.testing.assert_allclose(evaluate(NET, run.x, DATA.test), accuracy[-1], atol=1e-6)
    np.testing.assert_allclose(
        evaluate(NET, run.mean, DATA.test), run.history["mean_accuracy"][-1], atol=1e-6
    )
    assert run.claim.theorem is None
    assert "exact gradients" in run.claim.statement
    assert math.isnan(run.gap)


def test_alone_nobody_learns_labels_it_never_saw() -> None:
    shards = label_shards(DATA.train, AGENTS)
    alone = learn(algorithm=Alone(), shards=shards, epochs=15, local_steps=2)
    together = learn(algorithm=hk.Dgd(), shards=shards, epochs=15, local_steps=2)
    assert alone.history["accuracy"][-1].max() < 0.35  # three of ten labels at most
    assert together.history["accuracy"][-1].mean() > 0.6
    assert alone.disagreement > together.disagreement


def test_noise_is_stated_per_local_step_and_multiplied_by_their_number() -> None:
    steps = 20
    run = learn(LINEAR, hk.RssNb(1.0), keep="transcript", local_steps=steps, step=0.2)
    assert run.transcript is not None
    assert run.path is not None
    (words,), paired = run.transcript.words, run.transcript.noise["paired"]
    hidden = words[1] - run.path[1]
    d = np.zeros_like(hidden)
    for link, (low, high) in enumerate(RING.links.tolist()):
        flow = paired[1, link, 0] - paired[1, link, 1]
        d[high] += flow
        d[low] -= flow
    np.testing.assert_allclose(hidden, 0.2 * steps * d, atol=1e-6)  # float32, states below 1
    np.testing.assert_allclose(hidden.sum(axis=0), 0, atol=1e-5)
    assert run.noise.largest <= 1 + 1e-6  # in units of one gradient, however many there are
    assert any(f"{steps} times that per exchange" in remark for remark in run.remarks)


def test_one_agent_holding_all_draws_what_all_would_draw() -> None:
    """Agents that mix completely after every step descend like the centralised baseline."""
    mixing = np.full((AGENTS, AGENTS), 1 / AGENTS)
    complete = hk.Network.complete(AGENTS, weights=mixing)
    given: dict[str, Any] = {"test": DATA.test, "epochs": 2, "local_steps": 1, "batch": 8, "step": 0.2}
    together = train(LINEAR, SHARDS, complete, hk.Dgd(), **given)
    central = train(LINEAR, SHARDS, complete, hk.Centralised(), **given)
    np.testing.assert_allclose(
        together.mean, central.x[0], atol=2e-3
    )  # gradients are taken after mixing, here before
    assert central.x.shape == (1, 650)


def test_unequal_shards_are_drawn_without_their_padding() -> None:
    """An agent with few samples learns the same beside agents with many as beside agents with few."""
    few = SHARDS.parts[0].take(np.arange(20))
    beside_many = learn(LINEAR, Alone(), shards=[few, *SHARDS.parts[1:]], epochs=1)
    beside_few = learn(LINEAR, Alone(), shards=[few] * AGENTS, epochs=16 * beside_many.rounds)
    assert beside_many.rounds == beside_few.rounds
    np.testing.assert_allclose(beside_many.x[0], beside_few.x[0], atol=1e-6)  # float32, 60 steps


def test_momentum_is_off_by_default_and_carries_further() -> None:
    plain, none, heavy = learn(LINEAR), learn(LINEAR, momentum=0.0), learn(LINEAR, momentum=0.9)
    np.testing.assert_array_equal(plain.x, none.x)
    assert np.linalg.norm(heavy.mean) > 1.2 * np.linalg.norm(plain.mean)


def test_seeds_decide_batches_and_noise() -> None:
    first, again, other = (learn(algorithm=hk.RssNb(1.0), seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.x, again.x)
    assert (first.x != other.x).any()


def test_history_counts_epochs() -> None:
    run = learn(epochs=6, every=2)
    # An exchange is 20 · 16 of 359 samples: a little less than an epoch.
    np.testing.assert_allclose(run.history["epoch"], np.array([0, 3, 5, 7]) * 320 / 359, rtol=1e-6)
    assert run.history["accuracy"].shape == (4, AGENTS)
    assert run.settings["learning"]["parameters"] == NET.dim
    assert run.settings["learning"]["samples"] == [EACH] * AGENTS


@pytest.mark.parametrize("name", ["rss-nb-anchored", "fs"])
def test_a_checkpoint_resumes_to_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = learn(algorithm=ALGORITHMS[name], epochs=8)
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    learn(algorithm=ALGORITHMS[name], epochs=3, checkpoint=tmp_path)
    resumed = learn(algorithm=ALGORITHMS[name], epochs=8, checkpoint=tmp_path)
    np.testing.assert_array_equal(whole.x, resumed.x)
    for name, column in whole.history.items():
        np.testing.assert_array_equal(column, resumed.history[name])
    with pytest.raises(BadInput, match="belongs to another run"):
        learn(algorithm=hk.Dgd(), epochs=8, checkpoint=tmp_path)


def test_a_diverging_run_names_agent_and_epoch_and_keeps_what_was_good(tmp_path: Path) -> None:
    def scaled(data: Dataset, by: float) -> Dataset:
        return Dataset(data.name, data.inputs.astype(np.float32) * by, data.labels, 10)

    shards = own_shards([scaled(part, 1e17 if j == 2 else 1 / 255) for j, part in enumerate(SHARDS.parts)])
    test = scaled(DATA.test, 1 / 255)
    with pytest.raises(Diverged, match=r"diverged at round \d+: in epoch \d+, agent \d") as caught:
        learn(algorithm=Alone(), shards=shards, test=test, step=1e3, checkpoint=tmp_path)
    assert "agent 2's state is not finite" in str(caught.value)
    good = caught.value.run
    assert np.isfinite(good.x).all()
    assert caught.value.checkpoint == tmp_path
    assert (tmp_path / "checkpoint.npz").exists()
    assert good.rounds == caught.value.round - 1


def test_a_coalition_sees_words_and_noise_of_a_training(tmp_path: Path) -> None:
    run = learn(LINEAR, hk.RssNb(1.0), keep="transcript")
    view = run.view({0})
    assert view.words[0][(1, 0)].shape == (run.rounds, 650)
    assert set(view.noise["paired"]) == {(0, 1), (1, 0), (0, 3), (3, 0)}
    loaded = hk.Run.load(run.save(tmp_path))
    np.testing.assert_array_equal(loaded.history["accuracy"], run.history["accuracy"])
    assert loaded.settings["learning"]["model"] == LINEAR.name


def test_gradients_have_a_size() -> None:
    size = gradient_rms(LINEAR, SHARDS, local_steps=2, batch=EACH)
    slopes = []
    for part in SHARDS.parts:
        inputs = part.inputs.reshape(-1, 64) / 255
        error = 0.1 - np.eye(10)[part.labels]  # at zero all labels are equally likely
        slopes.append(np.concatenate([(inputs.T @ error / EACH).reshape(-1), error.mean(axis=0)]))
    np.testing.assert_allclose(size, np.sqrt(np.mean(np.square(slopes))), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"momentum": 1.0}, BadInput, "momentum = 1.0"),
        ({"batch": EACH + 1}, BadProblem, "agent 0 has 359 samples and batches of 360"),
        ({"algorithm": hk.PrivateDgd(1.0, 1.0, 10)}, BadAlgorithm, "use Dgd\\(\\) and private=DpSgd"),
        ({"shards": own_shards(SHARDS.parts[:3])}, BadInput, "the problem has 3 agents and the network 4"),
        ({"keep": "all"}, BadInput, "keep = 'all'"),
        ({"keep": "path", "checkpoint": "somewhere"}, BadInput, "a checkpoint holds no path"),
        ({"test": DATA.test.take(np.arange(0))}, BadInput, "the test data are empty"),
        ({"every": 0}, BadInput, "every = 0"),
        ({"seed": -1}, BadInput, "seed = -1"),
        ({"model": mlp((64, 3))}, BadProblem, "at least 10 scores"),
    ],
)
def test_what_cannot_be_trained_is_refused(options: dict[str, Any], error: type, why: str) -> None:
    with pytest.raises(error, match=why):
        learn(**options)
