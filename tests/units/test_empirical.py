"""Two worlds told apart by the likelihood ratio of real words: what certificates say, and no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.engines.transcripts import transcripts
from hocket.errors import BadInput
from hocket.privacy import gdp
from hocket.privacy.attacks import likelihood_ratios
from hocket.privacy.attacks.likelihood_ratio import Comparison, _mixed, _moved
from hocket.privacy.dp.empirical import Told
from reproductions.certificates import told as told_cases
from tests.units.certificate_cases import Momentum

RING = hk.Network.cycle(5)
STEP = hk.Power(1.0, 20, 0.75)
ROWS = [[0, slope, 0.5 + 0.1 * j] for j, slope in enumerate([0.0, 1.0, -1.0, 0.5, 0.2])]
KAPPA = 0.294898
"""Of an end of the path that is left of the ring without agent 0, for σ = 3 and τ = 1."""
FEW, MANY = 250, 1500


def world(changes: dict[tuple[int, int], float] | None = None) -> hk.Problem:
    """Quadratics, some of whose coefficients, (agent, power), are changed."""
    rows = [list(row) for row in ROWS]
    for (agent, power), change in (changes or {}).items():
        rows[agent][power] += change
    return hk.polynomials(rows, box=(-1e6, 1e6))


def linear(change: float) -> hk.Problem:
    """Slopes alone, of which that of agent 1 is changed."""
    return hk.polynomials([[0.0, 0.1 * j + change * (j == 1)] for j in range(5)], box=(-1e6, 1e6))


def case_a1() -> tuple[dict[str, Any], dict[str, Any]]:
    """A quadratic moved from 1 to 4, ends of the path that is left; μ = .612372 by its closed form."""
    other = world({(1, 1): -0.6, (1, 2): 0.8, (4, 1): 0.6, (4, 2): -0.8})
    asked = {"algorithm": hk.FunctionSharing(2, sd=2.0), "step": 0.05, "rounds": 6, "start": 1.0}
    return {"move": (1, 4, [0.6, -0.8])}, {"worlds": (world(), other)} | asked


def case_a2() -> tuple[dict[str, Any], dict[str, Any]]:
    """Records of agent 1 that change its coefficients by a norm of 2; μ = 2√κ."""
    asked = {"algorithm": hk.FunctionSharing(2, sd=3.0, own=1.0), "step": 0.05, "rounds": 6, "start": 1.0}
    return {"sensitivity": 2.0}, {"worlds": (world(), world({(1, 1): 1.2, (1, 2): -1.6}))} | asked


def case_b0() -> tuple[dict[str, Any], dict[str, Any]]:
    """A slope of 0.1 moved from 1 to 3, over 50 gradients; μ = .1 √(R K/2) by its closed form, with R = 2."""
    other = world({(1, 1): -0.1, (3, 1): 0.1})
    asked = {"algorithm": hk.CertifiedRssNb(1.0), "step": STEP, "rounds": 50, "start": 0.0}
    return {"move": (1, 3, 0.1)}, {"worlds": (world(), other)} | asked


def case_b1() -> tuple[dict[str, Any], dict[str, Any]]:
    """A record of agent 1 that moves every gradient by S = 0.4; μ² = 20 S² κ."""
    asked = {"algorithm": hk.CertifiedRssNb(3.0, 1.0), "step": STEP, "rounds": 20, "start": 0.0}
    return {"sensitivity": 0.4}, {"worlds": (world(), world({(1, 1): 0.4}))} | asked


CASES = {
    "A1": (case_a1, 0.612372),
    "A2": (case_a2, 2 * np.sqrt(KAPPA)),
    "B0": (case_b0, np.sqrt(0.5)),
    "B1": (case_b1, 0.4 * np.sqrt(20 * KAPPA)),
}
"""What is asked of a certificate and of runs, and μ by hand."""


def told(name: str, runs: int) -> tuple[float, Told]:
    """The certificate for one named member, and how well real runs are told apart."""
    case, by_hand = CASES[name]
    hidden, asked = case()
    plan = {"step": asked["step"], "rounds": asked["rounds"], "problem": asked["worlds"][0]}
    certificate = hk.certify(RING, asked["algorithm"], coalition={0}, **plan | hidden)
    assert certificate.mu == pytest.approx(by_hand, rel=1e-5)
    return certificate.mu, Told(*likelihood_ratios(network=RING, runs=runs, coalition={0}, **asked))


@pytest.mark.parametrize("name", CASES)
def test_likelihood_ratios_are_distributed_as_theory_says(name):
    """N(∓μ²/2, μ²): the fit's interval, at a confidence of 0.999, holds μ, and no lower bound is above it."""
    theory, found = told(name, FEW)
    careful = Told(found.first, found.second, confidence=0.999)
    low, high = careful.interval
    assert low < theory < high
    assert careful.mu_bound() <= theory
    assert careful.epsilon_bound(1e-5) <= gdp.epsilon(theory, 1e-5)
    spread = 4 * theory / np.sqrt(FEW)
    assert found.first.mean() == pytest.approx(-(theory**2) / 2, abs=spread)
    assert found.second.mean() == pytest.approx(theory**2 / 2, abs=spread)


