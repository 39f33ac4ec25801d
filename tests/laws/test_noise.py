"""Noise cancels over the network and keeps within its bound, for every algorithm on any graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from tests.laws.table import CANCELLING, NOISY, SPEAKING, Row, networks, quadratics

ROUNDS = 12
DIM = 2
STEP = hk.Power(1.0, 5, 0.75)


def transcript(row: Row, network: hk.Network, seed: int, level: float) -> hk.Run:
    return hk.solve(
        quadratics(network.n, DIM, seed),
        network,
        row.build(level),
        step=STEP,
        rounds=ROUNDS,
        seed=seed,
        keep="transcript",
    )


def added(run: hk.Run) -> np.ndarray:
    """What noise added to every message: (rounds, senders, receivers, dim), zero where there is no link."""
    words, n = run.transcript.words[0], run.network.n
    out = np.zeros((len(words), n, n, words.shape[-1]))
    for j in range(n):
        for slot, i in enumerate(run.network.neighbours(j)):
            word = words[:, j] if words.ndim == 3 else words[:, j, slot]
            out[:, j, i] = word - run.path[:-1, j]
        # To itself an agent says what it says to all, or its bare state if it tells each its own.
        out[:, j, j] = words[:, j] - run.path[:-1, j] if words.ndim == 3 else 0
    return out


@pytest.mark.parametrize("row", CANCELLING, ids=str)
@given(network=networks(), seed=st.integers(0, 2**32), level=st.floats(0.01, 100))
def test_noise_sums_to_zero_after_mixing(row, network, seed, level):
    """Σ_j e_j = 0, where e_j is what noise adds to the mix of agent j [paper, eq. (12) and (14)]."""
    run = transcript(row, network, seed, level)
    mixed = np.einsum("rs,ksrd->kd", network.B, added(run))
    scale = max(level, 1.0)
    np.testing.assert_allclose(mixed, 0, atol=1e-13 * scale * network.n)  # float64, sums of at most 7 words


@pytest.mark.parametrize("row", SPEAKING, ids=str)
@given(network=networks(), seed=st.integers(0, 2**32), level=st.floats(0.01, 100))
def test_noise_stays_within_its_bound(row, network, seed, level):
    """‖d‖ ≤ Δ for every message of every round."""
    run = transcript(row, network, seed, level)
    alpha = STEP.table(1, ROUNDS)
    size = np.linalg.norm(added(run), axis=-1) / alpha[:, None, None]
    assert size.max() <= level * (1 + 1e-9)  # w − x loses digits where the noise is small beside the state


@pytest.mark.parametrize("split", ["link", "paper"])
@given(network=networks(), seed=st.integers(0, 2**32), level=st.floats(0.01, 100))
def test_pairwise_draws_keep_to_their_share(split, network, seed, level):
    """‖s^{i,j}‖ ≤ Δ/(2 max(deg i, deg j)), or Δ/(2n) as the paper has it; and none in round 1."""
    run = transcript(Row("", lambda d: hk.RssNb(d, split=split)), network, seed, level)
    draws = run.transcript.noise["paired"]
    degree = network.degrees[0][network.links].max(axis=1)
    limit = level / (2 * (degree if split == "link" else np.full_like(degree, network.n)))
    assert (np.linalg.norm(draws, axis=-1) <= limit[None, :, None] * (1 + 1e-12)).all()
    assert not draws[0].any()
    assert draws[1:].any()


@given(network=networks(), seed=st.integers(0, 2**32))
def test_noise_functions_sum_to_zero(network, seed):
    """Σ_j p_j = 0, coefficient by coefficient [paper, eq. (6)]."""
    run = transcript(Row("", lambda d: hk.FunctionSharing(3, d)), network, seed, 1.0)
    draws = run.transcript.noise["function"][0]
    coefficients = np.zeros((network.n, draws.shape[-1]))
    for (low, high), (forth, back) in zip(network.links, draws, strict=True):
        coefficients[high] += forth - back
        coefficients[low] += back - forth
    np.testing.assert_allclose(coefficients.sum(axis=0), 0, atol=1e-14)
    assert np.abs(draws).max() <= 1.0


@pytest.mark.parametrize("row", NOISY, ids=str)
@given(network=networks(), seed=st.integers(0, 2**32))
def test_no_noise_is_dgd_bit_for_bit(row, network, seed):
    problem = quadratics(network.n, DIM, seed)
    silent, plain = (
        hk.solve(problem, network, algorithm, step=STEP, rounds=50, seed=seed)
        for algorithm in (row.build(0.0), hk.Dgd())
    )
    np.testing.assert_array_equal(silent.x, plain.x)


@pytest.mark.parametrize("row", NOISY, ids=str)
@given(network=networks(), seed=st.integers(0, 2**32))
def test_drawing_zeros_is_dgd_to_rounding(row, network, seed):
    """A sweep cannot leave noise out of some of its runs: there, zero noise is drawn and added."""
    problem = quadratics(network.n, DIM, seed)
    silent = hk.sweep(problem, network, row.build(0.0), step=STEP, rounds=50, seeds=[seed])
    plain = hk.solve(problem, network, hk.Dgd(), step=STEP, rounds=50, seed=seed)
    np.testing.assert_allclose(silent.x[0], plain.x, atol=1e-14)  # values below 5, 50 contracting rounds


@given(network=networks(), seeds=st.lists(st.integers(0, 2**63), min_size=2, max_size=2, unique=True))
def test_different_seeds_draw_different_noise(network, seeds):
    first, second = (
        transcript(Row("", hk.RssNb), network, seed, 1.0).transcript.noise["paired"] for seed in seeds
    )
    assert not np.isclose(first[1:], second[1:], rtol=1e-6).any()
