"""Batches: drawn without memory, every sample once per epoch, or every subset alike."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadInput
from hocket.learning.batches import Shard, epochs, shuffled, subsets
from hocket.learning.training import PerExchange, Timetable
from hocket.noise import threefry
from hocket.steps import Constant, Power


def key(seed: int) -> Any:
    root = jnp.asarray(threefry.seed_key(seed))
    return root[0], root[1]


def shard(count: int, agent: int = 0, padded: int = 0) -> Shard:
    return Shard(
        jnp.zeros(count + padded), jnp.zeros(count + padded, int), jnp.asarray(count), jnp.asarray(agent)
    )


@given(count=st.integers(1, 300), epoch=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_every_count_is_shuffled_one_to_one(count: int, epoch: int, seed: int) -> None:
    places = jnp.arange(count, dtype=np.uint32)
    order = shuffled(key(seed), 3, jnp.full(count, epoch, np.uint32), places, count)
    assert sorted(order.tolist()) == list(range(count))


def test_shuffles_are_even() -> None:
    runs, count = 4000, 8
    epoch = jnp.repeat(jnp.arange(runs, dtype=np.uint32), count)
    place = jnp.tile(jnp.arange(count, dtype=np.uint32), runs)
    order = np.asarray(shuffled(key(0), 0, epoch, place, count)).reshape(runs, count)
    hits = np.stack([np.bincount(order[:, i], minlength=count) for i in range(count)])
    # Each of 64 cells is binomial(4000, 1/8): standard deviation 21, and five of them bound all cells.
    assert abs(hits - runs / count).max() < 5 * np.sqrt(runs / count * (1 - 1 / count))
    follows = np.mean(order[:, 1:] == order[:, :-1] + 1)
    assert abs(follows - 1 / count) < 0.02  # neighbours stay neighbours no more often than by chance


def test_an_epoch_meets_every_sample_once_and_the_next_one_in_another_order() -> None:
    drawn = np.asarray(epochs(key(0), shard(24), 0, 12, 4)).reshape(2, 24)
    for epoch in drawn:
        assert sorted(epoch) == list(range(24))
    assert (drawn[0] != drawn[1]).any()


def test_batches_do_not_depend_on_what_was_drawn_before() -> None:
    for draw in (epochs, subsets):
        whole = np.asarray(draw(key(1), shard(30), 0, 10, 7))
        np.testing.assert_array_equal(whole[4:], draw(key(1), shard(30), 4, 6, 7))
        assert (np.asarray(draw(key(1), shard(30, agent=1), 0, 10, 7)) != whole).any()
        assert (np.asarray(draw(key(2), shard(30), 0, 10, 7)) != whole).any()


def test_subsets_hold_no_sample_twice_no_padding_and_everybody_alike() -> None:
    drawn = np.asarray(subsets(key(0), shard(10, padded=5), 0, 3000, 4))
    assert all(len(set(batch)) == 4 for batch in drawn.tolist())
    hits = np.bincount(drawn.reshape(-1), minlength=15)
    assert not hits[10:].any()
    # Each sample is in a batch with probability 0.4: standard deviation 27.
    assert abs(hits[:10] - 1200).max() < 5 * np.sqrt(3000 * 0.4 * 0.6)


def test_a_timetable_counts_epochs_exchanges_and_steps() -> None:
    table = Timetable(samples=60_000, agents=5, batch=32, local_steps=40, epochs=20)
    assert table.rounds == 188  # 20 epochs of 375 steps, 40 of them between exchanges
    assert table.marks(5).tolist() == [0, 47, 94, 141, 188]
    assert table.epoch_of(1) == 1
    assert table.epoch_of(188) == 20
    few = Timetable(samples=100, agents=5, batch=20, local_steps=10, epochs=3)  # ten epochs in one exchange
    assert few.rounds == 1
    assert few.marks(1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"batch": 0}, "batch = 0"),
        ({"local_steps": 2.5}, "local_steps = 2.5"),
        ({"epochs": 0}, "epochs = 0"),
        ({"epochs": float("inf")}, "epochs = inf"),
        ({"epochs": "1"}, "epochs = '1'"),
        ({"epochs": 10**9}, "at most 2^32 samples"),
    ],
)
def test_impossible_timetables_are_refused(change: dict[str, Any], why: str) -> None:
    given = {"samples": 100, "agents": 2, "batch": 5, "local_steps": 4, "epochs": 1} | change
    with pytest.raises(BadInput, match=why.replace("^", r"\^")):
        Timetable(**given)


def test_the_step_of_an_exchange_is_that_of_all_its_local_steps() -> None:
    step = PerExchange(Power(0.5, 1, 0.75), 40)
    np.testing.assert_allclose(step.table(1, 5), 40 * Power(0.5, 1, 0.75).table(1, 5))
    assert step.conditions() == Power(0.5, 1, 0.75).conditions()
    assert PerExchange(Constant(2), 3).exact(7) == 6
