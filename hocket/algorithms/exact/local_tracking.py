"""Local tracking: several gradient steps between two exchanges, without drifting apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.exact.exact_method import WITHIN, ExactMethod, Shape
from hocket.errors import BadAlgorithm
from hocket.steps import Derived

FINEST = 400
"""Steps that are tried for the largest one that is proved, each three per cent below the one before."""


class LocallyCorrected(NamedTuple):
    """The estimate, and what is added to this agent's gradients: it sums to zero over the network."""

    x: Any
    correction: Any


class LocalTracking(ExactMethod):
    """H times x ← P_X(x − (α/H)(∇f(x) + c)), z the mean of the H directions, x ← Bx, c ← c + Bz − z: K-GT [Liu, Lin,
    Koloskova and Stich 2023], as Scaffold does with a server.

    Choose it where an exchange is dearer than many gradients. α is the step of a whole exchange, so that H local steps
    of α/H cost one; x and z are said together. With H = 1 it is gradient tracking that steps before it mixes.
    """

    name, title = "local-tracking", "Local tracking"

    local_steps: int = eqx.field(static=True, default=4)
    """H: gradient steps between two exchanges."""

    def __check_init__(self) -> None:
        if self.local_steps < 1:
            raise BadAlgorithm(f"local_steps = {self.local_steps}; an exchange has one step at least")

    def init(self, agent: Agent, x: Any) -> LocallyCorrected:
        return LocallyCorrected(x, 0 * x)

    def round(self, agent: Agent, state: LocallyCorrected, k: Any) -> Round:
        part = agent.with_part(1 / self.local_steps)
        x, total = state.x, 0 * state.x
        for _ in range(self.local_steps):
            direction = agent.gradient(x) + state.correction
            x = part.prox(x - agent.step(k) * direction / self.local_steps, k)
            total = total + direction
        said = (x, total / self.local_steps)
        received = yield Broadcast(said)
        mixed, direction = agent.mix(said, received)
        return LocallyCorrected(mixed, state.correction + direction - said[1])

    def step_for(self, shape: Shape) -> Derived:
        mu = shape.strong_convexity
        known = f"L̂ = {shape.smoothness:.4g} and λ = {shape.lam:.4g}"
        if mu is None or mu <= 0 or not shape.free:
            return Derived(self.bold_step(shape), why=f"a rule of thumb from {known}")
        most = shape.smoothness * 2 / (mu + shape.mean_smoothness)
        for z in most * 0.97 ** np.arange(FINEST):
            if self.comparison(shape, z) < 1:
                return Derived(
                    WITHIN * float(z) / shape.smoothness,
                    why=f"proved to converge from {known}, μ = {mu:.4g}, with {self.local_steps} local steps",
                    proved=True,
                )
        return Derived(self.bold_step(shape), why=f"a rule of thumb from {known}, as no step is proved")

    def bold_step(self, shape: Shape) -> float:
        return min(1.0, 1.5 * (1 - shape.lam)) / shape.smoothness

    def comparison(self, shape: Shape, z: float) -> float:
        """The spectral radius of the matrix that bounds disagreement, that of the directions, and the distance of the
        mean from the optimum by what they were a round before, with a step of z/L̂."""
        lam, ratio = shape.lam, shape.mean_smoothness / shape.smoothness
        steps = self.local_steps
        # How far gradients move on the way, as a part of the direction that agents set out in.
        drift = ((1 + z / steps) ** steps - 1) / z - 1
        astray = drift * np.array([1, 1, ratio])
        apart = np.array([lam, lam * z, 0]) + lam * z * astray
        moved = apart + np.array([1 + z, 0, z * ratio]) + z * astray
        tracked = np.array([0, lam, 0]) + moved + (1 + lam) * astray
        pulled = z * (shape.strong_convexity or 0) / shape.smoothness
        off = np.array([z, 0, 1 - pulled]) + z * astray
        return float(abs(np.linalg.eigvals(np.stack([apart, tracked, off]))).max())
