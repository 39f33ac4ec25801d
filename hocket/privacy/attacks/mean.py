"""The averaging attack where a whole neighbourhood is heard: the mean over rounds, and its non-linear twin, Pitman's.

Bounded noise has edges: a round in which the noise was nearly as large as it can be says more about the gradient than
its weight in a mean. With a flat prior the posterior of a location is the product of the densities of all rounds, and
its mean is the best of all estimates that move along with the data (Pitman 1939).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from jaxtyping import Float

from hocket.privacy.attacks.attack import SAME_GRADIENT, Attack
from hocket.privacy.attacks.residuals import Fresh, Residuals, residuals
from hocket.privacy.attacks.words import Plan
from hocket.privacy.wording import counted
from hocket.runs.view import View

CELLS = 4096
NAME = "Pitman"
POINTS = 65
"""Points at which a posterior is evaluated; twice, the second time where its mass lies."""
FAR = 8.0
"""Standard deviations of the mean within which the posterior is looked for."""
NEGLIGIBLE = 30.0
"""Logarithm of the ratio to the peak below which a posterior counts as zero."""


def mean_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient as the mean over rounds, each weighted by how little noise it carries (1/r_k²).
    The best linear estimate where all of N[j] is heard; its error falls like 1/√K unless noise is kept.
    """
    return averaged(residuals(view, target, **plan))


def averaged(found: Residuals) -> Attack:
    """The weighted mean and its predicted error."""
    if not len(found.rounds):
        return Attack("mean", (found.target,), subject(found), False, found.silence)
    weights = mean_weights(found)
    return outcome("mean", found, weights @ found.values, np.sqrt(weights**2 @ found.fresh.sd**2))


def mean_weights(found: Residuals) -> Float[np.ndarray, " rounds"]:
    """What each round counts for: as 1 / variance, and rounds without fresh noise alone where there are any."""
    variance = found.fresh.sd**2
    weights = 1 / variance if variance.all() else np.where(variance, 0.0, 1.0)
    return weights / weights.sum()


def subject(found: Residuals) -> str:
    """What averages are about."""
    return f"the mean gradient of agent {found.target}"


def outcome(
    name: str,
    found: Residuals,
    estimate: Float[np.ndarray, " dim"],
    fresh_sd: Float[np.ndarray, " dim"] | float,
) -> Attack:
    """The outcome of an average whose error from fresh noise is known; kept noise adds what no average removes."""
    steady = ((mean_weights(found) @ found.kept.swapaxes(0, 1)) ** 2).sum(axis=0)
    sd = np.broadcast_to(np.sqrt(np.asarray(fresh_sd) ** 2 + steady), estimate.shape)
    if steady.any():
        why = (
            f"{found.behind} was drawn once and does not average out: "
            f"it alone leaves a standard deviation of {np.sqrt(steady.mean()):.3g}"
        )
    elif sd.any():
        why = (
            f"{found.behind} is drawn anew in each of {counted(len(found.rounds), 'round')} and averages out"
        )
    else:
        why = f"all that agent {found.target} mixes was heard, and no noise in it is unknown"
    return Attack(
        name,
        (found.target,),
        subject(found),
        not steady.any(),
        why,
        estimate=estimate[None],
        predicted_sd=sd[None],
        supposing=(*found.supposing, SAME_GRADIENT),
    )


