"""The reference optimum of problems with an l1 part: solved, certified, and below what any run reaches."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.problems.duality_gap import duality_gap
from hocket.problems.optimum import TOLERANCE

SETS = {"box": hk.Box(-2.0, 2.0), "everywhere": hk.Everywhere()}


def lasso(seed, feasible, *, dim=6, agents=5, strength=None):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(agents, 4, dim)) * np.exp(rng.normal(size=dim))
    truth = np.where(rng.random(dim) < 0.5, rng.normal(size=dim), 0.0)
    targets = rows @ truth + 0.3 * rng.normal(size=(agents, 4))
    penalty = float(np.exp(rng.normal())) if strength is None else strength
    return hk.least_squares(rows, targets, feasible=feasible, prox=hk.L1(penalty))


def by_coordinates(problem, rounds=4000):
    """The same by another method: one coordinate after another, on a grid that narrows; no gradients are used."""
    x = problem.feasible.project(np.zeros(problem.dim))
    width, value = 1.0, problem.total(x)
    for _ in range(rounds):
        moved = False
        for c in range(problem.dim):
            for side in (width, -width):
                tried = problem.feasible.project(x + side * np.eye(problem.dim)[c])
                found = problem.total(tried)
                if found < value:
                    x, value, moved = tried, found, True
        if not moved:
            width /= 2
        if width < 1e-8:
            break
    return value


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_certain_and_nothing_is_better(seed, where):
    problem = lasso(seed, SETS[where])
    best = problem.best
    assert best.certain
    assert best.error <= TOLERANCE * (1 + abs(best.value))
    rng = np.random.default_rng(seed)
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(30):
            other = problem.feasible.project(best.x + scale * rng.normal(size=problem.dim))
            assert problem.total(other) >= best.value - best.error
    assert by_coordinates(problem, 60) >= best.value - best.error


@pytest.mark.parametrize("seed", range(5))
def test_no_run_ends_below_a_certain_optimum(seed):
    """As one did by .0089: a solver for smooth functions had stopped beside a kink."""
    problem = lasso(seed, hk.Box(-2.0, 2.0))
    run = hk.solve(problem, hk.Network.cycle(5), hk.Dgd(), rounds=2000, step=hk.Power(0.5, 20, 0.75))
    assert problem.best.certain
    assert run.history["gap"].min() >= -problem.best.error - 1e-9


def test_a_strong_penalty_leaves_zero_and_a_box_may_begin_there():
    assert not lasso(0, hk.Box(-2.0, 2.0), strength=1e3).best.x.any()
    half = lasso(1, hk.Box(0.0, 2.0)).best
    assert half.certain
    assert (half.x >= 0).all()


def test_a_kink_elsewhere_gives_no_certainty_that_is_not_there():
    """Least absolute errors: whatever is found, it is called certain only within its proved error."""
    rng = np.random.default_rng(3)
    rows, targets = rng.normal(size=(5, 7, 3)), rng.normal(size=(5, 7))

    def loss(x, data):
        return jnp.sum(jnp.abs(data[0] @ x - data[1]))

    problem = hk.Problem(loss, (rows, targets), feasible=hk.Box(-3.0, 3.0), dim=3, convex=True)
    best = problem.best
    assert not best.certain
    assert by_coordinates(problem) >= best.value - best.error
    run = {"rounds": 5, "tolerance": 0.1}
    with pytest.raises(hk.errors.BadInput, match="not certain"):
        hk.solve(problem, hk.Network.cycle(5), hk.Dgd(), **run)


def test_a_gap_is_a_bound_at_points_that_are_not_optimal_too():
    problem = lasso(2, hk.Box(-2.0, 2.0))
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = np.where(rng.random(6) < 0.4, 0.0, rng.uniform(-2, 2, size=6))

        def function(y):
            smooth = sum(problem.gradient(j, y) for j in range(5))
            return problem.total(y), smooth + 5 * problem.penalty.weight * np.sign(y)

        weights = np.full(6, 1.0)  # right or wrong, the bound holds
        assert (
            problem.total(x) - duality_gap(function, x, problem.feasible, weights)
            <= problem.best.value + 1e-9
        )
