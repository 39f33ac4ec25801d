"""Where a fit of objectives that is not linear may begin, so that it ends at the best explanation and not near it.

Polynomials are fitted first, which has one answer. It says how each agent's gradient changes from point to point, and
parameters that change it likewise are close: an agent at a time, with few unknowns and no noise in the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.optimize
from jaxtyping import Float

from hocket.privacy.attacks.least_squares import Rows, agreeing, solve, stacked
from hocket.privacy.attacks.system import Key, System
from hocket.privacy.families import Family, polynomials

LIFTED = 4
"""The degree of the polynomials that stand in for objectives of another form."""
TRIES = 12
"""Beginnings from which one agent's parameters are looked for."""
BLURS = (1.0, 1e-2, 1e-4)
"""Noise, as parts of the loudest, that equations without any are given while a fit is still far off."""
DESCENT = 100
"""Steps down after which the next blur takes over."""
Guess = Float[np.ndarray, " unknowns"]


def guesses(system: System, restarts: int, seed: int) -> Iterator[Guess]:
    """Anywhere if all is linear, else near polynomials that fit, and then where blurred equations lead from there."""
    zero = np.zeros(system.size)
    if all(family.linear for family in system.families.values()):
        yield zero
        if system.feasible is not None:
            yield _without_projection(system)
        return
    rng = np.random.default_rng(seed)
    near = _near_polynomials(system, rng)
    yield near
    yield _sharpened(system, near)
    for _ in range(restarts):
        guess = zero.copy()
        for key, place in system.places.items():
            guess[place] = system.families[key].guess(rng)
        yield _sharpened(system, guess)


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


def _points(system: System, key: Key) -> np.ndarray:
    """Where the gradients of one objective were taken."""
    parts = [
        one.equations.at[:, a]
        for one in system.heard
        for a, agent in enumerate(one.equations.agents)
        if key in one.objectives[agent]
    ]
    return np.concatenate(parts)


def _resembling(family: Family, at: np.ndarray, wanted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Parameters whose gradients change from point to point as wanted, whatever their mean: that may be noise."""
    wanted = wanted - wanted.mean(axis=0)

    def off(theta: np.ndarray) -> np.ndarray:
        found = family.gradients(at, theta)
        return (found - found.mean(axis=0) - wanted).ravel()

    def slopes(theta: np.ndarray) -> np.ndarray:
        found = family.jacobians(at, theta)
        return (found - found.mean(axis=0)).reshape(-1, family.size)

    tried = [_least_squares(off, family.guess(rng), slopes) for _ in range(TRIES)]
    return min(tried, key=lambda one: one.cost).x


def _sharpened(system: System, guess: Guess) -> Guess:
    """Where equations lead to that are blurred less and less."""
    for blur in BLURS:
        guess = _descended(system, guess, blur * (system.loudest or system.typical))
    return guess


def _descended(system: System, guess: Guess, floor: float) -> Guess:
    def rows(u: np.ndarray) -> Rows:
        return stacked(*system.tiers(u, floor=floor))

    return _least_squares(lambda u: -rows(u).b, guess, lambda u: rows(u).a).x


def _least_squares(off: Any, guess: np.ndarray, slopes: Any) -> Any:
    """A local optimum; unknowns are scaled by what they do."""
    return scipy.optimize.least_squares(off, guess, slopes, x_scale="jac", max_nfev=DESCENT)
