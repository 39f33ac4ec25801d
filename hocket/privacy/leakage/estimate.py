"""What an adversary can estimate of each honest agent's gradient: the numbers, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.privacy.leakage.model_class import KnownModel
from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import SUPPOSED, braced, counted, grouped, judged, listed
from hocket.runs.view import Threat

EXACT = 1e-9
"""A standard deviation below this part of the prior's is zero: what is left is rounding."""


@dataclass(frozen=True, eq=False)
class Leakage:
    """What a listener can estimate, per coordinate of the gradients."""

    algorithm: str
    coalition: tuple[int, ...]
    threat: Threat
    rounds: int
    runs: int
    prior: float
    """τ: the standard deviation of a gradient before anything was received."""
    sd: Float[np.ndarray, " agents"]
    """The posterior standard deviation of each agent's gradient; zero for members and where it is known exactly."""
    covariance: Float[np.ndarray, "agents agents"] = field(repr=False)
    subspace: Float[np.ndarray, "agents rank"] = field(repr=False)
    """An orthonormal basis of the honest gradients' combinations that the view gives away: known exactly, or in which
    patience averages all noise away."""
    history: dict[str, np.ndarray] = field(repr=False)
    """`round` and `sd` (a row per round shown) over the last run, for gradients that stay the same."""
    constant: Float[np.ndarray, " agents"] = field(repr=False)
    """The same as `sd`, for gradients that stay the same; `sd` is smaller where a public form gives away more."""
    bounded: bool = False
    """Whether draws are bounded: then `sd` is a lower bound, which no estimator gets below, and else the best error."""
    models: tuple[KnownModel, ...] = ()
    """What is known of objectives of a public form, for each form that was asked about."""

    @property
    def honest(self) -> tuple[int, ...]:
        """Everybody who is listened to."""
        return tuple(j for j in range(len(self.sd)) if j not in self.coalition)

    @property
    def least(self) -> float:
        """How well the honest gradient is known that is known best."""
        return float(self.sd[list(self.honest)].min())

    @property
    def exact(self) -> tuple[int, ...]:
        """Honest agents whose gradients are known without error."""
        return tuple(j for j in self.honest if self.sd[j] == 0)

    @property
    def identifiable(self) -> tuple[int, ...]:
        """Honest agents whose gradients are exposed to averaging: e_j lies in the row space of the view."""
        inside = np.linalg.norm(self.subspace, axis=1)
        return tuple(j for j in self.honest if inside[j] > 1 - 1e-6)

    def sharpened(self, known: tuple[KnownModel, ...]) -> Leakage:
        """The same where public forms give more away: the smaller of the numbers."""
        return replace(self.no_better_than(*(one.sd for one in known)), models=known)

    def beside(self, other: Leakage) -> Leakage:
        """The same for anybody who knows the better of the two, of the same agents."""
        return replace(self.no_better_than(other.sd), models=other.models)

    def no_better_than(self, *others: Float[np.ndarray, " agents"]) -> Leakage:
        """The same with the smallest of these deviations for every agent."""
        least = np.min([self.sd, *others], axis=0)
        shrunk = np.divide(least, self.sd, out=np.ones_like(least), where=self.sd > 0)
        return replace(self, sd=in_digits(least), covariance=shrunk[:, None] * self.covariance * shrunk)

    def divergence(self, giver: int, taker: int, amount: float) -> float:
        """The Kullback-Leibler divergence of two views: as it is, and with `amount` of gradient moved between two.

        Zero: nobody could ever tell. Infinite: the view tells for certain.
        """
        for agent in (giver, taker):
            if agent not in self.honest:
                raise BadInput(f"agent {agent} is not an honest one; choose two of {braced(self.honest)}")
        moved = np.zeros(len(self.sd))
        moved[taker] += amount
        moved[giver] -= amount
        # The information in the view is what the posterior knows beyond the prior: Σ⁻¹ − I/τ².
        size, axes = np.linalg.eigh(self.covariance[np.ix_(self.honest, self.honest)])
        along = axes.T @ moved[list(self.honest)]
        known = size <= (EXACT * self.prior) ** 2
        if np.any(np.abs(along[known]) > 1e-6 * abs(amount)):
            return math.inf
        information = 1 / size[~known] - 1 / self.prior**2
        return float(0.5 * np.sum(along[~known] ** 2 * np.maximum(information, 0.0)))

    def __str__(self) -> str:
        return "\n".join(self.in_words())

    def in_words(self, gradient_size: float = SUPPOSED, labels: Sequence[object] | None = None) -> list[str]:
        """What is known of whom, for gradients whose coordinates are of this size; agents by name if they have one."""
        who = f"coalition {grouped(self.coalition, labels)}" if self.coalition else "nobody inside"
        tap = {
            "coalition": "",
            "states": " and an eavesdropper on all links",
            "states+noise": " and a tap on words and noise",
        }
        over = f"{counted(self.rounds, 'round')}, gradients of size {gradient_size:g}"
        over += ", bounded noise (± is what no estimator gets below)" if self.bounded else ""
        lines = [f"{self.algorithm} against {who}{tap[self.threat]}, {over}:"]
        if self.exact:
            lines.append(f"known exactly: the gradients of {listed(self.exact, labels)}")
        averaged = [j for j in self.identifiable if j not in self.exact]
        if averaged:
            lines.append(
                f"known ever better: {listed(averaged, labels)}; {self._best(averaged, gradient_size, labels)}"
            )
        lines += [one.in_words(labels) for one in self.models if one.exact]
        rest = [j for j in self.honest if j not in {*self.exact, *averaged}]
        if rest:
            best, whose = self._best(rest, gradient_size, labels), listed(rest, labels)
            lines.append(f"in time only in sums with others: {whose}; {best} (before: ±{self.prior:g})")
        return lines

    def _best(self, agents: list[int], size: float, labels: Sequence[object] | None) -> str:
        best = min(agents, key=lambda j: self.sd[j])
        return f"best so far {listed([best], labels)}: {judged(self.sd[best], size)}"

    def to_json(self) -> dict[str, Any]:
        """The estimate in numbers."""
        plan = plain_values(self, "algorithm", "coalition", "threat", "rounds", "runs", "prior", "bounded")
        return plan | plain_values(self, "sd", "exact", "identifiable", "models")


def in_digits(sd: np.ndarray) -> np.ndarray:
    """Twelve digits: what is below is rounding, which must not say who of those known equally well is known best."""
    return np.array([float(f"{one:.12g}") for one in sd])
