"""Numbers that were printed once and that an attack beat: what is printed in their place is no larger than it found."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.privacy import Model, families
from hocket.privacy.audit import text
from hocket.privacy.leakage.dry_run import may_reach, on_side

K5 = hk.Network.complete(5)
STEP = hk.Power(1.0, 20, 0.75)
PERSISTENT = hk.RssNb(20.0, persistent=0.9)


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
    run = hk.solve(hk.heterogeneous_polynomials(), K5, PERSISTENT, rounds=200, step=STEP, keep="transcript")
    one = hk.audit(K5, coalition={1, 4}, run=run).findings[0]
    assert one.leakage.constant[3] == pytest.approx(2.51, abs=0.01)
    assert one.leakage.sd[3] <= 0.13


@pytest.mark.parametrize("kind", ["any", "polynomial:2"])
def test_an_anchor_where_states_reach_the_sides_of_the_set(kind):
    """Printed was ±3.07, "which more rounds do not shrink"; averaging in projected rounds found .026."""
    plan = {"coalition": {0}, "algorithm": PERSISTENT, "rounds": 1000, "step": STEP, "objectives": kind}
    free, boxed = hk.audit(K5, **plan), hk.audit(K5, feasible=hk.Box(-1, 1), **plan)
    assert free.findings[0].least == pytest.approx(3.07, abs=0.01)
    assert boxed.findings[0].least <= 0.026
    assert "persistent noise counts as known" in " ".join(boxed.verdict)


def test_a_theorem_stands_in_the_answer_with_its_condition():
    plan = {"colluders": 1, "algorithm": hk.FunctionSharing(1, 1.0), "rounds": 10}
    assert ", if objectives are separable polynomials" in hk.audit(hk.Network.cycle(5), **plan).answer
    declared = hk.audit(hk.Network.cycle(5), objectives="polynomial:1", **plan)
    assert ", if " not in declared.answer
    often = hk.audit(hk.Network.cycle(5), objectives="polynomial:1", runs=50, **plan)
    assert ", if noise functions are the same in all runs" in often.answer


def test_a_form_that_is_not_followed_is_named():
    """It was left out without a word, and the number for constant gradients printed."""
    rng = np.random.default_rng(0)
    problem = hk.least_squares(
        rng.normal(size=(5, 20, 13)), rng.normal(size=(5, 20)), feasible=hk.Everywhere()
    )
    run = hk.solve(problem, K5, hk.RssNb(1.0), rounds=2, step=0.01, keep="transcript")
    verdict = hk.audit(K5, coalition={0}, run=run)
    assert "if objectives are quadratics was not worked out: 520 numbers are too many" in " ".join(
        verdict.verdict
    )
    assert verdict.to_json()["findings"][0]["unfollowed"]


def test_a_made_up_problem_that_diverges_stops_no_audit():
    plan = {"coalition": {0}, "algorithm": hk.RssNb(50.0), "rounds": 20, "objectives": "polynomial:4"}
    verdict = hk.audit(K5, gradient_size=50.0, **plan)
    assert "a made-up problem with gradients of size 50 diverges" in " ".join(verdict.verdict)


@pytest.mark.slow
def test_whoever_hears_most_is_asked_about_the_form():
    """The worst for constant gradients was asked alone: ±1.18, where another coalition knows a gradient exactly."""
    ring = [(1 + i, 1 + (i + hop) % 9) for i in range(9) for hop in (1, 2)]
    network = hk.Network([*((0, j) for j in range(1, 10)), *ring, (10, 1), (10, 2), (10, 3)], n=11)
    plan = {"colluders": 2, "algorithm": PERSISTENT, "rounds": 40, "objectives": "polynomial:4"}
    assert hk.audit(network, **plan).findings[0].least == 0


@pytest.mark.parametrize("feasible", [hk.Box([-1, -100], [1, 100]), hk.Simplex(1000.0)], ids=str)
def test_short_sides_of_an_uneven_set(feasible):
    plan = {"step": STEP, "rounds": 1000, "gradient_size": 1.0}
    assert may_reach(feasible, 2, PERSISTENT, **plan)


def test_a_state_on_a_short_side():
    found = on_side(np.array([[[1.0, 0.0]]]), hk.Box([-1, -100], [1, 100]))
    assert found.tolist() == [[[True, False]]]


def test_one_coordinate_that_is_known_is_one_too_many():
    there = np.zeros((40, 5, 2), bool)
    there[:20, :, 0] = True
    family, path = families.polynomials(1, 2), np.zeros((40, 5, 2))
    model = Model([family] * 5, [np.zeros(2)] * 5, path, there)
    plan = {"rounds": 40, "coalition": {0}, "step": STEP, "dim": 2}
    clipped = hk.leakage(K5, PERSISTENT, models=[model], **plan)
    assert clipped.sd[1] < hk.leakage(K5, PERSISTENT, **plan).sd[1] / 5


def test_several_local_steps_are_said_in_words():
    """The number was printed as that of a gradient, and nothing was said of the steps."""
    plan = {"coalition": {0}, "rounds": 20, "objectives": "any"}
    one, five = (hk.audit(K5, algorithm=hk.RssNb(1.0), local_steps=steps, **plan) for steps in (1, 5))
    assert "local steps" not in str(one)
    assert "the mean gradient over an exchange's 5 local steps of agent 1" in five.answer
    assert "no theorem covers them. Every estimate is of what one exchange moves an agent by" in str(five)
    assert five.to_json()["local_steps"] == 5
    with pytest.raises(hk.errors.BadInput, match="local_steps = 0; give a whole number, 1 or more"):
        hk.audit(K5, algorithm=hk.RssNb(1.0), local_steps=0, **plan)


def test_noise_functions_leave_open_what_they_do_not_span():
    """ "As good as unknown" was printed of a gradient whose every change is told exactly."""
    plan = {"coalition": {0}, "rounds": 20, "algorithm": hk.FunctionSharing(1, 2.0, family="linear")}
    found = hk.audit(K5, objectives="any", **plan)
    assert (
        "what lies outside the span of its noise functions is open to an adversary that receives all messages"
        in found.answer
    )
    assert "counted as an offset of the gradient and nothing more, which is cautious" in " ".join(
        text.estimated(found)
    )
    inside = hk.audit(K5, objectives="polynomial:1", **plan)
    assert inside.covered
    assert "outside the span" not in inside.answer


def test_noise_functions_are_not_said_to_be_known_where_a_set_is_active():
    plan = {"coalition": {0}, "rounds": 20, "objectives": "any", "feasible": hk.Box(-0.1, 0.1)}
    shared = hk.audit(K5, algorithm=hk.FunctionSharing(1, 2.0, family="linear"), **plan)
    persistent = hk.audit(K5, algorithm=hk.RssNb(2.0, persistent=0.5), **plan)
    assert shared.findings[0].dry_run.active
    assert "persistent noise counts as known" not in str(shared)
    assert "persistent noise counts as known" in str(persistent)


def test_a_search_says_what_it_compared_coalitions_by():
    """Forms are asked about two coalitions: "worst of all" was said of what no search had compared."""
    plan = {"colluders": 1, "rounds": 10, "algorithm": hk.RssNb(1.0)}
    assert (
        "(worst of all 5 for gradients that stay the same)"
        in hk.audit(K5, objectives="polynomial:2", **plan).answer
    )
    assert "(worst of all 5)" in hk.audit(K5, objectives="any", **plan).answer


def test_what_a_form_gives_away_is_said_once():
    plan = {"coalition": {0}, "rounds": 5, "algorithm": hk.RssNb(1.0), "objectives": "polynomial:4"}
    found = hk.audit(hk.Network.star(5), **plan)
    (line,) = text.estimated(found)
    assert line.count("if objectives are separable polynomials of degree 4 or less") == 1


@pytest.mark.parametrize(("bound", "narrow"), [(1e-30, True), (1e-3, True), (1.0, False)])
def test_noise_far_below_gradients_is_said_beside_the_theorem(bound, narrow):
    """Printed was "no objective by itself (Theorem 2)" alone; slopes and curvatures were read to fifteen digits."""
    problem = hk.polynomials([[0.0, j, 1.0 + j] for j in range(5)], box=(-5, 5))
    how = {"rounds": 30, "step": hk.Power(0.3, 5, 0.75), "keep": "transcript"}
    run = hk.solve(problem, K5, hk.FunctionSharing(2, bound), **how)
    found = hk.audit(K5, coalition={0}, run=run)
    words = run.transcript.words[0][:, :, 0]
    outgoing, v = words[:, 1], words @ K5.B[1]
    gradients = (v[:-1] - outgoing[1:]) / [run.step(k) for k in range(1, len(v))]
    missed = np.abs(gradients - (1 + 4 * v[:-1])).max()  # of 2x² + x
    assert (missed < 0.01) == narrow
    for line in (found.answer, found.verdict[0]):
        assert "(Theorem 2)" in line
        assert ("noise is small beside gradients" in line) == narrow
        assert ("would be known exactly" in line) == (bound == 1e-30)