@dataclass(frozen=True, eq=False)
class Density:
    """A symmetric density on [−reach, reach], linear between equally spaced points."""

    reach: float
    heights: Float[np.ndarray, " points"]
    """From 0 to `reach`."""

    def __call__(self, u: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """The density at u; zero outside its support."""
        place = np.abs(u) * ((len(self.heights) - 1) / self.reach)
        cell = np.minimum(place.astype(np.int64), len(self.heights) - 2)
        low = self.heights[cell]
        between = low + (place - cell) * (self.heights[cell + 1] - low)
        return np.where(place <= len(self.heights) - 1, between, 0.0)


def density_of_sum(bounds: Sequence[float]) -> Density:
    """The density of a sum of independent draws, each uniform within its own bound.

    The sum of two is a trapezium, known exactly; each further draw averages the density over its own width.
    """
    widths = sorted((float(b) for b in bounds if b > 0), reverse=True)
    reach = sum(widths)
    x = np.linspace(-reach, reach, 2 * CELLS + 1)
    if len(widths) == 1:
        heights = np.full_like(x, 1 / (2 * reach))
    else:
        first, second = widths[:2]
        heights = np.clip((first + second - abs(x)) / (4 * first * second), 0, 1 / (2 * first))
    for width in widths[2:]:
        steps = (heights[1:] + heights[:-1]) / 2 * (x[1] - x[0])
        below = np.concatenate([[0.0], np.cumsum(steps)])
        heights = (np.interp(x + width, x, below) - np.interp(x - width, x, below)) / (2 * width)
    return Density(reach, np.maximum(heights[CELLS:], 0.0))


def pitman_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient as the posterior mean under the true distribution of the noise, coordinate by coordinate.
    The stronger average where few honest links hide the target: about 1.2 to 1.6 times closer than the mean with one.
    """
    return weighed_by_density(residuals(view, target, **plan))


def weighed_by_density(found: Residuals) -> Attack:
    """The posterior mean; or the plain mean, where noise has no edges or the rounds do not fit one gradient."""
    plain = averaged(found)
    if plain.estimate is None or found.fresh.normal.any() or not found.fresh.sd.all():
        return replace(plain, name=NAME)
    weights = mean_weights(found)
    centre, far = weights @ found.values, FAR * np.sqrt(weights**2 @ found.fresh.sd**2)
    densities = [density_of_sum(bounds) for bounds in found.fresh.boxes]
    posteriors = [
        _posterior(Rounds(row, found.fresh, densities), near - far, near + far)
        for row, near in zip(found.values.T, centre, strict=True)
    ]
    fitting = [posterior for posterior in posteriors if posterior is not None]
    if len(fitting) < len(posteriors):
        moved = f"{plain.why}; no single gradient fits within the noise's edges, so this is the plain mean"
        return replace(plain, name=NAME, why=moved)
    mean, sd = np.array(fitting).T
    return outcome(NAME, found, mean, sd)


@dataclass(frozen=True, eq=False)
class Rounds:
    """One coordinate of the residuals, and the noise in it."""

    values: Float[np.ndarray, " rounds"]
    fresh: Fresh
    densities: list[Density]
    """By phase, before scaling."""

    @property
    def support(self) -> tuple[float, float]:
        """Where a gradient must lie for the noise of every round to be within its bounds."""
        reach = self.fresh.scale * np.array([density.reach for density in self.densities])[self.fresh.phase]
        return float(np.max(self.values - reach)), float(np.min(self.values + reach))

    def log_density(self, h: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
        """log Π_k p((y_k − h) / r_k) for every candidate h, up to a constant."""
        total = np.zeros_like(h)
        with np.errstate(divide="ignore"):  # outside the support the logarithm is −∞, as it should be
            for phase, density in enumerate(self.densities):
                now = self.fresh.phase == phase
                noise = (self.values[now, None] - h) / self.fresh.scale[now, None]
                total += np.log(density(noise)).sum(axis=0)
        return total


def _posterior(rounds: Rounds, low: float, high: float) -> tuple[float, float] | None:
    """Mean and standard deviation of the posterior between two candidates; None if no candidate fits."""
    first, last = rounds.support
    h, log = np.array([max(low, first), min(high, last)]), np.zeros(2)  # nothing between is ruled out yet
    for _ in range(2):
        (where,) = np.nonzero(log > -NEGLIGIBLE)
        low, high = float(h[max(where[0] - 1, 0)]), float(h[min(where[-1] + 1, len(h) - 1)])
        if not low < high:
            return None
        h = np.linspace(low, high, POINTS)
        log = rounds.log_density(h)
        if not np.isfinite(log).any():
            return None
        log = log - log.max()
    mass = np.exp(log) / np.exp(log).sum()
    mean = mass @ h
    return float(mean), float(np.sqrt(mass @ (h - mean) ** 2))


def strongest_average(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient by the mean or by Pitman's estimate, whichever predicts the smaller error.
    What to report as the best known attack on RSS where all of N[j] is heard.
    """
    found = residuals(view, target, **plan)
    return min(averaged(found), weighed_by_density(found), key=lambda attack: attack.typical_sd)
