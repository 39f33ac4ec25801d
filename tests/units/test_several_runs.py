"""Attacks on several runs: a changed record, a changed graph, and plans that were mixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.privacy.attacks import (
    changed_graph_attack,
    changed_record_attack,
    joint_attack,
    mean_attack,
    mixed_plans_attack,
)

RING, COMPLETE = hk.Network.cycle(5), hk.Network.complete(5)
CURVED = np.array([[0.0, -j, 1 + 0.1 * j] for j in range(5)])
ADDED = np.array([0.0, 0.7, 0.4])
DIM = 12
SLOPES = np.random.default_rng(0).normal(size=(5, DIM))
SLOPES = SLOPES - SLOPES.mean(axis=0)
STRAIGHT = hk.polynomials(np.stack([np.zeros_like(SLOPES), SLOPES], axis=1), box=(-1e3, 1e3), dim=DIM)


def play(coefficients: Any, algorithm: hk.Algorithm, network: hk.Network = COMPLETE, **how: Any) -> hk.Run:
    how = {"rounds": 40, "step": hk.Power(0.1, 20, 0.75), "seed": 3, "start": 0.5} | how
    problem = (
        coefficients
        if isinstance(coefficients, hk.Problem)
        else hk.polynomials(coefficients, box=(-1e6, 1e6))
    )
    return hk.solve(problem, network, algorithm, keep="transcript", **how)


def with_record(agent: int) -> np.ndarray:
    changed = CURVED.copy()
    changed[agent] += ADDED
    return changed


def gradient_of_record(at: Any) -> Any:
    return ADDED[1] + 2 * ADDED[2] * at


def test_function_sharing_shows_an_added_record_exactly_under_the_same_noise():
    algorithm = hk.FunctionSharing(2, 1.0)
    views = [play(rows, algorithm, start=2.0).view({0}) for rows in (CURVED, with_record(2))]
    found: Any = changed_record_attack(views[0], views[1])
    assert found.target == (2,)
    assert found.exact
    np.testing.assert_allclose(found.estimate, gradient_of_record(found.at), atol=1e-6)


def test_an_anchor_does_not_hide_what_changed():
    algorithm = hk.RssNb(20.0, persistent=0.9)
    # Nobody else's data changed, so the sum over the component has no noise in it at all.
    views = [play(rows, algorithm, rounds=60).view({0}) for rows in (CURVED, with_record(2))]
    found: Any = changed_record_attack(views[0], views[1], 2)
    assert mean_attack(views[1], 2).typical_sd > 1
    assert found.exact
    np.testing.assert_allclose(found.estimate, gradient_of_record(found.at), atol=1e-6)


@pytest.mark.slow
def test_a_plain_run_before_an_anchored_one_decides():
    plans = [hk.RssNb(10.0), hk.RssNb(10.0, persistent=0.9)]
    views = [
        play(STRAIGHT, plan, rounds=200, seed=seed).view(threat="states") for seed, plan in enumerate(plans)
    ]
    plain, persistent = (mean_attack(view, 2).typical_sd for view in views)
    found: Any = mixed_plans_attack(views, 2)
    assert found.typical_sd <= plain < persistent / 10
    error = np.sqrt(np.mean((found.estimate - SLOPES[2]) ** 2))
    assert 0.4 < error / found.typical_sd < 1.8  # twelve coordinates, alike and apart


@pytest.mark.slow
def test_another_graph_on_the_same_data_hides_less_than_either():
    algorithm = hk.RssNb(10.0, persistent=0.9, distribution="gaussian")
    views = [
        play(STRAIGHT, algorithm, network, rounds=200, seed=seed).view(threat="states")
        for seed, network in enumerate((RING, hk.Network([(0, 2), (2, 4), (4, 1), (1, 3), (3, 0)])))
    ]
    single = [mean_attack(view, 2).typical_sd for view in views]
    found: Any = changed_graph_attack(views, 2)
    assert min(single) / found.typical_sd > 1.3
    error = np.sqrt(np.mean((found.estimate - SLOPES[2]) ** 2))
    assert 0.4 < error / found.typical_sd < 1.8


def test_one_view_alone_is_the_mean_attack():
    view = play(STRAIGHT, hk.RssNb(10.0), rounds=50).view({0, 1})
    assert joint_attack([view], 2).typical_sd <= mean_attack(view, 2).typical_sd * (1 + 1e-9)


def test_an_agent_that_was_not_heard_stays_unknown():
    views = [play(STRAIGHT, hk.RssNb(1.0), RING).view({0})] * 2
    assert joint_attack(views, 2).estimate is None
    assert changed_record_attack(views[0], views[1], 2).estimate is None


def test_runs_are_needed():
    with pytest.raises(hk.errors.BadInput, match="no views"):
        joint_attack([], 2)
