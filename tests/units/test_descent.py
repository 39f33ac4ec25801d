"""Compiled fits: the descent, what it is led by, and where it begins."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import hocket as hk
from hocket.privacy import families
from hocket.privacy.attacks.equations import equations
from hocket.privacy.attacks.guesses import descended, straight_gradients
from hocket.privacy.attacks.least_squares import Rows, checked
from hocket.privacy.attacks.system import Received, System, Term, alike, cut_at

COMPLETE = hk.Network.complete(5)
STEP = hk.Power(0.5, 10, 0.75)


class Waves(eqx.Module):
    """Two frequencies in one sound."""

    at: Any
    received: Any

    def __call__(self, u: Any) -> tuple[Any, Any]:
        def sound(u: Any) -> Any:
            return u[0] * jnp.sin(u[1] * self.at) + u[2] * jnp.exp(-u[3] * self.at)

        return jax.jacfwd(sound)(u), self.received - sound(u)


def test_every_beginning_ends_where_scipy_ends():
    rng, at = np.random.default_rng(0), np.linspace(0, 3, 40)
    truth = np.array([1.0, 2.0, 0.5, 1.0])
    received = (
        truth[0] * np.sin(truth[1] * at) + truth[2] * np.exp(-truth[3] * at) + 0.01 * rng.normal(size=40)
    )
    waves, beginnings = Waves(at, received), truth * rng.uniform(0.7, 1.3, size=(6, 4))
    found, cost = descended(waves, beginnings)
    for begin, end, left in zip(beginnings, found, cost, strict=True):
        wanted = scipy.optimize.least_squares(
            lambda u: u[0] * np.sin(u[1] * at) + u[2] * np.exp(-u[3] * at) - received, begin
        )
        assert left == pytest.approx(2 * wanted.cost, rel=1e-5)
        np.testing.assert_allclose(end, wanted.x, atol=1e-3)


def test_a_beginning_that_is_no_number_ends_nowhere():
    found, cost = descended(Waves(np.ones(5), np.ones(5)), np.array([[np.nan] * 4, [1.0] * 4]))
    assert np.isinf(cost[0])
    assert np.isfinite(cost[1])
    assert np.isfinite(found[1]).all()


def problem(feasible: hk.FeasibleSet) -> hk.Problem:
    rng = np.random.default_rng(3)
    return hk.logistic(
        rng.normal(size=(5, 2, 2)), np.sign(rng.normal(size=(5, 2))), reduction="mean", feasible=feasible
    )


def system(feasible: hk.FeasibleSet, *, known: bool) -> tuple[hk.Run, System, np.ndarray]:
    play = {"rounds": 12, "step": STEP, "start": 0.05, "seed": 1, "keep": "transcript"}
    run = hk.solve(problem(feasible), COMPLETE, hk.RssNb(2.0, persistent=0.5), **play)
    received = equations(run.view({0}))
    forms = {j: families.of_problem(run.problem, j) for j in received.agents}
    one = System(
        [Received(received, {j: [j] for j in received.agents})],
        {j: form for j, (form, _) in forms.items()},
        feasible if known else None,
    )
    draws = np.random.default_rng(0).normal(size=len(one.kept))
    return run, one, np.concatenate([*(theta for _, theta in forms.values()), draws])


@pytest.mark.slow
def test_agents_of_one_form_are_computed_side_by_side_and_right():
    run, one, u = system(hk.Box(-50, 50), known=False)
    (group,) = one.predictions[0].groups
    assert group.places.shape == (4, 4)
    with jax.enable_x64(True):
        model, slopes = (np.asarray(part) for part in one.predictions[0](jnp.asarray(u)))
        moved = np.asarray(one.predictions[0](jnp.asarray(u + 1e-6))[0])
    received = one.received[0].equations
    gradients = [
        [run.problem.gradient(j, v) for j, v in zip(received.agents, at, strict=True)] for at in received.at
    ]
    np.testing.assert_allclose(model, gradients + one.kept_shares(0) @ u, atol=1e-12)
    np.testing.assert_allclose(slopes.sum(axis=-1) * 1e-6, moved - model, atol=1e-10)


def test_forms_that_differ_by_more_than_numbers_are_kept_apart():
    two, three = families.polynomials(2), families.polynomials(3)
    terms = [Term(0, two, slice(0, 2)), Term(1, three, slice(2, 5)), Term(2, two, slice(5, 7))]
    groups = alike(terms)
    assert [group.agents.tolist() for group in groups] == [[0, 2], [1]]
    assert groups[0].places.tolist() == [[0, 1], [5, 6]]


def test_steps_are_cut_short_where_the_truth_has_it():
    run, one, u = system(hk.Box(-0.1, 0.1), known=True)
    truth = np.abs(run.path[1:-1, 1:]) >= 0.1
    assert 0.1 < truth.mean() < 0.9
    np.testing.assert_array_equal(
        cut_at(one.predictions[0], u), truth[: len(one.received[0].equations.rounds)]
    )


def test_the_best_line_tells_most_steps_that_were_cut_short():
    feasible = hk.Box(-1, 1)
    bowls = hk.polynomials([[0, slope, 1.0] for slope in (-4.0, -3.0, 4.0, -6.0, -4.0)], feasible=feasible)
    play = {"rounds": 80, "step": STEP, "seed": 1, "keep": "transcript"}
    run = hk.solve(bowls, COMPLETE, hk.RssNb(20.0, persistent=0.5), **play)
    received = equations(run.view({0}))
    lines = straight_gradients(received, feasible, draws=3, rng=np.random.default_rng(0))
    assert lines.shape == (4, *received.values.shape)
    aimed = received.at - received.alpha[:, None, None] * lines
    truth = np.abs(run.path[1:-1, 1:]) >= 1
    wrong = [np.mean((np.abs(one) > 1) != truth[: len(one)]) for one in aimed]
    assert 0.1 < truth.mean() < 0.9
    assert wrong[0] < 0.1
    assert max(wrong) < 0.4


def test_a_row_that_alone_tells_of_something_is_not_borne_out():
    a = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) * 1e13
    assert checked(Rows(a, np.zeros(3)), np.ones(2)).tolist() == [True, True, False]
