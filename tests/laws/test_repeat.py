"""The same seed gives the same bits: again, in a sweep, after a break, and without compiling twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.engines.compiled.player import compilations
from tests.laws.table import DECENTRALISED, ROWS, networks, quadratics, ring_with_chords

STEP = hk.Power(1.0, 5, 0.75)


@pytest.mark.parametrize("row", ROWS, ids=str)
@given(network=networks(), seed=st.integers(0, 2**32), cut=st.integers(1, 699))
def test_a_resumed_run_equals_an_unbroken_one(row, network, seed, cut, tmp_path_factory):
    """And so the same seed gives the same bits: rounds before the cut are played twice."""
    problem, folder = quadratics(network.n, 2, 1), tmp_path_factory.mktemp("checkpoint")
    common = {"step": STEP, "seed": seed}
    whole = hk.solve(problem, network, row.build(1.0), rounds=700, **common)
    hk.solve(problem, network, row.build(1.0), rounds=cut, checkpoint=folder, **common)
    resumed = hk.solve(problem, network, row.build(1.0), rounds=700, checkpoint=folder, **common)
    np.testing.assert_array_equal(whole.x, resumed.x)
    np.testing.assert_array_equal(whole.time_average, resumed.time_average)


@pytest.mark.parametrize("row", [row for row in ROWS if row.compiled], ids=str)
@given(network=networks(), seed=st.integers(0, 2**32))
def test_a_sweep_repeats_its_single_runs(row, network, seed):
    problem = quadratics(network.n, 2, 1)
    many = hk.sweep(problem, network, row.build(1.0), seeds=[seed, seed + 1], step=STEP, rounds=60)
    single = hk.solve(problem, network, row.build(1.0), step=STEP, rounds=60, seed=seed + 1)
    np.testing.assert_allclose(many.x[1], single.x, atol=1e-13)  # 60 rounds, two orders of summation


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_path_repeats_the_run(row):
    network, problem = ring_with_chords(), quadratics(6, 2, 1)
    plain = hk.solve(problem, network, row.build(1.0), step=STEP, rounds=300, seed=3)
    kept = hk.solve(problem, network, row.build(1.0), step=STEP, rounds=300, seed=3, keep="path")
    np.testing.assert_allclose(kept.path[-1], plain.x, atol=1e-13)
    assert len(kept.path) == 301


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_changing_numbers_compiles_nothing(row):
    def play(level: float, seed: int, rounds: int, step: hk.Power, weights: str) -> None:
        hk.solve(
            quadratics(6, 2, seed),
            ring_with_chords(weights=weights),
            row.build(level),
            step=step,
            rounds=rounds,
            seed=seed,
        )

    play(1.0, 0, 100, STEP, "paper")
    before = compilations()
    play(2.5, 7, 333, hk.Power(0.3, 2, 0.9), "metropolis")
    assert compilations() == before


QUIET = [row for row in DECENTRALISED if not row.noisy or row.name == "rss-nb"]
"""Without noise all others are plain DGD, as another law says."""


@pytest.mark.parametrize("row", QUIET, ids=str)
def test_float32_is_close_and_leaves_jax_alone(row):
    import jax.numpy as jnp

    network, problem = ring_with_chords(), quadratics(6, 2, 1)  # whose programs other laws have compiled
    single = hk.solve(problem, network, row.build(0.0), step=STEP, rounds=200, dtype=np.float32)
    double = hk.solve(problem, network, row.build(0.0), step=STEP, rounds=200)
    assert single.x.dtype == np.float32
    assert double.x.dtype == np.float64
    np.testing.assert_allclose(single.x, double.x, atol=1e-5)
    assert jnp.ones(2).dtype == jnp.float32
