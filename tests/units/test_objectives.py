"""Objectives: gradients, constants, convexity and pooling, for every kind from one table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket.problems.standard as standard
from hocket.errors import BadProblem
from hocket.problems import Loss
from hocket.problems.polynomial import evaluate, extrema
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball, Box, Everywhere, FeasibleSet, Simplex

DIM = 3
SETS = [Box(-1.0, 2.0), Ball(1.5, 0.5), Simplex(2.0)]


def polynomials(rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    return standard.polynomials(list(rng.normal(size=(4, 5))), feasible=feasible, dim=DIM)


def separable_polynomials(rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    return standard.polynomials(list(rng.normal(size=(4, 5, DIM))), feasible=feasible)


def least_squares(rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    rows = [rng.normal(size=(count, DIM)) for count in (1, 4, 2, 6)]
    targets = [rng.normal(size=len(row)) for row in rows]
    return standard.least_squares(rows, targets, feasible=feasible, reduction="mean")


def logistic(rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    rows = [rng.normal(size=(count, DIM)) for count in (3, 4, 2)]
    labels = [rng.integers(0, 2, size=len(row)) for row in rows]
    return standard.logistic(rows, labels, l2=0.3, feasible=feasible, reduction="sum")


def loss(rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    data = {"center": rng.normal(size=(4, DIM)), "scale": rng.uniform(1, 2, size=4)}
    return Problem(scaled_distance, data, feasible=feasible, dim=DIM)


def loss_per_sample(rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    samples = [rng.uniform(1, 2, size=(count, DIM)) for count in (2, 5, 1)]
    return Problem(Loss(log_ratio, reduction="mean"), samples, feasible=feasible, dim=DIM)


def scaled_distance(x: Any, data: Any) -> Any:
    return jnp.sum(jnp.cosh((x - data["center"]) / data["scale"]))


def log_ratio(x: Any, sample: Any) -> Any:
    return jnp.log1p(jnp.sum((x / sample) ** 2)) + jnp.log(sample).sum()


@dataclass(frozen=True)
class Row:
    """A kind of problem, and what may be expected of it."""

    build: Any
    exact: bool = False
    constants: bool = True
    convex: bool | None = None


ROWS = [
    Row(polynomials, exact=True),
    Row(separable_polynomials, exact=True),
    Row(least_squares, exact=True, convex=True),
    Row(logistic, convex=True),
    Row(loss, constants=False),
    Row(loss_per_sample, constants=False),
]
every_kind = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.build.__name__)
seeds = st.integers(0, 2**32 - 1)


def inside(feasible: FeasibleSet, rng: np.random.Generator, count: int) -> np.ndarray:
    return np.stack([feasible.project(x) for x in rng.normal(scale=2, size=(count, DIM))])


@every_kind
@given(seed=seeds)
def test_the_gradient_is_the_derivative(row: Row, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, x = row.build(rng, SETS[0]), rng.normal(size=DIM)
    with jax.enable_x64(True):
        for group in problem.groups:
            for place, j in enumerate(group.members):
                expected = jax.grad(group.objective.value)(jnp.asarray(x), group.data_of(place))
                np.testing.assert_allclose(problem.gradient(j, x), expected, rtol=1e-10, atol=1e-12)


@every_kind
@pytest.mark.parametrize("feasible", SETS, ids=str)
@given(seed=seeds)
def test_constants_hold_all_over_the_set(row: Row, feasible: FeasibleSet, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = row.build(rng, feasible)
    for by in (0.0, 0.5):
        constants = problem.constants(inflate=by)
        assert constants.diameter == feasible.diameter(DIM)
        if not row.constants:
            assert constants.L is None
            assert constants.N is None
            continue
        points = inside(feasible.inflated(by), rng, 8)
        slack = 1 + 1e-9  # the bounds are attained at corners, up to rounding
        for j in range(problem.n):
            slopes = np.stack([problem.gradient(j, x) for x in points])
            assert np.linalg.norm(slopes, axis=1).max() <= constants.L * slack
            bends = np.linalg.norm(np.diff(slopes, axis=0), axis=1)
            assert np.all(
                bends <= constants.N * np.linalg.norm(np.diff(points, axis=0), axis=1) * slack + 1e-12
            )


@every_kind
@given(seed=seeds)
def test_pooling_takes_the_mean(row: Row, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, x = row.build(rng, SETS[0]), rng.normal(size=DIM)
    pooled, agents = problem.pooled(), range(problem.n)
    assert pooled.n == 1
    mean = np.mean([problem.value(j, x) for j in agents])
    assert pooled.value(0, x) == pytest.approx(mean, rel=1e-10)
    assert problem.total(x) == pytest.approx(problem.n * mean, rel=1e-10)
    slope = np.mean([problem.gradient(j, x) for j in agents], axis=0)
    np.testing.assert_allclose(pooled.gradient(0, x), slope, rtol=1e-9, atol=1e-11)


@every_kind
def test_fractions_are_exact_or_refused(row: Row) -> None:
    problem = row.build(np.random.default_rng(3), SETS[0])
    x = np.array([Fraction(1, 3), Fraction(-2, 7), Fraction(5, 11)], dtype=object)
    if not row.exact:
        with pytest.raises(BadProblem, match="cannot be run on fractions"):
            problem.gradient(1, x)
        return
    slope, value = problem.gradient(1, x), problem.value(1, x)
    assert all(isinstance(entry, Fraction) for entry in (*slope, value))
    # 24 more digits than float64: a difference quotient in exact arithmetic.
    tiny = Fraction(1, 10**40)
    moved = problem.value(1, x + np.array([tiny, 0, 0], dtype=object))
    assert float((moved - value) / tiny - slope[0]) == pytest.approx(0, abs=1e-30)
    np.testing.assert_allclose(slope.astype(float), problem.gradient(1, x.astype(float)), rtol=1e-10)


@every_kind
def test_convexity_is_derived_or_unknown(row: Row) -> None:
    problem = row.build(np.random.default_rng(0), SETS[0])
    assert problem.convex is (False if row.build in (polynomials, separable_polynomials) else row.convex)


@pytest.mark.parametrize(
    ("coefficients", "feasible", "convex"),
    [
        ([1, -4, 6, -4, 1], Everywhere(), True),  # (x − 1)⁴: its curvature touches zero
        ([0, 0, 0, 1], Box(0, 3), True),
        ([0, 0, 0, 1], Box(-1, 3), False),
        ([0, 0, 0, 1], Everywhere(), False),
        ([0, 0, -1], Box(-1, 1), False),
        ([5, 1], Everywhere(), True),
        ([0, 0, -1], Simplex(), None),
    ],
)
def test_convexity_of_polynomials(coefficients: list, feasible: FeasibleSet, convex: bool | None) -> None:
    assert standard.polynomials([coefficients], feasible=feasible, dim=2).convex is convex


class TestConstants:
    def test_of_the_papers_polynomials_on_the_unit_interval(self) -> None:
        constants = standard.polynomials(standard.PAPER_POLYNOMIALS, box=(-1, 1)).constants()
        assert (constants.L, constants.N, constants.diameter) == (6.0, 14.0, 2.0)

    def test_on_an_unbounded_set_only_what_is_bounded(self) -> None:
        quadratic = standard.polynomials([[0, 1, 3]], feasible=Everywhere()).constants()
        assert (quadratic.L, quadratic.N) == (None, 6.0)
        linear = standard.polynomials([[0, -2]], feasible=Everywhere()).constants()
        assert (linear.L, linear.N) == (2.0, 0.0)

    def test_declared_ones_win(self) -> None:
        problem = standard.polynomials([[0, 0, 1]], box=(-1, 1), lipschitz=7.0, smoothness=8.0)
        assert (problem.constants().L, problem.constants().N) == (7.0, 8.0)

    def test_one_unknown_makes_the_whole_unknown(self) -> None:
        mixed = [standard.Polynomial(), lambda x: jnp.sum(x**2)]
        problem = Problem(mixed, [[0.0, 0.0, 1.0], None], feasible=Box(-1, 1), dim=1)
        assert problem.constants().L is None


@given(seed=seeds, scale=st.floats(0.01, 100))
def test_extrema_beat_a_grid(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(6, 7)) * rng.integers(0, 2, size=(6, 7))
    low = -scale * rng.uniform(0, 1, size=6)
    high = low + scale
    found = extrema(coefficients, low, high)
    grid = evaluate(coefficients[:, :, None], np.linspace(low, high, 500, axis=1))
    slack = 1e-12 * (1 + abs(grid).max(axis=1))
    assert np.all(found.least <= grid.min(axis=1) + slack)
    assert np.all(found.largest >= grid.max(axis=1) - slack)
    assert np.all((low <= found.argleast) & (found.argleast <= high))
    values = evaluate(coefficients[:, :, None], found.argleast[:, None])[:, 0]
    np.testing.assert_allclose(values, found.least, rtol=1e-12, atol=1e-12)


def test_extrema_on_the_whole_line() -> None:
    rows = np.array([[0, 0, 1.0, 0], [0, 0, 0, 1.0], [3.0, 0, 0, 0], [0, 1e-200, 1e-300, 0]])
    found = extrema(rows, np.full(4, -np.inf), np.full(4, np.inf))
    np.testing.assert_array_equal(found.least[:3], [0, -np.inf, 3])
    np.testing.assert_array_equal(found.largest[:3], [np.inf, np.inf, 3])
    assert found.argleast[3] == pytest.approx(-0.5e100)


class TestLogistic:
    def test_stays_finite_far_from_the_data(self) -> None:
        problem = standard.logistic([[[1e4]], [[-1e4]]], [[1], [1]], feasible=Everywhere())
        assert problem.value(0, [-1.0]) == pytest.approx(1e4)
        assert problem.value(0, [1.0]) == 0.0
        assert problem.gradient(0, [-1.0])[0] == pytest.approx(-1e4)
        assert problem.gradient(1, [1.0])[0] == pytest.approx(1e4)

    def test_both_codings_are_the_same_problem(self) -> None:
        features = np.random.default_rng(0).normal(size=(2, 5, 3))
        signs = np.sign(features[:, :, 0])
        one, other = (standard.logistic(features, y, feasible=Ball(1.0)) for y in (signs, (signs + 1) / 2))
        assert one.total(np.ones(3)) == other.total(np.ones(3))


def test_padding_changes_no_objective() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(count, 2)) for count in (3, 1)]
    targets = [rng.normal(size=3), rng.normal(size=1)]
    x = np.array([0.5, -2.0])
    errors = [row @ x - target for row, target in zip(rows, targets, strict=True)]
    for reduction, share in (("sum", np.sum), ("mean", np.mean)):
        problem = standard.least_squares(rows, targets, feasible=Ball(1.0), reduction=reduction)
        for j, error in enumerate(errors):
            assert problem.value(j, x) == pytest.approx(share(error**2) / 2, rel=1e-14)


@pytest.mark.parametrize("rank", [0, 2])
def test_pooled_least_squares_survive_dependent_rows(rank: int) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 4, rank)) @ rng.normal(size=(rank, 3))
    problem = standard.least_squares(A, rng.normal(size=(5, 4)), feasible=Ball(1.0))
    x = rng.normal(size=3)
    assert problem.total(x) == pytest.approx(sum(problem.value(j, x) for j in range(5)), rel=1e-12)
    assert problem.pooled().groups[0].data.weight.shape == (1, 4)
