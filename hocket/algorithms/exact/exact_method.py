"""What methods have in common that reach the optimum itself with a constant step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np

from hocket.algorithms.parts.noiseless import Noiseless
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere
from hocket.steps import Derived, Step

WITHIN = 0.99
"""Of the step that a theorem allows, which itself it does not."""
SMALL = 1000
"""Agents up to whom the spectrum of the weights is worked out; beyond, its bound by λ is taken."""


@dataclass(frozen=True)
class Shape:
    """What a step is derived from: how objectives bend, and how fast the network mixes."""

    smoothness: float
    """L̂: how much any agent's objective bends at most, noise functions included."""
    bent: bool
    """Whether noise functions bend it, so that it need not be convex."""
    mean_smoothness: float
    strong_convexity: float | None
    """μ of the mean; None where nobody knows."""
    lam: float
    """λ = ‖B − 11ᵀ/n‖."""
    least_eigenvalue: float
    """The least of (I + B)/2."""
    convex: bool
    free: bool
    """Whether X is everything, and there is no penalty."""
    symmetric: bool
    """Whether weights are the same both ways."""
    least_bend: float | None = None
    """How much every agent's objective bends up at least, noise functions included; None where nobody knows."""

    @classmethod
    def of(cls, name: str, problem: Problem, network: Network, added: float) -> Shape:
        """What is known; refuses where nothing can be derived."""
        if network.period > 1:
            raise BadAlgorithm(f"the step of {name} is derived for links that stay; give step= for these")
        each = problem.constants().N
        mean = problem.pooled().constants().N if problem.penalty is None else each
        if each is None or mean is None:
            raise BadAlgorithm(
                f"the step of {name} is derived from how much objectives bend, which nobody knows here; declare "
                "smoothness= of the problem, or give step="
            )
        least, least_bend = -network.lam, problem.least_strong_convexity
        if network.n <= SMALL:
            least = float(np.linalg.eigvalsh((network.B + network.B.T) / 2)[0])
        return cls(
            smoothness=each + added,
            bent=added > 0,
            mean_smoothness=mean,
            strong_convexity=problem.strong_convexity,
            lam=network.lam,
            least_eigenvalue=(1 + least) / 2,
            convex=problem.convex is True,
            free=isinstance(problem.feasible, Everywhere) and problem.penalty is None,
            symmetric=bool(np.allclose(network.B, network.B.T, rtol=0, atol=1e-12)),
            least_bend=None if least_bend is None else least_bend - added,
        )


class ExactMethod(Noiseless):
    """An algorithm whose fixed point is the optimum: gaps fall by a factor in every round, where DGD's fall by 1/√k.

    None of them hides anything: what they send is the gradient or tells it.
    """

    def configure(
        self, problem: Problem, network: Network, step: Step | None, *, added: float = 0.0
    ) -> tuple[Self, Step]:
        if step is not None:
            return self, step
        shape = Shape.of(self.title, problem, network, added)
        if shape.smoothness <= 0:
            raise BadAlgorithm(
                f"objectives do not bend, and any step of {self.title} is as good as any other; give step="
            )
        return self, self.step_for(shape)

    def step_for(self, shape: Shape) -> Derived:
        """The step for objectives and a network of this shape: proved, or a rule of thumb."""
        raise BadAlgorithm(f"{self.title} has no rule for its step; give step=")

    def check_symmetric(self, shape: Shape) -> None:
        """For methods that are proved with such weights only."""
        if not shape.symmetric:
            raise BadAlgorithm(
                f"{self.title} needs weights that are the same both ways, and may diverge with others; take 'paper' or "
                "'metropolis' weights, or a method that tracks"
            )

    def bold_step(self, shape: Shape) -> float:
        """The step that a safeguard tries first."""
        return float(self.step_for(shape).a)


class TrackingMethod(ExactMethod):
    """One that follows the average gradient: it needs no objective to be convex, as long as the mean is."""

    def step_for(self, shape: Shape) -> Derived:
        mu, mean = shape.strong_convexity, shape.mean_smoothness
        if mu is None or mu <= 0 or not shape.free:
            why = (
                "steps end in a projection or a proximal map"
                if mu is not None and mu > 0
                else "the mean is not known to be strongly convex"
            )
            return Derived(
                self.bold_step(shape),
                why=f"a rule of thumb from L̂ = {shape.smoothness:.4g} and λ = {shape.lam:.4g}, as {why}",
            )
        square, linear, rest = self.contraction(1 - shape.lam, mean / mu)
        # The positive root of square·z² + linear·z = rest, without cancellation.
        root = 2 * rest / (linear + np.sqrt(linear**2 + 4 * square * rest)) if rest else 0.0
        limit = min(root / shape.smoothness if linear else np.inf, 2 / (mu + mean))
        return Derived(
            WITHIN * float(limit),
            why=f"proved to converge from L̂ = {shape.smoothness:.4g}, μ = {mu:.4g}, λ = {shape.lam:.4g}",
            proved=True,
        )

    def bold_step(self, shape: Shape) -> float:
        # Hardly ever seen to fail on random networks, and known to fail on some.
        return min(1.0, 1.5 * (1 - shape.lam)) / shape.smoothness

    @abstractmethod
    def contraction(self, slack: float, condition: float) -> tuple[float, float, float]:
        """Of the step z/L̂ that is allowed: the coefficients a, b, c of a z² + b z = c; `slack` is 1 − λ."""


class PrimalDualMethod(ExactMethod):
    """One that remembers how far agents disagreed: proved for convex objectives, also on a set."""

    def step_for(self, shape: Shape) -> Derived:
        self.check_symmetric(shape)
        limit, of = self.limit(shape)
        from_what = f"from L̂ = {shape.smoothness:.4g}{of}"
        if shape.convex and not shape.bent:
            return Derived(limit / 2, why=f"half of what is proved to converge, {from_what}", proved=True)
        why = "noise functions bend" if shape.bent else "objectives are not known to be convex"
        return Derived(limit / 2, why=f"a rule of thumb {from_what}, as {why}")

    @abstractmethod
    def limit(self, shape: Shape) -> tuple[float, str]:
        """Below which step it converges for convex objectives, and what that rests on beside L̂."""
