"""Exact methods: the published recursions, their steps, noise functions around them, and a safeguard."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hocket as hk
from hocket.algorithms.exact.exact_method import Shape
from hocket.algorithms.parts.function_noise import added_smoothness
from hocket.errors import BadAlgorithm, BadProblem
from hocket.problems import Quadratic

RING = hk.Network.cycle(5)
METHODS = (hk.AugDgm(), hk.GradientTracking(), hk.Extra(), hk.Nids(), hk.ExactDiffusion())
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(5, 10, 3))
TARGETS = ROWS @ np.array([1.0, -2.0, 0.5]) + RNG.normal(size=(5, 10))
REGRESSION = hk.least_squares(ROWS, TARGETS, feasible=hk.Everywhere())


def gradients(x: np.ndarray) -> np.ndarray:
    return np.einsum("jsp,js->jp", ROWS, np.einsum("jsp,jp->js", ROWS, x) - TARGETS)


def nids(alpha: float, rounds: int) -> np.ndarray:
    """As published, in differences of two rounds."""
    half, old = (np.eye(5) + RING.B) / 2, np.zeros((5, 3))
    z = x = old - alpha * gradients(old)
    for _ in range(rounds - 1):
        z = z - x + half @ (2 * x - old - alpha * (gradients(x) - gradients(old)))
        old, x = x, z
    return x


def extra(alpha: float, rounds: int) -> np.ndarray:
    half, old = (np.eye(5) + RING.B) / 2, np.zeros((5, 3))
    x = RING.B @ old - alpha * gradients(old)
    for _ in range(rounds - 1):
        old, x = x, x + RING.B @ x - half @ old - alpha * (gradients(x) - gradients(old))
    return x


def exact_diffusion(alpha: float, rounds: int) -> np.ndarray:
    x = psi = np.zeros((5, 3))
    for _ in range(rounds):
        stepped = x - alpha * gradients(x)
        x, psi = (np.eye(5) + RING.B) / 2 @ (stepped + x - psi), stepped
    return x


def aug_dgm(alpha: float, rounds: int) -> np.ndarray:
    x = np.zeros((5, 3))
    y = gradients(x)
    for _ in range(rounds):
        new = RING.B @ (x - alpha * y)
        x, y = new, RING.B @ (y + gradients(new) - gradients(x))
    return x


@pytest.mark.parametrize(
    ("method", "published"),
    [
        (hk.Nids(), nids),
        (hk.Extra(), extra),
        (hk.ExactDiffusion(), exact_diffusion),
        (hk.AugDgm(), aug_dgm),
    ],
)
def test_methods_are_the_published_recursions(method, published):
    run = hk.solve(REGRESSION, RING, method, step=0.02, rounds=20)
    np.testing.assert_allclose(run.x, published(0.02, 20), rtol=0, atol=1e-13)  # float64, numbers of about 1


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_a_derived_step_is_proved_and_reaches_the_optimum(method):
    run = hk.solve(REGRESSION, RING, method, rounds=1500)
    assert run.step.proved
    assert run.claim.theorem == "exact"
    assert abs(run.gap) < 1e-12
    assert "proved to converge" in str(run.step)


def test_steps_that_track_are_those_of_the_theorem():
    """The values of the maths for κ = 1 on five agents in a ring."""
    shape = Shape(1, False, 1, 1, RING.lam, 1, True, True, True)
    allowed = [method.step_for(shape).a / 0.99 for method in (hk.AugDgm(), hk.GradientTracking())]
    np.testing.assert_allclose(allowed, [0.101997, 0.048856], atol=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_noise_functions_around_a_method_leave_the_optimum_alone(method):
    sharing = hk.FunctionSharing(1, sd=3.0, family="linear", inner=method)
    run = hk.solve(REGRESSION, RING, sharing, rounds=1500)
    assert abs(run.gap) < 1e-11
    assert run.step == hk.solve(REGRESSION, RING, method, rounds=1).step  # slopes do not bend


def test_noise_that_bends_makes_steps_shorter_by_what_it_bends():
    sharing = hk.FunctionSharing(2, sd=1.0, family="quadratic", inner=hk.AugDgm())
    bends = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        draws = rng.normal(size=(5, 3, 3)) * 2  # four draws to an agent
        upper = np.triu(draws, 1)
        size = upper + upper.transpose(0, 2, 1)
        size[:, range(3), range(3)] = np.sqrt(2) * draws[:, range(3), range(3)]
        bends.append(abs(np.linalg.eigvalsh(size)).max())
    allowed = added_smoothness(sharing, 3, RING)
    assert max(bends) < allowed < 4 * max(bends)
    assert hk.solve(REGRESSION, RING, sharing, rounds=2000).gap < 1e-10


def test_noise_of_its_own_has_no_place_inside_function_sharing():
    with pytest.raises(BadAlgorithm, match="noise of its own"):
        hk.solve(REGRESSION, RING, hk.FunctionSharing(1, 1.0, inner=hk.RssNb(1.0)), rounds=1)


def test_no_theorem_of_the_paper_is_claimed_for_another_method_inside():
    sharing = hk.FunctionSharing(2, 0.1, inner=hk.AugDgm())
    problem = hk.polynomials([[0, 1, 1]] * 5, box=(-5, 5))
    claim = hk.solve(problem, RING, sharing, step=hk.Power(0.1, 20, 0.75), rounds=1).claim
    assert claim.theorem is None
    assert "AugDGM inside it" in claim.statement


def bending(curvatures: list[float]) -> hk.Problem:
    rows = np.array([[0.3 * j, curvature / 2] for j, curvature in enumerate(curvatures)])
    return hk.Problem(Quadratic(), rows, feasible=hk.Everywhere(), dim=1)


def test_a_safeguard_halves_the_step_where_a_method_diverges():
    """Four agents in a path whose curvatures nearly cancel: a step that is mostly safe is not here."""
    problem, path = bending([-1, -0.9, 1, 1.2]), hk.Network.path(4)
    with pytest.raises(hk.HocketError, match="smaller steps"):
        hk.solve(problem, path, hk.AugDgm(), step=1.0, rounds=3000)
    run = hk.solve(problem, path, hk.Safeguard(hk.AugDgm()), step=1.0, rounds=3000)
    assert run.gap < 1e-10


def test_a_safeguard_that_nothing_alarms_changes_nothing():
    plain = hk.solve(REGRESSION, RING, hk.AugDgm(), step=0.02, rounds=40)
    guarded = hk.solve(REGRESSION, RING, hk.Safeguard(hk.AugDgm()), step=0.02, rounds=40)
    np.testing.assert_allclose(guarded.x, plain.x, rtol=0, atol=1e-14)


def test_word_of_growth_must_get_round_in_a_spell():
    with pytest.raises(BadAlgorithm, match="every=9"):
        hk.solve(bending([1.0] * 10), hk.Network.path(10), hk.Safeguard(hk.AugDgm()), rounds=1)


PENALTIES = {
    "l1": (hk.L1(1.0), hk.Everywhere()),
    "l1 in a box": (hk.L1(1.0), hk.Box(-1.0, 1.0)),
    "elastic net": (hk.ElasticNet(1.0, 0.5), hk.Everywhere()),
    "groups": (hk.GroupLasso(1.0, ((0, 1), (2,))), hk.Everywhere()),
    "own": (
        hk.Proximal(lambda x: 3 * abs(x[0]), lambda x, step: x - np.array([1.0, 0, 0]) * _held(x, 3 * step)),
        hk.Everywhere(),
    ),
}


def _held(x, by):
    xp = x.__array_namespace__()
    return xp.clip(x, -by, by)


@pytest.mark.parametrize("method", [hk.AugDgm(), hk.Extra(), hk.Nids()], ids=lambda one: one.name)
@pytest.mark.parametrize("name", PENALTIES)
def test_penalties_by_their_proximal_maps(method, name):
    penalty, feasible = PENALTIES[name]
    problem = hk.least_squares(ROWS, TARGETS, feasible=feasible, prox=penalty)
    run = hk.solve(problem, RING, method, step=0.02, rounds=1500)
    assert problem.best.certain
    assert abs(run.gap) < 1e-10
    # No other point is better: the value at the end, against values nearby.
    at = problem.total(run.x[0])
    near = run.x[0] + 1e-4 * np.random.default_rng(0).normal(size=(20, 3))
    assert all(problem.total(np.asarray(feasible.project(x))) >= at - 1e-12 for x in near)


def test_penalties_on_fractions():
    problem = hk.polynomials([[0, -3 * c, 1] for c in range(5)], box=(-5, 5), prox=hk.L1(0.5))
    exact, rounded = (
        hk.solve(problem, RING, hk.Extra(), step=hk.Constant(Fraction(1, 10)), rounds=4, engine=engine).x
        for engine in ("exact", "simulator")
    )
    np.testing.assert_allclose(rounded, exact.astype(float), atol=1e-14)


def test_penalties_without_a_proximal_map_on_a_set_are_refused():
    with pytest.raises(BadProblem, match="Box or Everywhere"):
        hk.least_squares(ROWS, TARGETS, feasible=hk.Ball(1.0), prox=hk.L1(1.0))
    with pytest.raises(BadProblem, match="zero or more"):
        hk.L1(-1.0)


def test_nothing_is_claimed_where_a_hypothesis_fails():
    own = hk.FunctionSharing(1, sd=1.0, own=5.0, family="linear", inner=hk.AugDgm())
    penalised = hk.least_squares(ROWS, TARGETS, feasible=hk.Everywhere(), prox=hk.L1(1.0))
    for problem, method in ((REGRESSION, own), (penalised, hk.AugDgm())):
        run = hk.solve(problem, RING, method, rounds=1)
        assert not run.step.proved
        assert run.claim.theorem is None
    separable = hk.logistic([[[1.0], [-1.0]]] * 5, [[1, -1]] * 5, feasible=hk.Everywhere())
    claim = hk.solve(separable, RING, hk.Nids(), rounds=1).claim
    assert "provided that the sum has a minimum" in claim.statement


def test_weights_that_differ_both_ways_are_for_methods_that_track():
    around = 0.3 * np.eye(5) + 0.6 * np.roll(np.eye(5), 1, axis=1) + 0.1 * np.roll(np.eye(5), -1, axis=1)
    ring = hk.Network([(i, (i + 1) % 5) for i in range(5)], weights=around)
    with pytest.raises(BadAlgorithm, match="the same both ways"):
        hk.solve(REGRESSION, ring, hk.Extra(), rounds=1)
    assert abs(hk.solve(REGRESSION, ring, hk.AugDgm(), rounds=2000).gap) < 1e-9


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_rules_of_thumb_hold_where_everybody_is_linked(method):
    """All mix at once, and curvatures differ: a step of 1/L is too long for DIGing here."""
    rows = np.stack([RNG.normal(size=8), RNG.uniform(0.1, 1.0, size=8)], axis=1)
    problem = hk.Problem(Quadratic(), rows, feasible=hk.Box(-50.0, 50.0), dim=1)
    assert abs(hk.solve(problem, hk.Network.complete(8), method, rounds=400).gap) < 1e-10
