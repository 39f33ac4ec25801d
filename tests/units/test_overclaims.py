"""Numbers that were printed once and that an attack beat: what is printed in their place is no larger than it found."""

from __future__ import annotations

import pytest

import hocket as hk

K5 = hk.Network.complete(5)
STEP = hk.Power(1.0, 20, 0.75)
ANCHORED = hk.RssNb(20.0, anchor=0.9)


def test_curvatures_under_noise_that_cancels_in_every_round():
    """Printed was ±.884 and nothing else; the sum attack has every curvature to 5e-14."""
    problem = hk.polynomials([[0, 0, c / 2] for c in (1, 0.5, 2, 1.5, 0.8)], box=(-1e6, 1e6))
    run = hk.solve(problem, K5, hk.RssNb(50.0), rounds=8, step=0.05, start=4.0, keep="transcript")
    verdict = " ".join(hk.audit(K5, coalition={0}, run=run).verdict)
    assert (
        "known exactly, if objectives are separable polynomials of degree 2 or less: curvatures of agents"
        in verdict
    )


def test_gradients_that_change_of_a_public_form():
    """Printed was ±2.51; non-linear least squares found the quartic agent's to .13."""
    run = hk.solve(hk.heterogeneous_polynomials(), K5, ANCHORED, rounds=200, step=STEP, keep="transcript")
    one = hk.audit(K5, coalition={1, 4}, run=run).findings[0]
    assert one.leakage.constant[3] == pytest.approx(2.51, abs=0.01)
    assert one.leakage.sd[3] <= 0.13


@pytest.mark.parametrize("kind", ["any", "polynomial:2"])
def test_an_anchor_where_states_reach_the_sides_of_the_set(kind):
    """Printed was ±3.07, "which more rounds do not shrink"; averaging in projected rounds found .026."""
    plan = {"coalition": {0}, "algorithm": ANCHORED, "rounds": 1000, "step": STEP, "objectives": kind}
    free, boxed = hk.audit(K5, **plan), hk.audit(K5, feasible=hk.Box(-1, 1), **plan)
    assert free.findings[0].least == pytest.approx(3.07, abs=0.01)
    assert boxed.findings[0].least <= 0.026
    assert "kept noise counts as known" in " ".join(boxed.verdict)
