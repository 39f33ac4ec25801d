"""The reference optimum: feasible, stationary, and better than anything else that is tried."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadProblem
from hocket.problems import optimum
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball, Box, Everywhere, FeasibleSet, Simplex
from hocket.problems.standard import (
    heterogeneous_polynomials,
    least_squares,
    logistic,
    paper_polynomials,
    polynomials,
)

DIM = 6
SETS = [Box(-0.2, 0.3), Box(-9, 9), Ball(0.3, 0.1), Ball(20.0), Simplex(), Everywhere()]
every_set = pytest.mark.parametrize("feasible", SETS, ids=str)
STATIONARY = (
    1e-8  # polishing stops at 1e-10 (1 + ‖x‖); constants may be looser than local curvature, never tighter
)


def smooth(x: Any, center: Any) -> Any:
    return jnp.sum(jnp.cosh(x - center)) + jnp.sum(x) ** 2


def kinds(feasible: FeasibleSet) -> list[Problem]:
    rng = np.random.default_rng(7)
    features = rng.normal(size=(5, 8, DIM))
    return [
        polynomials(np.abs(rng.normal(size=(5, 5, DIM))) * [[1], [1], [1], [0], [1]], feasible=feasible),
        least_squares(features, rng.normal(size=(5, 8)), feasible=feasible),
        logistic(features, rng.integers(0, 2, size=(5, 8)), l2=0.1, feasible=feasible),
        Problem(smooth, rng.normal(size=(5, DIM)), feasible=feasible, dim=DIM, convex=True),
    ]


@every_set
@pytest.mark.parametrize("kind", range(4), ids=["polynomial", "least-squares", "logistic", "loss"])
def test_beats_a_thousand_feasible_points(feasible: FeasibleSet, kind: int) -> None:
    problem = kinds(feasible)[kind]
    best = problem.best
    assert best is not None
    assert best.certain
    assert best.x is not None
    assert feasible.contains(best.x)
    assert best.residual <= STATIONARY
    rng = np.random.default_rng(1)
    spread = rng.uniform(0, 1, size=(1000, 1)) ** 2  # many of them close by
    others = np.stack([feasible.project(x) for x in best.x + spread * rng.normal(size=(1000, DIM))])
    (group,) = problem.pooled().groups
    with jax.enable_x64(True):
        means = np.asarray(jax.vmap(lambda x: group.objective.value(x, group.data_of(0)))(others))
    assert best.value <= problem.n * means.min() + 1e-12 * (
        1 + abs(best.value)
    )  # two ways of summing in float64
    assert best.value == pytest.approx(sum(problem.value(j, best.x) for j in range(problem.n)), rel=1e-10)


@every_set
def test_projected_gradients_alone_find_the_same(
    feasible: FeasibleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = [problem.best for problem in kinds(feasible)]
    start = feasible.project(np.zeros(DIM))
    monkeypatch.setattr(optimum, "_solve", lambda *_: (start, "none"))
    for found, problem in zip(trusted, kinds(feasible), strict=True):
        np.testing.assert_allclose(problem.best.x, found.x, atol=1e-6)


class TestPolynomials:
    def test_of_the_paper(self) -> None:
        best = paper_polynomials().best
        assert (best.x.tolist(), best.value, best.residual) == ([0.0], 0.0, 0.0)

    def test_with_minimisers_apart(self) -> None:
        problem = heterogeneous_polynomials()
        slope = sum(problem.gradient(j, problem.best.x)[0] for j in range(5))
        assert slope == pytest.approx(0, abs=1e-12)

    @given(seed=st.integers(0, 2**32 - 1))
    def test_of_any_shape_are_solved_globally(self, seed: int) -> None:
        rows = np.random.default_rng(seed).normal(size=(3, 6))
        problem = polynomials(list(rows), box=(-2, 1.5))
        grid = np.linspace(-2, 1.5, 2001)
        least = np.polynomial.polynomial.polyval(grid, rows.sum(axis=0)).min()
        assert problem.best.certain
        assert problem.best.value <= least + 1e-12
        assert problem.best.value >= least - 1e-2

    def test_on_a_ball_or_simplex_of_one_dimension(self) -> None:
        assert polynomials([[0, 0, -1]], feasible=Ball(2.0, 1.0)).best.x.tolist() == [3.0]
        assert polynomials([[0, 0, -1]], feasible=Simplex(2.0)).best.x.tolist() == [2.0]

    def test_that_fall_for_ever_have_none(self) -> None:
        assert polynomials([[0, 1]], feasible=Everywhere()).best is None
        assert polynomials([[0, 0, 1], [0, 0, -2]], feasible=Everywhere()).best is None


class TestDeclared:
    def test_values_are_taken_as_they_are(self) -> None:
        best = Problem(smooth, np.zeros((2, 3)), feasible=Everywhere(), dim=3, optimum=6.0).best
        assert (best.x, best.value, best.solver) == (None, 6.0, "declared")

    def test_points_are_checked(self) -> None:
        problem = Problem(smooth, np.zeros((2, 3)), feasible=Everywhere(), dim=3, optimum=np.zeros(3))
        assert problem.best.value == pytest.approx(6.0)
        assert problem.best.residual == 0.0
        off = Problem(smooth, np.zeros((2, 3)), feasible=Everywhere(), dim=3, optimum=np.ones(3))
        assert off.best.residual > 0.1

    @pytest.mark.parametrize("value", [np.nan, [1.0, 2.0]])
    def test_nonsense_is_refused(self, value: Any) -> None:
        with pytest.raises(BadProblem, match=r"give the finite number f\* or a vector x\* of shape \(3,\)"):
            Problem(smooth, np.zeros((2, 3)), feasible=Everywhere(), dim=3, optimum=value)

    def test_a_point_outside_is_refused(self) -> None:
        with pytest.raises(BadProblem, match="outside Box"):
            polynomials([[0, 0, 1]], box=(-1, 1), optimum=[2.0])


def test_without_convexity_nothing_is_claimed() -> None:
    unknown = Problem(smooth, np.zeros((2, 3)), feasible=Box(-1, 1), dim=3)
    assert not unknown.best.certain
    assert Problem(smooth, np.zeros((2, 3)), feasible=Box(-1, 1), dim=3, convex=False).best is None
    assert polynomials([[0, 0, -1]], feasible=Ball(1.0), dim=2).best is None


def test_a_loss_that_is_not_finite_has_no_optimum() -> None:
    problem = Problem(lambda x, c: jnp.sum(c / x), np.ones((2, 1)), feasible=Box(-1, 1), dim=1)
    assert problem.best is None


def test_many_dimensions_on_a_tight_ball() -> None:
    rng = np.random.default_rng(0)
    dim = optimum.SLSQP_LIMIT + 20
    problem = logistic(rng.normal(size=(4, 30, dim)), rng.integers(0, 2, size=(4, 30)), feasible=Ball(0.5))
    assert problem.best.solver == "accelerated projected gradient"
    assert problem.best.residual <= STATIONARY
    assert np.linalg.norm(problem.best.x) == pytest.approx(0.5)
