"""Attacks on unusual views: silent links, runs from disk, other precisions, and shots at nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Broadcast
from hocket.errors import BadInput, NotRecorded
from hocket.privacy.attacks import (
    component_attack,
    difference_attack,
    last_gradient_attack,
    lb_collusion_attack,
    mean_attack,
    residuals,
)
from tests.laws.table import quadratics
from tests.units.attack_cases import ASIDE, CURVED, RING, SURROUNDED, TAPPED, TARGET, play_on_ring, run_of
from tests.units.engine_cases import LONELY, PHASES, play


@pytest.mark.parametrize(
    "network",
    [pytest.param(PHASES, id="phases"), pytest.param(LONELY, id="lonely", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "algorithm",
    [hk.Dgd(), hk.RssNb(1.0, persistent=0.5), hk.RssLb(1.0, unprotected=True)],
    ids=["dgd", "nb", "lb"],
)
def test_rounds_in_which_somebody_was_not_heard_are_left_out(algorithm, network):
    run = play(algorithm, network=network, rounds=30, keep="transcript")
    for target in range(6):
        found = difference_attack(run.view(threat="states+noise"), target)
        phase = (np.array(found.rows) - 1) % network.period
        spoke = (network.degrees > 0)[:, target]
        assert set(phase) == {p for p in range(3) if spoke[p] and spoke[(p + 1) % 3]}
        right = np.stack([run.problem.gradient(target, v) for v in found.at])
        np.testing.assert_allclose(
            found.estimate, right, atol=1e-12
        )  # float64, values below 10, steps above 0.05


def test_links_that_fall_silent_hide_less():
    """In a phase without hidden links the words carry no unknown noise, and those rounds alone are averaged."""
    network = hk.Network.varying([[(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2), (2, 3)]])
    run = play(hk.RssNb(1.0), problem=quadratics(4, 2, 1), network=network, rounds=20, keep="transcript")
    found = residuals(run.view({1}, threat="states"), 0)
    assert found.hidden == ((0, 3),)
    assert not found.fresh.sd[found.rounds % 2 == 1].any()  # what was said in round 2, 4, … shows in 1, 3, …
    assert found.fresh.sd[found.rounds % 2 == 0].all()
    assert mean_attack(run.view({1}, threat="states"), 0).exact


def test_a_run_loaded_from_disk_needs_its_public_plan(tmp_path: Path):
    run = run_of("rss-nb")
    view = hk.Run.load(run.save(tmp_path)).view({1, 4})
    with pytest.raises(NotRecorded, match=r"does not know the step.* pass step="):
        difference_attack(view, TARGET)
    with pytest.raises(NotRecorded, match=r"does not know the algorithm.* pass algorithm="):
        difference_attack(view, TARGET, step=run.step)
    found = difference_attack(view, TARGET, step=run.step, algorithm=run.algorithm)
    assert found.exact
    np.testing.assert_array_equal(found.estimate, difference_attack(run.view({1, 4}), TARGET).estimate)


def test_exact_runs_are_attacked_too():
    problem = hk.polynomials([[0, Fraction(j), 1] for j in range(5)], box=(-9, 9))
    run = hk.solve(
        problem,
        RING,
        hk.FunctionSharing(2, 1.0),
        rounds=6,
        step=hk.Power(Fraction(1, 8), 1),
        engine="exact",
    )
    np.testing.assert_allclose(component_attack(run.view({0, 3}), [4]).estimate, [[4], [2]], rtol=1e-9)


def test_in_single_precision_gradients_are_exposed_if_not_coefficients():
    run = play_on_ring(hk.FunctionSharing(2, 1.0), CURVED, dtype=np.float32)
    found = component_attack(run.view({1, 4}), [TARGET])
    assert found.exact
    assert found.at is not None  # seven digits, divided by a step, leave too few for all coefficients
    right = np.stack([run.problem.gradient(TARGET, v) for v in found.at])
    assert np.linalg.norm(found.estimate - right) < 1e-3 * np.linalg.norm(right)


def test_noise_of_the_users_own_is_supposed_to_look_like_random_draws():
    draws = run_of("rss-nb").transcript.noise["paired"]
    run = play_on_ring(hk.RssNb(1.0, given=draws), CURVED)
    ours, theirs = (mean_attack(one.view(threat="states"), TARGET) for one in (run, run_of("rss-nb")))
    np.testing.assert_array_equal(ours.predicted_sd, theirs.predicted_sd)
    assert any("user's own noise" in str(taken) for taken in ours.assuming)


class Chatty(hk.Algorithm):
    """An algorithm that no attack has heard of."""

    def round(self, agent, state, k):
        received = yield Broadcast(state)
        return agent.descend(agent.mix(state, received), k)


@pytest.mark.parametrize(
    ("shoot", "says"),
    [
        (lambda view: difference_attack(view, 1), "agent 1 is in the coalition"),
        (lambda view: difference_attack(view, 5), "agent 5 is unknown: this network has agents 0 to 4"),
        (lambda view: lb_collusion_attack(view, 0), "this run is RssNb's; use difference_attack"),
        (lambda view: component_attack(view, [0]), "this run is RssNb's; use strongest_average"),
        (lambda view: component_attack(view, [], algorithm=hk.Dgd()), "aimed at nobody"),
        (lambda view: last_gradient_attack(view, 0, [1.0]), "the state of agent 0, 60 finite numbers"),
        (
            lambda view: difference_attack(view, 0, algorithm=Chatty()),
            "messages of Chatty do not stand for a state",
        ),
    ],
)
def test_shots_at_nothing_are_refused(shoot, says):
    with pytest.raises(BadInput, match=says):
        shoot(run_of("rss-nb").view({1, 4}))


def test_nothing_said_is_nothing_to_attack():
    view = play_on_ring(hk.Centralised(), CURVED, rounds=3).view(threat="states")
    with pytest.raises(BadInput, match="messages of Centralised do not stand for a state"):
        difference_attack(view, 0)
    with pytest.raises(BadInput, match="nothing was sent"):
        difference_attack(view, 0, algorithm=hk.Dgd())


def test_one_round_shows_no_gradient():
    run = play_on_ring(hk.Dgd(), CURVED, rounds=1)
    assert "a single round was seen" in difference_attack(run.view({1, 4}), TARGET).why.in_words()
    assert last_gradient_attack(run.view({1, 4}), TARGET, run.x[TARGET]).exact


@pytest.mark.parametrize("sight", [SURROUNDED, TAPPED, ASIDE], ids=["exact", "hidden", "unheard"])
def test_outcomes_are_told_in_words_and_in_json(sight):
    found = difference_attack(sight.of(run_of("rss-nb")), TARGET)
    words, numbers = str(found), json.loads(json.dumps(found.to_json()))
    assert words.startswith("difference attack on agent 0: the gradient of agent 0 in each round")
    assert ("exactly" in words) == numbers["exact"]
    assert ("does not pin down" in words or "too little was received" in words) != numbers["identifiable"]
    assert str(found.why) in words
    if found.estimate is None:
        assert numbers["estimate"] is numbers["typical_sd"] is None
    else:
        assert "no state was moved back into X" in words
        np.testing.assert_array_equal(numbers["estimate"], found.estimate)
