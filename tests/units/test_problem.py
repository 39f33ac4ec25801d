"""Problems: what users may hand over, what is refused and how, and what a compiled run relies on."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hocket.errors import BadProblem
from hocket.problems import LeastSquares, Loss
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball, Box, Everywhere
from hocket.problems.standard import (
    heterogeneous_polynomials,
    least_squares,
    logistic,
    paper_polynomials,
    polynomials,
)

BALL = Ball(10.0)


def distance(x: Any, center: Any) -> Any:
    return jnp.sum((x - center) ** 2)


def square(x: Any) -> Any:
    return jnp.sum(x**2)


class TestPaperPolynomials:
    def test_sum_to_what_the_paper_should_print(self) -> None:
        problem = paper_polynomials()
        assert (problem.n, problem.dim) == (5, 1)
        for x in (Fraction(1, 3), Fraction(-7, 2)):
            assert problem.total([x]) == Fraction(7, 2) * (x**2 + x**4)

    def test_gradients_are_exact(self) -> None:
        x = Fraction(1, 3)
        slopes = [paper_polynomials().gradient(j, [x])[0] for j in range(5)]
        assert slopes == [2 * x, 4 * x**3, 2 * x + 4 * x**3, 2 * x + 2 * x**3, x + 4 * x**3]

    def test_moved_apart_they_have_minimisers_of_their_own(self) -> None:
        problem = heterogeneous_polynomials()
        slopes = [[abs(problem.gradient(j, [c])[0]) for c in (-1.0, 2.0, 0.5, -0.5, 1.0)] for j in range(5)]
        np.testing.assert_array_equal(np.argmin(slopes, axis=1), np.arange(5))
        np.testing.assert_array_equal(np.min(slopes, axis=1), 0.0)
        assert problem.convex


class TestPolynomials:
    def test_rows_may_have_any_length(self) -> None:
        problem = polynomials([[1], [0, 0, 0, 2]], box=(-1, 1))
        assert [problem.value(j, [2.0]) for j in (0, 1)] == [1.0, 16.0]

    def test_one_polynomial_serves_every_coordinate(self) -> None:
        assert polynomials([[0, 0, 1]], box=(-5, 5), dim=3).value(0, [1.0, 2.0, 3.0]) == 14.0

    def test_each_coordinate_may_have_its_own(self) -> None:
        problem = polynomials([[[0, 0], [1, 10]], [0, 1]], box=(-5, 5))
        assert problem.dim == 2
        assert [problem.value(j, [1.0, 2.0]) for j in (0, 1)] == [21.0, 3.0]

    def test_fractions_stay_exact_until_floats_are_asked_for(self) -> None:
        problem = polynomials([[0, Fraction(1, 3)], [0, 1]], box=(-1, 1))
        assert problem.gradient(0, [Fraction(1)])[0] == Fraction(1, 3)
        assert problem.astype(np.float64).groups[0].data.dtype == np.float64
        assert problem.best.value == pytest.approx(-4 / 3)

    @pytest.mark.parametrize(
        ("build", "message"),
        [
            (lambda: polynomials([[1]]), r"either box=\(low, high\) or feasible="),
            (lambda: polynomials([[1]], box=(-1, 1), feasible=BALL), "either box"),
            (lambda: polynomials([], box=(-1, 1)), "give a row of coefficients per agent"),
            (lambda: polynomials([[1], []], box=(-1, 1)), r"polynomial of agent 1 is \[\]"),
            (lambda: polynomials([[1], "x"], box=(-1, 1)), "polynomial of agent 1 is 'x'"),
            (lambda: polynomials([[[1, 2]], [[1, 2, 3]]], box=(-1, 1)), r"for \[2, 3\] coordinates"),
            (lambda: polynomials([[[1, 2]]], box=(-1, 1), dim=3), "for 2 coordinates; the problem has 3"),
            (lambda: polynomials([[1], [0, np.nan]], box=(-1, 1)), r"data of agent 1 hold nan at \[1\]"),
        ],
    )
    def test_refuse(self, build, message: str) -> None:
        with pytest.raises(BadProblem, match=message):
            build()


class TestLosses:
    def test_one_loss_with_stacked_data(self) -> None:
        problem = Problem(distance, np.eye(3), feasible=BALL, dim=3)
        assert problem.n == 3
        np.testing.assert_allclose(problem.gradient(1, np.zeros(3)), [0, -2, 0])

    def test_a_list_is_grouped_by_identity(self) -> None:
        centers = [np.ones(2), None, 2 * np.ones(2), None]
        problem = Problem([distance, square, distance, square], centers, feasible=BALL, dim=2)
        assert [group.members.tolist() for group in problem.groups] == [[0, 2], [1, 3]]
        assert [problem.value(j, [1.0, 1.0]) for j in range(4)] == [0.0, 2.0, 2.0, 2.0]
        assert problem.total(np.ones(2)) == pytest.approx(6.0)
        assert problem.pooled().value(0, np.ones(2)) == pytest.approx(1.5)

    def test_a_list_may_share_stacked_data(self) -> None:
        problem = Problem([distance, lambda x, c: 2 * distance(x, c)], np.eye(2), feasible=BALL, dim=2)
        assert problem.total(np.zeros(2)) == pytest.approx(3.0)

    def test_a_list_without_data_takes_x_alone(self) -> None:
        problem = Problem([square, square], feasible=BALL, dim=2)
        assert (len(problem.groups), problem.total(np.ones(2))) == (1, 4.0)

    def test_samples_of_unequal_number_are_weighted(self) -> None:
        samples = [np.ones((3, 2)), np.zeros((1, 2))]
        for reduction, expected in (("mean", 2.0), ("sum", 6.0)):
            problem = Problem(Loss(distance, reduction=reduction), samples, feasible=BALL, dim=2)
            assert problem.value(0, np.zeros(2)) == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("build", "message"),
        [
            (lambda: Problem(distance, feasible=BALL, dim=2), "number of agents is unknown; give a list"),
            (lambda: Problem([], feasible=BALL, dim=2), "list of losses is empty"),
            (lambda: Problem(distance, np.eye(3), feasible=BALL, dim=0), "dim is 0"),
            (lambda: Problem(distance, np.eye(3), feasible=BALL, dim=2), "the loss of agent 0 fails on x"),
            (
                lambda: Problem(lambda x, c: x - c, np.eye(2), feasible=BALL, dim=2),
                "must return one real number",
            ),
            (
                lambda: Problem(distance, (np.eye(2), np.ones(3)), feasible=BALL, dim=2),
                r"for \[2, 3\] agents; stack every array",
            ),
            (lambda: Problem([square], [None, None], feasible=BALL, dim=1), "1 losses and data for 2 agents"),
            (
                lambda: Problem(distance, [np.ones(2), np.ones(3)], feasible=BALL, dim=2),
                r"agent 1 have shapes \[\(3,\)\], those of agent 0 \[\(2,\)\]",
            ),
            (
                lambda: Problem(distance, [(np.ones(2),), np.ones(2)], feasible=BALL, dim=2),
                "agent 1 are built differently from those of agent 0",
            ),
            (
                lambda: Problem(distance, np.diag([1, np.inf]), feasible=BALL, dim=2, names=["Lyon", "Graz"]),
                r"data of agent 1 \(Graz\) hold inf at \[1\]; clean or drop it",
            ),
            (
                lambda: Problem(distance, np.eye(2), feasible=BALL, dim=2, names=["Lyon"]),
                "1 names for 2 agents",
            ),
            (lambda: Problem(distance, np.eye(2), feasible=BALL, dim=2, lipschitz=-1), "lipschitz is -1"),
            (
                lambda: Problem(distance, np.eye(2), feasible=Box([0, 0, 0], 1), dim=2),
                "the Box has 3 coordinates",
            ),
        ],
    )
    def test_refuse(self, build, message: str) -> None:
        with pytest.raises(BadProblem, match=message):
            build()


class TestRegressions:
    @pytest.mark.parametrize(
        ("build", "message"),
        [
            (
                lambda: least_squares(np.ones((2, 3, 4)), np.ones((3, 3)), feasible=BALL),
                "A is for 2 agents and b for 3",
            ),
            (
                lambda: least_squares(np.ones((2, 3)), np.ones((2, 3)), feasible=BALL),
                r"A of agent 0 has shape \(3,\)",
            ),
            (
                lambda: least_squares(np.ones((2, 3, 4)), np.ones((2, 2)), feasible=BALL),
                "same .agents, samples.",
            ),
            (
                lambda: least_squares(
                    [np.ones((2, 3)), np.ones((0, 3))], [np.ones(2), np.ones(0)], feasible=BALL
                ),
                "agent 1 has no samples",
            ),
            (
                lambda: least_squares([np.ones((2, 3)), np.ones((2, 4))], [np.ones(2)] * 2, feasible=BALL),
                "agent 1 have shapes",
            ),
            (
                lambda: least_squares(
                    [np.ones((2, 3)), np.ones((2, 3))], [np.ones(2), np.ones(1)], feasible=BALL
                ),
                "the arrays of agent 1 lead with axes",
            ),
            (
                lambda: logistic(np.ones((2, 2, 1)), [[0, 1], [1, 2]], feasible=BALL),
                "label 2.0 of agent 1, sample 1: label all classes -1 and 1, or all 0 and 1",
            ),
            (lambda: logistic(np.ones((1, 2, 1)), [[0, 1]], l2=-1.0, feasible=BALL), "l2 is -1.0"),
            (
                lambda: Problem(LeastSquares(), np.ones((2, 3)), feasible=BALL, dim=3),
                "the data must be a pair: features",
            ),
        ],
    )
    def test_refuse(self, build, message: str) -> None:
        with pytest.raises(BadProblem, match=message):
            build()


class TestCompiled:
    def test_new_numbers_need_no_new_compilation(self) -> None:
        traces = []

        @jax.jit
        def descend(problem: Problem, x: jax.Array) -> jax.Array:
            traces.append(problem)
            (group,) = problem.groups
            return problem.feasible.project(x - jax.vmap(group.objective.gradient)(x, group.data))

        rng = np.random.default_rng(0)
        for bound in (1.0, 2.0):
            for l2 in (0.1, 0.2):
                problem = logistic(
                    rng.normal(size=(3, 4, 2)),
                    np.ones((3, 4)),
                    l2=l2,
                    feasible=Box(-bound, bound),
                    lipschitz=l2,
                )
                descend(problem, jnp.zeros((3, 2)))
        assert len(traces) == 1

    def test_totals_agree_whether_data_are_traced_or_not(self) -> None:
        problem = Problem([distance, square, distance], [np.ones(2), None, np.zeros(2)], feasible=BALL, dim=2)
        x = np.array([0.5, -1.0])
        with jax.enable_x64(True):
            traced = jax.jit(lambda problem, x: problem.total(x))(problem, x)
            closed = jax.jit(lambda x: problem.total(x))(x)
        assert traced == pytest.approx(problem.total(x), rel=1e-14)
        assert closed == pytest.approx(problem.total(x), rel=1e-14)

    def test_the_users_precision_is_left_alone(self) -> None:
        problem = Problem(distance, np.eye(2), feasible=BALL, dim=2)
        assert problem.best is not None
        assert problem.gradient(0, np.ones(2)).dtype == np.float64
        assert jnp.ones(1).dtype == jnp.float32

    def test_another_precision_is_a_copy(self) -> None:
        problem = least_squares(np.ones((2, 3, 4)), np.ones((2, 3)), feasible=BALL)
        single = jax.tree.leaves(problem.astype(np.float32).groups[0].data)
        assert all(leaf.dtype == np.float32 for leaf in single)
        assert problem.groups[0].data.weight.dtype == np.float64


def test_asking_for_somebody_who_is_not_there() -> None:
    with pytest.raises(BadProblem, match="there is no agent 5; agents are numbered 0 to 4"):
        paper_polynomials().gradient(5, [0.0])
    with pytest.raises(BadProblem, match=r"x has shape \(2,\); this problem has states of shape \(1,\)"):
        paper_polynomials().value(0, [0.0, 1.0])


def test_an_unbounded_set_is_allowed() -> None:
    assert polynomials([[0, 0, 1]], feasible=Everywhere()).constants().diameter == np.inf
