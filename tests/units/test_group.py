"""Sums modulo 2^128: exact as Python's integers are, and never wrapped around in silence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadInput
from hocket.secagg.group import FixedPoint, add, negate

WORDS = st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=5)


def words(numbers: list[int]) -> np.ndarray:
    return np.array([[n % 2**64 for n in numbers], [n >> 64 for n in numbers]], dtype=np.uint64)


def integers(of: np.ndarray) -> list[int]:
    return [int(low) + (int(high) << 64) for low, high in of.T]


def signed(number: int) -> int:
    return number - 2**128 if number >= 2**127 else number


@given(WORDS, st.integers(0, 2**128 - 1))
def test_sums_and_negatives_are_those_of_integers(numbers, other):
    there = words([other] * len(numbers))
    assert integers(add(words(numbers), there)) == [(n + other) % 2**128 for n in numbers]
    assert integers(add(words(numbers), negate(words(numbers)))) == [0] * len(numbers)


@given(st.floats(-(2.0**60), 2.0**60), st.integers(0, 64), st.integers(1, 7))
def test_a_number_is_off_by_half_a_unit_at_most(value, bits, members):
    grid = FixedPoint(bits)
    if not abs(value) < grid.reach(members):
        with pytest.raises(BadInput, match=r"number 0 of 1 is .*scale it"):
            grid.encode(np.array([value]), members=members)
        return
    (number,) = integers(grid.encode(np.array([value]), members=members))
    numerator, denominator = value.as_integer_ratio()
    assert 2 * abs(signed(number) * denominator - numerator * 2**bits) <= denominator


@given(st.integers(-(2**127), 2**127 - 1), st.integers(0, 64))
def test_reading_is_right_to_the_last_bits_of_a_double(number, bits):
    (value,) = FixedPoint(bits).decode(words([number % 2**128]))
    assert value == pytest.approx(number / 2**bits, rel=2**-51, abs=0)  # two roundings


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0**63])
def test_what_does_not_fit_is_named_by_its_place(value):
    with pytest.raises(BadInput, match="number 1 of 2"):
        FixedPoint().encode(np.array([1.0, value]), members=2)


def test_the_largest_sum_does_not_wrap_around():
    grid, members = FixedPoint(64), 3
    largest = np.nextafter(grid.reach(members), 0)
    total = grid.encode(np.array([largest]), members=members)
    for _ in range(members - 1):
        total = add(total, grid.encode(np.array([largest]), members=members))
    assert grid.decode(total)[0] == pytest.approx(members * largest, rel=1e-15)
