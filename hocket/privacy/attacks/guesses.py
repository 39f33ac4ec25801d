"""Where a fit of objectives that is not linear may begin, so that it ends at the best explanation and not near it.

Polynomials are fitted first, which has one answer. It says how each agent's gradient changes from point to point, and
parameters that change it likewise are close: an agent at a time, with few unknowns and no noise in the way. Levenberg
and Marquardt's descent leads from many beginnings side by side, in one program.

Which steps X cut short is told beforehand by straight lines. P(v − αg) is known once g is, whatever the noise; and g
only has to be right enough to tell on which side of the edge v − αg lies. So lines g(v) = level + tilt · v are tried
one by one, each with the offset that noise drawn once would then have to be. The one with the least noise left over is
where a fit begins, and others as likely come after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.privacy.attacks.equations import Equations
from hocket.privacy.attacks.least_squares import Rows, agreeing, solve
from hocket.privacy.attacks.system import Key, System
from hocket.privacy.families import Family, polynomials
from hocket.problems.sets import FeasibleSet

STEPS = 100
"""Trials after which a descent ends wherever it is."""
ENOUGH = 1e-8
"""Part of the cost that a step must gain for another to be worth it."""
FIRST, CAUTIOUS, BOLD = 1e-3, 4.0, 0.3
"""The first damping, and what it is multiplied by after a step that failed, and after one that gained."""
GIVEN_UP = 1e12
"""Damping beyond which no step is left to be tried."""
Linearised = Callable[[Any], tuple[Any, Any]]
"""Around u, rows a and what they should come to, b: a · change ≈ b."""


class _Place(NamedTuple):
    u: Any
    a: Any
    b: Any
    damping: Any
    widths: Any
    """The largest effect that each unknown ever had: unknowns are measured by what they do."""
    trials: Any
    done: Any


def descended(
    rows: Linearised, beginnings: Float[np.ndarray, "beginnings unknowns"]
) -> tuple[Float[np.ndarray, "beginnings unknowns"], Float[np.ndarray, " beginnings"]]:
    """Where each beginning leads, and the sum of squares left there.

    `rows` is a callable `equinox` module that holds its numbers: modules of one shape share one compiled program.
    """
    with jax.enable_x64(True):
        found, cost = _descended(rows, jnp.asarray(beginnings, float))
        return np.asarray(found), np.asarray(cost)


@eqx.filter_jit
def _descended(rows: Linearised, beginnings: Any) -> tuple[Any, Any]:
    def one(u: Any) -> tuple[Any, Any]:
        a, b = rows(u)
        place = _Place(u, a, b, jnp.asarray(FIRST), _widths(a), jnp.asarray(0), ~jnp.isfinite(b @ b))
        end = jax.lax.while_loop(lambda at: ~at.done, lambda at: _tried(rows, at), place)
        left = end.b @ end.b
        return end.u, jnp.where(jnp.isnan(left), jnp.inf, left)

    return jax.vmap(one)(beginnings)


def _widths(a: Any) -> Any:
    return jnp.linalg.norm(a, axis=0)


def _tried(rows: Linearised, at: _Place) -> _Place:
    """One step, taken if it gains."""
    widths = jnp.where(at.widths > 0, at.widths, 1.0)
    scaled = at.a / widths
    normal = scaled.T @ scaled + at.damping * jnp.eye(len(at.u))
    factor = jax.scipy.linalg.cho_factor(normal)
    u = at.u + jax.scipy.linalg.cho_solve(factor, scaled.T @ at.b) / widths
    a, b = rows(u)
    before, after = at.b @ at.b, b @ b
    better = after < before  # false where something is not a number
    trials = at.trials + 1
    damping = at.damping * jnp.where(better, BOLD, CAUTIOUS)
    over = (better & (before - after <= ENOUGH * after)) | (damping > GIVEN_UP) | (trials >= STEPS)
    u, a, b = (jnp.where(better, new, old) for new, old in ((u, at.u), (a, at.a), (b, at.b)))
    return _Place(u, a, b, damping, jnp.maximum(at.widths, _widths(a)), trials, over)


LEVELS, TILTS = 201, 13
"""Lines that are tried."""
SURE = 5.0
"""Standard deviations within which noise lies."""


def straight_gradients(
    received: Equations, feasible: FeasibleSet, *, draws: int, rng: np.random.Generator
) -> Float[np.ndarray, "looks rounds agents dim"]:
    """Everybody's gradients in every round, as the best line has them, a line for each agent and coordinate.

    After the best come some that are drawn by how likely they are.
    """
    middle, width = (
        received.at.mean(axis=0),
        np.maximum(np.ptp(received.at, axis=0), np.finfo(np.float64).tiny),
    )
    level = np.linspace(-1, 1, LEVELS) * _reach(received)
    tilt = np.sign(np.linspace(-1, 1, TILTS)) * np.linspace(-1, 1, TILTS) ** 2 * _reach(received)
    lines = np.stack(np.meshgrid(level, tilt, indexing="ij"), axis=-1).reshape(-1, 2)
    along = (received.at - middle) / width
    noise = np.maximum((received.fresh**2).sum(axis=2), (received.rounding**2)[:, None])[..., None]
    kept = 0.0 if received.inside else (received.kept**2).sum(axis=2).mean(axis=0)
    with jax.enable_x64(True):
        scan = _Scan(
            feasible, received.at, received.alpha, received.values, along, 1 / noise, np.asarray(kept)
        )
        misfit = np.asarray(_misfits(scan, jnp.asarray(lines)))  # (lines, agents, dim)
    # The largest of log-likelihoods, each with a Gumbel draw on top, is a draw by likelihood.
    luck = np.stack([np.zeros_like(misfit), *rng.gumbel(size=(draws, *misfit.shape))])
    best = lines[np.argmin(misfit / 2 - luck, axis=1)][:, None]  # (looks, 1, agents, dim, 2)
    return best[..., 0] + best[..., 1] * along


def _reach(received: Equations) -> float:
    """How large a gradient may be, as far as its residuals show: they and the noise in them."""
    noise = np.sqrt((received.fresh**2).sum(axis=2).max() + (received.kept**2).sum(axis=2).max(initial=0.0))
    return float(np.median(np.abs(received.values)) + SURE * noise)


class _Scan(eqx.Module):
    """What is left of the words if gradients were some line."""

    feasible: FeasibleSet
    at: Any
    alpha: Any
    values: Any
    along: Any
    weight: Any
    kept: Any
    """The variance of an offset, by agent and coordinate; zero if there is none."""

    def misfit(self, line: Any) -> Any:
        """By agent and coordinate."""
        alpha, dim = self.alpha[:, None, None], self.at.shape[2]
        aimed = self.at - alpha * (line[0] + line[1] * self.along)
        reached = jax.vmap(self.feasible.project)(aimed.reshape(-1, dim)).reshape(aimed.shape)
        left = self.values - (self.at - reached) / alpha
        offset = (self.weight * left).sum(axis=0) ** 2 * self.kept
        offset = offset / (self.weight.sum(axis=0) * self.kept + 1)
        return (self.weight * left**2).sum(axis=0) - offset


@eqx.filter_jit
def _misfits(scan: _Scan, lines: Any) -> Any:
    return jax.lax.map(scan.misfit, lines)


LIFTED = 4
"""The degree of the polynomials that stand in for objectives of another form."""
TRIES = 12
"""Beginnings from which one agent's parameters are looked for."""
LOOKS = 11
"""Other lines from which a fit begins where X cuts steps short."""
PROMISING = 3
"""Ends of blurred descents from which a fit goes on."""
HOPELESS = 1e4
"""Squares left of a blurred row, in the mean, beyond which no fit is near."""
MIRRORED = 1e-3
"""Part of how gradients change, in squares, by which another objective may miss them and still be worth a look."""
APART = 1e-2
"""Part of their size by which gradients must differ in the mean to be others."""
BLURS = (1.0, 1e-2, 1e-4)
"""Noise, as parts of the loudest, that equations without any are given while a fit is still far off."""
Guess = Float[np.ndarray, " unknowns"]


