"""Clipped learning: how far one record, or one member, can move what noise is added to; and who takes part."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree

import hocket as hk
from hocket import learning
from hocket.errors import BadAlgorithm
from hocket.learning.batches import Shard, coins
from hocket.learning.clipping import Clip, PoissonBatches, clipped_sum, clipped_total, shortened
from hocket.learning.minibatches import Minibatches
from hocket.problems.sets import Everywhere

MODEL = learning.logistic_regression(4, 3)
KEY = (np.uint32(7), np.uint32(9))


def clouds(count: int, seed: int = 0) -> learning.Dataset:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=count).astype(np.int32)
    inputs = (3 * rng.normal(size=(3, 4))[labels] + rng.normal(size=(count, 4))).astype(np.float32)
    return learning.Dataset("clouds", inputs, labels, classes=3)


def losses(parameters: Any, inputs: Any, labels: Any) -> Any:
    return MODEL.loss(MODEL.apply(parameters, inputs), labels)


@jax.jit
def cut_sum(parameters: Any, inputs: Any, labels: Any, norm: Any, present: Any) -> Any:
    return ravel_pytree(clipped_sum(losses, MODEL.unravel(parameters), inputs, labels, norm, present))[0]


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**31),
    norm=st.sampled_from([0.01, 0.3, 2.0, 50.0]),
    scale=st.sampled_from([0.0, 1.0, 30.0]),
)
def test_a_record_moves_the_sum_by_the_norm_and_another_in_its_place_by_twice_that(seed, norm, scale):
    rng = np.random.default_rng(seed)
    inputs = jnp.asarray(scale * rng.normal(size=(6, 4)), np.float32)
    labels = jnp.asarray(rng.integers(3, size=6))
    at = jnp.asarray(rng.normal(size=MODEL.dim), np.float32)
    everybody = np.ones(6, dtype=bool)
    without = everybody.copy()
    without[2] = False
    whole, less = (cut_sum(at, inputs, labels, norm, jnp.asarray(who)) for who in (everybody, without))
    other = cut_sum(at, inputs.at[2].set(-7 * inputs[1]), labels.at[2].set(0), norm, jnp.asarray(everybody))
    slack = 1 + 1e-4  # float32, sums of six gradients
    assert np.linalg.norm(whole - less) <= norm * slack
    assert np.linalg.norm(whole - other) <= 2 * norm * slack


def test_sums_are_divided_by_what_was_asked_for_and_not_by_who_took_part():
    """The same coins at twice the batch's size: half the gradient, exactly, though as many took part."""
    data = clouds(40)
    shard = Shard(jnp.asarray(data.inputs), jnp.asarray(data.labels), jnp.asarray(40), jnp.asarray(0))
    poisson = PoissonBatches.of(10, 40, 40)
    whole, half = (
        Minibatches(MODEL, KEY, 1, batch, clip=Clip(0.5), poisson=poisson).gradients(
            jnp.asarray(MODEL.start), shard, 3
        )
        for batch in (10, 20)
    )
    assert np.abs(whole).max() > 0.01
    np.testing.assert_array_equal(whole, 2 * half)


def test_every_record_tosses_its_own_coin_and_padding_none():
    count, steps, poisson = 30, 400, PoissonBatches.of(6, 30, 50)
    shard = Shard(jnp.zeros((50, 4)), jnp.zeros(50, np.int32), jnp.asarray(count), jnp.asarray(1))
    rows, present = (np.asarray(part) for part in coins(KEY, shard, 0, steps, poisson))
    took_part = np.zeros((steps, 50))
    for step in range(steps):
        took_part[step, rows[step][present[step]]] = 1
    assert not took_part[:, count:].any()
    # A share of 0.2 in 400 tosses deviates by 0.02, the farthest of 30 by three times that; sizes vary as coins do.
    np.testing.assert_allclose(took_part[:, :count].mean(axis=0), 0.2, atol=0.08)
    assert took_part.sum(axis=1).var() == pytest.approx(30 * 0.2 * 0.8, rel=0.25)
    other = Shard(*shard[:3], agent=jnp.asarray(2))
    assert not np.array_equal(rows, np.asarray(coins(KEY, other, 0, steps, poisson)[0]))


def test_there_is_room_for_all_but_batches_that_never_happen():
    few = PoissonBatches.of(32, 1000, 1000)
    assert 32 < few.room < 110
    assert few.rate == pytest.approx(0.032)
    assert few.rate <= 0.032
    assert PoissonBatches.of(64, 40, 50).room == 50  # everybody, always


def test_a_whole_exchange_is_cut_whatever_led_there():
    data = clouds(40)
    shard = Shard(jnp.asarray(data.inputs), jnp.asarray(data.labels), jnp.asarray(40), jnp.asarray(0))
    v = jnp.asarray(np.random.default_rng(1).normal(size=MODEL.dim), np.float32)
    step = jnp.asarray(2.0, np.float32)
    how: dict[str, Any] = {"step": step, "feasible": Everywhere(), "plus": None}
    free = Minibatches(MODEL, KEY, 5, 8, 0.9).local(shard)(v, 1, **how)
    cut = Minibatches(MODEL, KEY, 5, 8, 0.9, clip=Clip(0.1, per="member")).local(shard)(v, 1, **how)
    assert np.linalg.norm(free - v) > 1
    assert np.linalg.norm(cut - v) == pytest.approx(2.0 * 0.1, rel=1e-5)
    aim = (free - v) / np.linalg.norm(free - v)
    np.testing.assert_allclose(cut - v, 0.2 * aim, atol=1e-6)


