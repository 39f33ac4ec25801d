"""Accelerated tracking: Nesterov's momentum, and prices that track how an agent's gradient differs from the mean."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import ExactMethod, Shape
from hocket.algorithms.parts.parameters import check_positive
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.rationals import matching
from hocket.steps import Derived, Step


class Hastened(NamedTuple):
    """The estimate, the point that momentum is in, and the prices: they sum to zero over the network."""

    x: Any
    swing: Any
    price: Any


class AcceleratedTracking(ExactMethod):
    """APAPC [Kovalev, Salim and Richtárik 2020]: with g = τv + (1 − τ)x and D = α(∇f(g) − μg), say
    h = P_X((v − D − p) / (1 + αμ)), then p ← p + (h − Bh)/2, v ← P_X((v − D − p) / (1 + αμ)),
    x ← P_X(g + 2τ/(2 − τ) (new v − v)).

    Choose it where objectives are badly conditioned: rounds grow as √(L/μ), where those of all others grow as L/μ. It
    says one array a round and takes one gradient. Every objective must be strongly convex for its theorem; under noise
    functions that bend choose `AugDgm`.
    """

    name, title = "accelerated-tracking", "Accelerated tracking"

    share: float | None = None
    """τ: how much of v there is in the point where gradients are taken. None: derived from the problem and the network
    where a run has them; without any it is 1, which is PAPC, and nothing is accelerated."""
    strong_convexity: float | None = None
    """μ: how much every objective bends up at least. None: derived as well, else 0."""

    def __check_init__(self) -> None:
        check_positive("share", self.share, "it is a part of a point", most=1)
        check_positive("strong_convexity", self.strong_convexity or None, "it is how much objectives bend up")

    def init(self, agent: Agent, x: Any) -> Hastened:
        return Hastened(x, x, 0 * x)

    def round(self, agent: Agent, state: Hastened, k: Any) -> Round:
        alpha = agent.step(k)
        tau = matching(1 if self.share is None else self.share, state.x)
        mu = matching(0 if self.strong_convexity is None else self.strong_convexity, state.x)
        at = tau * state.swing + (1 - tau) * state.x
        there = state.swing - alpha * (agent.gradient(at) - mu * at)
        shrunk = 1 / (1 + alpha * mu)
        part = agent.with_part(shrunk)
        h = part.prox((there - state.price) * shrunk, k)
        received = yield Broadcast(h)
        price = state.price + (h - agent.mix(h, received)) / 2
        swing = part.prox((there - price) * shrunk, k)
        x = agent.feasible.project(at + 2 * tau / (2 - tau) * (swing - state.swing))
        return Hastened(x, swing, price)

    def step_for(self, shape: Shape) -> Derived:
        self.check_symmetric(shape)
        mu, every = self._bends_up(shape)
        known = f"L̂ = {shape.smoothness:.4g}, μ = {mu:.4g} and λ = {shape.lam:.4g}"
        if mu > 0:
            step = 1 / (4 * self._share(shape, mu) * shape.smoothness)
            proved, how = every and shape.free, "proved to converge"
        else:
            step, proved, how = 1 / shape.smoothness, shape.convex and not shape.bent, "proved for PAPC"
            proved = proved and shape.free and self.share in (None, 1)
        return Derived(step, why=f"{how if proved else 'a rule of thumb'} from {known}", proved=proved)

    def _bends_up(self, shape: Shape) -> tuple[float, bool]:
        """μ, and whether every objective is known to bend up by as much."""
        each = shape.least_bend
        if self.strong_convexity is not None:
            return float(self.strong_convexity), each is not None and each >= self.strong_convexity
        if each is not None and each > 0:
            return each, True
        return max(shape.strong_convexity or 0.0, 0.0), False

    def _share(self, shape: Shape, mu: float) -> float:
        """τ = ½ √(χ/κ), with 1/χ the least eigenvalue of (I − B)/2 that is not zero."""
        if self.share is not None:
            return float(self.share)
        chi = 2 / max(1 - shape.lam, 1e-12)
        return float(min(1.0, np.sqrt(chi * mu / shape.smoothness) / 2)) if mu > 0 else 1.0

    def configure(
        self, problem: Problem, network: Network, step: Step | None, *, added: float = 0.0
    ) -> tuple[Self, Step]:
        if step is None or (self.share is not None and self.strong_convexity is not None):
            return super().configure(problem, network, step, added=added)
        try:
            shape = Shape.of(self.title, problem, network, added)
        except BadAlgorithm:  # nothing is known, so nothing is accelerated
            return self, step
        mu, _ = self._bends_up(shape)
        # With a step of somebody's own, as much momentum as it bears: η = 1/(4τL).
        most = 1 / (4 * step(1) * shape.smoothness) if shape.smoothness > 0 else 1.0
        share = float(np.clip(most, 1e-3, 1.0)) if mu > 0 else 1.0
        chosen = share if self.share is None else self.share
        return dataclasses.replace(self, share=chosen, strong_convexity=mu if mu > 0 else 0.0), step