def test_a_projection_before_the_step_takes_nothing_from_likelihood_ratios():
    """The set is so small that nearly every mix is projected: where gradients are taken is known all the same."""
    worlds = tuple(
        hk.polynomials(
            [[0, row[1] + 0.4 * (j == 1 and changed), row[2]] for j, row in enumerate(ROWS)],
            box=(-0.01, 0.01),
        )
        for changed in (False, True)
    )
    asked: dict[str, Any] = {"algorithm": hk.CertifiedRssNb(3.0, 1.0), "step": STEP, "rounds": 20}
    found = Told(
        *likelihood_ratios(worlds, RING, coalition={0}, runs=FEW, start=0.0, **asked), confidence=0.999
    )
    theory = 0.4 * np.sqrt(20 * KAPPA)
    low, high = found.interval
    assert low < theory < high
    spread = 4 * theory / np.sqrt(FEW)
    assert found.first.mean() == pytest.approx(-(theory**2) / 2, abs=spread)
    assert found.second.mean() == pytest.approx(theory**2 / 2, abs=spread)


@pytest.mark.parametrize(
    "runs", [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.slow)]
)
def test_totals_with_own_noise_are_told_apart_as_theory_says(runs):
    """Joint averaging, by anybody who sees all sums: a record of agent 1 that moves every gradient by 0.4, κ =
    1/(nτ²)."""
    rounds, alpha, change, tau = 8, 0.1, 0.4, 0.5
    algorithm = hk.JointAverage(own=tau)
    ask = {"rounds": rounds, "step": hk.Constant(alpha)}
    theory = hk.certify(RING, algorithm, colluders=0, sensitivity=change, dim=1, **ask).mu
    assert theory == pytest.approx(change / tau * np.sqrt(rounds / 5))
    scores = []
    for place, problem in enumerate((world(), world({(1, 1): change}))):
        seeds = range(place * runs, (place + 1) * runs)
        sums = transcripts(problem, RING, algorithm, seeds=seeds, start=0.0, **ask).words[:, :, 0, 0]
        mean = sums[:, :-1] / 5
        slopes = sum(row[1] + 2 * row[2] * mean for row in ROWS)
        seen = (5 * mean - sums[:, 1:]) / alpha - slopes  # the record's part, if it is there, under noise
        scores.append(change * (seen - change / 2).sum(axis=1) / (5 * tau**2))
    found = Told(*scores, confidence=0.999)
    low, high = found.interval
    assert low < theory < high
    assert found.mu_bound() <= theory
    assert found.epsilon_bound(1e-5) <= gdp.epsilon(theory, 1e-5)
    if runs == MANY:
        assert Told(*scores).mu_bound() > 0.7 * theory


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [told_cases.A2_GRID, told_cases.MASKED, told_cases.B1_GRID], ids=lambda one: one.theorem
)
def test_so_are_they_on_a_grid_and_from_a_masked_start(case):
    found = told_cases.held(replace(case, share=1.0), 200)
    low, high = Told(found.told.first, found.told.second, confidence=0.999).interval
    assert low < found.certificate.mu < high
    assert Told(found.told.first, found.told.second, confidence=0.999).mu_bound() <= found.certificate.mu
    assert found.certificate.arithmetic == ("exact" if "grid" in case.theorem else "real-arithmetic model")
    assert found.told.mu > 0.7 * found.certificate.mu  # of so few runs a bound is within 0.2 of it


