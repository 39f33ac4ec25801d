"""Rehearsals: where gradients are taken, what forms a class allows, and which states lie on a side of a set."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.privacy.leakage.dry_run import may_reach, models_of_run, on_side, simulated, taken_at
from hocket.problems.objective_class import ObjectiveClass

NETWORK = hk.Network.complete(5)
STEP = hk.Power(1.0, 20, 0.75)


def recorded(problem: hk.Problem, algorithm: hk.Algorithm, rounds: int = 30) -> hk.Run:
    return hk.solve(problem, NETWORK, algorithm, rounds=rounds, step=STEP, keep="transcript")


def test_gradients_are_taken_where_agents_mix():
    problem = hk.heterogeneous_polynomials()
    run = recorded(problem, hk.RssNb(3.0))
    at = taken_at(run)
    for k, j in [(0, 0), (7, 3), (29, 4)]:
        stepped = at[k, j] - STEP(k + 1) * problem.gradient(j, at[k, j])
        np.testing.assert_allclose(stepped, run.path[k + 1, j], atol=1e-9)


def test_a_run_is_followed_in_the_form_of_its_class():
    (free, even) = models_of_run(recorded(hk.heterogeneous_polynomials(), hk.RssNb(3.0)))
    assert free.words == "separable polynomials of degree 4 or less"
    assert [one.size for one in even.families] == [
        4,
        3,
        3,
        3,
        3,
    ]  # a bowl has a slope, whatever its centre is
    for j, (family, theta) in enumerate(zip(even.families, even.theta, strict=True)):
        if family.size == 3:
            truth = [hk.heterogeneous_polynomials().gradient(j, x) for x in even.path[:3, j]]
            np.testing.assert_allclose(family.gradients(even.path[:3, j], theta), truth, rtol=1e-9)


def test_a_form_with_too_many_numbers_is_not_followed():
    rng = np.random.default_rng(0)
    problem = hk.logistic(
        rng.normal(size=(5, 50, 2)), np.sign(rng.normal(size=(5, 50))), feasible=hk.Everywhere()
    )
    assert models_of_run(recorded(problem, hk.RssNb(1.0))) == ()


@pytest.mark.parametrize(
    ("feasible", "sides"), [(hk.Box(-1, 1), 2), (hk.Ball(1.0), 1), (hk.Everywhere(), None)]
)
def test_a_state_lies_on_a_side_where_a_step_outward_is_undone(feasible, sides):
    states = np.array([[[0.5, 0.3], [1.0, 0.2], [0.6, -1.0], [0.6, 0.8]]])
    found = on_side(states, feasible)
    if sides is None:
        assert found is None
        return
    assert not found[0, 0].any()
    inside = [feasible.contains(state, 1e-12) for state in states[0]]
    assert [bool(one.any()) and ok for one, ok in zip(found[0], inside, strict=True)].count(True) == sides
    assert on_side(states[:, :1], feasible) is None


@pytest.mark.parametrize("kind", ["polynomial:2", "polynomial:4", "quadratic", "generalised-linear", "any"])
def test_every_class_is_rehearsed_in_its_forms(kind):
    models = simulated(NETWORK, hk.RssNb(2.0), ObjectiveClass.parse(kind), step=STEP, rounds=12)
    assert len(models) == {"any": 0, "polynomial:4": 3}.get(kind, 1)
    assert all(model.path.shape[:2] == (12, 5) and np.isfinite(model.path).all() for model in models)


def test_a_set_that_states_may_reach_is_active():
    plan = {"step": STEP, "rounds": 1000, "gradient_size": 1.0}  # the steps add up to 14.1
    for feasible, dim, reached in [
        (hk.Box(-14, 14), 1, True),
        (hk.Box(-15, 15), 1, False),
        (hk.Ball(28.0), 4, True),
        (hk.Ball(30.0), 4, False),
        (hk.Box(0, 15), 1, True),  # zero is on its side
        (hk.Everywhere(), 1, False),
        (None, 1, False),
    ]:
        assert may_reach(feasible, dim, hk.Dgd(), **plan) == reached
    assert may_reach(hk.Box(-15, 15), 1, hk.RssNb(20.0), **plan)
