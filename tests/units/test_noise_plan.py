"""How much noise a wanted uncertainty takes: enough, hardly more than enough, and refused where none is."""

from __future__ import annotations

import json
import math

import pytest

import hocket as hk
from hocket.errors import BadAlgorithm, BadInput
from hocket.privacy import plan_noise
from hocket.privacy.leakage.noise_plan import SHARES, price_in_rounds
from hocket.privacy.profile import profile

RING = hk.Network.cycle(5)
PLAN = {"rounds": 60, "step": hk.Power(1, 20, 0.75), "coalition": {1}}


def least(delta, persistent, **plan):
    """What the planner promises, asked of `leakage` itself."""
    found = hk.leakage(RING, hk.RssNb(delta, persistent=persistent), **(PLAN | plan))
    return found.sd[list(found.honest)].min()


@pytest.mark.parametrize(
    "plan",
    [{}, {"threat": "states"}, {"rounds": 150, "step": 0.1, "threat": "states"}, {"dim": 3}, {"runs": 3}],
    ids=str,
)
def test_the_planned_noise_is_enough_and_a_little_less_is_not(plan):
    found = plan_noise(RING, 2.0, **(PLAN | plan))
    assert [persistent for persistent, _ in found.considered] == list(SHARES)
    for persistent, delta in found.considered:
        assert least(delta, persistent, **plan) >= 2.0
        assert least(0.98 * delta, persistent, **plan) < 2.0  # found to one part in a hundred
    assert found.algorithm.delta == min(delta for _, delta in found.considered)
    assert found.leakage.sd[list(found.leakage.honest)].min() >= found.wanted


def test_an_anchor_pays_once_runs_are_long():
    """Fresh noise has to grow like √K, and more so where it is bounded; half of it kept does not."""
    plan = {"threat": "states", "coalition": (), "step": hk.Constant(0.1)}
    short, long = (dict(plan_noise(RING, 1.0, rounds=K, **plan).considered) for K in (4, 100))
    assert 5 * short[0.0] < long[0.0] < 1.2 * 5 * short[0.0]
    assert long[0.5] < 1.15 * short[0.5]
    assert plan_noise(RING, 1.0, rounds=100, **plan).algorithm.persistent == 0.9


def test_a_listener_who_knows_all_noise_is_refused_at_once():
    said = r"no noise of RSS-NB hides agent 0 from this adversary, .*; give them links to other honest agents"
    with pytest.raises(BadAlgorithm, match=said):
        plan_noise(RING, 1.0, **(PLAN | {"coalition": {1, 4}}))
    with pytest.raises(BadAlgorithm, match="hides agents 0, 2, 3 and 4"):
        plan_noise(RING, 1.0, **(PLAN | {"threat": "states+noise"}))


@pytest.mark.parametrize("wanted", [0.0, -1.0, math.nan, 100.0, 1e6])
def test_wishes_beyond_the_prior_are_refused(wanted):
    with pytest.raises(BadInput, match="give a standard deviation above zero and below the prior's, 100"):
        plan_noise(RING, wanted, **PLAN)


def test_the_price_is_in_rounds_of_dgd():
    problem = hk.polynomials([[0, c, 1] for c in (-2, -1, 0, 1, 2)], box=(-3, 3))
    found = plan_noise(RING, 0.2, problem=problem, **PLAN)
    assert found.price is not None
    assert found.price > 1
    assert f"price: about {found.price:.3g} rounds for one of DGD's" in str(found)
    quiet = price_in_rounds(problem, RING, hk.RssNb(1e-9), rounds=60, step=hk.Power(1, 20, 0.75))
    assert quiet == pytest.approx(1, rel=0.03)  # whole rounds, to one part in a hundred


def test_a_price_too_high_to_count_is_said_and_is_no_number():
    problem = hk.polynomials([[0, c, 1] for c in (-2, -1, 0, 1, 2)], box=(-3, 3))
    step = hk.Constant(0.1)  # noise of a constant step leaves a gap that no rounds close
    found = plan_noise(RING, 5.0, problem=problem, **(PLAN | {"step": step}))
    assert found.price == math.inf
    assert "too many to count rounds" in str(found)
    assert found.to_json()["price"] is None


def test_a_plan_is_told_in_words_and_in_json():
    found = plan_noise(RING, 2.0, **PLAN)
    best = found.algorithm
    words = str(found).splitlines()
    assert words[0].startswith(
        f"RSS-NB with delta={best.delta:.4g} and persistent={best.persistent:g} for states of"
    )
    assert words[0].endswith("uncertain by ±2, error as large as the gradient, or more, after 60 rounds")
    assert words[1 : len(SHARES)] == [line for line in words if line.startswith("with persistent=")]
    assert words[-1] == profile(best).caveat
    numbers = found.to_json()
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    assert numbers["price"] is None
