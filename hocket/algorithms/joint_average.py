"""Joint averaging: everybody steps from the common point, and all are shown the average and nothing else."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Outgoing, Round, SecureSum, Setting
from hocket.algorithms.clipped_messages import cut
from hocket.algorithms.parameters import check_size
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Gaussian
from hocket.noise.mechanism import Mechanism
from hocket.problems.problem import Problem

MASK = 1e6
"""Deviations of own noise that a mask counts as: a uniform one hides more than any normal noise does, and at this size
what it leaves beside the sum is less than a millionth of a millionth of a certificate's μ²."""


class Stepped(NamedTuple):
    """The common point, and where this agent's own steps lead from it."""

    x: Any
    own: Any


class JointAverage(Algorithm):
    """Own steps from a point that all have, then the exact average of what came of them.

    Choose it where a few members train or fit together and can afford a sum over all of them in every round: it
    converges as with a server, and without one; nobody sees anything but the average. Over links the sum is masked in
    a finite group, so that what honest members that hang together say is uniform but for their sum. What the sum
    itself tells is all there is to learn.

    With noise of each agent's `own` the sum hides records as well: the shares of the honest add up, which is the
    accuracy of central differential privacy without a centre. `hk.certify` says how much, given `clip`.
    """

    key: ClassVar[str] = "joint-average"
    label: ClassVar[str] = "Joint average"
    in_words: ClassVar[str] = "joint averaging"
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "words"
    sums: ClassVar[bool] = True
    only_sums: ClassVar[bool] = True
    averages: ClassVar[bool] = True

    own: float = 0.0
    """τ: the deviation of normal noise that every agent adds to what it gives, per coordinate and in units of a
    gradient, and that nothing cancels."""
    clip: float | None = eqx.field(static=True, default=None)
    """C: the way of every step, or of all local steps of an exchange, is cut to α_k C; None for as it comes."""

    def __check_init__(self) -> None:
        check_size("own", self.own)
        if self.clip is not None and not 0 < self.clip < float("inf"):
            raise BadAlgorithm(
                f"clip = {self.clip}; it is the length of a gradient: choose it positive and finite"
            )

    @classmethod
    def typical(cls, *, persistent: bool = False) -> JointAverage | None:
        return None if persistent else cls()

    def setup(self, agent: Agent, x: Any) -> Any:
        return Stepped(x, x)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return (yield from self.averaged(agent, state.own, k))

    def averaged(self, agent: Agent, given: Any, k: Any) -> Generator[Outgoing, Any, Stepped]:
        """The average of what all give, each under its own noise, and where this agent's step leads from there."""
        noise = agent.own_noise(k)
        # Scaled by α_{k−1} like the gradient in what is given: every round then costs the same. The start is public.
        total: Any = yield SecureSum(given if noise is None else given + agent.step(k - 1) * noise)
        mean: Any = total / agent.members
        if noise is not None:
            mean = agent.feasible.project(mean)
        stepped = agent.descend(mean, k)
        if self.clip is not None:
            stepped = mean - agent.step(k) * cut((mean - stepped) / agent.step(k), self.clip, None)
        return Stepped(mean, stepped)

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        return {"own": Gaussian(np.asarray(self.own), label=7, width=setting.dim)} if self.own > 0 else {}

    def mechanism(self, setting: Setting) -> Mechanism | str:
        if not self.own > 0:
            return (
                f"{self.title} shows the sum over honest agents exactly, and a record changes that sum; give own=, the "
                "deviation of noise that every agent adds by itself"
            )
        return Mechanism(
            on="gradients",
            link_sd=np.where(setting.network.active, MASK * self.own, 0.0),
            own_sd=float(self.own),
            scaled_by="last step",
            projects="after the step",
            masked=True,
            sensitivity=None if self.clip is None else 2 * self.clip,
        )

    @property
    def scaled_with_gradient(self) -> bool:
        return True

    @property
    def noise_bound(self) -> float | None:
        return None if self.own > 0 else 0.0

    def bounded_noise(self) -> tuple[bool | None, str]:
        if self.own > 0:
            return None, "normal noise given by its deviation keeps within no bound for certain"
        return super().bounded_noise()

    def silent(self) -> Algorithm:
        return JointAverage(clip=self.clip)

    def by_coordinate(self, setting: Setting) -> Algorithm:
        """The same words from half the state: the common point is what was heard last."""
        return _OwnSteps(own=self.own)

    def remarks(self, problem: Problem, network: Network) -> list[str]:
        return [f"noise of τ = {self.own:g} by each agent alone, on what it gives"] if self.own > 0 else []

    def perturbation(self, agent: Agent, state: Any, outgoing: Outgoing, k: Any) -> Any:
        noise = agent.own_noise(k)
        return 0 * state.x if noise is None else noise


class _OwnSteps(JointAverage):
    """Joint averaging by an agent that keeps where its steps lead and nothing else."""

    def setup(self, agent: Agent, x: Any) -> Any:
        return x

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        after = yield from self.averaged(agent, state, k)
        return after.own
