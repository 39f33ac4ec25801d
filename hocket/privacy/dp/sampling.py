"""Theorem S: what secret batches take off a certificate, where a record takes part in a round by a coin of its own.

If no two of: the record takes part, another does in its place, neither does, are told apart by a round better than
N(0, 1) and N(μ, 1), then with a coin of probability q the worlds are told apart with δ(ε) ≤ q δ_μ(ln(1 + (e^ε − 1)/q)),
both ways round [Balle, Barthe and Gaboardi 2018]; and rounds compose, each chosen in the light of those before, as
pairs with these divergences do [Zhu, Dong and Wang 2022]. dp-accounting convolves them, rounded up. This is about a
record that is replaced, where most accountants of sampling count one that is added or removed.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import erfcx, log_ndtr, ndtr

from hocket.errors import BadInput
from hocket.privacy.dp import gdp

SURE = 1e-10
"""A δ below which convolutions by floating-point transforms are not trusted, and coins count for nothing."""
LARGE = 5.0
"""A μ of one round, or of all that is beside, from which on coins are not counted: little is left to gain."""
TAIL, CELLS = 9.5, 100_000
"""Deviations beyond which a loss counts as infinite, of probability 1e-21; and cells to lay losses out on, at most."""


@dataclass(frozen=True)
class Sampled:
    """Rounds in each of which a record takes part with a probability, in secret; with rate 1 and once, any view."""

    per_round: float
    """μ of a round to anybody who knows that the record takes part."""
    rate: float = 1.0
    times: int = 1

    @property
    def mu(self) -> float:
        """μ of all rounds to anybody who knows all coins."""
        return self.per_round * math.sqrt(self.times)


def check_rate(rate: float) -> float:
    """A probability above zero."""
    if not 0 < rate <= 1:
        raise BadInput(f"rate = {rate!r}; a record takes part with a probability above 0, up to 1")
    return float(rate)


def epsilon(parts: Sequence[Sampled], delta: float, *, known: float | None = None) -> float:
    """ε of several views together at this δ; `known` is their μ without coins, where it is less than that of parts."""
    plain = gdp.epsilon(gdp.composed(*(one.mu for one in parts)) if known is None else known, delta)
    losses = _losses(tuple(parts)) if delta >= SURE else None
    return plain if losses is None else min(plain, float(losses.get_epsilon_for_delta(delta)))


def delta(parts: Sequence[Sampled], epsilon: float, *, known: float) -> float:
    """δ of several views together at this ε."""
    plain, losses = gdp.delta(known, epsilon), _losses(tuple(parts))
    return plain if losses is None else min(plain, max(SURE, float(losses.get_delta_for_epsilon(epsilon))))


@lru_cache
def mu_of_round(epsilon_wanted: float, delta: float, rate: float, times: int) -> float:
    """The largest μ of a round with which so many sampled ones keep to ε at δ."""
    # Without coins so much; with them no more than that is counted.
    low, high = gdp.mu(epsilon_wanted, delta) / math.sqrt(times), LARGE
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        kept = epsilon([Sampled(middle, rate, times)], delta) <= epsilon_wanted
        low, high = (middle, high) if kept else (low, middle)
    return low


@lru_cache(maxsize=64)
def _losses(parts: tuple[Sampled, ...]) -> Any:
    """The privacy losses of all parts together; None where coins are not counted."""
    coins = [one for one in parts if one.rate < 1 and 0 < one.per_round <= LARGE]
    beside = gdp.composed(*(one.mu for one in parts if one not in coins))
    if not coins or beside > LARGE:
        return None
    every = [*coins, *([Sampled(beside)] if beside else [])]
    together = math.hypot(*(one.rate * math.sqrt(one.times * math.expm1(one.per_round**2)) for one in every))
    finest = min(one.rate * min(one.per_round, 1.0) for one in every) / 30
    unit = max(finest, max(_largest(one) for one in every) / CELLS, TAIL * together / CELLS)
    first, *others = (_of(one, unit).self_compose(one.times) for one in every)
    for one in others:
        first = first.compose(one)
    return first


def _largest(part: Sampled) -> float:
    """The loss beyond which there is nothing but tail."""
    return math.log1p(part.rate * math.expm1(part.per_round**2 / 2 + TAIL * part.per_round))


def _of(part: Sampled, unit: float) -> Any:
    dp_accounting()
    grid: Any = importlib.import_module("dp_accounting.pld.pld_pmf")
    losses: Any = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    cells = math.ceil(_largest(part) / unit)
    at = unit * np.arange(cells + 1)
    above = _profile(part, at)
    below = -np.expm1(-at) + np.exp(-at) * above  # by symmetry
    deltas = np.concatenate([below[:0:-1], above])
    return losses.PrivacyLossDistribution(
        grid.create_pmf_pessimistic_connect_dots_fixed_gap(unit, -cells, cells, deltas)
    )


def _profile(part: Sampled, at: Float[np.ndarray, " cells"]) -> Float[np.ndarray, " cells"]:
    """q δ_μ(ln(1 + (e^ε − 1)/q)), with all its digits where it is small."""
    mu, inner = part.per_round, np.log1p(np.expm1(at) / part.rate)
    near, far = mu / 2 - inner / mu, -mu / 2 - inner / mu
    bulk = ndtr(near) - np.exp(inner + log_ndtr(far))
    begin = np.maximum(-near, 0.0) / math.sqrt(2)
    tail = np.exp(-(begin**2)) / 2 * (erfcx(begin) - erfcx(begin + mu / math.sqrt(2)))
    return part.rate * np.maximum(np.where(near > 0, bulk, tail), 0.0)


def dp_accounting() -> Any:
    """Google's dp-accounting, which comes with an extra."""
    try:
        import dp_accounting as accounting

        importlib.import_module("dp_accounting.pld")  # a part that it does not load by itself
    except ImportError as error:
        raise BadInput(
            "accounts of sampling are kept with dp-accounting; install hocket[learning]"
        ) from error
    return accounting
