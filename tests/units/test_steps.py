"""Step sizes: values, exact values, and which conditions of the theorems they meet."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadInput
from hocket.steps import Conditions, Constant, Power, Schedule, Step, as_step

powers = st.builds(Power, st.floats(0.01, 10), st.floats(-0.9, 100), st.floats(-1, 2))


@given(step=powers, first=st.integers(1, 1000), count=st.integers(1, 50))
def test_a_table_holds_the_single_steps(step: Power, first: int, count: int) -> None:
    table = step.table(first, first + count - 1)
    assert table.dtype == np.float64
    assert table.tolist() == [step(k) for k in range(first, first + count)]
    k = first + count // 2
    assert table[count // 2] == pytest.approx(step.a / (k + step.b) ** step.p, rel=1e-14)


@given(
    step=powers | st.just(Constant(0.5)) | st.just(Schedule(lambda k: 1 + k % 3)), rounds=st.integers(1, 60)
)
def test_max_ratio_is_the_largest(step: Step, rounds: int) -> None:
    ratios = [step(k - 1) / step(k) for k in range(2, rounds + 1)]
    assert step.max_ratio(rounds) == pytest.approx(max(ratios, default=1.0), rel=1e-12)


@given(
    a=st.fractions(Fraction(1, 100), 10), b=st.integers(0, 30), p=st.integers(0, 3), k=st.integers(1, 1000)
)
def test_exact_steps_are_fractions(a: Fraction, b: int, p: int, k: int) -> None:
    exact = Power(a, b, p).exact(k)
    assert exact == a / Fraction(k + b) ** p
    assert float(exact) == pytest.approx(Power(a, b, p)(k), rel=1e-14)


def test_exact_steps_of_other_kinds() -> None:
    assert Constant(Fraction(1, 3)).exact(7) == Fraction(1, 3)
    assert Schedule(lambda k: Fraction(1, k)).exact(7) == Fraction(1, 7)


@pytest.mark.parametrize(
    ("step", "conditions"),
    [
        (Power(1.0, 20, 0.75), Conditions(True, True, True, False)),
        (Power(2, 0, 1), Conditions(True, True, True, False)),
        (Power(1.0, 0, 0.5), Conditions(True, True, False, True)),
        (Power(1.0, 1, Fraction(1, 2)), Conditions(True, True, False, False)),
        (Power(1.0, 0, 1.5), Conditions(True, False, True, False)),
        (Power(1.0, 0, -0.5), Conditions(False, True, False, False)),
        (Constant(0.1), Conditions(True, True, False, False)),
        (Schedule(lambda k: 1 / k), Conditions(None, None, None, None)),
    ],
)
def test_conditions_are_derived(step: Step, conditions: Conditions) -> None:
    assert step.conditions() == conditions


def test_what_users_write_becomes_a_step() -> None:
    assert as_step(Power(1)) == Power(1)
    assert as_step(0.1) == Constant(0.1)
    assert as_step(Fraction(1, 3)).exact(1) == Fraction(1, 3)
    assert as_step(lambda k: 2 / k)(4) == 0.5
    assert hash(Power(1, 2, 0.5)) == hash(Power(1, 2, 0.5))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Power(0), "a of Power is 0.*choose a > 0"),
        (lambda: Power(1, -1), "b of Power is -1.*choose b > -1"),
        (lambda: Power(1, 0, float("nan")), "p of Power is nan"),
        (lambda: Constant(-0.1), "a of Constant is -0.1"),
        (lambda: Schedule(lambda k: 3 - k).table(1, 5), "step size of round 3 is 0.0; it must be positive"),
        (lambda: Schedule(lambda k: float("inf"))(4), "step size of round 4 is inf"),
        (lambda: Power(1)(0), "round 0 has no step size"),
        (lambda: Power(0.1, 0, 1).exact(2), r"a of Power is 0.1, which is not exact.*Fraction"),
        (lambda: Power(1, 0, 0.5).exact(2), "p of Power is 0.5.*irrational"),
        (lambda: Schedule(lambda k: 1 / k).exact(2), "step in round 2 is 0.5"),
        (lambda: as_step("fast"), "'fast' is no step size; give Power"),
    ],
)
def test_refuses(act, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        act()
