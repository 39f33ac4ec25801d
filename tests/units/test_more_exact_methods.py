"""ADMM, accelerated and local tracking: the published recursions, their fixed points, their steps."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest

import hocket as hk
from hocket.algorithms.exact.exact_method import Shape
from hocket.config.sections import read_algorithm
from hocket.errors import BadAlgorithm

RING = hk.Network.cycle(5)
RNG = np.random.default_rng(1)
ROWS = RNG.normal(size=(5, 10, 3))
TARGETS = ROWS @ np.array([1.0, -2.0, 0.5]) + RNG.normal(size=(5, 10))
LABELS = np.sign(TARGETS)
REGRESSION = hk.least_squares(ROWS, TARGETS, feasible=hk.Everywhere())
LOGISTIC = hk.logistic(ROWS, LABELS, l2=0.5, feasible=hk.Everywhere())
METHODS = (hk.Admm(), hk.AcceleratedTracking(), hk.LocalTracking(1), hk.LocalTracking(5))
one_of = pytest.mark.parametrize(
    "method", METHODS, ids=lambda one: f"{one.name}-{getattr(one, 'local_steps', '')}"
)


def gradients(x: np.ndarray) -> np.ndarray:
    return np.einsum("jsp,js->jp", ROWS, np.einsum("jsp,jp->js", ROWS, x) - TARGETS)


def dlm(alpha: float, rounds: int, *, theta: float = 1.0) -> np.ndarray:
    """As published: multipliers on a graph whose links weigh B, and on which everybody is its own neighbour.

    ρ = 1/α, c = θ/α and one neighbour in all, B's rows being what they are.
    """
    rho, c, L = 1 / alpha, theta / alpha, np.eye(5) - RING.B
    x, phi = np.zeros((5, 3)), np.zeros((5, 3))
    for _ in range(rounds):
        phi = phi + c * L @ x
        x = x - (gradients(x) + phi + c * L @ x) / (2 * c + rho)
    return x


def apapc(eta: float, rounds: int, *, tau: float, mu: float) -> np.ndarray:
    """As published, with W = (I − B)/2 and θ = 1/η; the estimate is x_f, which the paper's bound is on too."""
    W = (np.eye(5) - RING.B) / 2
    x = fast = z = np.zeros((5, 3))
    for _ in range(rounds):
        at = tau * x + (1 - tau) * fast
        force = gradients(at) - mu * at
        half = (x - eta * (force + z)) / (1 + eta * mu)
        z = z + W @ half / eta
        new = (x - eta * (force + z)) / (1 + eta * mu)
        x, fast = new, at + 2 * tau / (2 - tau) * (new - x)
    return fast


def k_gt(alpha: float, rounds: int, *, steps: int) -> np.ndarray:
    """As published, with a server's step of one: z is how far an agent went, over the step."""
    x, c = np.zeros((5, 3)), np.zeros((5, 3))
    for _ in range(rounds):
        local = x
        for _ in range(steps):
            local = local - alpha / steps * (gradients(local) + c)
        z = (x - local) / alpha
        x, c = RING.B @ (x - alpha * z), c + RING.B @ z - z
    return x


@pytest.mark.parametrize(
    ("method", "published"),
    [
        (hk.Admm(), lambda alpha, rounds: dlm(alpha, rounds)),
        (hk.Admm(0.3), lambda alpha, rounds: dlm(alpha, rounds, theta=0.3)),
        (
            hk.AcceleratedTracking(share=0.6, strong_convexity=1.5),
            lambda alpha, rounds: apapc(alpha, rounds, tau=0.6, mu=1.5),
        ),
        (hk.LocalTracking(4), lambda alpha, rounds: k_gt(alpha, rounds, steps=4)),
    ],
    ids=["admm", "admm-penalty", "accelerated", "local"],
)
def test_methods_are_the_published_recursions(method, published):
    run = hk.solve(REGRESSION, RING, method, step=0.02, rounds=20)
    np.testing.assert_allclose(run.x, published(0.02, 20), rtol=0, atol=1e-12)  # float64, numbers of about 1


