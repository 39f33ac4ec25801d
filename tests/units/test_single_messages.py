"""Algorithms that look at single neighbours' messages: trimmed means and the like, alike in every engine."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm, NoTheorem
from tests.laws.table import quadratics

NETWORKS = {
    "slots": hk.Network.cycle(6),
    "dense": hk.Network.complete(6),
    "star": hk.Network.star(6),
}


class Mixing(hk.Algorithm):
    """DGD that mixes by itself, message by message."""

    to_each: bool = False

    def round(self, agent: hk.Agent, state: Any, k: Any):
        if self.to_each:
            w = agent.perturb(state, balanced=agent.step(k))
            received = yield hk.SendEach(w)
        else:
            received = yield hk.Broadcast(state)
        weights, messages = received.each()
        mixed = (1 - weights.sum()) * state + (weights[:, None] * messages).sum(axis=0)
        return agent.descend(mixed, k)

    def noise(self, setting: Any):
        return hk.RssLb(1.0).noise(setting) if self.to_each else {}


class Trimmed(hk.Algorithm):
    """DGD on the mean of itself and its neighbours, without the largest and the smallest number of each coordinate."""

    def round(self, agent: hk.Agent, state: Any, k: Any):
        received = yield hk.Broadcast(state)
        weights, messages = received.each()
        there = (weights > 0)[:, None]
        xp = messages.__array_namespace__()
        low = xp.where(there, messages, np.inf).min(axis=0)
        high = xp.where(there, messages, -np.inf).max(axis=0)
        kept = there.sum() - 1
        return agent.descend((state + (there * messages).sum(axis=0) - low - high) / kept, k)


def played(algorithm: hk.Algorithm, network: hk.Network, **how: Any) -> hk.Run:
    asked = {"step": hk.Power(0.5, 1, 0.75), "rounds": 30, "seed": 2, "progress": False}
    return hk.solve(quadratics(network.n, 2, 1), network, algorithm, **asked | how)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_mean_taken_message_by_message_is_the_mix(name):
    by_hand, mixed = (played(one, NETWORKS[name]) for one in (Mixing(), hk.Dgd()))
    np.testing.assert_allclose(by_hand.x, mixed.x, rtol=1e-12)


def test_messages_to_each_neighbour_arrive_one_by_one():
    by_hand, mixed = (played(one, NETWORKS["slots"]) for one in (Mixing(True), hk.RssLb(1.0)))
    np.testing.assert_allclose(by_hand.x, mixed.x, rtol=1e-12)


@pytest.mark.parametrize("name", ["slots", "dense"])
def test_a_trimmed_mean_is_that_of_numpy(name):
    network, problem = NETWORKS[name], quadratics(6, 2, 1)
    run = played(Trimmed(), network, rounds=8)
    x = np.zeros((6, 2))
    for k in range(1, 9):
        after = np.empty_like(x)
        for j in range(6):
            near = np.sort(x[[*network.neighbours(j)]], axis=0)[1:-1]
            v = np.concatenate([x[[j]], near]).mean(axis=0)
            after[j] = np.clip(v - hk.Power(0.5, 1, 0.75)(k) * np.asarray(problem.gradient(j, v)), -5, 5)
        x = after
    np.testing.assert_allclose(run.x, x, rtol=1e-12)


def test_on_fractions_too():
    how = {"step": Fraction(1, 4), "rounds": 4, "engine": "exact"}
    by_hand, mixed = (played(one, NETWORKS["slots"], **how) for one in (Mixing(), hk.Dgd()))
    np.testing.assert_array_equal(by_hand.x, mixed.x)


def test_what_cannot_be_said_of_it_is_said():
    with pytest.raises(BadAlgorithm, match="a lossy channel carries no single messages"):
        played(Mixing(), NETWORKS["slots"], channel=hk.Channel(loss=0.2))
    with pytest.raises(NoTheorem, match="looks at single neighbours' messages"):
        hk.leakage(NETWORKS["slots"], Mixing(), coalition={0}, rounds=3, step=hk.Constant(0.1))
