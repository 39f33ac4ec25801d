"""Push methods: as published, exact on fractions, and how fast they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hocket as hk

FOUR = hk.Network([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], directed=True)
rng = np.random.default_rng(0)
A = rng.normal(size=(4, 8, 2))
b = A @ np.array([1.0, -2.0]) + rng.normal(size=(4, 8))
SQUARES = hk.least_squares(A, b, feasible=hk.Everywhere())
BEST = np.linalg.solve(np.einsum("nij,nik->jk", A, A), np.einsum("nij,ni->j", A, b))


def gradients(x: np.ndarray) -> np.ndarray:
    return np.stack([np.asarray(SQUARES.gradient(j, row)) for j, row in enumerate(x)])


def test_subgradient_push_is_as_published():
    """Nedić and Olshevsky 2015, eq. (1): w = A x, y ← A y, z = w/y, x ← w − α g(z)."""
    step = hk.Power(0.05, 1, 0.75)
    x, y, z = np.ones((4, 2)), np.ones((4, 1)), None
    for k in range(1, 21):
        w, y = FOUR.B @ x, FOUR.B @ y
        z = w / y
        x = w - step(k) * gradients(z)
    run = hk.solve(SQUARES, FOUR, hk.PushSum(by_share=False), step=step, rounds=20, start=1.0)
    np.testing.assert_allclose(run.x, z, rtol=0, atol=1e-12)  # float64, 20 rounds


def test_push_diging_is_as_published():
    """Nedić, Olshevsky and Shi 2017, Algorithm 2: u ← C(u − αy), v ← Cv, x = u/v, y ← Cy + ∇f(x⁺) − ∇f(x)."""
    x, u, v = np.ones((4, 2)), np.ones((4, 2)), np.ones((4, 1))
    y = gradients(x)
    for _ in range(20):
        u, v = FOUR.B @ (u - 0.02 * y), FOUR.B @ v
        y = FOUR.B @ y + gradients(u / v) - gradients(x)
        x = u / v
    run = hk.solve(SQUARES, FOUR, hk.PushDiging(by_share=False), step=0.02, rounds=20, start=1.0)
    np.testing.assert_allclose(run.x, x, rtol=0, atol=1e-12)  # float64, 20 rounds


@pytest.mark.parametrize("kind", [hk.PushSum, hk.PushDiging])
def test_where_weights_balance_short_steps_are_whole_ones(kind):
    """Shares are one, but for rounding of the weights' sums."""
    ring = hk.Network.directed_cycle(4)
    printed, short = (
        hk.solve(SQUARES, ring, kind(by_share=by_share), step=0.02, rounds=50) for by_share in (False, True)
    )
    np.testing.assert_allclose(short.x, printed.x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [hk.PushSum, hk.PushDiging])
def test_the_exact_engine_plays_the_same_on_fractions(kind):
    problem = hk.polynomials([[0, -2 * c, 1] for c in (1, 2, 3, 4)], box=(-20, 20))
    step = hk.Constant(Fraction(1, 50))
    exact = hk.solve(problem, FOUR, kind(), step=step, rounds=4, engine="exact")
    run = hk.solve(problem, FOUR, kind(), step=step, rounds=4)
    assert isinstance(exact.x[0, 0], Fraction)
    np.testing.assert_allclose(exact.x.astype(float), run.x, rtol=0, atol=1e-14)  # 4 rounds
    assert exact.messages == run.messages == (20, 20, 0)


@pytest.mark.parametrize(
    "network", [FOUR, hk.Network.directed_cycle(4), hk.Network.exponential(4), hk.Network.cycle(4)], ids=str
)
def test_push_diging_is_linear_to_the_optimum_with_its_own_step(network):
    """Nedić, Olshevsky and Shi 2017, Theorem 18: distances fall like λ^k, with some λ below one."""
    run = hk.solve(SQUARES, network, hk.PushDiging(), rounds=600, keep="path")
    assert "rule of thumb" in str(run.step)
    distance = np.linalg.norm(run.path - BEST, axis=2).max(axis=1)
    assert distance[-1] < 1e-10
    rounds = np.arange(len(distance))
    falling = (distance > 1e-11) & (rounds > 20)
    slope, offset = np.polyfit(rounds[falling], np.log(distance[falling]), 1)
    assert np.exp(slope) < 0.98
    # On a straight line: within a factor of 30 of it everywhere, over ten decades.
    assert np.abs(np.log(distance[falling]) - slope * rounds[falling] - offset).max() < np.log(30)


def test_subgradient_push_falls_like_its_steps():
    """Nedić and Olshevsky 2015, Theorem 2: gaps like ln t/√t with steps 1/√t; for strongly convex ones faster."""
    run = hk.solve(SQUARES, FOUR, hk.PushSum(), step=hk.Power(0.1, 1, 0.5), rounds=10_000)
    rounds, gap = run.history["round"], run.history["gap"]
    late = rounds >= 100
    rate = np.log(rounds[late]) / np.sqrt(rounds[late])
    assert (gap[late] <= gap[late][0] / rate[0] * rate).all()
    assert run.gap < 0.1 * gap[late][0]


def test_links_that_vary_are_as_published_too():
    """Both papers are about graphs that change; here each phase alone leaves agents apart."""
    network = hk.Network.varying([[(0, 1), (2, 3)], [(1, 2), (3, 0)], [(0, 2)]], directed=True, n=4)
    run = hk.solve(SQUARES, network, hk.PushDiging(), step=0.005, rounds=6000)
    np.testing.assert_allclose(run.x, np.broadcast_to(BEST, (4, 2)), rtol=0, atol=1e-9)


def test_a_set_is_kept_to():
    problem = hk.least_squares(A, b, feasible=hk.Box(-0.5, 0.5))
    for algorithm, atol in ((hk.PushDiging(), 1e-6), (hk.PushSum(), 0.02)):
        run = hk.solve(problem, FOUR, algorithm, rounds=3000)
        assert run.infeasibility == 0
        np.testing.assert_allclose(run.x, np.broadcast_to(problem.best.x, (4, 2)), rtol=0, atol=atol)
