"""Theorem S: secret coins take off a certificate what they may, and no more."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hocket as hk
from hocket.engines.transcripts import transcripts
from hocket.errors import BadInput
from hocket.privacy import gdp, plan_certificate
from hocket.privacy.attacks.likelihood_ratio import Comparison, _gradients, _mixed, _moved
from hocket.privacy.dp import sampling
from hocket.privacy.dp.empirical import Told
from hocket.privacy.dp.sampling import Sampled

RING = hk.Network.cycle(5)
ASK = {"colluders": 1, "sigma": 3.0, "independent": 1.0, "sensitivity": 0.4, "rounds": 20}


@pytest.mark.parametrize(
    ("mu", "rate", "times"), [(0.5, 0.1, 100), (1.0, 0.01, 1000), (0.1, 0.5, 100), (2.0, 0.3, 5)]
)
def test_coins_never_cost_and_at_rate_one_they_are_none(mu, rate, times):
    plain = gdp.epsilon(mu * math.sqrt(times), 1e-5)
    rare, often = (sampling.epsilon([Sampled(mu, one, times)], 1e-5) for one in (rate / 2, rate))
    assert 0 < rare < often < plain
    assert sampling.epsilon([Sampled(mu, 1.0, times)], 1e-5) == plain
    almost = sampling._losses((Sampled(mu, 1 - 1e-9, times),))
    assert almost.get_epsilon_for_delta(1e-5) == pytest.approx(plain, rel=2e-3)  # rounded up, never down
    assert almost.get_epsilon_for_delta(1e-5) > plain * (1 - 1e-6)


def test_one_round_is_the_closed_form():
    """δ(ε) = q δ_μ(ln(1 + (e^ε − 1)/q)), which neighbours attain and do not exceed."""
    mu, rate, epsilon = 1.5, 0.2, 0.7
    found = sampling.delta([Sampled(mu, rate)], epsilon, known=mu)
    assert found == pytest.approx(rate * gdp.delta(mu, math.log1p(math.expm1(epsilon) / rate)), rel=1e-3)
    x = np.linspace(-12, 12, 200_001)

    def world(at: float) -> np.ndarray:
        return ((1 - rate) * np.exp(-(x**2) / 2) + rate * np.exp(-((x - at) ** 2) / 2)) / math.sqrt(
            2 * math.pi
        )

    def apart(one: float, other: float) -> float:
        return float(np.maximum(world(one) - math.exp(epsilon) * world(other), 0).sum() * (x[1] - x[0]))

    assert apart(mu, 0.0) == pytest.approx(found, rel=1e-3)  # a record, and one that contributes nothing
    assert apart(mu / 2, -mu / 2) < found


def test_parts_compose_in_any_order_and_what_is_beside_counts():
    parts = [Sampled(0.5, 0.1, 50), Sampled(0.3), Sampled(0.8, 0.02, 200)]
    found = sampling.epsilon(parts, 1e-5)
    assert found == pytest.approx(sampling.epsilon(parts[::-1], 1e-5), rel=1e-6)
    assert max(sampling.epsilon([one], 1e-5) for one in parts) < found
    assert found < gdp.epsilon(gdp.composed(*(one.mu for one in parts)), 1e-5)
    twice = sampling.epsilon([Sampled(0.5, 0.1, 25)] * 2, 1e-5)
    assert twice == pytest.approx(sampling.epsilon([Sampled(0.5, 0.1, 50)], 1e-5), rel=1e-6)


def test_a_certificate_with_coins_says_both_numbers():
    plain, found = (
        hk.certify(RING, "certified-rss-nb", **ASK),
        hk.certify(RING, "certified-rss-nb", rate=0.1, **ASK),
    )
    assert found.mu == plain.mu
    assert 0 < found.epsilon(1e-5) < plain.epsilon(1e-5)
    assert found.epsilon(1e-12) == plain.epsilon(1e-12)  # of so small a δ no transform is trusted
    assert found.delta(found.epsilon(1e-5)) == pytest.approx(1e-5, rel=1e-3)
    assert hk.certify(RING, "certified-rss-nb", rate=1.0, **ASK).epsilon(1e-5) == plain.epsilon(1e-5)
    assert "gives, by Theorem B1 with S in a real-arithmetic model" in found.statement
    assert (
        "to an adversary that knows in which rounds it takes part, which it does with probability"
        in found.statement
    )
    assert any("nobody else learns who or how many did" in str(one) for one in found.assumptions)
    assert found.to_json()["rate"] == 0.1
    falling = hk.certify(RING, "certified-rss-nb", rate=0.1, step=hk.Power(1, 20, 0.75), **ASK)
    assert falling.epsilon(1e-5) == pytest.approx(found.epsilon(1e-5))  # noise falls with the step


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"sensitivity": None, "transfer": 1.0}, "where one record is replaced"),
        ({"records": 2}, "where one record is replaced"),
        ({"by": "linearisation"}, "where one record is replaced"),
        ({"rate": 0.0}, "rate = 0.0"),
        ({"rate": 1.5}, "rate = 1.5"),
    ],
)
def test_coins_that_are_not_accounted_for_are_refused(asked, said):
    with pytest.raises(BadInput, match=said):
        hk.certify(RING, "certified-rss-nb", **{"rate": 0.1} | ASK | asked)


def test_coins_do_not_help_noise_that_is_added_once():
    asked = {key: value for key, value in ASK.items() if key != "rounds"}
    assert hk.certify(RING, "function-sharing", rate=0.1, **asked).mu == math.inf


def test_less_noise_does_where_coins_are_secret():
    asked = {"epsilon": 1.0, "delta": 1e-6, "colluders": 1, "sensitivity": 0.1, "rounds": 100}
    plain, coins = (plan_certificate(RING, "certified-rss-nb", rate=rate, **asked) for rate in (1.0, 0.1))
    assert coins.independent < plain.independent / 3
    assert 0.999 < coins.certificate.epsilon(1e-6) <= 1.0
    with pytest.raises(BadInput, match="noise is on the objective over all records"):
        plan_certificate(RING, "function-sharing", rate=0.1, **asked | {"rounds": None})


@pytest.mark.parametrize("runs", [300, pytest.param(12000, marks=pytest.mark.slow)])
def test_no_test_of_two_worlds_beats_a_certificate_with_coins(runs):
    """Real messages under own noise, in which a record takes part by a coin, or another that contributes nothing: by
    the likelihood ratio over all rounds, given nothing of the coins. Objectives are linear, so that what a record adds
    to a gradient it adds to what the next message shows of one."""
    size, rate, rounds, delta = 1.84, 0.5, 3, 0.1  # μ of a round is 1
    problem = hk.polynomials([[0.0, 0.1 * j] for j in range(5)], box=(-1e6, 1e6))
    algorithm, step = hk.CertifiedRssNb(3.0, 1.0), hk.Constant(0.1)
    test = Comparison((problem, problem), RING, algorithm, frozenset({0}), step, rounds)
    seen = []
    for begin in range(0, 2 * runs, 600):
        seeds = range(begin, begin + 600)
        said = transcripts(problem, RING, algorithm, rounds=rounds, seeds=seeds, step=step, start=0.0)
        v = _mixed(test, said)
        bare = _moved(test, said, v) + test.known(said, "paired")[:, 1:] - _gradients(test, problem, v)
        seen.append(bare)
    seen = np.concatenate(seen)
    coins = np.random.default_rng(7).random((runs, rounds)) < rate
    seen[runs:, :, 0, 0] += size * coins  # of agent 1, the first that is honest
    precision = np.linalg.inv(test.covariance("paired") + test.covariance("own"))
    along = size * (seen[..., 0] @ precision[0]) - size**2 * precision[0, 0] / 2
    scores = np.log(1 - rate + rate * np.exp(along)).sum(axis=1)
    found = Told(scores[:runs], scores[runs:], confidence=0.999)
    asked = {"coalition": {0}, "sensitivity": size, "rounds": rounds, "problem": problem}
    certified = hk.certify(RING, algorithm, rate=rate, **asked).epsilon(delta)
    assert found.epsilon_bound(delta) <= certified < hk.certify(RING, algorithm, **asked).epsilon(delta)
    if runs == 12000:
        assert Told(scores[:runs], scores[runs:]).epsilon_bound(delta) > 0.7 * certified
