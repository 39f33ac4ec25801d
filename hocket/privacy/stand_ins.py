"""Algorithms that stand for others: where one is asked about by its name, where coordinates are looked at one by one,
and where an attack needs it without its noise."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any, cast

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, SecureSum, Setting
from hocket.algorithms import (
    NOISELESS,
    CertifiedRssNb,
    Choco,
    Dgd,
    FunctionSharing,
    IndependentNoise,
    JointAverage,
    PrivateDgd,
    PushDiging,
    PushSum,
    RssLb,
    RssNb,
    Safeguard,
)
from hocket.algorithms.parts.compressors import Whole
from hocket.algorithms.parts.function_noise import sd_in
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.noise.draws import Draw, Gaussian

TYPICAL: dict[str, Algorithm] = {
    RssNb.name: RssNb(1.0),
    RssLb.name: RssLb(1.0, unprotected=True),
    FunctionSharing.name: FunctionSharing(1, 1.0, family="linear"),
    CertifiedRssNb.name: CertifiedRssNb(1.0),
    JointAverage.name: JointAverage(),
    IndependentNoise.name: IndependentNoise(1.0),
    **{kind.name: kind() for kind in NOISELESS if kind is not Safeguard},
}
"""What stands for an algorithm where it is asked about by its name; of a safeguard the method inside is meant."""
PERSISTENT: dict[str, Algorithm] = {
    RssNb.name: RssNb(1.0, persistent=0.5),
    CertifiedRssNb.name: CertifiedRssNb(1.0, persistent=0.5),
}
"""The same where part of the noise is drawn once and reused."""


def without_noise(algorithm: Algorithm) -> Algorithm:
    """What an algorithm is without its noise in messages."""
    if type(algorithm) is JointAverage:
        return JointAverage(clip=algorithm.clip)
    return Dgd() if type(algorithm) in (RssNb, RssLb, CertifiedRssNb, IndependentNoise) else algorithm


def by_coordinate(algorithm: Algorithm, setting: Setting) -> Algorithm:
    """What stands for an algorithm where gradients stay the same and coordinates are looked at one by one."""
    if (
        type(algorithm) is CertifiedRssNb
    ):  # where no gradient is longer than the clip, all it does is to round
        return replace(algorithm, clip=None, grid=None)
    if type(algorithm) is MaskedStart:
        inner = cast(RssNb | CertifiedRssNb, by_coordinate(algorithm.algorithm, setting))
        return replace(algorithm, algorithm=inner)
    if type(algorithm) is PrivateDgd:
        return Unclipped(algorithm.sigma)
    if type(algorithm) is JointAverage:
        return OwnSteps(algorithm.own)
    if type(algorithm) is Safeguard:
        return by_coordinate(algorithm.inner, setting)
    if type(algorithm) is Choco:  # whole messages tell no less: no compressor is affine
        return replace(algorithm, compressor=Whole(), gamma=algorithm.pull(setting.dim))
    if isinstance(algorithm, PushSum | PushDiging) and type(algorithm) in (PushSum, PushDiging):
        setting.network.both_ways("looking at coordinates one by one")
        return Even(algorithm)
    if type(algorithm) is FunctionSharing:
        return _slopes(algorithm, setting)
    return algorithm


def _slopes(algorithm: FunctionSharing, setting: Setting) -> FunctionSharing:
    """At one point a noise function is felt by its slope alone, and in floats."""
    inner = by_coordinate(algorithm.inner, setting)
    if algorithm.grid is None and algorithm.basis.separable:
        return algorithm if inner is algorithm.inner else dataclasses.replace(algorithm, inner=inner)
    size: dict[str, Any] = {"bound": None, "sd": sd_in(algorithm, setting)} if algorithm.normal else {}
    return dataclasses.replace(
        algorithm, degree=1, family="linear", given=None, grid=None, inner=inner, **size
    )


class Unclipped(Algorithm):
    """Private DGD's noise on gradients as they are: what an attacker makes of rounds in which nothing was cut."""

    sigma: float

    def noise(self, setting: Setting) -> dict[str, Draw]:
        return {"own": Gaussian(np.asarray(self.sigma), width=setting.dim, label=6)}

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        received = yield Broadcast(state)
        v = agent.mix(state, received)
        noisy = agent.perturb(agent.gradient(v), own=1)
        return agent.feasible.project(v - agent.step(k) * noisy)


class OwnSteps(Algorithm):
    """Joint averaging by an agent that keeps where its steps lead and nothing else: the common point was received."""

    own: float

    def noise(self, setting: Setting) -> dict[str, Draw]:
        return dict(JointAverage(self.own).noise(setting))

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        total: Any = yield SecureSum(agent.perturb(state, own=agent.step(k - 1)))
        return JointAverage(self.own).stepped(agent, total / agent.members, k).own


class Even(Algorithm):
    """A push method where weights balance: shares stay one, and are not sent."""

    inner: PushSum | PushDiging

    def init(self, agent: Agent, x: Any) -> Any:
        state: Any = self.inner.init(agent, x)
        return state._replace(share=None)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return self.inner.round(agent, state, k)
