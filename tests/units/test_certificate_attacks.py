"""Certificates beside the best attack there is: what was told although it was certified is refused, or hidden, now."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from scipy.stats import norm

import hocket as hk
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.errors import BadAlgorithm, BadInput
from hocket.privacy.dp.certificate import BANDS, in_practice, strength
from tests.units.certificate_cases import Clipped
from tests.units.neighbouring_inputs import DIM, moved_by, path_under_one_sum, sent_without_noise

K5, RING = hk.Network.complete(5), hk.Network.cycle(5)
SAME = 1e-9
INNER = {
    "dgd": hk.Dgd(),
    "choco": hk.Choco("top-k:1", gamma=1.0),
    "aug-dgm": hk.AugDgm(),
    "nids": hk.Nids(),
    "accelerated": hk.AcceleratedTracking(),
    "admm": hk.Admm(),
    "joint average": hk.JointAverage(),
}
OPTIONS = {
    "plain": {},
    "projected": {"grad_at": "projected"},
    "penalty": {"prox": hk.L1(0.5)},
    "start": {"start": np.random.default_rng(3).uniform(-1, 1, size=(5, DIM))},
}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("options", OPTIONS)
def test_one_noisy_objective_sends_the_same_messages_in_both_worlds(inner, options):
    worlds = [path_under_one_sum(moved, INNER[inner], **OPTIONS[options]) for moved in (0.0, 0.4)]
    np.testing.assert_allclose(*worlds, atol=SAME)


@pytest.mark.parametrize("grad_at", ["mixed", "projected"])
@pytest.mark.parametrize("family", ["polynomial", "quadratic"])
def test_no_lie_shows_more_of_an_agent_than_its_noisy_objective(grad_at, family):
    """Members who lie lead it out of X: f and p asked at two points were told apart, 46 of 46 at ε = 0.0044."""
    sharing = hk.FunctionSharing(2, 50.0, family=family)
    points = 10 * np.random.default_rng(0).normal(size=(6, 1))
    sent = []
    for moved in (0.0, 0.4):
        problem = hk.polynomials([[0.0, 1.0, 1.5 - moved]], box=(-1, 1))
        # s^{1,2} takes back what moves: p gains as much as f loses.
        noise = np.array([0.0, 3.0, -2.0 + moved] if family == "polynomial" else [3.0, -2.0 + moved])
        how = hk.Constant(0.05), grad_at, noise
        sent.append(sent_without_noise(sharing, problem, 0, points, *how))
    np.testing.assert_allclose(*sent, atol=SAME)


def test_a_step_that_follows_from_the_objectives_tells_them_and_is_refused():
    worlds = [path_under_one_sum(moved, hk.AugDgm(), step="auto") for moved in (0.0, 0.4)]
    assert np.abs(worlds[0] - worlds[1]).max() > 1e-6  # although every f + p is the same
    sharing = hk.FunctionSharing(2, sd=1.0, inner=hk.AugDgm())
    problem = hk.polynomials([[0, 0.1 * j, 1.0 + 0.1 * j] for j in range(5)], box=(-5, 5))
    derived = hk.solve(problem, RING, sharing, rounds=3).step
    ask = {"coalition": {0}, "transfer": 0.1, "problem": problem}
    assert "worked out from the objectives" in hk.certify(RING, sharing, step=derived, **ask).reason
    assert "without step= the algorithm inside" in hk.certify(RING, sharing, **ask).reason
    assert hk.certify(RING, sharing, step=0.1, **ask).holds
    degree_two = {
        "objectives": "polynomial:2",
        "colluders": 1,
        "rounds": 3,
        "algorithm": hk.FunctionSharing(2, 1.0),
    }
    assert "a step that is public" in hk.audit(RING, step=derived, **degree_two).claim.reason.in_words()
    assert hk.audit(RING, step=0.1, **degree_two).covered


CHANGES = {
    "transfer": {"transfer": 2.0},
    "move": {"move": (1, 2, [0.1] * 5)},
    "shift": {"shift": {1: [0.1] * 5, 2: [-0.1] * 5}},
    "sensitivity": {"sensitivity": 2.0},
}


def cross_terms(seed: int, holder: int) -> tuple[hk.Problem, list[float]]:
    """Least squares of six records each and one more, which one of two members holds; and each member's Σ a₁a₂."""
    rng = np.random.default_rng(seed)
    rows, targets = rng.uniform(-1, 1, size=(5, 6, 2)), rng.uniform(-1, 1, size=(5, 6))
    held = [np.vstack([rows[j], [1.0, 1.0]]) if j == holder else rows[j] for j in range(5)]
    aims = [np.append(targets[j], 1.0) if j == holder else targets[j] for j in range(5)]
    return hk.least_squares(held, aims, feasible=hk.Ball(50.0)), [
        float(one[:, 0] @ one[:, 1]) for one in held
    ]


