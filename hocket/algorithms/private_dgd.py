"""Private DGD: differential privacy, which cancelling noise is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.errors import BadAlgorithm
from hocket.noise.draws import Draw, Gaussian
from hocket.problems.sets import Ball


def check_budget(one: Any, **more: tuple[bool, str]) -> None:
    """Refuse an ε, a length or a δ that cannot be one, and whatever else is not right."""
    fixes = {
        "epsilon": (one.epsilon > 0, "it is a budget: choose it above 0"),
        "clip": (0 < one.clip < math.inf, "it is the length of a gradient: choose it positive and finite"),
        "failure": (0 < one.failure < 1, "it is a probability: choose it above 0 and far below 1"),
    }
    for name, (right, fix) in (fixes | more).items():
        if not right:
            raise BadAlgorithm(f"{name} = {getattr(one, name)} of {type(one).__name__}; {fix}")


@final
class PrivateDgd(Algorithm):
    """DGD on gradients that are clipped and carry normal noise: (ε, δ)-differentially private for every agent.

    A baseline, and the choice where the answer itself must not give anyone away: unlike cancelling noise it protects
    the final model too, from everybody, and pays with a gap that more rounds cannot close.

    Adjacency: one agent's whole objective replaced by any other. All that an agent ever says follows from a public
    start, what it hears, and its noisy gradients, so one release per round is all there is to account for. Clipped to
    norm C, a gradient moves by at most 2C when the objective is replaced; with noise of standard deviation σ a release
    costs (2C)²/2σ² in zero-concentrated differential privacy, and T releases, each chosen in the light of those
    before, cost ρ = 2C²T/σ². This implies (ε, δ) with ε = ρ + 2√(ρ ln 1/δ) (Bun and Steinke 2016), hence

        σ = C √(2T) / (√(ln 1/δ + ε) − √(ln 1/δ)).

    So σ grows with √T: a budget that must last for more rounds buys less in each. The noise is rounded to floating
    point like all numbers here, which a determined attacker may exploit; for measuring, not for deployment.
    """

    name, title = "private-dgd", "private DGD"

    epsilon: float
    """ε: the budget of the whole run; finite."""
    clip: float
    """C: gradients longer than this are shortened to it, which moves the optimum where it bites."""
    releases: int
    """T: the rounds that the budget pays for; a longer run is refused."""
    failure: float = 1e-5
    """δ: the probability with which the promise may fail."""

    def __check_init__(self) -> None:
        check_budget(
            self,
            epsilon=(
                0 < self.epsilon < math.inf,
                "it is a budget: choose it above 0 and finite, or take Dgd() for no promise and no noise",
            ),
            releases=(1 <= self.releases < math.inf, "it counts rounds: choose at least 1"),
        )

    @property
    def sigma(self) -> float:
        """σ: standard deviation of the noise on each coordinate of a gradient."""
        log = math.log(1 / self.failure)
        # √(log + ε) − √log, written so that a small ε keeps its digits.
        root = self.epsilon / (math.sqrt(log + self.epsilon) + math.sqrt(log))
        return self.clip * math.sqrt(2 * self.releases) / root

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        received = yield Broadcast(state)
        v = agent.mix(state, received)
        noisy = Ball(self.clip).project(finite(agent.gradient(v))) + agent.noise("own")
        return agent.feasible.project(v - agent.step(k) * noisy)

    def validate(self, setting: Setting) -> None:
        if setting.rounds > self.releases:
            raise BadAlgorithm(
                f"a run of {setting.rounds} rounds asks more often than the budget pays for, releases = "
                f"{self.releases:g}; run at most that many, or spread the budget with releases={setting.rounds}"
            )

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        return {"own": Gaussian(np.asarray(self.sigma), width=setting.dim, label=6)}

    def perturbation(self, agent: Agent, state: Any, outgoing: Any, k: Any) -> Any:
        return agent.noise("own")


def finite(gradient: Any) -> Any:
    """The gradient, or nothing where it is no number: a state that is none would show whose objective led there."""
    if gradient.dtype == object:
        return gradient
    xp = gradient.__array_namespace__()
    return xp.where(xp.all(xp.isfinite(gradient)), gradient, xp.zeros_like(gradient))
