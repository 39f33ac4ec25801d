"""Attacks on learning: exact where nothing hides, as far off as predicted elsewhere, and never better than they say."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput
from hocket.learning import digits, gradient_rms, logistic_regression, mlp, own_shards, train
from hocket.privacy.attacks import residuals
from reproductions.attacks import (
    QUICK,
    Effort,
    Rate,
    Row,
    Seen,
    Separation,
    all_gradients,
    attack_notes,
    attack_rows,
    attack_table,
    auc_rate,
    features,
    first_gradient,
    invert_gradients,
    losses,
    membership_scores,
    public_knowledge,
)

DATA = digits()
PUBLIC = public_knowledge(DATA.test)
MODEL = logistic_regression(64, 10, l2=1e-2)
ZERO = np.zeros(MODEL.dim)


def samples(*labels: int, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One sample of the training data for every label, none twice."""
    rows = [np.flatnonzero(DATA.train.labels == label)[first + place] for place, label in enumerate(labels)]
    picked = DATA.train.take(np.array(rows))
    return features(picked), picked.labels


def gradient(x: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Of the mean loss over a batch, written out."""
    weight, offset = x[:640].reshape(64, 10), x[640:]
    scores = np.exp(inputs @ weight + offset)
    error = scores / scores.sum(axis=1, keepdims=True) - np.eye(10)[labels]
    by_weight = inputs.T @ error / len(labels)
    return np.concatenate([by_weight.reshape(-1), error.mean(axis=0)]) + MODEL.l2 * x


def seen(
    points: np.ndarray, inputs: np.ndarray, labels: np.ndarray, *, sd: float = 0.0, offset: float = 0.0
) -> Seen:
    """Gradients at these points under noise of known size."""
    rng = np.random.default_rng(0)
    values = np.stack([gradient(x, inputs, labels) for x in points])
    values = values + sd * rng.normal(size=values.shape) + offset * rng.normal(size=values.shape[1])
    return Seen(1, points, values, np.full(len(points), sd), offset)


def error_of(gradients: Seen, inputs: np.ndarray, labels: np.ndarray) -> float:
    found = invert_gradients(gradients, MODEL, batch=len(labels), public=PUBLIC)
    return float(found.errors(inputs, labels)[0].max())


@pytest.mark.parametrize("label", range(10))
def test_a_batch_of_one_is_exact_in_any_exchange(label: int) -> None:
    """z is any column of the weights' gradient over the same entry of the offsets'."""
    inputs, labels = samples(label)
    anywhere = 0.3 * np.random.default_rng(label).normal(size=(1, MODEL.dim))
    found = invert_gradients(seen(anywhere, inputs, labels), MODEL, batch=1, public=PUBLIC)
    assert found.labels.tolist() == [label]
    np.testing.assert_allclose(
        found.inputs, inputs, atol=1e-5
    )  # noise of 1e-6 is allowed for, as words are rounded


@pytest.mark.parametrize("labels", [(3, 7), (0, 1, 2, 9), (0, 1, 2, 3, 4, 5, 6, 7, 8)])
def test_different_labels_are_exact_from_the_start(labels: tuple[int, ...]) -> None:
    inputs, truth = samples(*labels)
    assert error_of(seen(ZERO[None], inputs, truth), inputs, truth) < 1e-4


def test_of_samples_with_one_label_the_mean_is_exact() -> None:
    inputs, labels = samples(4, 4, 6)
    found = invert_gradients(seen(ZERO[None], inputs, labels), MODEL, batch=3, public=PUBLIC)
    assert found.labels.tolist() == [4, 6]
    assert found.counts.tolist() == [2, 1]
    np.testing.assert_allclose(found.inputs, [inputs[:2].mean(axis=0), inputs[2]], atol=1e-4)


def test_where_every_label_occurs_one_vector_stays_open() -> None:
    """What all labels' sums have in common is then filled in from public samples: not exact, but no guess."""
    inputs, labels = samples(*range(10))
    found = invert_gradients(seen(ZERO[None], inputs, labels), MODEL, batch=10, public=PUBLIC)
    error = found.errors(inputs, labels)[0].mean()
    guess = np.mean(np.linalg.norm(PUBLIC.guess - inputs, axis=1) / np.linalg.norm(inputs, axis=1))
    assert 1e-3 < error < guess / 2


def test_noise_that_never_changes_drops_out_of_differences() -> None:
    """What FS with linear functions adds to gradients: it hides one gradient and no two of the same sample."""
    inputs, labels = samples(5)
    points = 0.1 * np.random.default_rng(1).normal(size=(3, MODEL.dim))
    assert error_of(seen(points[:1], inputs, labels, offset=1.0), inputs, labels) > 0.1
    assert error_of(seen(points, inputs, labels, offset=1.0), inputs, labels) < 1e-4


def test_fresh_noise_averages_out() -> None:
    inputs, labels = samples(2)
    points = 0.05 * np.random.default_rng(2).normal(size=(40, MODEL.dim))
    errors = [error_of(seen(points[:rounds], inputs, labels, sd=0.3), inputs, labels) for rounds in (1, 40)]
    assert errors[1] < 0.6 * errors[0]


def test_what_is_attacked_must_be_logistic_regression_with_public_samples_of_every_label() -> None:
    inputs, labels = samples(2)
    with pytest.raises(BadInput, match="MLP 64-10 have no closed-form inverse"):
        invert_gradients(seen(ZERO[None], inputs, labels), mlp((64, 10)), batch=1, public=PUBLIC)
    with pytest.raises(BadInput, match="no public sample has label 0"):
        public_knowledge(DATA.test.take(np.flatnonzero(DATA.test.labels > 0)))


SHARDS = own_shards([DATA.train.take(np.array([place])) for place in range(5)])
RMS = gradient_rms(MODEL, SHARDS, local_steps=1, batch=1)
ALGORITHMS = {
    "dgd": hk.Dgd(),
    "rss-nb": hk.RssNb(RMS * math.sqrt(24 * MODEL.dim)),
    "rss-lb": hk.RssLb(3 * RMS * math.sqrt(MODEL.dim)),
    "fs": hk.FunctionSharing(1, RMS * math.sqrt(3 / 8), family="linear"),
}


@cache
def trained(name: str, network: str = "complete") -> hk.Run:
    return train(
        MODEL,
        SHARDS,
        getattr(hk.Network, network)(5),
        ALGORITHMS[name],
        test=DATA.test,
        epochs=12,
        local_steps=1,
        batch=1,
        step=0.5,
        keep="transcript",
    )


def recovered(gradients: Seen) -> float:
    part = SHARDS.parts[gradients.target]
    found = invert_gradients(gradients, MODEL, batch=1, public=PUBLIC)
    return float(found.errors(features(part), part.labels)[0][0])


def test_one_neighbour_reads_a_sample_off_dgd_even_where_it_hears_half_of_what_is_mixed() -> None:
    view = trained("dgd", "cycle").view({0})
    assert recovered(first_gradient(view, 1, MODEL.start)) < 1e-4
    with pytest.raises(
        BadInput, match="receives the messages of agent 2, which agent 1 mixes; attack the first"
    ):
        all_gradients(view, 1)


@pytest.mark.parametrize("name", ["rss-nb", "rss-lb", "fs"])
def test_noise_hides_the_first_exchange_from_one_neighbour_and_not_from_all(name: str) -> None:
    run = trained(name)
    assert recovered(first_gradient(run.view({0}), 1, MODEL.start)) > 0.05
    everybody_else = run.view({0, 2, 3, 4})
    assert recovered(first_gradient(everybody_else, 1, MODEL.start)) < 1e-3
    assert recovered(all_gradients(everybody_else, 1)) < 1e-3


def test_fs_of_linear_functions_gives_a_sample_away_that_is_seen_twice() -> None:
    assert recovered(all_gradients(trained("fs").view({0}), 1)) < 1e-4


@pytest.mark.parametrize("name", ["rss-nb", "rss-lb"])
def test_noise_left_in_gradients_is_as_large_as_predicted(name: str) -> None:
    run = trained(name)
    told = all_gradients(run.view({0}), 1)
    truth = residuals(run.view({0}, threat="states+noise"), 1).values
    realised = np.sqrt(np.mean((told.values - truth) ** 2, axis=1))
    np.testing.assert_allclose(realised, told.sd, rtol=0.15)  # 650 draws each: five standard deviations


def test_scores_tell_what_was_trained_on() -> None:
    few = own_shards([DATA.train.take(np.arange(10 * j, 10 * j + 10)) for j in range(5)])
    net = logistic_regression(64, 10, l2=0.0)
    run = train(net, few, hk.Network.cycle(5), hk.Dgd(), test=DATA.test, epochs=200, local_steps=10, batch=5)
    members, others = DATA.train.take(np.arange(50)), DATA.test
    plain = Separation(membership_scores(net, run.mean, members), membership_scores(net, run.mean, others))
    assert plain.auc > 0.7
    assert plain.advantage(plain.threshold) > 0.3
    np.testing.assert_allclose(plain.members, -losses(net, run.mean, members))
    same = membership_scores(net, run.mean, members, references=[run.mean, run.mean])
    np.testing.assert_allclose(same, 0, atol=1e-12)


def test_separation_counts_pairs() -> None:
    apart = Separation(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0]))
    assert apart.auc == pytest.approx(
        (1 + 1.5 + 2) / 6
    )  # pairs in which the member is ahead, a tie being half
    assert apart.advantage(1.0) == pytest.approx(1 - 1 / 2)
    assert apart.threshold == 1.0
    with pytest.raises(BadInput, match="no scores of others"):
        Separation(np.ones(1), np.ones(0))