def test_a_record_that_moves_is_told_by_cross_terms_under_separable_noise():
    step, sharing = 1e-3, hk.FunctionSharing(2, sd=20.0)
    for seed in range(6):
        problem, _ = cross_terms(seed, 1 + seed % 2)
        start = np.random.default_rng(seed).uniform(-3, 3, size=(5, 2))
        run = hk.solve(problem, K5, sharing, step=step, rounds=8, start=start, seed=seed, keep="transcript")
        words = np.asarray(run.transcript.words[0])
        v = np.einsum("i,kid->kd", K5.B[1], words[:-1])
        design = np.column_stack([np.ones(len(v)), v])
        found = np.linalg.lstsq(design, ((v - words[1:, 1]) / step)[:, 0], rcond=None)[0][2]
        stayed = cross_terms(seed, 1)[1][1]
        assert (abs(found - stayed) > 0.5) == (seed % 2 == 1)  # told every time


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("by", ["theorem", "linearisation"])
def test_whatever_changes_must_lie_in_the_span_of_the_noise(change, by):
    problem, _ = cross_terms(0, 1)
    ask = {"colluders": 1, "rounds": 4, "step": hk.Constant(0.1), "by": by} | CHANGES[change]
    if change in ("move", "shift"):
        ask = {"coalition": {0}} | {key: one for key, one in ask.items() if key != "colluders"}
    separable = hk.FunctionSharing(2, sd=20.0, own=1.0)
    found = hk.certify(K5, separable, problem=problem, **ask)
    assert not found.holds
    assert "take the full quadratic family" in found.reason
    assert "stays exposed" in hk.certify(K5, separable, objectives="quadratic", dim=2, **ask).reason
    if by == "theorem":
        full = hk.FunctionSharing(2, sd=20.0, own=1.0, family="quadratic")
        assert hk.certify(K5, full, problem=problem, **ask).holds


def test_a_key_alone_does_not_say_which_family_hides_cross_terms():
    problem, _ = cross_terms(0, 1)
    found = hk.certify(K5, "function-sharing", sigma=20.0, colluders=1, transfer=2.0, problem=problem)
    assert "pass the algorithm itself, with family='quadratic'" in found.reason


def test_an_audit_certifies_nothing_outside_the_span_either():
    ask = {"colluders": 1, "rounds": 4, "dim": 2}
    sharing = hk.FunctionSharing(2, sd=1.0)
    assert hk.audit(K5, algorithm=sharing, objectives="quadratic", **ask).certificate is None
    assert hk.audit(K5, algorithm=sharing, objectives="polynomial:2", **ask).certificate is not None


def test_a_transfer_under_noise_on_gradients_is_of_linear_functions_alone():
    problem, _ = cross_terms(0, 1)
    ask = {"colluders": 1, "rounds": 4, "problem": problem}
    assert "spans linear functions" in hk.certify(K5, hk.CertifiedRssNb(3.0), transfer=0.1, **ask).reason


PENALTIES = {"none": None, "l1": hk.L1(0.01), "group": hk.GroupLasso(0.01, [[0]])}


def far_out(feasible, penalty, replaced: bool = False) -> hk.Problem:
    """One record each; agent 1's is replaced by one that contributes nothing."""
    rows = [[[0.5]], [[0.0 if replaced else 1.0]], [[0.5]], [[0.5]], [[0.5]]]
    targets = [[0.2], [0.0 if replaced else -1.0], [0.1], [-0.3], [0.4]]
    more = {} if penalty is None else {"prox": penalty}
    return hk.least_squares(rows, targets, feasible=feasible, **more)


