"""Attacks where a whole neighbourhood is received: round by round, and as an average over rounds.

A gradient is what an agent's next message, or the state that it publishes in the end, lacks from its mix. Averages are
the mean over rounds and its non-linear twin, Pitman's: bounded noise has edges, so that a round in which it was nearly
as large as it can be says more about the gradient than its weight in a mean. With a flat prior the posterior of a
location is the product of the densities of all rounds, and its mean is the best of all estimates that move along with
the data (Pitman 1939).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.privacy.attacks.attack import SAME_GRADIENT, Attack, What, Why
from hocket.privacy.attacks.messages import (
    Messages,
    Plan,
    check_target,
    dimension,
    mixed,
    not_received,
    own_message,
    with_plan,
)
from hocket.privacy.attacks.residuals import Fresh, Moments, Residuals, cleaned, residuals
from hocket.privacy.profile import profile
from hocket.privacy.stand_ins import without_noise
from hocket.privacy.wording import Said, counted
from hocket.runs.view import View

CELLS = 4096
POINTS = 65
"""Points at which a posterior is evaluated; twice, the second time where its mass lies."""
FAR = 8.0
"""Standard deviations of the mean within which the posterior is looked for."""
NEGLIGIBLE = 30.0
"""Logarithm of the ratio to the peak below which a posterior counts as zero."""


def difference_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient in every round, from its messages and its neighbours'.
    The first thing to try: exact on DGD, and on RSS-NB and FS where all noise on the target's links is known.
    """
    return _from_rounds("difference", residuals(view, target, **plan), view)


def lb_collusion_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient in every round of RSS-LB, exactly, if all its neighbours collude or its links are tapped.
    One neighbour that keeps silent is enough to beat it; `states_behind` gives the states themselves.
    """
    view = _balanced(view, plan)
    return _from_rounds("LB collusion", residuals(view, target), view)


def states_behind(view: View, target: int, **plan: Unpack[Plan]) -> Messages:
    """x_j = Σ_i B[i,j] w_{j,i} / Σ_i B[i,j] in every round of RSS-LB; NaN where some neighbour's message is missing."""
    view = _balanced(view, plan)
    return own_message(view, check_target(view, target))


def last_gradient_attack(view: View, target: int, published_x: Any, **plan: Unpack[Plan]) -> Attack:
    """An agent's last gradient, (v_K − x_{K+1}) / α_K, if it publishes its state as it is after the last round.
    Try it on every release: noise in messages does not help, since x_{K+1} itself carries none.
    """
    view, target = with_plan(view, **plan), check_target(view, target)
    x = np.asarray(published_x, dtype=np.float64).reshape(-1)
    if len(x) != dimension(view) or not np.isfinite(x).all():
        needed = counted(dimension(view), "finite number")
        raise BadInput(f"published_x is {published_x!r}; give the state of agent {target}, {needed}")
    what, v = Said(What.LAST, who=(target,)), mixed(view, target)[-1:]
    if np.isnan(v).any():
        why = not_received(view, target) or Said(Why.NOT_LAST, who=(target,), k=view.rounds)
        return Attack("last gradient", (target,), what, False, why)
    assert view.step is not None
    # Noise in messages is not in a state; noise in objectives and gradients is.
    inside = profile(view.algorithm).noise_in == "gradient"
    quiet = view if inside else dataclasses.replace(view, algorithm=without_noise(view.algorithm))
    moved = (v - x) / view.step(view.rounds)
    found = cleaned(quiet, target, Moments(np.array([view.rounds]), np.ones(1), v), moved)
    why = (
        Said(Why.BEHIND_LAST, behind=found.behind)
        if found.sd.any()
        else _received(view, found, Why.PUBLISHED)
    )
    return _each_round("last gradient", found, what, why)


def _balanced(view: View, plan: Plan) -> View:
    view = with_plan(view, **plan)
    if not profile(view.algorithm).per_neighbour:
        raise BadInput(
            f"this attack undoes the balance of RSS-LB, and this run is {type(view.algorithm).__name__}'s; "
            "use difference_attack"
        )
    return view


