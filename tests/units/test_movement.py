"""What a member says of its own state's movement."""

from __future__ import annotations

import numpy as np
import pytest

from hocket.federation.monitoring.convergence import standing
from hocket.federation.runtime.convergence import Movement
from hocket.steps import Constant, Power


def told(states, step):
    """What is measured in the last round, when all were passed by."""
    movement = Movement(len(states), step)
    for k, x in enumerate(states, start=1):
        movement.pass_by(k, x)
    return movement.look(len(states), states[-1]) | {"round": len(states)}


def test_it_is_measured_over_the_last_tenth_relative_to_size():
    path = [np.array([3.0, 4.0 + k]) for k in range(100)]
    found = told(path, Constant(0.1))
    size = np.linalg.norm(path[-1])
    assert found["movement"] == pytest.approx(10 / size)
    assert found["movement_rounds"] == 10
    assert found["movement_ahead"] == pytest.approx(100 / size)  # a hundred rounds more, at the same pace
    assert standing(found).words == "still moving, by 9.7 % in the last 10 rounds"


def test_while_rounds_go_by_it_is_measured_over_one_tenth_to_two():
    movement, step = Movement(1000, Constant(0.1)), 0.25
    for k in range(1, 701):
        movement.pass_by(k, np.array([k * step]))
        found = movement.look(k, np.array([k * step]))
        if k > 1:
            assert max(1, k // 10) <= found["movement_rounds"] <= max(2, 2 * k // 10)
            assert found["movement"] == pytest.approx(found["movement_rounds"] / k)


def test_small_steps_do_not_pass_for_rest():
    """A state that moved by 0.5 % while steps shrank moves by much more if the run goes on."""
    path = [np.array([100.0 + np.log(20 + k)]) for k in range(1000)]
    found = told(path, Power(1.0, 20, 1.0))
    assert found["movement"] < 0.002
    assert found["movement_ahead"] == pytest.approx(np.log(2) / 107, rel=0.05)
    assert standing(found).kind == "settled"
    assert standing(told([10 * x - 960 for x in path], Power(1.0, 20, 1.0))).kind == "moving"


def test_a_state_that_is_back_by_chance_has_not_rested():
    """It goes round in a circle, and is where it was a tenth of its rounds ago."""
    movement = Movement(1000, Constant(0.1))
    for k in range(1, 121):
        x = 10 + np.array([np.cos(2 * np.pi * k / 20), np.sin(2 * np.pi * k / 20)])
        movement.pass_by(k, x)
        if k > 100:
            assert standing(movement.look(k, x)).kind == "moving"


def test_rest_is_rest():
    assert told([np.ones(3)] * 50, Constant(1.0))["movement_ahead"] == 0
    assert told([np.zeros(3)] * 50, Constant(1.0))["movement"] == 0


def test_after_a_crash_it_is_measured_from_where_the_member_went_on():
    movement = Movement(100, Constant(1.0))
    for k, value in ((98, 1.0), (99, 1.5), (100, 2.0)):
        movement.pass_by(k, np.array([value]))
    assert movement.look(100, np.array([2.0]))["movement_rounds"] == 2


def test_a_single_round_says_nothing():
    movement = Movement(1, Constant(1.0))
    movement.pass_by(1, np.ones(2))
    assert movement.look(1, np.ones(2)) == {}
    assert standing({}).kind == "unknown"
    assert "not measured" in standing({}).words
