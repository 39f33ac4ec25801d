"""How noise is drawn and dealt out to agents.

An algorithm declares what it needs as `Paired`, `Balanced`, `Own` or `Gaussian`; an engine draws it, in blocks of
rounds where that is faster, and every agent receives its share through `agent.paired_noise(k)` and the like. Each
coordinate is drawn uniformly within its own bound, so the bound on the norm, ‖d‖ ≤ Δ, holds by construction; normal
noise has none, and keeps within Δ by its small deviation alone.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int

from hocket import threefry
from hocket.wiring import Wiring


class When(NamedTuple):
    """The rounds that a block of noise is for, and the phase of the network in each."""

    rounds: Int[Any, " rounds"]
    phases: Int[Any, " rounds"]


class Pair(NamedTuple):
    """What was drawn on every link: by its lower-numbered end for the higher one, and the other way."""

    forward: Float[Any, "rounds links width"]
    backward: Float[Any, "rounds links width"]


class Draw(eqx.Module):
    """One kind of noise that an algorithm asks for."""

    width: int = eqx.field(static=True, kw_only=True)
    """Numbers in one draw."""
    label: int = eqx.field(static=True, kw_only=True)
    """Names the random stream; every kind of noise in a run has its own."""
    once: bool = eqx.field(static=True, kw_only=True, default=False)
    """Drawn once and kept, instead of afresh in every round."""

    @property
    @abstractmethod
    def sd(self) -> Any:
        """The standard deviation of one number drawn, before any balancing."""

    @abstractmethod
    def raw(self, key: tuple[Any, Any], when: When, wiring: Wiring, dtype: Any) -> Any:
        """What is drawn, a row per round. For pairwise noise this is what both ends know."""

    def condense(self, raw: Any) -> Any:
        """The part of what was drawn that dealing needs."""
        return raw

    @abstractmethod
    def deal(self, condensed: Any, when: When, wiring: Wiring) -> Any:
        """Each agent's share of what was drawn: (rounds, agents, ...)."""

    @abstractmethod
    def size(self, wiring: Wiring) -> int:
        """How many numbers a round needs, so that an engine can choose its block."""


class Paired(Draw):
    """Two directed draws per link, s^{i,j} and s^{j,i}: each end adds what it was given and takes off what it gave.

    The shares sum to zero over the network, whatever is drawn [paper, eq. (2) and (3)].
    """

    scale: Float[Any, "period links"]
    """Largest magnitude of one coordinate, or its standard deviation if draws are normal; zero on silent links."""
    normal: bool = eqx.field(static=True, kw_only=True, default=False)
    """Drawn from a normal distribution instead of a uniform one."""
    first: int = eqx.field(static=True, kw_only=True, default=0)
    """The first round with noise."""
    active: Bool[Any, "period links"] | None = eqx.field(kw_only=True, default=None)
    """The phases in which noise that was drawn once is dealt on each link; None for all."""
    given: Float[Any, "rounds links 2 width"] | None = eqx.field(kw_only=True, default=None)
    """The user's own draws in place of random ones."""

    @property
    def sd(self) -> Any:
        """The standard deviation of one directed draw's coordinate, by phase and link."""
        return self.scale if self.normal else self.scale / np.sqrt(3)

    def raw(self, key: tuple[Any, Any], when: When, wiring: Wiring, dtype: Any) -> Pair:
        if self.given is not None:
            rows = _rows(self.given, when.rounds)
            return Pair(rows[:, :, 0], rows[:, :, 1])
        scale = _in_phase(self.scale, when) * (when.rounds >= self.first)[:, None]
        pair = _uniform(key, when.rounds, len(wiring.links), self.width, dtype)
        if self.normal:
            return Pair(*_normal(scale[:, :, None], *pair, dtype))
        return Pair(scale[:, :, None] * pair[0], scale[:, :, None] * pair[1])

    def condense(self, raw: Pair) -> Any:
        return raw.forward - raw.backward  # gained by the higher-numbered end; the lower one loses as much

    def deal(self, condensed: Any, when: When, wiring: Wiring) -> Any:
        if self.active is not None:
            condensed = condensed * self.active[when.phases][:, :, None]
        if wiring.layout != "slots":
            return _sum_over_links(condensed, wiring)
        xp = condensed.__array_namespace__()
        sign = xp.where(wiring.filled, 2 * wiring.direction - 1, 0)[:, :, None]  # direction 1: the higher end
        return sum(sign[:, slot] * _rows_of(condensed, wiring.link[:, slot]) for slot in range(wiring.slots))

    def size(self, wiring: Wiring) -> int:
        return 2 * len(wiring.links) * self.width


