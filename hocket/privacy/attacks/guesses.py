"""Where a fit of objectives that is not linear may begin, so that it ends at the best explanation and not near it.

Polynomials are fitted first, which has one answer. It says how each agent's gradient changes from point to point, and
parameters that change it likewise are close: an agent at a time, with few unknowns and no noise in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from hocket.privacy.attacks.boundary import straight_gradients
from hocket.privacy.attacks.descent import descended
from hocket.privacy.attacks.least_squares import Rows, agreeing, solve
from hocket.privacy.attacks.system import Key, System
from hocket.privacy.families import Family, polynomials
from hocket.problems.sets import FeasibleSet

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
    lines = [straight_gradients(one.equations, feasible, draws=draws, rng=rng) for one in system.heard]
    guesses = [np.zeros(system.size) for _ in range(1 + draws)]
    for key, place in system.places.items():
        wanted = [
            line[:, :, a]
            for line, one in zip(lines, system.heard, strict=True)
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
        for one in system.heard
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
