"""No pair of records moves a least-squares objective by more than its sensitivity, and some move it by as much."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.errors import BadInput, NoTheorem
from hocket.noise.functions import QuadraticFamily
from hocket.problems.regression import record_coefficients

sensitivity = hk.privacy.least_squares_sensitivity
SIZES = st.floats(0.01, 100)


def moved(records: np.ndarray) -> np.ndarray:
    """Coefficients of records (a, b), in units of each one's noise."""
    weight = QuadraticFamily(2).relative_variance(records.shape[1] - 1)
    return record_coefficients(records[:, :-1], records[:, -1]) / np.sqrt(weight)


def within(records: np.ndarray, rows: float, target: float) -> np.ndarray:
    """Records pulled into ‖a‖ ≤ rows, |b| ≤ target; half of them to the rim, where the worst are."""
    a, b = records[:, :-1], records[:, -1]
    length = np.linalg.norm(a, axis=1)
    rim = np.arange(len(a)) % 2 == 0
    a = a * np.where(rim, rows / length, np.minimum(1, rows / length))[:, None]
    b = np.where(rim, np.sign(b) * target, np.clip(b, -target, target))
    return np.column_stack([a, b])


@given(dim=st.integers(1, 4), rows=SIZES, target=SIZES, seed=st.integers(0, 2**32))
def test_no_records_are_farther_apart(dim, rows, target, seed):
    rng = np.random.default_rng(seed)
    one, other = (within(rng.normal(size=(200, dim + 1)) * 3, rows, target) for _ in range(2))
    replaced = sensitivity(rows=rows, target=target)
    assert np.linalg.norm(moved(one) - moved(other), axis=1).max() <= replaced * (1 + 1e-9)
    assert np.linalg.norm(moved(one), axis=1).max() <= sensitivity(
        rows=rows, target=target, change="move"
    ) * (1 + 1e-9)


@given(rows=SIZES, target=SIZES)
def test_some_records_are_as_far_apart(rows, target):
    full = np.array([[rows, 0.0, target]])
    size = np.linalg.norm(moved(full))
    assert size == pytest.approx(sensitivity(rows=rows, target=target, change="move"))
    cosine = min(1.0, (target / rows) ** 2)
    other = np.array([[rows * cosine, rows * math.sqrt(1 - cosine**2), -target]])
    assert np.linalg.norm(moved(full) - moved(other)) == pytest.approx(sensitivity(rows=rows, target=target))


@given(
    dim=st.integers(1, 4),
    bits=st.integers(1, 20),
    change=st.sampled_from(["move", "replace"]),
    seed=st.integers(0, 99),
)
def test_rounding_adds_no_more_than_it_says(dim, bits, change, seed):
    rng, grid = np.random.default_rng(seed), 2.0**-bits
    one, other = (within(rng.normal(size=(100, dim + 1)), 1.0, 1.0) for _ in range(2))
    weight = np.sqrt(QuadraticFamily(2).relative_variance(dim))
    one, other = (np.rint(moved(part) * weight / grid) * grid / weight for part in (one, other))
    shift = one if change == "move" else one - other
    most = sensitivity(rows=1.0, target=1.0, change=change, grid=grid, dim=dim)
    assert np.linalg.norm(shift, axis=1).max() <= most


def test_columns_and_conventions():
    assert sensitivity(rows=[3.0, 4.0], target=1.0) == sensitivity(rows=5.0, target=1.0)
    assert sensitivity(rows=1.0, target=2.0, half=False) == 2 * sensitivity(rows=1.0, target=2.0)


def test_what_has_no_bound_is_refused():
    with pytest.raises(NoTheorem, match="take the sum over records"):
        sensitivity(rows=1.0, target=1.0, reduction="mean")
    with pytest.raises(BadInput, match="rows = inf"):
        sensitivity(rows=math.inf, target=1.0)
    with pytest.raises(BadInput, match="give dim="):
        sensitivity(rows=1.0, target=1.0, grid=2**-20)
    with pytest.raises(BadInput, match="change = 'swap'"):
        sensitivity(rows=1.0, target=1.0, change="swap")
