"""The monitor: what it checks along a run, what it says it cannot check, and that it catches a broken run."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

import hocket as hk
from hocket import theory
from tests.units.theory_cases import C5, SQRT, any_loss, kept


def test_the_monitor_reports_every_check():
    seen = theory.monitor(kept(hk.RssNb(1.0), keep="transcript"))
    assert seen.holds
    assert not seen.skipped
    assert [margin.name for margin in seen.margins] == [
        "Lemma 1",
        "Lemma 2",
        "|Φ − 1/n| ≤ θβ^(k−s+1)",
        "ξ² ≤ η²",
        "Theorem 3, literal",
        "Theorem 3, corrected",
        "Theorem 3, spectral",
        "Theorem 3, spectral, noise as realised",
    ]
    phi = seen["|Φ − 1/n| ≤ θβ^(k−s+1)"]
    assert (phi.round, phi.actual) == (1, pytest.approx(0.3))  # B[j, j] = 1/2 against 1/5
    assert seen["Theorem 3, spectral, noise as realised"].bound <= seen["Theorem 3, spectral"].bound
    table = str(seen)
    assert "tightest of 50 rounds, with L = 36, N = 50, delta = 1" in table
    assert all(margin.name in table for margin in seen.margins)


def test_the_monitor_says_what_it_cannot_check():
    seen = theory.monitor(kept(hk.Dgd(), problem=any_loss(), start=None, step=hk.Power(1)), L=2.0)
    assert {"Lemma 1", "ξ² ≤ η²"} <= {margin.name for margin in seen.margins}
    assert "N is not known" in seen.skipped["Lemma 2"]
    assert "not checked: Theorem 3, literal: Theorem 3 assumes that α_k = 1/√k" in str(seen)
    with pytest.raises(KeyError, match="N is not known"):
        seen["Lemma 2"]


@pytest.mark.parametrize("name", ["Lemma 1", "Lemma 2", "Theorem 3, spectral"])
def test_the_monitor_catches_a_run_that_breaks_the_theory(name):
    run = kept(hk.Dgd(), step=hk.Power(1e-3, 0, 0.5), start=0.0)
    path = run.path.copy()
    path[20:, 0] = 1.0  # one agent leaps to the rim, which steps of 1e-3 cannot do
    seen = theory.monitor(dataclasses.replace(run, path=path), L=0.0, N=0.0)
    assert not seen.holds
    assert not seen[name].holds
    assert seen[name].ratio < 1
    assert "VIOLATED" in str(seen)


@pytest.mark.parametrize(
    "step",
    [hk.Power(Fraction(1, 10), Fraction(1, 2), 1), hk.Power(np.float64(0.1), 3, 0.75), hk.Constant(0.01)],
)
def test_the_monitor_knows_the_step_of_a_run(step):
    assert theory.measured.measure(kept(hk.Dgd(), step=step)).step == step


def test_the_monitor_follows_a_callable_step():
    by_rule, by_code = (
        theory.monitor(kept(hk.Dgd(), step=step)) for step in (hk.Power(0.1), lambda k: 0.1 / k)
    )
    assert by_code.holds
    assert by_code["Lemma 1"] == by_rule["Lemma 1"]


def test_the_monitor_measures_one_s_own_noise():
    run = kept(hk.RssNb(0.0, given=lambda i, j, k: 0.2 if i < j else 0.0), keep="transcript")
    seen = theory.monitor(run)
    assert seen.holds
    # Agents 0 and 4 carry ∓.4, their neighbours nothing: mixed with weight 1/2, and 1/4 of the other's sign.
    assert seen.quantities["delta"] == pytest.approx(0.1)


@pytest.mark.parametrize("algorithm", [hk.RssNb(2.0), hk.RssLb(2.0), hk.RssNb(2.0, persistent=0.5)], ids=str)
def test_realised_noise_is_what_the_words_carried(algorithm):
    run = kept(
        algorithm, keep="transcript", problem=hk.polynomials([[0, 0, 1]] * 5, box=(-90, 90)), start=1.0
    )
    alpha = SQRT.table(1, run.rounds)
    noise = theory.measured.mixed_noise(run, alpha)
    # With all objectives x² and no projection at work, x_{k+1} = (1 − 2α)(B x_k + α e_k) gives e_k back.
    x = run.path[:, :, 0]
    for k in range(2, 20):
        a = alpha[k - 1]
        mixed = x[k] / (1 - 2 * a) if k != 4 else None  # α_4 = 1/2: nothing is left to divide
        if mixed is not None:
            assert noise[k - 1] == pytest.approx(abs(mixed - C5.B @ x[k - 1]).max() / a, abs=1e-9)
    assert 0 < noise.max() <= 2.0


def test_functions_as_drawn_are_milder_than_the_worst():
    worst, drawn = (
        theory.monitor(kept(hk.FunctionSharing(4, 0.5), keep=keep)) for keep in ("path", "transcript")
    )
    assert worst.holds
    assert drawn.holds
    assert drawn.quantities["L"] < worst.quantities["L"]
    assert drawn.quantities["delta"] == 0


def test_the_monitor_follows_weights_that_vary():
    phases = [hk.Network.cycle(5, weights=weights) for weights in ("metropolis", "paper")]
    run = kept(hk.RssLb(1.0), keep="transcript", network=hk.Network.varying(phases))
    seen = theory.monitor(run)
    assert seen.holds
    # The worst single product is the diagonal 1/2 of the paper's weights, used in round 2.
    assert seen["|Φ − 1/n| ≤ θβ^(k−s+1)"].actual == pytest.approx(0.3)
    noise = theory.measured.mixed_noise(run, SQRT.table(1, 50))
    words, x = run.transcript.words[0], run.path
    added = [
        sum(
            run.network.B_at(2)[j, i] * (words[1, i, run.network.neighbours(i).index(j)] - x[1, i])
            for i in run.network.neighbours(j)
        )
        for j in range(5)
    ]
    assert noise[1] == pytest.approx(np.abs(added).max() * np.sqrt(2))


def test_function_sharing_without_noise_is_measured_as_what_is_inside():
    problem, network = hk.paper_polynomials(), hk.Network.cycle(5)
    how = {"step": hk.Power(1, 0, 0.5), "rounds": 12, "keep": "transcript", "progress": False}
    silent, plain = (
        hk.theory.monitor(hk.solve(problem, network, one, **how))
        for one in (hk.FunctionSharing(2, 0.0), hk.Dgd())
    )
    assert str(silent) == str(plain)