def guesses(system: System, restarts: int, seed: int) -> Iterator[Guess]:
    """Anywhere if all is linear, else near polynomials that fit, and then where blurred equations lead from there.

    Where X cuts steps short, straight lines that tell which ones come first.
    """
    rng = np.random.default_rng(seed)
    if system.linear:
        yield np.zeros(system.size)
        return
    near = _without_projection(system) if system.straight else _near_polynomials(system, rng)
    lines = [] if system.feasible is None else _near_lines(system, system.feasible, rng)
    yield from [*lines[:1], near]
    anywhere = [] if system.straight else [_anywhere(system, rng) for _ in range(restarts)]
    yield from _sharpened(system, np.stack([*lines, near, *anywhere]))


def _anywhere(system: System, rng: np.random.Generator) -> Guess:
    guess = np.zeros(system.size)
    for key, place in system.places.items():
        guess[place] = system.families[key].guess(rng)
    return guess


def mirrored(system: System, u: Guess, keys: Iterable[Key], seed: int) -> Iterator[Guess]:
    """Explanations beside u in which one objective is another whose gradients differ by next to a constant.

    Noise that was drawn once is such a constant: a label that is turned around hides behind it, but for how large that
    noise would then have been.
    """
    rng = np.random.default_rng(seed)
    for key in keys if system.draws else ():
        family, at, place = system.families[key], _points(system, key), system.places[key]
        if family.linear:
            continue
        wanted = family.gradients(at, u[place])
        tries = np.stack([-u[place], *(family.guess(rng) for _ in range(TRIES))])
        found, cost = descended(_Resemblance(family.gradient, at, wanted, level=False), tries)
        alike = cost <= MIRRORED * np.sum((wanted - wanted.mean(axis=0)) ** 2)
        levels = [wanted.mean(axis=0)]  # records in another order are the same objective
        for theta in found[alike]:
            level = family.gradients(at, theta).mean(axis=0)
            if all(np.linalg.norm(level - one) > APART * np.linalg.norm(one) for one in levels):
                levels.append(level)
                guess = u.copy()
                guess[place] = theta
                yield guess