def _from_rounds(name: str, found: Residuals, view: View) -> Attack:
    """The outcome that single rounds allow."""
    what = Said(What.EACH_ROUND, who=(found.target,))
    if found.silence is not None:
        return Attack(name, (found.target,), what, False, found.silence)
    why = Said(Why.BEHIND, behind=found.behind) if found.sd.any() else _received(view, found, Why.RECEIVED)
    return _each_round(name, found, what, why)


def _received(view: View, found: Residuals, why: Why) -> Said:
    return Said(why, around=[found.target, *view.network.neighbours(found.target)])


def _each_round(name: str, found: Residuals, what: Said, why: Said) -> Attack:
    return Attack(
        name,
        (found.target,),
        what,
        not found.sd.any(),
        why,
        estimate=found.values,
        predicted_sd=found.sd,
        rows=tuple(found.rounds.tolist()),
        at=found.at,
        assuming=found.assuming,
    )


def mean_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient as the mean over rounds, each weighted by how little noise it carries (1/r_k²).
    The best linear estimate where all of N[j] is received; its error falls like 1/√K unless noise is persistent.
    """
    return _mean(residuals(view, target, **plan))


def pitman_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient as the posterior mean under the true distribution of the noise, coordinate by coordinate.
    The stronger average where few honest links hide the target: about 1.2 to 1.6 times closer than the mean with one.
    """
    return _pitman(residuals(view, target, **plan))


def strongest_average(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient by the mean or by Pitman's estimate, whichever predicts the smaller error.
    What to report as the best known attack on RSS where all of N[j] is received.
    """
    found = residuals(view, target, **plan)
    return min(_mean(found), _pitman(found), key=lambda attack: attack.typical_sd)


def _mean(found: Residuals) -> Attack:
    """The weighted mean and its predicted error."""
    if found.silence is not None:
        return Attack("mean", (found.target,), Said(What.MEAN, who=(found.target,)), False, found.silence)
    weights = _weights(found)
    return _average("mean", found, weights @ found.values, np.sqrt(weights**2 @ found.fresh.sd**2))


def _pitman(found: Residuals) -> Attack:
    """The posterior mean; or the plain mean, where noise has no edges or the rounds do not fit one gradient."""
    plain = _mean(found)
    if plain.estimate is None or found.fresh.normal.any() or not found.fresh.sd.all():
        return replace(plain, name="Pitman")
    weights = _weights(found)
    centre, far = weights @ found.values, FAR * np.sqrt(weights**2 @ found.fresh.sd**2)
    densities = [density_of_sum(bounds) for bounds in found.fresh.boxes]
    posteriors = [
        _posterior(Rounds(row, found.fresh, densities), near - far, near + far)
        for row, near in zip(found.values.T, centre, strict=True)
    ]
    fitting = [posterior for posterior in posteriors if posterior is not None]
    if len(fitting) < len(posteriors):
        return replace(plain, name="Pitman", why=Said(Why.NO_SINGLE, plain=plain.why))
    mean, sd = np.array(fitting).T
    return _average("Pitman", found, mean, sd)


def _weights(found: Residuals) -> Float[np.ndarray, " rounds"]:
    """What each round counts for: as 1 / variance, and rounds without fresh noise alone where there are any."""
    variance = found.fresh.sd**2
    weights = 1 / variance if variance.all() else np.where(variance, 0.0, 1.0)
    return weights / weights.sum()


def _average(
    name: str,
    found: Residuals,
    estimate: Float[np.ndarray, " dim"],
    fresh_sd: Float[np.ndarray, " dim"] | float,
) -> Attack:
    """An average whose error from fresh noise is known; persistent noise adds what no average removes."""
    steady = ((_weights(found) @ found.kept.swapaxes(0, 1)) ** 2).sum(axis=0)
    sd = np.broadcast_to(np.sqrt(np.asarray(fresh_sd) ** 2 + steady), estimate.shape)
    why = Said(Why.NO_NOISE, who=(found.target,))
    if steady.any():
        why = Said(Why.DRAWN_ONCE, behind=found.behind, sd=np.sqrt(steady.mean()))
    elif sd.any():
        why = Said(Why.AVERAGES_OUT, behind=found.behind, rounds=len(found.rounds))
    return Attack(
        name,
        (found.target,),
        Said(What.MEAN, who=(found.target,)),
        not steady.any(),
        why,
        estimate=estimate[None],
        predicted_sd=sd[None],
        assuming=(*found.assuming, SAME_GRADIENT),
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
