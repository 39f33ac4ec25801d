"""Joint averaging with noise of each agent's own: central differential privacy without a centre."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm
from hocket.privacy.dp import gdp

ROUNDS = 10
NOISY = hk.JointAverage(own=0.7, clip=1.5)


def certified(network, algorithm=NOISY, **asked):
    return hk.certify(network, algorithm, rounds=ROUNDS, dim=2, **asked)


@pytest.mark.parametrize(
    ("network", "colluders"),
    [(hk.Network.cycle(5), 1), (hk.Network.complete(5), 2), (hk.Network.harary(4, 9), 3)],
)
def test_it_costs_what_a_trusted_centre_would_add(network, colluders):
    """κ = 1/(hτ²): the sum of the honest shares is the noise of a centre that serves the honest."""
    found = certified(network, colluders=colluders)
    honest = network.n - colluders
    assert found.kappa == pytest.approx(1 / (honest * 0.7**2), rel=1e-9)
    assert found.mu == pytest.approx(2 * 1.5 * math.sqrt(ROUNDS / honest) / 0.7, rel=1e-9)
    assert any("Theorem T" in str(one) for one in found.assumptions)
    assert found.arithmetic == "real-arithmetic model"


def test_whoever_is_cut_off_has_its_own_noise_alone():
    found = certified(hk.Network.cycle(5), coalition={0, 2})
    assert found.agent == 1
    assert found.mu == pytest.approx(2 * 1.5 * math.sqrt(ROUNDS) / 0.7)


def test_it_is_no_worse_than_what_gossip_can_have():
    for network in (hk.Network.cycle(5), hk.Network.harary(4, 9)):
        gossip = hk.CertifiedRssNb(sd=7.0, own=0.7, clip=1.5)
        assert certified(network, colluders=1).mu < certified(network, gossip, colluders=1).mu


def test_without_own_noise_there_is_no_number_and_a_reason():
    found = certified(hk.Network.cycle(5), hk.JointAverage(clip=1.0), colluders=1, sensitivity=1.0)
    assert found.mu == math.inf
    assert "shows the sum over honest agents exactly" in found.reason


def test_a_total_tells_a_replaced_record_no_better_than_certified():
    """The best test there is, on what a coalition sees of two rounds: the second total, its own parts taken off.

    Slopes of agent 1 differ by S = 2C between the worlds; at a threshold halfway, its two errors add up to no less than
    1 − δ(0) of the certificate.
    """
    net, runs = hk.Network.cycle(5), 400
    told = []
    for slope in (1.5, -1.5):
        problem = hk.polynomials([[0, 0.0], [0, slope], [0, 0.0], [0, 0.0], [0, 0.0]], box=(-1e3, 1e3))
        sweep = hk.sweep(
            problem, net, NOISY, seeds=range(runs), step=hk.Constant(1.0), rounds=2, start=0.0, progress=False
        )
        told.append(np.asarray(sweep.x)[:, 0, 0] * net.n)
    # One coalition member knows its own share; taking it for unknown would only hide more, so the theory is for five.
    mu = 3.0 / (0.7 * math.sqrt(net.n))
    right = (np.mean(told[0] < 0) + np.mean(told[1] > 0)) / 2
    best = (1 + gdp.delta(mu, 0.0)) / 2
    assert right == pytest.approx(best, abs=4 * math.sqrt(best * (1 - best) / (2 * runs)))
    assert np.std(told[0]) == pytest.approx(0.7 * math.sqrt(net.n), rel=0.15)  # 400 draws: known to 3.5 %


def test_gradients_are_cut_and_noise_is_averaged():
    problem = hk.polynomials([[0, 100.0]] * 5, box=(-1e6, 1e6))
    cut = hk.solve(problem, hk.Network.cycle(5), hk.JointAverage(clip=1.5), step=1.0, rounds=3, start=0.0)
    np.testing.assert_allclose(cut.x, -1.5 * 2, rtol=1e-9)  # the first total is the start
    assert run_noise(NOISY) == pytest.approx(0.7, rel=0.1)
    assert run_noise(hk.JointAverage()) == 0


def run_noise(algorithm):
    problem = hk.polynomials([[0, 0.0, 1]] * 5, box=(-9, 9))
    return hk.solve(problem, hk.Network.cycle(5), algorithm, step=0.01, rounds=300, start=0.0).noise.rms


@pytest.mark.parametrize("wrong", [{"own": -1.0}, {"own": math.nan}, {"clip": 0.0}, {"clip": math.inf}])
def test_sizes_that_are_none_are_refused(wrong):
    with pytest.raises(BadAlgorithm, match=next(iter(wrong))):
        hk.JointAverage(**wrong)