@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_momentum_is_told_apart_as_the_general_accountant_says(runs):
    """Theorem L: what a word shows is a sum over all gradients before, each less by the momentum."""
    change, rounds, algorithm = 0.2, 8, Momentum(3.0, 1.0)
    worlds = (linear(0.0), linear(change))
    ask = {"coalition": {0}, "step": hk.Constant(0.1), "rounds": rounds}
    theory = hk.certify(RING, algorithm, sensitivity=change, by="linearisation", **ask).mu
    test = Comparison(worlds, RING, algorithm, frozenset({0}), hk.Constant(0.1), rounds)
    carried = np.tril(algorithm.beta ** np.subtract.outer(np.arange(rounds), np.arange(rounds)))
    precision = np.linalg.inv(test.covariance("paired") + test.covariance("own"))
    scores = []
    for place, problem in enumerate(worlds):
        seeds = range(place * runs, (place + 1) * runs)
        words = transcripts(problem, RING, algorithm, rounds=rounds, seeds=seeds, step=0.1, start=0.0)
        seen = (_moved(test, words, _mixed(test, words)) + test.known(words, "paired")[:, 1:])[..., 0]
        shown = change * carried.sum(axis=1)  # of agent 1, the first that is honest
        before = carried.sum(axis=1)[:, None] * np.array([0.1 * j for j in range(1, 5)])
        scores.append(((seen - before) @ precision[0] - shown * precision[0, 0] / 2) @ shown)
    found = Told(*scores, confidence=0.999)
    low, high = found.interval
    assert low < theory < high
    assert found.mu_bound() <= theory
    if runs == MANY:
        assert Told(*scores).mu_bound() > 0.7 * theory


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_lower_bounds_reach_seven_tenths_of_the_certificate(name):
    theory, found = told(name, MANY)
    low, high = found.interval
    assert low < theory < high
    assert 0.7 * theory < found.mu_bound() <= theory


def test_a_mechanism_without_enough_noise_is_caught():
    """The same runs, held against a claim of half the μ: the lower bound refutes it."""
    rng = np.random.default_rng(0)
    mu = 1.5
    found = Told(rng.normal(0, 1, 2000), rng.normal(mu, 1, 2000))
    assert mu / 2 < found.mu_bound(mu / 2) <= mu
    assert gdp.epsilon(mu / 2, 1e-2) < found.epsilon_bound(1e-2) <= gdp.epsilon(mu, 1e-2)


def test_bounds_on_epsilon_are_found_both_ways_round():
    """The halves changed over, the bound is the same: neither is the one that thresholds are chosen on."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(0, 1, 400), rng.normal(1.5, 1, 400)
    swapped = [np.stack([one[1::2], one[::2]], axis=1).ravel() for one in (first, second)]
    assert Told(first, second).epsilon_bound(1e-2) == Told(*swapped).epsilon_bound(1e-2) > 0


def test_confidence_intervals_hold_what_they_promise():
    rng = np.random.default_rng(1)
    inside = above = 0
    for _ in range(300):
        found = Told(rng.normal(0, 2, 60), rng.normal(1.6, 2, 60), confidence=0.9)
        low, high = found.interval
        inside += low < 0.8 < high
        above += found.mu_bound(0.8) > 0.8
    assert 0.84 < inside / 300 < 0.96  # 0.9 deviates by 0.017
    assert above / 300 < 0.1


def test_a_sum_that_no_noise_covers_is_refused():
    _, asked = case_b0()
    asked |= {"worlds": (world(), world({(1, 1): 0.1})), "coalition": {0}}
    with pytest.raises(BadInput, match="a sum over honest agents"):
        likelihood_ratios(network=RING, runs=4, **asked | {"rounds": 3})
    with pytest.raises(BadInput, match="distribution='gaussian'"):
        likelihood_ratios(network=RING, runs=4, **asked | {"algorithm": hk.RssNb(1.0), "rounds": 3})


@pytest.mark.slow
def test_transcripts_are_those_of_single_runs():
    algorithm = hk.CertifiedRssNb(1.0, 0.1, persistent=0.5)
    found = transcripts(world(), RING, algorithm, rounds=4, seeds=[3, 8], step=STEP, start=1.0)
    single = hk.solve(world(), RING, algorithm, rounds=4, seed=8, step=STEP, start=1.0, keep="transcript")
    assert single.transcript is not None
    np.testing.assert_allclose(found.words[1, :4], single.transcript.words[0], atol=1e-13)
    np.testing.assert_allclose(found.words[1, 4], single.released.words[0], atol=1e-13)
    np.testing.assert_allclose(found.noise["paired"][1, :4], single.transcript.noise["paired"], atol=1e-15)
    np.testing.assert_allclose(
        found.noise["persistent"][1], single.transcript.noise["persistent"], atol=1e-15
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"first": np.zeros(3)}, "first world"),
        ({"second": np.array([1.0, np.inf, 0, 0])}, "second world"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_scores_that_are_none_are_refused(wrong, said):
    with pytest.raises(BadInput, match=said):
        Told(**{"first": np.zeros(9), "second": np.ones(9)} | wrong)
