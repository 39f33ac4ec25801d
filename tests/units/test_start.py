"""Where agents start: the forms in which users may say it, the default, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from hocket.errors import BadProblem
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball, Simplex
from hocket.problems.standard import paper_polynomials, polynomials

BALL = Ball(10.0)


def distance(x: Any, center: Any) -> Any:
    return jnp.sum((x - center) ** 2)


class TestStart:
    def test_takes_one_vector_or_a_row_each(self) -> None:
        problem = Problem(distance, np.zeros((3, 2)), feasible=BALL, dim=2)
        for start in ([1, 2], np.array([[1, 2]] * 3)):
            np.testing.assert_array_equal(problem.check_start(start), [[1, 2]] * 3)
        assert problem.check_start(0.5).tolist() == [[0.5, 0.5]] * 3

    def test_takes_a_number_each_in_one_dimension(self) -> None:
        start = paper_polynomials().check_start((1, -0.5, 0.25, -0.75, 0.5))
        assert start[:, 0].tolist() == [1, -0.5, 0.25, -0.75, 0.5]

    def test_keeps_fractions(self) -> None:
        assert paper_polynomials().check_start([Fraction(1, 3)])[4, 0] == Fraction(1, 3)

    def test_is_the_feasible_point_nearest_to_zero_by_default(self) -> None:
        problem = Problem(distance, np.zeros((2, 4)), feasible=Simplex(), dim=4)
        np.testing.assert_array_equal(problem.check_start(), np.full((2, 4), 0.25))

    @pytest.mark.parametrize(
        ("start", "message"),
        [
            (
                [0, 0, 31, 0, 0],
                r"agent 2 \(c\) starts at \[31\.\], outside Box\(-30\., 30\.\); move it inside",
            ),
            ([0, 0, 0, np.nan, 0], r"agent 3 \(d\) starts at \[nan\]"),
            (
                np.zeros((4, 1)),
                r"start has shape \(4, 1\); give one vector \(1,\) or a row per agent \(5, 1\)",
            ),
            ("zero", "the start is 'zero'; give numbers"),
            ([[1], [1, 2]], "give numbers in rows of equal length"),
        ],
    )
    def test_refuses(self, start: Any, message: str) -> None:
        rows = [[0, 0, 1]] * 5
        with pytest.raises(BadProblem, match=message):
            polynomials(rows, box=(-30, 30), names=list("abcde")).check_start(start)