def test_intervals_cover_what_they_should() -> None:
    """Normal scores one standard deviation apart: the AUC is Φ(1/√2) = 0.760."""
    rng = np.random.default_rng(0)
    hits = 0
    for repetition in range(40):
        runs = [[Separation(rng.normal(1, 1, 60), rng.normal(0, 1, 60))] for _ in range(5)]
        rate = auc_rate(runs, seed=repetition)
        assert rate.low < rate.mean < rate.high
        hits += rate.low < 0.7602 < rate.high
    assert hits >= 33  # 38 expected; fewer than 33 has probability 0.002


def test_the_table_has_a_line_per_attack_and_says_what_nothing_hides() -> None:
    def rate(mean: float) -> Rate:
        return Rate(mean, 0.01, mean - 0.02, mean + 0.02)

    rows = [
        Row("relative error of a sample", "batch of 1", "DGD", rate(1e-7)),
        Row("relative error of a sample", "batch of 1", "nothing heard", rate(0.5)),
        Row("whether it was trained on, AUC", "final model", "DGD", rate(0.7)),
        Row("accuracy", "final model", "DGD", rate(0.9)),
    ]
    table = attack_table(rows, Effort(seeds=3))
    assert table.head == ("attack", "on", "DGD", "nothing heard")
    assert [line[2:] for line in table.rows] == [
        ("exact", "0.50 ± 0.01"),
        ("0.70 ± 0.01 [0.68, 0.72]", "—"),
        ("90.0 ± 1.0 %", "—"),
    ]
    assert "membership inference on it is not expected to diminish" in attack_notes(rows)[-1]
    with pytest.raises(BadInput, match="seeds = 0"):
        attack_rows(effort=Effort(seeds=0))


