"""The generator gives published bits everywhere, and uniform numbers made of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from hocket.noise import threefry

word = st.integers(0, 2**32 - 1)


def words(library: Any, key: tuple[int, int], counter: tuple[int, int], rounds: int = 20) -> list[int]:
    """Two words from plain numbers, by one library."""
    arrays = [library.asarray([number], dtype=np.uint32) for number in (*key, *counter)]
    return [int(one[0]) for one in threefry.words((arrays[0], arrays[1]), arrays[2], arrays[3], rounds)]


@pytest.mark.parametrize("library", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize(
    ("key", "counter", "full", "fewer"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE), (0x9D1C5EC6, 0x8BD50731)),
        (
            (0xFFFFFFFF, 0xFFFFFFFF),
            (0xFFFFFFFF, 0xFFFFFFFF),
            (0x1CB996FC, 0xBB002BE7),
            (0xFD36D048, 0x2D17272C),
        ),
        (
            (0x13198A2E, 0x03707344),
            (0x243F6A88, 0x85A308D3),
            (0xC4923A9C, 0x483DF7A0),
            (0xBA3E4725, 0xF27D669E),
        ),
    ],
    ids=["zeros", "ones", "digits of π"],
)
def test_published_vectors(library, key, counter, full, fewer):
    """Threefry-2x32 with 20 and with 13 rounds, from the authors' known-answer tests."""
    assert words(library, key, counter) == list(full)
    assert words(library, key, counter, threefry.ENOUGH) == list(fewer)


@given(key=st.tuples(word, word), counter=st.tuples(word, word))
def test_numpy_and_jax_give_the_same_bits(key, counter):
    assert words(np, key, counter) == words(jnp, key, counter)


@given(key=st.tuples(word, word), label=word)
def test_folding_a_number_into_a_jax_key_is_one_word_pair(key, label):
    folded = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(key, dtype=np.uint32)), np.uint32(label))
    assert jax.random.key_data(folded).tolist() == words(np, key, (0, label))


def test_jax_random_bits_are_both_words_together():
    key = np.array([17, 4], dtype=np.uint32)
    first, second = threefry.words(
        (key[:1], key[1:]), np.zeros(64, np.uint32), np.arange(64, dtype=np.uint32)
    )
    drawn = jax.random.bits(jax.random.wrap_key_data(jnp.asarray(key)), (64,))
    np.testing.assert_array_equal(np.asarray(drawn), first ^ second)


def test_seeds_fill_both_words_of_a_key_and_labels_part_streams():
    assert threefry.seed_key(2**32 + 5).tolist() == [1, 5]
    key = tuple(threefry.seed_key(5))
    derived = [tuple(map(int, threefry.derive(key, label))) for label in range(100)]
    assert len({*derived, (0, 5)}) == 101
    with jax.enable_x64(True):
        on_jax = threefry.derive(tuple(jnp.asarray(threefry.seed_key(5))), 7)
    assert tuple(map(int, on_jax)) == derived[7]


def uniform(library: Any, dtype: Any, count: int) -> np.ndarray:
    key = tuple(library.asarray([number], dtype=np.uint32) for number in (3, 1))
    with jax.enable_x64(np.dtype(dtype) == np.float64):
        pair = threefry.uniform(
            key, library.ones(1, dtype=np.uint32), library.arange(count, dtype=np.uint32), dtype
        )
        return np.stack([np.asarray(one) for one in pair])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uniform_draws_are_the_same_in_numpy_and_jax(dtype):
    ours, theirs = uniform(np, dtype, 1000), uniform(jnp, dtype, 1000)
    assert ours.dtype == theirs.dtype == dtype
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uniform_draws_are_uniform_and_independent(dtype):
    count = 200_000
    pair = uniform(np, dtype, count).astype(np.float64)
    assert np.abs(pair).max() <= 1
    for draws in pair:
        # Drawn under one key, so that this holds once and for all.
        assert scipy.stats.kstest(draws, "uniform", args=(-1, 2)).pvalue > 1e-4
        # Mean, square and fourth power of a uniform draw, and their variances; four standard errors are allowed.
        for power, expected, variance in [(1, 0, 1 / 3), (2, 1 / 3, 4 / 45), (4, 1 / 5, 16 / 225)]:
            assert np.mean(draws**power) == pytest.approx(expected, abs=4 * np.sqrt(variance / count))
    for lag in (0, 1, 2):
        first, second = pair[0][: count - lag], pair[1][lag:]
        assert np.mean(first * second) == pytest.approx(0, abs=4 / 3 / np.sqrt(count))


def test_double_draws_are_finer_than_one_word():
    """On a grid of 2^-31 a guessed state could be tested by looking at the word modulo that grid."""
    draws = uniform(np, np.float64, 1000) * 2.0**31
    assert (draws != np.round(draws)).mean() > 0.99