@pytest.mark.parametrize(
    ("penalty", "feasible"),
    [
        *((name, hk.Everywhere()) for name in PENALTIES),
        *((name, hk.Box(-1e6, 1e6)) for name in ("none", "l1")),
    ],
    ids=str,
)
@pytest.mark.parametrize("by", ["theorem", "linearisation"])
def test_no_penalty_bounds_what_a_record_moves(penalty, by, feasible):
    """With a penalty μ = 2.24 was printed, and 16.7 seen."""
    algorithm, problem = hk.CertifiedRssNb(3.0, 2.0), far_out(feasible, PENALTIES[penalty])
    ask = {"coalition": {3}, "sensitivity": 2.25, "rounds": 10, "step": hk.Constant(0.05), "by": by}
    found = hk.certify(RING, algorithm, problem=problem, **ask)
    assert not found.holds
    assert re.search("no number bounds it|is too small for this problem", found.reason)
    worlds = problem, far_out(feasible, PENALTIES[penalty], replaced=True)
    seen = moved_by(worlds, algorithm, 1, hk.Constant(0.05), "mixed", far=20.0)
    assert np.abs(seen).max() > 5 * 2.25


ALGORITHMS = {
    "mixed": hk.CertifiedRssNb(3.0, 1.0),
    "clipped": hk.CertifiedRssNb(3.0, 1.0, clip=0.7),
    "clipped on a grid": hk.CertifiedRssNb(3.0, 1.0, clip=0.7, grid=2.0**-10),
    "masked": MaskedStart(hk.CertifiedRssNb(3.0, 1.0)),
    "joint average": hk.JointAverage(own=1.0),
    "joint average, clipped": hk.JointAverage(own=1.0, clip=0.7),
}
SETS = {"box": hk.Box(-1.0, 1.0), "everywhere": hk.Everywhere()}


def records(kind: str, feasible, penalty, *, replaced: bool) -> hk.Problem:
    """Three records each; the first of agent 1's is replaced by its opposite."""
    rng = np.random.default_rng(3)
    rows, targets = rng.uniform(-1, 1, size=(5, 3, DIM)), rng.uniform(-1, 1, size=(5, 3))
    if replaced:
        rows[1, 0] = -rows[1, 0]
    more = {"feasible": feasible} | ({} if penalty is None else {"prox": penalty})
    if kind == "logistic":
        return hk.logistic(list(rows), list(np.sign(targets)), **more)
    return hk.least_squares(list(rows), list(targets), **more)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("penalty", ["none", "l1"])
@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_no_lie_moves_a_record_s_message_by_more_than_is_certified(algorithm, feasible, penalty, kind):
    """The least S that is accepted is played, wherever members who lie lead the agent."""
    played, step = ALGORITHMS[algorithm], hk.Power(1.0, 1, 0.75)
    worlds = tuple(
        records(kind, SETS[feasible], PENALTIES[penalty], replaced=replaced) for replaced in (False, True)
    )
    ask = {"colluders": 1, "rounds": 6, "step": step, "problem": worlds[0]}
    refused = hk.certify(K5, played, sensitivity=1e-3, **ask)
    assert not refused.holds
    named = re.search(r"give sensitivity=([\d.]+)", refused.reason)
    if named is None and "clipped" not in algorithm:
        assert "no number bounds it" in refused.reason
        return
    least = float(named[1]) * (1 + 1e-5) if named else math.inf
    least = min(least, 1.4) if "clipped" in algorithm else least
    assert hk.certify(K5, played, sensitivity=least, **ask).holds
    for grad_at, far in itertools.product(("mixed", "projected"), (1.0, 1e5)):
        seen = moved_by(worlds, played, 1, step, grad_at, far)
        assert np.linalg.norm(seen, axis=1).max() <= least * (1 + 1e-6)


def test_a_large_clip_does_not_vouch_for_a_smaller_sensitivity():
    worlds = tuple(far_out(hk.Everywhere(), None, replaced=one) for one in (False, True))
    algorithm = hk.CertifiedRssNb(3.0, 1.0, clip=100.0)
    ask = {"colluders": 1, "rounds": 6, "problem": worlds[0]}
    found = hk.certify(RING, algorithm, sensitivity=0.1, **ask)
    assert "is less than what the clip lets a step move, 200" in found.reason
    assert np.abs(moved_by(worlds, algorithm, 1, hk.Constant(0.1), "mixed", far=20.0)).max() > 10
    assert hk.certify(RING, algorithm, **ask).holds


