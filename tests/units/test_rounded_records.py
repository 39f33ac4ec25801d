"""What rounding to a grid adds to how far apart two records are: counted on every path to an exact certificate."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from hocket.algorithms.parts.clipped_messages import cut
from hocket.noise.functions import QuadraticFamily
from hocket.noise.stored_sum import StoredSum
from hocket.privacy import least_squares_sensitivity
from hocket.problems.regression import record_coefficients

SEEDS = st.integers(0, 2**32 - 1)


def weight(change: np.ndarray, dim: int) -> float:
    """The norm of a change of coefficients, in units of their noise."""
    return float(np.sqrt((change**2 / QuadraticFamily(2).relative_variance(dim)).sum()))


def rounded(stored: StoredSum, a: np.ndarray, b: float) -> np.ndarray:
    return stored.values(stored.objective(record_coefficients(a[None], np.array([b]))))


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS, dim=st.integers(1, 4), power=st.integers(-6, 0))
def test_least_squares_records_on_a_grid(seed, dim, power):
    """A2 and A1: replaced by another within the columns, or moved; each rounded by itself, as `StoredSum` does."""
    rng, unit = np.random.default_rng(seed), 2.0**power
    stored, columns, target = StoredSum(QuadraticFamily(2), unit, 1.0), rng.uniform(0, 2, size=dim), 1.5
    ask = {"rows": columns.tolist(), "target": target, "grid": unit, "dim": dim}
    # At the corners, where records are farthest apart, and anywhere.
    ends = rng.choice([-1, 1, rng.uniform(-1, 1)], size=(2, dim + 1)) * [*columns, target]
    one, other = (rounded(stored, row[:-1], row[-1]) for row in ends)
    assert weight(one - other, dim) <= least_squares_sensitivity(**ask) * (1 + 1e-12)
    assert weight(one, dim) <= least_squares_sensitivity(**ask, change="move") * (1 + 1e-12)


def test_without_it_the_bound_is_exceeded():
    """Rounded up, ½ a² of 0.5 + becomes more than any record within the columns has."""
    a, unit = 1.002, 2.0**-3
    stored = StoredSum(QuadraticFamily(2), unit, 1.0)
    bare = least_squares_sensitivity(rows=[a], target=0.6, change="move")
    assert weight(rounded(stored, np.array([a]), 0.6), 1) > bare
    counted = least_squares_sensitivity(rows=[a], target=0.6, change="move", grid=unit, dim=1)
    assert weight(rounded(stored, np.array([a]), 0.6), 1) <= counted


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS, dim=st.integers(1, 6), clip=st.sampled_from([None, 0.7, 3.0]), power=st.integers(-8, 0))
def test_clipped_steps_on_a_grid(seed, dim, clip, power):
    """B1: two ways at most S apart are at most S + √D units apart once cut and rounded, and members' never 2C."""
    rng, unit = np.random.default_rng(seed), 2.0**power
    one, apart = rng.normal(size=dim) * rng.choice([0.1, 1, 10]), rng.normal(size=dim) * rng.choice([0.01, 1])
    ends = [cut(way, clip, unit) for way in (one, one + apart)]
    # Rounding of the ways themselves, in doubles, is beyond the last digits of a unit.
    assert np.linalg.norm(ends[0] - ends[1]) <= np.linalg.norm(apart) + np.sqrt(dim) * unit + 1e-12
    if clip is not None:
        assert all(np.linalg.norm(way) <= clip for way in ends)


@pytest.mark.parametrize("dim", [1, 3])
def test_the_root_of_how_many_there_are_is_reached(dim):
    """One last digit below a multiple of the unit and one above, in every coordinate: almost √D units."""
    unit = 2.0**-4
    below, above = np.full(dim, 3 * unit - 1e-9), np.full(dim, 3 * unit + 1e-9)
    apart = np.linalg.norm(cut(above, None, unit) - cut(below, None, unit))
    assert apart == pytest.approx(np.sqrt(dim) * unit)