@one_of
@pytest.mark.parametrize("problem", [REGRESSION, LOGISTIC], ids=["least squares", "logistic"])
def test_the_fixed_point_is_the_optimum(method, problem):
    run = hk.solve(problem, RING, method, rounds=4000)
    assert run.step.proved
    assert run.claim.theorem == "exact"
    np.testing.assert_allclose(run.x, np.tile(problem.best.x, (5, 1)), rtol=0, atol=1e-9)


def test_with_a_penalty_without_bound_admm_is_extra():
    """θ/(1 + 2θ) → ½ and α/(1 + 2θ) is EXTRA's step: the known relation of the two."""
    theta = 1e9
    ours = hk.solve(REGRESSION, RING, hk.Admm(theta), step=0.02 * (1 + 2 * theta), rounds=30)
    theirs = hk.solve(REGRESSION, RING, hk.Extra(), step=0.02, rounds=30)
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-6)  # 1/θ, times numbers of about 100


def test_with_one_local_step_it_is_gradient_tracking_that_steps_first():
    x, y = np.zeros((5, 3)), gradients(np.zeros((5, 3)))
    for _ in range(20):
        new = RING.B @ (x - 0.02 * y)
        x, y = new, RING.B @ y + gradients(new) - gradients(x)
    np.testing.assert_allclose(
        hk.solve(REGRESSION, RING, hk.LocalTracking(1), step=0.02, rounds=20).x, x, atol=1e-12
    )


def test_momentum_is_derived_where_nobody_gives_it():
    run = hk.solve(REGRESSION, RING, hk.AcceleratedTracking(), rounds=5)
    bends = np.linalg.eigvalsh(np.einsum("jsp,jsq->jpq", ROWS, ROWS))
    L, mu = bends.max(), bends[:, 0].min()
    tau = np.sqrt(2 / (1 - RING.lam) * mu / L) / 2
    assert run.algorithm.strong_convexity == pytest.approx(mu)
    assert run.algorithm.share == pytest.approx(tau)
    assert float(run.step.a) == pytest.approx(1 / (4 * tau * L))
    given = hk.AcceleratedTracking(share=0.2, strong_convexity=0.1)
    assert hk.solve(REGRESSION, RING, given, step=0.02, rounds=5).algorithm == given


def test_rounds_grow_as_the_root_of_the_condition():
    """On quadratics of κ = 1,000: a tenth of the rounds of what steps by 1/L."""
    curvature = np.array([[1000.0, 1.0], [700.0, 1.5], [900.0, 1.2], [800.0, 1.1], [1000.0, 1.3]])
    table = np.stack([0 * curvature, np.arange(10).reshape(5, 2) - 4.5, curvature / 2], axis=1)
    problem = hk.polynomials(table, box=(-1e9, 1e9), dim=2)
    free = hk.Problem(problem.groups[0].objective, problem.groups[0].data, feasible=hk.Everywhere(), dim=2)
    rounds = {}
    for method in (hk.AcceleratedTracking(), hk.Nids()):
        run = hk.solve(free, hk.Network.complete(5), method, rounds=30_000, tolerance=1e-8)
        rounds[method.name] = run.outcome.round
    assert rounds["accelerated-tracking"] < rounds["nids"] / 4


@one_of
def test_noise_functions_around_a_method_leave_the_optimum_alone(method):
    sharing = hk.FunctionSharing(1, sd=3.0, family="linear", inner=method)
    run = hk.solve(REGRESSION, RING, sharing, rounds=2500)
    assert abs(run.gap) < 1e-9
    assert run.step == hk.solve(REGRESSION, RING, method, rounds=1).step  # slopes do not bend


def test_local_steps_bear_noise_that_bends():
    sharing = hk.FunctionSharing(2, sd=0.2, family="quadratic", inner=hk.LocalTracking(3))
    run = hk.solve(REGRESSION, RING, sharing, rounds=4000)
    assert run.step.proved
    assert run.gap < 1e-9


def test_momentum_under_noise_that_bends_is_no_theorem():
    sharing = hk.FunctionSharing(2, sd=1.0, family="quadratic", inner=hk.AcceleratedTracking())
    assert not hk.solve(REGRESSION, RING, sharing, rounds=1).step.proved