@pytest.mark.parametrize("by", ["theorem", "linearisation"])
def test_no_other_way_to_a_number_skips_a_condition(by):
    ask = {"colluders": 1, "rounds": 4, "step": hk.Constant(0.1), "by": by}
    full = hk.FunctionSharing(2, sd=5.0, family="quadratic")
    problem, _ = cross_terms(0, 1)
    mean = hk.least_squares(np.ones((5, 2, 2)), np.ones((5, 2)), feasible=hk.Ball(1.0), reduction="mean")
    for algorithm, more, why in (
        (full, {"transfer": 1.0, "problem": problem, "batches": True}, "a step along some of them"),
        (full, {"transfer": 1.0, "problem": mean}, "means over records"),
        (hk.CertifiedRssNb(3.0), {"transfer": 1.0, "objectives": "any"}, "spans linear functions"),
        (hk.CertifiedRssNb(3.0), {"transfer": 1.0, "batches": True}, "looks at some records only"),
    ):
        assert why in hk.certify(K5, algorithm, **ask, **more).reason


SLOPES_ON = [
    (hk.Box(-1.0, 1.0), None, "projected after the step"),
    (hk.Everywhere(), hk.L1(0.1), "proximal map of a penalty"),
]


@pytest.mark.parametrize(("feasible", "penalty", "why"), SLOPES_ON)
def test_what_is_projected_after_the_step_shows_what_moves(feasible, penalty, why):
    """RSS-NB with a certificate projects before it, by its name too; joint averaging after it."""
    more = {} if penalty is None else {"prox": penalty}
    problem = hk.Problem(hk.problems.Polynomial(), [np.ones((3, 1))] * 5, feasible=feasible, dim=1, **more)
    ask = {"coalition": {0}, "rounds": 4, "objectives": None}
    moved = {"move": (1, 3, [0.1]), "problem": problem} | ask
    by_name, itself = (
        hk.certify(K5, one, **moved, **more)
        for one, more in (("certified-rss-nb", {"sigma": 3.0}), (hk.CertifiedRssNb(3.0), {}))
    )
    assert by_name.holds
    assert by_name.mu == pytest.approx(itself.mu)
    assert why in hk.certify(K5, hk.JointAverage(own=1.0), step=0.1, **moved).reason


@pytest.mark.parametrize("sigma", [0.0, 3.0])
def test_rss_nb_as_printed_has_no_certificate_by_its_name(sigma):
    found = hk.certify(K5, "rss-nb", sigma=sigma, coalition={0}, move=(1, 3, [0.1]), rounds=4)
    assert found.reason == (
        "RSS-NB as printed deals uniform noise, of which no certificate is made: take certified-rss-nb, "
        "hk.CertifiedRssNb(sd, own)"
    )


def test_linear_objectives_lie_in_the_span_of_noise_on_gradients():
    ask = {"sigma": 2.0, "rounds": 5, "colluders": 1, "transfer": 1.0}
    held = {
        one: hk.certify(K5, "certified-rss-nb", objectives=f"polynomial:{one}", **ask).holds
        for one in range(4)
    }
    assert held == {0: True, 1: True, 2: False, 3: False}


def test_a_step_of_somebody_s_own_that_clips_bounds_no_record():
    """That it does is its own message: nothing but hocket's own code vouches for a sensitivity."""
    problem, ask = far_out(hk.Everywhere(), None), {"coalition": {0}, "rounds": 5, "step": hk.Constant(0.1)}
    how = {"by": "linearisation", "sensitivity": 0.5}
    assert (
        "nothing clips a record" in hk.certify(RING, Clipped(1.0, 0.5), problem=problem, **how, **ask).reason
    )
    alone = hk.certify(RING, Clipped(1.0, 0.5), **how, **ask)
    assert any(
        "and changes its agent's gradient there by no more than S" in str(one) for one in alone.assumptions
    )