@pytest.mark.endurance
def test_what_the_documents_say_about_attacks() -> None:
    said: list[str] = []
    rows = {(row.attack, row.on, row.method): row.rate for row in attack_rows(effort=QUICK, say=said.append)}
    assert len(said) == len(rows)

    def mean(*key: Any) -> float:
        return rows[key].mean

    reconstruct, whose, member = (
        "relative error of a sample",
        "whose sample it is, AUC",
        "whether it was trained on, AUC",
    )
    assert mean(reconstruct, "batch of 1, first exchange", "DGD") < 1e-4
    assert mean(reconstruct, "batch of 1, all exchanges", "FS, noise 1") < 1e-4
    for method in ("RSS-NB, noise 1", "RSS-LB, noise 1", "FS, noise 1"):
        assert 0.1 < mean(reconstruct, "batch of 1, first exchange", method) < 0.4
        if method.startswith("RSS"):
            assert mean(whose, "last message", method) < mean(whose, "last message", "DGD")
        undiminished = mean(member, "final model", method) / mean(member, "final model", "DGD")
        assert undiminished == pytest.approx(1, abs=0.05)
    assert mean(member, "final model", "DGD") > 0.58
    joint = "joint average"  # of which only the sum is there to attack
    assert mean(reconstruct, "batch of 1, first exchange", joint) > 0.5
    assert mean(reconstruct, "four numbers, the sum attack", joint) < 0.2
    assert mean(whose, "last message", joint) == pytest.approx(0.5, abs=0.02)
