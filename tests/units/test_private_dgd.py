"""Differentially private DGD: its calibration, its noise, and what it refuses."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hocket as hk
from hocket.errors import BadAlgorithm
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import Gaussian, When
from tests.laws.table import quadratics

RING = hk.Network.cycle(5)


def drawn(sigma: float = 1.0, rounds: int = 4000, dtype: type = np.float64) -> np.ndarray:
    """Normal draws of five agents in two dimensions."""
    k = np.arange(1, rounds + 1)
    noise = Gaussian(np.asarray(sigma), width=2, label=6)
    key = (np.uint32(1), np.uint32(2))
    return noise.raw(key, When(k, np.zeros_like(k)), tabulate(RING, slots_needed=False), dtype)


def test_sigma_buys_exactly_the_budget():
    """ρ = 2C²T/σ² and ε = ρ + 2√(ρ ln 1/δ), the other way round."""
    for epsilon in (1e-6, 0.1, 1.0, 10.0, 1000.0):
        private = hk.PrivateDgd(epsilon, clip=3.0, releases=50, failure=1e-6)
        rho = 2 * 3.0**2 * 50 / private.sigma**2
        assert rho + 2 * math.sqrt(rho * math.log(1e6)) == pytest.approx(epsilon, rel=1e-12)


def test_more_rounds_and_longer_gradients_need_more_noise():
    few = hk.PrivateDgd(1.0, clip=1.0, releases=100)
    assert hk.PrivateDgd(1.0, clip=1.0, releases=400).sigma == pytest.approx(2 * few.sigma)
    assert hk.PrivateDgd(1.0, clip=3.0, releases=100).sigma == pytest.approx(3 * few.sigma)


def test_no_budget_is_no_promise():
    with pytest.raises(BadAlgorithm, match=r"epsilon = inf of PrivateDgd; .* take Dgd\(\)"):
        hk.PrivateDgd(math.inf, clip=1.0, releases=100)


@pytest.mark.parametrize(
    "algorithm", [hk.PrivateDgd(1.0, clip=1.0, releases=5), hk.CertifiedRssNb(1.0, clip=1.0)]
)
def test_a_start_of_ones_own_is_said_to_be_supposed_public(algorithm):
    """Rows of a start may depend on data, and no noise is added to a start."""
    net = hk.Network.cycle(4)
    problem = quadratics(4, 2, 1)

    def said(start):
        run = hk.solve(problem, net, algorithm, rounds=5, step=0.1, start=start)
        return [remark for remark in run.remarks if "the start is public" in remark]

    assert not said(None)
    assert not said(np.zeros(2))
    assert len(said(np.arange(8.0).reshape(4, 2) / 4)) == 1


def test_draws_are_normal():
    values = drawn(sigma=2.0).ravel() / 2
    # 40,000 draws: Kolmogorov and Smirnov's distance is below 1.95/√40,000 in all but one of a thousand cases.
    assert stats.kstest(values, "norm").statistic < 0.0098
    assert np.isfinite(values).all()
    flat = drawn().reshape(-1, 10)
    assert abs(np.corrcoef(flat.T) - np.eye(10)).max() < 0.06  # 45 pairs of 4,000 draws: four standard errors


def test_a_draw_of_zero_stays_finite(monkeypatch):
    import hocket.noise.draws

    monkeypatch.setattr(
        hocket.noise.draws, "uniform_pairs", lambda *_: (np.zeros((1, 5, 2)), np.zeros((1, 5, 2)))
    )
    assert np.isfinite(drawn(rounds=1)).all()


def test_jax_and_numpy_draw_the_same():
    run = hk.solve(
        hk.polynomials([[0.0]] * 5, box=(-1e9, 1e9)),
        RING,
        hk.PrivateDgd(1.0, clip=1.0, releases=3),
        step=1.0,
        rounds=3,
        keep="path",
    )
    exact = hk.solve(
        hk.polynomials([[0]] * 5, box=(-(10**9), 10**9)),
        RING,
        hk.PrivateDgd(1.0, clip=1.0, releases=3),
        step=1,
        rounds=3,
        engine="exact",
    )
    np.testing.assert_allclose(run.x, np.asarray(exact.x, dtype=float), rtol=1e-12)


def test_long_gradients_are_clipped():
    problem = hk.polynomials([[0.0, 100.0]] * 5, box=(-1e3, 1e3))
    run = hk.solve(problem, RING, hk.PrivateDgd(1e15, clip=2.0, releases=1), step=1.0, rounds=1)
    np.testing.assert_allclose(run.x, -2.0, atol=1e-3)  # noise of σ = 2 √2 / √1e15


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"epsilon": 0.0}, "epsilon = 0.0 of PrivateDgd; it is a budget"),
        ({"epsilon": math.nan}, "epsilon = nan"),
        ({"clip": -1.0}, "clip = -1.0"),
        ({"clip": math.inf}, "clip = inf"),
        ({"releases": 0}, "releases = 0 of PrivateDgd; it counts rounds"),
        ({"failure": 1.0}, "failure = 1.0 of PrivateDgd; it is a probability"),
    ],
    ids=str,
)
def test_numbers_that_promise_nothing_are_refused(numbers, message):
    with pytest.raises(hk.HocketError, match=message):
        hk.PrivateDgd(**({"epsilon": 1.0, "clip": 1.0, "releases": 10} | numbers))


def test_a_gradient_that_is_no_number_shows_nobody():
    """The slope of a distance at its end is none: whose objective that is would be seen in the first message."""

    def published(centre: float) -> np.ndarray:
        centres = np.array([1.0, 2.0, 3.0, 4.0, centre])
        problem = hk.Problem(
            lambda x, c: jnp.sqrt(jnp.sum((x - c) ** 2)),
            centres,
            feasible=hk.Ball(10.0),
            dim=2,
            convex=True,
            optimum=np.zeros(2),
        )
        private = hk.PrivateDgd(0.1, clip=1.0, releases=3)
        return hk.solve(problem, RING, private, rounds=3, start=np.zeros((5, 2)), step=0.01).published

    for centre in (0.0, 5.0):
        assert np.isfinite(published(centre)).all()


def test_a_run_longer_than_its_budget_is_refused():
    private = hk.PrivateDgd(1.0, clip=1.0, releases=10)
    with pytest.raises(hk.HocketError, match=r"a run of 11 rounds .* releases=11"):
        hk.solve(hk.paper_polynomials(), RING, private, rounds=11)


def test_a_run_says_what_it_promises():
    run = hk.solve(hk.paper_polynomials(), RING, hk.PrivateDgd(2.0, clip=1.0, releases=10), rounds=10)
    assert run.theorem is None
    assert "one agent's objective replaced" in run.remarks[0]
    assert run.noise.rms == pytest.approx(hk.PrivateDgd(2.0, clip=1.0, releases=10).sigma, rel=0.5)
    assert run.remarks[0].endswith("for a secret seed that no other run uses")


class Loud(hk.PrivateDgd):
    """Adds no noise to its gradients."""

    def round(self, agent, state, k):
        v = agent.mix(state, (yield hk.Broadcast(state)))
        return agent.feasible.project(v - agent.step(k) * agent.gradient(v))


class Quiet(hk.PrivateDgd):
    """Calls another number its noise."""

    @property
    def sigma(self):
        return 1e-12


@pytest.mark.parametrize("kind", [Loud, Quiet])
def test_a_subclass_inherits_no_promise(kind):
    """States were those of DGD, bit for bit, under "(1, 1e-05)-differential privacy"."""
    run = hk.solve(hk.paper_polynomials(), RING, kind(1.0, clip=1.0, releases=10), rounds=10)
    assert not [one for one in run.remarks if "differential" in one]
    assert run.remarks[0].startswith(f"nothing is promised: {kind.__name__} is not PrivateDgd itself")


def test_one_seed_for_two_runs_takes_the_noise_away_and_a_certificate_says_so():
    problem = hk.polynomials([[0.0, 0.0, 1.0]] * 5, box=(-50, 50))
    private = hk.PrivateDgd(1.0, clip=1.0, releases=2)

    def moved(seed, start):
        run = hk.solve(problem, RING, private, rounds=2, step=0.1, seed=seed, start=start, keep="path")
        return run.path[1, :, 0] - start

    bare = moved(3, 2.0) - moved(3, -2.0)
    np.testing.assert_allclose(bare, -0.1 * (1.0 - -1.0), rtol=1e-12)  # both gradients, as they were clipped
    assert np.abs(moved(3, 2.0) - moved(4, -2.0)).min() > 0.21
    for algorithm in (hk.CertifiedRssNb(2.0, 1.0, clip=1.0), hk.JointAverage(own=1.0, clip=1.0)):
        found = hk.certify(RING, algorithm, colluders=1, rounds=3, dim=1)
        assert any("no other run uses" in str(one) for one in found.assumptions)