@one_of
@pytest.mark.parametrize("feasible", [hk.Box(-0.5, 0.5), hk.Ball(1.0)], ids=["box", "ball"])
def test_an_active_set_is_no_obstacle(method, feasible):
    problem = hk.least_squares(ROWS, TARGETS, feasible=feasible)
    run = hk.solve(problem, RING, method, rounds=3000)
    np.testing.assert_allclose(run.x, np.tile(problem.best.x, (5, 1)), rtol=0, atol=1e-7)
    assert run.step.proved == isinstance(method, hk.Admm)


@one_of
def test_penalties_are_taken_by_their_proximal_maps(method):
    lasso = hk.least_squares(ROWS, TARGETS, feasible=hk.Everywhere(), prox=hk.L1(8.0))
    run = hk.solve(lasso, RING, method, rounds=3000)
    np.testing.assert_allclose(run.x, np.tile(lasso.best.x, (5, 1)), rtol=0, atol=1e-7)
    assert run.step.proved == isinstance(method, hk.Admm)


@one_of
def test_derived_steps_never_diverge_on_random_graphs(method):
    for seed in range(5):
        graph = nx.connected_watts_strogatz_graph(8, 3 if seed % 2 else 2, 0.5, seed=seed)
        network = hk.Network(graph, weights="paper" if seed % 3 else "metropolis")
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(8, 6, 2)) * rng.uniform(0.3, 3, size=(8, 1, 1))
        problem = hk.least_squares(rows, rng.normal(size=(8, 6)), feasible=hk.Everywhere())
        run = hk.solve(problem, network, method, rounds=400)
        assert run.step.proved
        assert run.gap < run.history["gap"][0]


def test_the_step_of_local_tracking_is_below_the_radius_of_its_matrix():
    shape = Shape(1, False, 1, 1, RING.lam, 1, True, True, True)
    alone, several = hk.LocalTracking(1), hk.LocalTracking(8)
    for method in (alone, several):
        allowed = float(method.step_for(shape).a) / 0.99
        assert method.comparison(shape, allowed) < 1
        assert method.comparison(shape, allowed / 0.95) >= 1
    assert several.step_for(shape).a < alone.step_for(shape).a


def test_one_way_weights_are_refused():
    B = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]])
    network = hk.Network.complete(3, weights=B)
    problem = hk.least_squares(ROWS[:3], TARGETS[:3], feasible=hk.Everywhere())
    for method in (hk.Admm(), hk.AcceleratedTracking()):
        with pytest.raises(BadAlgorithm, match="weights that are the same both ways"):
            hk.solve(problem, network, method, rounds=1)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: hk.Admm(0.0), "penalty = 0.0; without one agents never agree"),
        (lambda: hk.Admm(float("nan")), "penalty = nan"),
        (lambda: hk.LocalTracking(0), "local_steps = 0; an exchange has one step at least"),
        (lambda: hk.AcceleratedTracking(share=1.5), "share = 1.5; .* up to 1"),
        (lambda: hk.AcceleratedTracking(strong_convexity=-1.0), "strong_convexity = -1.0"),
        (lambda: hk.Safeguard(hk.Dgd()), "DGD has no step that a safeguard could try"),
    ],
)
def test_numbers_that_make_no_method_are_refused(build, words):
    with pytest.raises(BadAlgorithm, match=words):
        build()


@pytest.mark.parametrize(
    ("table", "method"),
    [
        ({"name": "admm", "penalty": 0.5}, hk.Admm(0.5)),
        ({"name": "accelerated-tracking", "share": 0.5}, hk.AcceleratedTracking(share=0.5)),
        ({"name": "local-tracking", "local_steps": 7}, hk.LocalTracking(7)),
        (
            {"name": "function-sharing", "degree": 1, "bound": 1.0, "inner": "local-tracking"},
            hk.FunctionSharing(1, 1.0, inner=hk.LocalTracking()),
        ),
    ],
)
def test_files_name_them(table, method):
    built = read_algorithm(table).build()
    assert dataclasses.asdict(built) == dataclasses.asdict(method)
