"""What the tests of the attacks share: runs on a ring, who looks at them, and what was there to be found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import hocket as hk
from hocket.algorithm import Broadcast, Round, Setting
from hocket.noise import Draw, Own
from hocket.privacy.attacks import Attack
from hocket.privacy.attacks.attack import What
from hocket.privacy.profile import Profile, profile
from hocket.runs.view import Threat, View
from tests.laws.table import quadratics

RING = hk.Network.cycle(5)
DIM = 60
"""Coordinates are alike and apart: one run is sixty experiments."""
TARGET = 0
"""Its neighbours on the ring are 1 and 4; 2 and 3 are linked to each other, and to 1 and 4."""
CURVED, FEW = quadratics(5, DIM, 1), quadratics(5, 3, 1)
SLOPES = np.random.default_rng(2).normal(size=(5, DIM))
SLOPES = SLOPES - SLOPES.mean(axis=0)  # nothing to descend in sum, so that states stay where they are


def straight(dim: int) -> hk.Problem:
    rows = np.stack([np.zeros((5, dim)), SLOPES[:, :dim]], axis=1)
    return hk.polynomials(rows, box=(-5, 5), dim=dim)


STRAIGHT, FEW_STRAIGHT = straight(DIM), straight(3)


class Bounded(hk.Algorithm):
    """Uniform noise of each agent's own."""

    bound: float

    def round(self, agent: hk.Agent, state: Any, k: Any) -> Round:
        w = state + agent.step(k) * agent.noise("own")
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        return {"own": Own(np.asarray(self.bound), width=setting.dim, label=9)}


profile.add(Profile(noise_in="messages", plain=True), Bounded)


class Sight(NamedTuple):
    """Who looks, and what they see beside their own."""

    coalition: set[int]
    threat: Threat = "coalition"

    def of(self, run: hk.Run) -> View:
        return run.view(self.coalition, threat=self.threat)


SURROUNDED, ASIDE = Sight({1, 4}), Sight({1, 2})
TAPPED, ONE_INSIDE, NOISE_TAPPED = Sight(set(), "states"), Sight({1}, "states"), Sight(set(), "states+noise")


RUNS = {
    "dgd": (hk.Dgd(), CURVED),
    "rss-nb": (hk.RssNb(1.0), CURVED),
    "anchored": (hk.RssNb(1.0, persistent=0.5), CURVED),
    "rss-lb": (hk.RssLb(1.0), CURVED),
    "fs": (hk.FunctionSharing(2, 1.0), CURVED),
    "fs-waves": (hk.FunctionSharing(2, 0.3, family="cosine"), CURVED),
    "independent": (hk.IndependentNoise(1.0), CURVED),
    "private": (hk.PrivateDgd(10.0, clip=100.0, releases=40), CURVED),
    "rss-nb, straight": (hk.RssNb(1.0), STRAIGHT),
    "anchored, straight": (hk.RssNb(1.0, persistent=0.5), STRAIGHT),
    "independent, straight": (hk.IndependentNoise(1.0), STRAIGHT),
    "uniform, straight": (Bounded(1.0), STRAIGHT),
    "fs, straight": (hk.FunctionSharing(1, 1.0), STRAIGHT),
    "dgd, straight": (hk.Dgd(), STRAIGHT),
    "gaussian, straight": (hk.RssNb(1.0, distribution="gaussian"), STRAIGHT),
    "fs-gaussian": (hk.FunctionSharing(2, 1.0, distribution="gaussian"), CURVED),
}


def play_on_ring(algorithm: hk.Algorithm, problem: hk.Problem, **how: Any) -> hk.Run:
    how = {"rounds": 40, "step": hk.Power(0.1, 20, 0.75), "seed": 3, "start": 0.5} | how
    return hk.solve(problem, RING, algorithm, keep="transcript", **how)


@cache
def run_of(name: str) -> hk.Run:
    return play_on_ring(*RUNS[name])


@cache
def short_run_of(name: str) -> hk.Run:
    """The same with three coordinates, where nothing is averaged over them: audits try every attack there is."""
    algorithm, problem = RUNS[name]
    return play_on_ring(algorithm, FEW if problem is CURVED else FEW_STRAIGHT)


def truth(run: hk.Run, found: Attack) -> np.ndarray:
    """What the attack was after, from the problem, which no attack sees."""
    if found.what.what in (What.POLYNOMIAL, What.SUM_POLYNOMIAL):
        (group,) = run.problem.groups
        coefficients = sum(group.data_of(j) for j in found.target)
        return (np.arange(len(coefficients))[:, None] * coefficients)[1:]
    (agent,) = found.target
    if found.at is None:
        return SLOPES[[agent]]
    return np.stack([run.problem.gradient(agent, v) for v in found.at])