def test_a_run_says_what_a_certificate_needs():
    shards = learning.equal_shards(clouds(100), 4)
    run = hk.train(
        MODEL,
        shards,
        hk.Network.cycle(4),
        hk.CertifiedRssNb(0.5, 0.05),
        test=clouds(60, 1),
        epochs=1,
        local_steps=1,
        batch=5,
        clip=Clip(1.0),
    )
    noted = run.settings["learning"]["clip"]
    assert noted | {"rate": 0.2} == {
        "norm": 1.0,
        "per": "record",
        "neighbours": "one record replaced",
        "sensitivity": 0.4,
        "rate": 0.2,
        "divisor": 5,
    }
    assert noted["rate"] == pytest.approx(0.2)
    assert any(
        "one record replaced moves a member's gradient by S = 0.4 at most" in one for one in run.remarks
    )
    assert run.published.shape == run.x.shape
    assert Clip(1.0).sensitivity(5) == Clip(1.0).sensitivity(5, replace=True) == 0.4
    assert Clip(1.0, per="member").sensitivity(5) == 2.0


def test_one_record_more_shows_in_rounds_and_rate_so_nothing_is_said_of_it():
    """51 rounds for 50: anybody who counts them knows. Of a record replaced all that is public stays the same."""
    how: dict[str, Any] = {
        "test": clouds(9, 9),
        "epochs": 10,
        "local_steps": 1,
        "batch": 20,
        "clip": Clip(1.0),
    }

    def public(count: int, seed: int) -> tuple[int, Any, tuple[str, ...]]:
        shards = [clouds(100, 1), clouds(100, 2), clouds(count, seed)]
        run = hk.train(MODEL, shards, hk.Network.cycle(3), hk.CertifiedRssNb(3.0, 0.3), **how)
        return run.rounds, run.settings["learning"], run.remarks

    before, added, replaced = public(100, 3), public(101, 3), public(100, 4)
    assert before == replaced
    assert before[0] < added[0]
    assert before[1]["clip"]["rate"] != added[1]["clip"]["rate"]
    assert any("nothing is claimed of a record added or removed" in one for one in before[2])
    for clip in (Clip(1.0), Clip(1.0, per="member")):
        with pytest.raises(
            BadAlgorithm, match=r"Leave replace= out for one record replaced; over links .* its size="
        ):
            clip.sensitivity(20, replace=False)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"local_steps": 4}, "take local_steps=1, or Clip\\(norm, per='member'\\)"),
        ({"momentum": 0.9}, "take momentum=0, or Clip\\(norm, per='member'\\)"),
        ({"private": learning.DpSgd(1.0)}, "give either that or clip="),
    ],
)
def test_what_would_show_a_record_twice_is_refused(asked, said):
    shards = learning.equal_shards(clouds(100), 4)
    how = {"local_steps": 1, "test": clouds(60, 1), "batch": 5, "epochs": 1, "clip": Clip(1.0)} | asked
    with pytest.raises(BadAlgorithm, match=said):
        hk.train(MODEL, shards, hk.Network.cycle(4), hk.CertifiedRssNb(0.5, 0.05), **how)


@pytest.mark.parametrize("wrong", [{"norm": 0.0}, {"norm": float("inf")}, {"norm": 1.0, "per": "batch"}])
def test_a_clip_that_is_none_is_refused(wrong):
    with pytest.raises(BadAlgorithm, match="of Clip"):
        Clip(**wrong)


def test_what_has_no_length_in_single_precision_is_cut_or_refused():
    """Squares of 1e-20 are zero there: what had a length of zero was not cut at all."""
    with pytest.raises(BadAlgorithm, match="norm = 1e-20 of Clip; gradients below 1e-19 have no length"):
        Clip(1e-20)
    with pytest.raises(
        BadAlgorithm, match=r"clip = 1e-20 of DpSgd; it is .* gradients below 1e-19 have no length"
    ):
        learning.DpSgd(1.0, clip=1e-20)
    at, way = jnp.zeros(1000), jnp.full(1000, 1e-20)
    moved = np.asarray(shortened(at, at + way, 1e-20), np.float64)
    assert np.linalg.norm(moved) == pytest.approx(1e-20, rel=1e-5)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 3e38])
def test_a_record_without_a_gradient_counts_for_nothing_and_hides_no_other(bad):
    """One that is no number, or too long for one: the sum is that of the others, and never no number."""
    rng = np.random.default_rng(0)
    inputs = jnp.asarray(rng.normal(size=(6, 4)), np.float32)
    labels, at = jnp.asarray(rng.integers(3, size=6)), jnp.asarray(rng.normal(size=MODEL.dim), np.float32)
    without = jnp.arange(6) != 2
    spoilt, others = inputs.at[2, 1].set(bad), cut_sum(at, inputs, labels, 0.3, without)
    np.testing.assert_allclose(cut_sum(at, spoilt, labels, 0.3, jnp.ones(6, bool)), others, atol=1e-6)
    assert (cut_sum(at, jnp.full((6, 4), bad), labels, 0.3, jnp.ones(6, bool)) == 0).all()

    def loss(x: Any, record: Any) -> Any:
        return jnp.sum(x * record) ** 2

    alone, beside = (
        clipped_total(loss, at[:4], rows, 0.3, jnp.ones(6, bool)) for rows in (inputs.at[2].set(0.0), spoilt)
    )
    np.testing.assert_allclose(alone, beside, atol=1e-6)
    assert (shortened(at, at.at[0].set(bad) * 2, 0.1) == at).all()
