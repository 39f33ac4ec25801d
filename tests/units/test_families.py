"""Families: what is public of the objectives has the gradients of the problems that it stands for."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy import families

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(6, 3))


def problems() -> dict[str, hk.Problem]:
    features, targets = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 4))
    return {
        "polynomial": hk.polynomials([[0, 1, 2, 0, 1], [0, -1, 1]], box=(-9, 9), dim=3),
        "least squares": hk.least_squares(features, targets, feasible=hk.Ball(9.0)),
        "logistic": hk.logistic(features, np.sign(targets), l2=0.1, feasible=hk.Ball(9.0)),
        "loss": hk.Problem(
            lambda x, a: jnp.sum(jnp.tanh(a @ x) ** 2), features, feasible=hk.Ball(9.0), dim=3
        ),
    }


@pytest.mark.parametrize("name", problems())
def test_the_form_of_a_problem_has_its_gradients(name):
    problem = problems()[name]
    for agent in range(2):
        family, theta = families.of_problem(problem, agent)
        truth = np.array([problem.gradient(agent, x) for x in POINTS])
        np.testing.assert_allclose(family.gradients(POINTS, theta), truth, rtol=1e-12, atol=1e-12)


FAMILIES = (
    families.polynomials(4, 3),
    families.centred(4, 3),
    families.quadratics(3),
    families.logistic(3, 2, l2=0.1),
)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)
def test_what_a_parameter_does_is_the_slope_of_the_gradient(family):
    theta, shift = family.guess(RNG), 1e-6 * RNG.normal(size=family.size)
    moved = family.gradients(POINTS, theta + shift) - family.gradients(POINTS, theta - shift)
    foretold = 2 * family.jacobians(POINTS, theta) @ shift
    np.testing.assert_allclose(moved, foretold, rtol=1e-6, atol=1e-11)  # a central difference of width 1e-6
    assert sorted(np.concatenate([places.ravel() for places in family.parts.values()])) == list(
        range(family.size)
    )


def test_a_linear_family_is_linear():
    for family in (families.polynomials(3, 2), families.quadratics(2)):
        theta, points = family.guess(RNG), POINTS[:, :2]
        np.testing.assert_allclose(family.jacobians(points, theta) @ theta, family.gradients(points, theta))


def test_signed_records_stand_for_features_and_labels():
    features, labels = RNG.normal(size=(1, 3, 3)), np.array([[1.0, -1.0, 1.0]])
    problem = hk.logistic(features, labels, l2=0.2, feasible=hk.Ball(9.0))
    family = families.logistic(3, 3, l2=0.2)
    signed = (labels[0][:, None] * features[0]).ravel()
    truth = [problem.gradient(0, x) for x in POINTS]
    np.testing.assert_allclose(family.gradients(POINTS, signed), truth, rtol=1e-12)


def test_a_constant_has_no_gradient():
    with pytest.raises(BadInput, match="degree 1 or more"):
        families.polynomials(0)
