"""Errors of fitted attacks are as large as they predict, neither smaller nor larger than chance allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.privacy import families
from hocket.privacy.attacks import model_fit, sum_attack

COMPLETE = hk.Network.complete(4)
ROWS = [[0, -1.0 * j, 1 + 0.3 * j] for j in range(4)]
PROBLEM = hk.polynomials(ROWS, box=(-1e6, 1e6))
SEEDS = range(12)
PLANS = {
    "rss-nb": hk.RssNb(5.0),
    "persistent": hk.RssNb(5.0, persistent=0.5),
    "gaussian": hk.RssNb(5.0, distribution="gaussian"),
    "certified": hk.CertifiedRssNb(0.5),
    "certified, own": hk.CertifiedRssNb(0.5, 0.2),
    "independent": hk.IndependentNoise(1.0),
    "function sharing": hk.FunctionSharing(2, 0.1),
}
SIGHTS: dict[str, dict[str, Any]] = {
    "one member": {"coalition": {0}},
    "a tap": {"threat": "states"},
    "a member and a tap": {"coalition": {0}, "threat": "states"},
}


def play(plan: hk.Algorithm, seed: int) -> hk.Run:
    how = {"rounds": 60, "step": hk.Power(0.3, 5, 0.75), "start": 2.0}
    return hk.solve(PROBLEM, COMPLETE, plan, seed=seed, keep="transcript", **how)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("plan", PLANS)
def test_errors_are_as_large_as_predicted(plan, sight):
    ratios = []
    for seed in SEEDS:
        fit = model_fit(play(PLANS[plan], seed).view(**SIGHTS[sight]), families.polynomials(2))
        assert fit.fits
        for j in fit.agents:
            sd, error = fit.predicted_sd(j), np.abs(fit.parameters(j) - np.array(ROWS[j][1:]))
            noisy = np.isfinite(sd) & (sd > 1e-7)
            ratios += (error[noisy] / sd[noisy]).tolist()
            assert (error[~noisy] < 1e-6).all()  # what only rounding blurs is right
    if ratios:
        # The median of |N(0, 1)| is .67; a dozen seeds of some numbers that are connected.
        assert 0.3 < np.median(ratios) < 1.2


@pytest.mark.parametrize("plan", ["rss-nb", "persistent", "gaussian", "certified"])
def test_curvatures_are_exact_wherever_noise_sums_to_zero(plan):
    for seed in SEEDS[:3]:
        fit = sum_attack(play(PLANS[plan], seed).view({0}))
        for j in fit.agents:
            assert fit.determined(j, "curvatures").all()
            assert abs(fit.parameters(j, "curvatures")[0] - ROWS[j][2]) < 1e-8
