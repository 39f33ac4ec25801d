"""Discrete Gaussians have the distribution that they are named for, and come from bits alone."""

from __future__ import annotations

import random

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from hocket.noise.discrete_gaussian import Bits, discrete_gaussian, discrete_gaussians, discrete_laplace

UNLIKELY = 1e-6
"""Seeds are fixed, so that a test passes or fails for good; this is how unlucky one would have to be."""


def bits(seed: int) -> Bits:
    return Bits(random.Random(seed).randbytes)


def compared(drawn: list[int], weight) -> float:
    """The p-value of whole numbers against their exact probabilities, tails in one cell each."""
    reach = next(x for x in range(1, 10_000) if weight(x) < 1e-9 * weight(0))
    size = np.array([weight(x) for x in range(-reach, reach + 1)])
    expected = len(drawn) * size / size.sum()
    cut = np.flatnonzero(np.cumsum(expected) > 8)[0]
    inner = slice(cut + 1, len(size) - cut - 1)
    expected = np.array([expected[: cut + 1].sum(), *expected[inner], expected[-cut - 1 :].sum()])
    seen = np.bincount(np.clip(np.array(drawn) + reach, 0, 2 * reach), minlength=len(size))
    seen = np.array([seen[: cut + 1].sum(), *seen[inner], seen[-cut - 1 :].sum()])
    return scipy.stats.chisquare(seen, expected).pvalue


@pytest.mark.parametrize("variance", [1, 2, 7, 30])
def test_draws_follow_the_exact_probabilities(variance):
    drawn = discrete_gaussians(bits(variance), [variance] * 20_000)
    assert compared(drawn, lambda x: np.exp(-(x**2) / (2 * variance))) > UNLIKELY
    wrong = 1.1 * variance  # the test would see a tenth more
    assert compared(drawn, lambda x: np.exp(-(x**2) / (2 * wrong))) < UNLIKELY


def test_laplace_draws_follow_the_exact_probabilities():
    stream = bits(3)
    drawn = [discrete_laplace(stream, 4) for _ in range(20_000)]
    assert compared(drawn, lambda x: np.exp(-abs(x) / 4)) > UNLIKELY


def test_moments_of_wide_ones():
    """σ = 2^20 / 3 units: mean 0, deviation σ, fourth moment 3 σ⁴, no two draws correlated."""
    sd = 2**20 / 3
    drawn = np.array(discrete_gaussians(bits(0), [int(sd**2)] * 20_000)) / sd
    assert abs(drawn.mean()) < 5 / np.sqrt(20_000)
    assert drawn.var() == pytest.approx(1, abs=5 * np.sqrt(2 / 20_000))
    assert (drawn**4).mean() == pytest.approx(3, abs=5 * np.sqrt(96 / 20_000))
    assert abs((drawn[1:] * drawn[:-1]).mean()) < 5 / np.sqrt(20_000)
    assert scipy.stats.kstest(drawn, "norm").pvalue > UNLIKELY  # 3e-6 apart, which 20,000 draws do not see


@given(seed=st.integers(0, 2**32), variances=st.lists(st.integers(0, 2**70), max_size=20))
def test_the_same_bits_give_the_same_numbers(seed, variances):
    first, second = (discrete_gaussians(bits(seed), variances) for _ in range(2))
    assert first == second
    assert all(type(one) is int for one in first)
    assert [one for one, variance in zip(first, variances, strict=True) if not variance] == [
        0
    ] * variances.count(0)


@given(seed=st.integers(0, 2**32), limit=st.integers(1, 2**200))
def test_numbers_below_a_limit_are_below_it(seed, limit):
    assert 0 <= bits(seed).below(limit) < limit


def test_numbers_below_a_limit_are_all_alike():
    stream = bits(5)
    seen = np.bincount([stream.below(6) for _ in range(6_000)], minlength=6)
    assert scipy.stats.chisquare(seen).pvalue > UNLIKELY


def test_no_draw_is_a_float():
    assert isinstance(discrete_gaussian(bits(1), 10**40), int)
