"""A task that cuts gradients record by record: what a record moves, who takes part, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hocket.errors import BadAlgorithm, BadInput
from hocket.federation import ClippedTask

RNG = np.random.default_rng(0)
ROWS, TARGETS = RNG.normal(size=(40, 3)) * 5, RNG.normal(size=40)


def squares(x, record):
    row, target = record
    return (row @ x - target) ** 2 / 2


def task(rows: np.ndarray = ROWS, targets: np.ndarray = TARGETS, **how) -> ClippedTask:
    how = {"clip": 0.5, "batch": 8, "size": 40} | how
    return ClippedTask(squares, (rows, targets), 3, **how)


def at(one: ClippedTask, seed: int) -> np.ndarray:
    return one.gradient(np.ones(3), 1, 0, np.random.default_rng(seed))


def test_the_gradient_is_the_sum_of_what_was_cut_over_a_public_constant():
    seed, x = 1, np.ones(3)
    took_part = np.random.default_rng(seed).random(40) < task().rate
    slopes = (ROWS @ x - TARGETS)[:, None] * ROWS
    cut = slopes * np.minimum(1, 0.5 / np.linalg.norm(slopes, axis=1))[:, None]
    assert took_part.sum() != 8
    np.testing.assert_allclose(at(task(), seed), cut[took_part].sum(axis=0) / 8, rtol=1e-10)


def test_a_member_without_records_goes_on_as_one_of_whose_records_none_takes_part():
    """One record fewer than one: stopping there would tell the two apart."""
    assert not at(task(ROWS[:0], TARGETS[:0]), 0).any()
    assert np.linalg.norm(at(task(ROWS[:1], TARGETS[:1], batch=40), 0)) <= 0.5 / 40 * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_one_record_moves_it_by_no_more_than_the_sensitivity(seed):
    """One more record at the end: the others' coins stay the same."""
    more, target = np.vstack([ROWS, [[9.0, -50.0, 3.0]]]), np.append(TARGETS, 1e3)
    others = task(more, np.append(TARGETS, -1e3))
    assert np.linalg.norm(at(task(more, target), seed) - at(task(), seed)) <= task().sensitivity() * (
        1 + 1e-12
    )
    moved = np.linalg.norm(at(task(more, target), seed) - at(others, seed))
    assert moved <= task().sensitivity(replace=True) * (1 + 1e-12)
    assert task().sensitivity(replace=True) == 2 * 0.5 / 8


def test_every_record_takes_part_by_its_own_coin():
    """With one record alone, a gradient is there in as many rounds as its coin says."""
    alone = task(ROWS[:1], TARGETS[:1])
    found = np.mean([np.linalg.norm(at(alone, seed)) > 0 for seed in range(400)])
    assert found == pytest.approx(alone.rate, abs=0.08)  # 0.2 deviates by 0.02
    assert alone.rate == pytest.approx(0.2)


@pytest.mark.filterwarnings("error")
def test_a_record_that_single_precision_cannot_hold_counts_as_zero():
    """Where warnings are errors its conversion raised, and under a certificate the others counted as zero with it."""
    far = ROWS.copy()
    far[0] = 1e300
    every, x = {"batch": 40}, np.ones(3, dtype=np.float32)
    found, others = (
        one.gradient(x, 1, 0, np.random.default_rng(0))
        for one in (task(far, **every), task(ROWS[1:], TARGETS[1:], **every))
    )
    np.testing.assert_allclose(found, others, rtol=1e-5)
    assert np.linalg.norm(others) > task(**every).sensitivity(replace=True)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], "float"),
        ((ROWS, 3.0), "float"),
        (None, "NoneType"),
        ({}, "dict"),
        (ROWS[0, 0], "float64 of shape"),
        (np.array(["a", "b"]), "<U1 of shape"),
        (ROWS.astype(object), "object of shape"),
    ],
)
def test_what_has_no_records_by_row_is_refused_where_it_is_given(data, kind):
    """It ended in a traceback, or in a gradient that raised in every round."""
    with pytest.raises(BadInput, match=f"data= holds a part that is {kind}.*leading axis counts records"):
        ClippedTask(squares, data, 3, clip=0.5, batch=1, size=2)


def test_what_no_clipping_bounds_is_refused():
    with pytest.raises(BadInput, match="one local step"):
        task().gradient(np.ones(3), 1, 1, RNG)
    with pytest.raises(BadInput, match="batch = 50 of size = 40"):
        task(batch=50)
    with pytest.raises(BadAlgorithm, match="norm = 0"):
        task(clip=0.0)