def test_a_problem_of_other_agents_is_refused():
    with pytest.raises(BadInput, match="the problem has 5 agents, and cycle:4 has 4"):
        hk.certify(
            hk.Network.cycle(4),
            "function-sharing",
            sigma=1.0,
            colluders=1,
            transfer=1.0,
            problem=far_out(hk.Everywhere(), None),
        )


def test_agents_with_independent_noise_do_not_sleep():
    problem = hk.polynomials([[0.0, 0.1, 1.0]] * 5, box=(-1, 1))
    for algorithm in (hk.CertifiedRssNb(3.0, 1.0), hk.CertifiedRssNb(3.0, 1.0, clip=1.0)):
        with pytest.raises(BadAlgorithm, match="where agents are inactive"):
            hk.solve(problem, RING, algorithm, rounds=3, channel=hk.Channel(inactive=0.2))
    hk.solve(problem, RING, hk.CertifiedRssNb(3.0, 1.0), rounds=3, channel=hk.Channel(loss=0.2))


OWN = (
    hk.PrivateDgd(0.1, 1.0, 40),
    hk.CertifiedRssNb(2.0, 200.0, clip=1.0),
    hk.CertifiedRssNb(2.0, 200.0),
    hk.JointAverage(own=200.0, clip=1.0),
    hk.FunctionSharing(2, sd=1.0, own=1.0),
)


@pytest.mark.parametrize("algorithm", OWN, ids=lambda one: one.title)
def test_no_gap_ends_a_run_whose_noise_hides_records(algorithm):
    """An objective a billion times as large ends it at once, or never: anybody who counts messages was right in 100 of
    100 tries, under ε = 0.1, and whether a certificate was printed told it too."""
    problem = hk.polynomials([[0.0, 0.0, 1e-9]] * 4 + [[0.0, 0.0, 1e9]], box=(-5, 5))
    how = {"rounds": 40, "step": 0.05, "start": 1.0}
    with pytest.raises(BadInput, match="leave tolerance= out, and let rounds= end the run"):
        hk.solve(problem, RING, algorithm, tolerance=0.5, **how)
    assert hk.solve(problem, RING, algorithm, **how).rounds == 40


def test_what_moves_between_agents_leaves_the_gap_as_it_is():
    problem = hk.polynomials([[0.0, 0.1, 1.0]] * 5, box=(-1, 1))
    algorithm = hk.FunctionSharing(2, sd=0.01)
    run = hk.solve(problem, RING, algorithm, rounds=60, step=0.2, tolerance=0.5, keep="transcript", start=1.0)
    assert run.rounds < 60
    assert hk.audit(RING, run=run, coalition={0}).certificate is not None


def test_own_noise_of_several_deviations_is_refused():
    with pytest.raises(BadInput, match="own has 2 numbers"):
        hk.certify(
            K5,
            "certified-rss-nb",
            sigma=1.0,
            independent=[0.1, 100.0],
            sensitivity=1.0,
            rounds=3,
            colluders=1,
        )


@pytest.mark.parametrize(
    ("sigma", "named", "said"),
    [
        (20.0, "strong", "strong protection"),
        (2.0, "moderate", "moderate protection"),
        (1.0, "weak", "weak protection"),
        (0.1, "none", "which is no protection in practice"),
    ],
)
def test_a_certificate_says_what_its_epsilon_is_worth(sigma, named, said):
    found = hk.certify(RING, "function-sharing", sigma=sigma, transfer=1.0, coalition={0})
    assert found.strength == named == strength(found.epsilon())
    assert found.best_guess == pytest.approx(norm.cdf(found.mu / 2))
    assert found.statement.endswith(f"{said}.")
    assert in_practice(found.epsilon(), found.best_guess) in found.statement
    assert f"ε = {found.epsilon():.6g} at δ = 1e-05 (μ = {found.mu:.6g})" in found.statement
    assert "hides" not in str(found)
    assert found.to_json()["strength"] == named


def test_bands_of_strength_are_those_that_are_written_down():
    assert BANDS == ((1.0, "strong"), (3.0, "moderate"), (10.0, "weak"))
    assert [strength(one) for one in (0.999, 1.0, 2.99, 3.0, 9.99, 10.0, math.inf)] == [
        "strong",
        "moderate",
        "moderate",
        "weak",
        "weak",
        "none",
        "none",
    ]
