"""Gaussian differential privacy: what a number μ means, as ε and δ, and back.

A view is μ-GDP if telling two neighbouring worlds apart from it is no easier than telling N(0, 1) from N(μ, 1). For
normal noise that is the whole truth, not a bound, so ε and δ below are exact [Dong, Roth and Su 2022]:

    δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from scipy.special import erfcx, log_ndtr, ndtri

from hocket.errors import BadInput

SMALL = 1.0
"""Below this μ the two terms of δ are so alike that their difference is integrated instead."""
LARGEST = 1e100
"""A μ beyond which nothing is promised: its square, which ε grows by, is no number to work with."""
CERTAIN = 1e6
"""A μ beyond which ε is μ²/2 + μ Φ⁻¹(1 − δ) to all digits, and never more than that."""
SMALLEST = math.ulp(0.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


def delta(mu: float, epsilon: float) -> float:
    """δ: how often a promise of ε may fail, for a view that is μ-GDP.

    >>> round(delta(1.0, 1.0), 6)
    0.126937
    """
    found = math.exp(log_delta(mu, epsilon))
    # What is too small for a double is not nothing.
    return max(found, SMALLEST) if mu > 0 and epsilon < math.inf else found


def epsilon(mu: float, delta: float) -> float:
    """ε at a wanted δ; infinite where no ε will do.

    >>> round(epsilon(1.0, 1e-5), 5)
    4.37718
    """
    _check(mu, "mu")
    _check_probability(delta)
    if mu == 0:
        return 0.0
    if mu > LARGEST or delta == 0:
        return math.inf
    goal = math.log(delta)
    if log_delta(mu, 0.0) <= goal:
        return 0.0
    if mu > CERTAIN:
        return mu * max(0.0, mu / 2 - float(ndtri(delta)))
    # ln δ(ε) ≤ −(ε/μ − μ/2)²/2 where that is positive, so here δ is small enough. Solved in units of μ: ε may be tiny.
    most = mu / 2 + math.sqrt(-2 * goal) + 1.0
    return mu * _root(lambda one: log_delta(mu, mu * one) - goal, 0.0, most)


def mu(epsilon: float, delta: float) -> float:
    """The largest μ that is (ε, δ)-private: what noise must reach.

    >>> round(mu(1.0, 1e-5), 6)
    0.268051
    """
    _check(epsilon, "epsilon")
    _check_probability(delta)
    if delta == 0:
        return math.inf if epsilon == math.inf else 0.0
    if epsilon == math.inf:
        return math.inf
    goal = math.log(delta)
    # δ grows with μ, from nothing to all.
    low, high = 1e-12, 1.0
    while log_delta(high, epsilon) < goal:
        high *= 2
    if log_delta(low, epsilon) >= goal:
        return 0.0
    found = _root(lambda one: log_delta(math.exp(one), epsilon) - goal, math.log(low), math.log(high))
    return math.exp(found)


def composed(*mus: float) -> float:
    """μ of several views together, each chosen in the light of those before: the root of the sum of squares.

    >>> composed(3.0, 4.0)
    5.0
    """
    for one in mus:
        _check(one, "mu")
    return math.hypot(*mus)


def epsilon_by_concentration(mu: float, delta: float) -> float:
    """The looser ε that zero-concentrated privacy gives, ρ + 2√(ρ ln 1/δ) with ρ = μ²/2.
    For comparison with accountants that convert so [Bun and Steinke 2016].
    """
    _check(mu, "mu")
    _check_probability(delta)
    if mu > LARGEST:
        return math.inf
    rho = mu**2 / 2
    return math.inf if delta == 0 and mu else rho + 2 * math.sqrt(rho * -math.log(delta)) if mu else 0.0


def log_delta(mu: float, epsilon: float) -> float:
    """ln δ, which keeps its digits where δ itself is too small for a double."""
    _check(mu, "mu")
    _check(epsilon, "epsilon")
    if mu == 0 or (epsilon == math.inf and mu < math.inf):
        return -math.inf
    if mu == math.inf:
        return 0.0
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    if near > 0 and mu > SMALL:
        return _difference(float(log_ndtr(near)), epsilon + float(log_ndtr(far)))
    # e^ε φ(far) = φ(near): both terms are φ(near) times a Mills ratio, and only the ratios are subtracted.
    begin, width = -near / math.sqrt(2), mu / math.sqrt(2)
    alike = mu <= SMALL or begin > 1e3 * width
    apart = _integral(begin, width) if alike else erfcx(begin) - erfcx(begin + width)
    return -near * near / 2 + math.log(float(apart) / 2) if apart > 0 else -math.inf


def _root(of: Callable[[float], float], low: float, high: float) -> float:
    found: Any = scipy.optimize.brentq(of, low, high, xtol=1e-14)
    return float(found)


def _difference(larger: float, smaller: float) -> float:
    """ln(e^larger − e^smaller)."""
    return larger + math.log1p(-math.exp(smaller - larger)) if smaller < larger else -math.inf


def _integral(begin: float, width: float) -> float:
    """erfcx(begin) − erfcx(begin + width), as the integral of −erfcx′(t) = 2/√π − 2t erfcx(t)."""
    half = width / 2
    return float(half * _WEIGHTS @ _slope(begin + half * (1 + _NODES)))


def _slope(t: np.ndarray) -> np.ndarray:
    # Far out its two terms cancel to 1/(√π t²) (1 − 3/(2t²) + 15/(4t⁴) − …): then the series is the better one.
    inverse = (1 / np.maximum(t, 1.0)) ** 2
    series = inverse * (1 - inverse * (1.5 - inverse * (3.75 - 13.125 * inverse))) / math.sqrt(math.pi)
    return np.where(t > 50, series, 2 / math.sqrt(math.pi) - 2 * t * erfcx(np.minimum(t, 50.0)))


def _check(value: float, name: str) -> None:
    if math.isnan(value) or value < 0:
        raise BadInput(f"{name} = {value!r}; give a number that is zero or more")


def _check_probability(value: float) -> None:
    if not 0 <= value < 1:
        raise BadInput(
            f"delta = {value!r} is the probability that a promise fails; choose it from 0 to below 1"
        )