def _without_projection(system: System) -> Guess:
    """What the rounds say that agree with each other, as if in no other a step had been cut short."""
    plain, zero = replace(system, feasible=None), np.zeros(system.size)
    exact, noisy, before = plain.tiers(zero)
    keep = agreeing(exact)
    return solve(Rows(exact.a[keep], exact.b[keep]), noisy, before, plain.scale(zero)).u


def _near_polynomials(system: System, rng: np.random.Generator) -> Guess:
    """Every objective apart, as close as possible to the polynomial that stands in for it."""
    plain = polynomials(LIFTED, system.dim)
    lifted = replace(system, families=dict.fromkeys(system.families, plain), feasible=None)
    zero = np.zeros(lifted.size)
    found = solve(*lifted.tiers(zero), lifted.scale(zero)).u
    guess = np.zeros(system.size)
    for key, place in system.places.items():
        at = _points(system, key)
        guess[place] = _resembling(
            system.families[key], at, plain.gradients(at, found[lifted.places[key]]), rng
        )
    return guess


def _near_lines(system: System, feasible: FeasibleSet, rng: np.random.Generator) -> list[Guess]:
    """Every objective apart, as close as possible to lines that tell well which of its steps X cut short."""
    draws = LOOKS if system.straight else 0
    lines = [straight_gradients(one.equations, feasible, draws=draws, rng=rng) for one in system.received]
    guesses = [np.zeros(system.size) for _ in range(1 + draws)]
    for key, place in system.places.items():
        wanted = [
            line[:, :, a]
            for line, one in zip(lines, system.received, strict=True)
            for a, agent in enumerate(one.equations.agents)
            if key in one.objectives[agent]
        ]
        family, at = system.families[key], _points(system, key)
        for guess, one in zip(guesses, np.concatenate(wanted, axis=1), strict=True):
            guess[place] = _resembling(family, at, one, rng, level=True)
    return guesses


def _points(system: System, key: Key) -> np.ndarray:
    """Where the gradients of one objective were taken."""
    parts = [
        one.equations.at[:, a]
        for one in system.received
        for a, agent in enumerate(one.equations.agents)
        if key in one.objectives[agent]
    ]
    return np.concatenate(parts)


class _Resemblance(eqx.Module):
    """How far gradients at some points are from those that are wanted."""

    gradient: Callable[[Any, Any], Any]
    at: Float[Any, "points dim"]
    wanted: Float[Any, "points dim"]
    level: bool = eqx.field(static=True)
    """Whether their mean counts too: it may be noise."""

    def __call__(self, theta: Any) -> tuple[Any, Any]:
        found = jax.vmap(self.gradient, in_axes=(0, None))(self.at, theta)
        a = jax.vmap(jax.jacfwd(self.gradient, argnums=1), in_axes=(0, None))(self.at, theta)
        b = self.wanted - found
        if not self.level:
            a, b = a - a.mean(axis=0), b - b.mean(axis=0)
        return a.reshape(-1, len(theta)), b.ravel()


def _resembling(
    family: Family, at: np.ndarray, wanted: np.ndarray, rng: np.random.Generator, *, level: bool = False
) -> np.ndarray:
    """Parameters whose gradients change from point to point as wanted."""
    tries = np.stack([family.guess(rng) for _ in range(1 if family.linear else TRIES)])
    found, cost = descended(_Resemblance(family.gradient, at, wanted, level), tries)
    return found[np.argmin(cost)]


def _sharpened(system: System, guesses: Float[np.ndarray, "guesses unknowns"]) -> Iterator[Guess]:
    """Where equations lead to that are blurred less and less: the most promising of them, if any is."""
    cost, rows = np.zeros(len(guesses)), len(guesses)
    for blur in BLURS:
        equations = system.blurred(blur * (system.loudest or system.typical))
        guesses, cost = descended(equations, guesses)
        rows = sum(map(len, equations.sd))
    best = np.argsort(cost)[:PROMISING]
    # A single round that is told wrongly costs much where X cuts steps short; elsewhere much is too much.
    yield from (guesses[one] for one in best if system.feasible is not None or cost[one] < HOPELESS * rows)