class Balanced(Draw):
    """Noise d_{j,i} for each neighbour i, balanced to zero by the weights B[i, j] [paper, eq. (4)]."""

    gamma: Float[Any, "period agents"]
    """Δ / (√D ‖P‖_∞), or zero where an agent has a single neighbour: nothing can balance one word."""
    towards: Float[Any, "period agents slots"]
    """B[i, j]: the weight that the neighbour in the slot gives to this agent."""
    given: Float[Any, "rounds links 2 width"] | None = eqx.field(kw_only=True, default=None)

    @property
    def sd(self) -> Any:
        """The standard deviation of a coordinate before balancing, γu, by phase and agent."""
        return self.gamma / np.sqrt(3)

    def raw(self, key: tuple[Any, Any], when: When, wiring: Wiring, dtype: Any) -> Any:
        if self.given is not None:
            pair = _rows(self.given, when.rounds)
        else:
            pair = _stack(_uniform(key, when.rounds, len(wiring.links), self.width, dtype))
        return pair[:, wiring.link, wiring.direction] * wiring.filled[:, :, None]

    def deal(self, condensed: Any, when: When, wiring: Wiring) -> Any:
        if self.given is not None:
            return condensed
        xp = condensed.__array_namespace__()
        b = _in_phase(self.towards, when)[:, :, :, None]
        length = xp.sum(b * b, axis=2, keepdims=True)
        along = xp.sum(b * condensed, axis=2, keepdims=True) / xp.where(length > 0, length, 1)
        # γ P u with P = I − bbᵀ/‖b‖², over the links that are active in the round.
        return _in_phase(self.gamma, when)[:, :, None, None] * (b > 0) * (condensed - b * along)

    def size(self, wiring: Wiring) -> int:
        return 2 * wiring.n * wiring.slots * self.width


class Own(Draw):
    """Noise that an agent draws for itself and nobody cancels."""

    bound: Float[Any, ""]

    @property
    def sd(self) -> Any:
        return self.bound / np.sqrt(3)

    def raw(self, key: tuple[Any, Any], when: When, wiring: Wiring, dtype: Any) -> Any:
        draws, _ = _uniform(key, when.rounds, wiring.n, self.width, dtype)
        return self.bound * draws

    def deal(self, condensed: Any, when: When, wiring: Wiring) -> Any:
        return condensed

    def size(self, wiring: Wiring) -> int:
        return 2 * wiring.n * self.width


class Gaussian(Draw):
    """Normal noise that an agent draws for itself and nobody cancels: what differential privacy calls for."""

    sigma: Float[Any, ""]

    @property
    def sd(self) -> Any:
        return self.sigma

    def raw(self, key: tuple[Any, Any], when: When, wiring: Wiring, dtype: Any) -> Any:
        draws, _ = _normal(self.sigma, *_uniform(key, when.rounds, wiring.n, self.width, dtype), dtype)
        return draws

    def deal(self, condensed: Any, when: When, wiring: Wiring) -> Any:
        return condensed

    def size(self, wiring: Wiring) -> int:
        return 2 * wiring.n * self.width


def _uniform(key: tuple[Any, Any], rounds: Any, items: int, width: int, dtype: Any) -> tuple[Any, Any]:
    """Two draws from [-1, 1] per round, item and coordinate, counted by round and by item · width + coordinate."""
    xp = rounds.__array_namespace__()
    place = xp.arange(items * width, dtype=np.uint32).reshape(1, items, width)
    moment = xp.astype(rounds, np.uint32).reshape(-1, 1, 1)
    return threefry.uniform(key, moment, place, dtype)


def _normal(sd: Any, first: Any, second: Any, dtype: Any) -> tuple[Any, Any]:
    """Two independent normal draws from two uniform ones, by Box and Muller."""
    xp = first.__array_namespace__()
    # The floor keeps a draw of zero finite; it lies below the grid on which draws are made.
    radius = sd * xp.sqrt(-2 * xp.log(xp.maximum(xp.abs(first), np.finfo(np.dtype(dtype)).tiny)))
    return radius * xp.cos(np.pi * second), radius * xp.sin(np.pi * second)


def _in_phase(table: Any, when: When) -> Any:
    """A row per round of a table by phase; a fixed network needs no look-up."""
    return table if len(table) == 1 else table[when.phases]


def _rows_of(gained: Any, link: Any) -> Any:
    """What each agent's link gained, in every round."""
    if isinstance(gained, np.ndarray):
        return gained[:, link]
    return gained.at[:, link].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _rows(given: Any, rounds: Any) -> Any:
    """The user's rows for these rounds: row k − 1 for round k, the only row for noise drawn once."""
    xp = rounds.__array_namespace__()
    return given[xp.clip(rounds - 1, 0, len(given) - 1)]


def _stack(pair: tuple[Any, Any]) -> Any:
    return pair[0].__array_namespace__().stack(pair, axis=2)


def _sum_over_links(gained: Any, wiring: Wiring) -> Any:
    xp = gained.__array_namespace__()
    lower, higher = wiring.links[:, 0], wiring.links[:, 1]
    total = xp.zeros((gained.shape[0], wiring.n, gained.shape[2]), dtype=gained.dtype)
    if xp is np:
        everywhere: Any = slice(None)
        np.add.at(total, (everywhere, higher), gained)
        np.subtract.at(total, (everywhere, lower), gained)
        return total
    return total.at[:, higher].add(gained).at[:, lower].add(-gained)
