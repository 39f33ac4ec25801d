"""How noise is drawn and dealt out to agents.

An algorithm declares what it needs as `Paired`, `Balanced`, `Own` or `Gaussian`; an engine draws it, in blocks of
rounds where that is faster, and every agent receives its share through `agent.perturb` and `agent.noise`. Each
coordinate is drawn uniformly within its own bound, so the bound on the norm, ‖d‖ ≤ Δ, holds by construction; normal
noise has none, and keeps within Δ by its small deviation alone.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from hocket.networks.neighbour_tables import NeighbourTables, sum_over_links, sum_over_slots
from hocket.networks.network import Network
from hocket.noise.threefry import normal_pairs, uniform_pairs

FEW_SLOTS = 32
"""Neighbours up to whom compiled code adds up slot by slot."""


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
    private: ClassVar[bool] = True
    """Whether an agent alone knows what it draws; else both ends of a link do."""

    @property
    @abstractmethod
    def sd(self) -> Any:
        """The standard deviation of one number drawn, before any balancing."""

    def settled(self, key: tuple[Any, Any], network: Network) -> Draw:
        """The same with all that no compiled code can draw drawn beforehand, under a run's root key."""
        return self

    @abstractmethod
    def raw(self, key: tuple[Any, Any], when: When, tables: NeighbourTables, dtype: Any) -> Any:
        """What is drawn, a row per round. For pairwise noise this is what both ends know."""

    def condense(self, raw: Any) -> Any:
        """The part of what was drawn that dealing needs."""
        return raw

    @abstractmethod
    def deal(self, condensed: Any, when: When, tables: NeighbourTables) -> Any:
        """Each agent's share of what was drawn: (rounds, agents, ...)."""

    def at_each_end(self, key: tuple[Any, Any], when: When, tables: NeighbourTables, dtype: Any) -> Any:
        """The same shares, with every agent drawing for itself what its links deal it, so that no draw is kept.

        Choose it where drawing twice costs less than memory does, as on GPUs.
        """
        return self.deal(self.condense(self.raw(key, when, tables, dtype)), when, tables)

    @abstractmethod
    def size(self, tables: NeighbourTables) -> int:
        """How many numbers a round needs, so that an engine can choose its block."""

    def among(self, links: Int[np.ndarray, " some"], agents: Int[np.ndarray, " few"]) -> Draw:
        """The same draws where only these links and agents are at hand; link −1 stands for none, and deals zero."""
        return self

    @abstractmethod
    def with_sd(self, sd: float) -> Draw:
        """The same draws with this standard deviation, wherever there are any."""

    @abstractmethod
    def spread(self, when: When, tables: NeighbourTables) -> Float[np.ndarray, "agents numbers sources"]:
        """One round's shares, per coordinate, as combinations of independent numbers of deviation one.

        Sources are links where both ends know what is drawn, and each agent's own where it is `private`.
        """

    def without(self, silent: Bool[np.ndarray, " links"], tables: NeighbourTables) -> Draw:
        """The same draws once some links have fallen silent for good, dealt out over the others."""
        return self


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
    relative: Float[Any, " width"] | None = eqx.field(kw_only=True, default=None)
    """What each number is multiplied by, beside the scale; None for nothing."""
    private: ClassVar[bool] = False

    @property
    def sd(self) -> Any:
        """The standard deviation of one directed draw's coordinate, by phase and link; `relative` aside."""
        return self.scale if self.normal else self.scale / np.sqrt(3)

    def raw(self, key: tuple[Any, Any], when: When, tables: NeighbourTables, dtype: Any) -> Pair:
        if self.given is not None:
            rows = _rows(self.given, when.rounds)
            return Pair(rows[:, :, 0], rows[:, :, 1])
        return self._drawn(key, when, tables.counted_links, self.scale, dtype)

    def _drawn(self, key: tuple[Any, Any], when: When, links: Any, scale: Any, dtype: Any) -> Pair:
        scale = (_in_phase(scale, when) * (when.rounds >= self.first)[:, None])[:, :, None]
        if self.relative is not None:
            scale = scale * self.relative
        pair = uniform_pairs(key, when.rounds, links, self.width, dtype)
        if self.normal:
            return Pair(*normal_pairs(scale, *pair, dtype))
        return Pair(scale * pair[0], scale * pair[1])

    def condense(self, raw: Pair) -> Any:
        return raw.forward - raw.backward  # gained by the higher-numbered end; the lower one loses as much

    def deal(self, condensed: Any, when: When, tables: NeighbourTables) -> Any:
        if self.active is not None:
            condensed = condensed * self.active[when.phases][:, :, None]
        if tables.layout != "slots":
            return sum_over_links(condensed, tables)
        return sum_over_slots(lambda slot: _rows_of(condensed, tables.link[:, slot]), tables)

    def at_each_end(self, key: tuple[Any, Any], when: When, tables: NeighbourTables, dtype: Any) -> Any:
        if self.given is not None or tables.layout != "slots":
            return super().at_each_end(key, when, tables, dtype)

        def gained(slot: int) -> Any:
            link = tables.link[:, slot]
            drawn = self.condense(self._drawn(key, when, tables.numbers_of(link), self.scale[:, link], dtype))
            return drawn if self.active is None else drawn * self.active[when.phases][:, link, None]

        return sum_over_slots(gained, tables)

    def size(self, tables: NeighbourTables) -> int:
        return 2 * len(tables.links) * self.width

    def among(self, links: Int[np.ndarray, " some"], agents: Int[np.ndarray, " few"]) -> Paired:
        by_link = (_taken(table, links) for table in (self.scale, self.active, self.given))
        scale, active, given = by_link
        return replace(self, scale=scale, active=active, given=given)

    def with_sd(self, sd: float) -> Paired:
        return replace(self, scale=np.where(self.scale > 0, sd, 0.0), normal=True)

    def spread(self, when: When, tables: NeighbourTables) -> Float[np.ndarray, "agents numbers sources"]:
        # A link's two directed draws enter by their difference only, whose variance is twice theirs.
        net = np.sqrt(2) * _in_phase(self.sd, when)[0] * (when.rounds[0] >= self.first)
        if self.active is not None:
            net = net * self.active[when.phases[0]]
        column = np.arange(len(tables.links))
        dealt = np.zeros((tables.n, 1, len(column)))
        dealt[tables.links[:, 0], 0, column] = -net
        dealt[tables.links[:, 1], 0, column] = net
        return dealt


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

    def raw(self, key: tuple[Any, Any], when: When, tables: NeighbourTables, dtype: Any) -> Any:
        if self.given is not None:
            pair = _rows(self.given, when.rounds)
            return pair[:, tables.link, tables.direction] * tables.filled[:, :, None]
        both = uniform_pairs(key, when.rounds, tables.counted_links, self.width, dtype)
        rows = both[0].__array_namespace__().concat(both, axis=1)
        place = (
            tables.direction * both[0].shape[1] + tables.link
        )  # one index fetches a row three times faster than two
        return _rows_of(rows, place) * tables.filled[:, :, None]

    def deal(self, condensed: Any, when: When, tables: NeighbourTables) -> Any:
        if self.given is not None:
            return condensed
        b = _in_phase(self.towards, when)[:, :, :, None]
        along = share_along(*(_summed_slots(b * other) for other in (condensed, b)))
        return balanced(condensed, b, along, _in_phase(self.gamma, when)[:, :, None, None])

    def size(self, tables: NeighbourTables) -> int:
        return 2 * tables.n * tables.slots * self.width

    def among(self, links: Int[np.ndarray, " some"], agents: Int[np.ndarray, " few"]) -> Balanced:
        gamma, towards = _taken(self.gamma, agents), _taken(self.towards, agents)
        return replace(self, gamma=gamma, towards=towards, given=_taken(self.given, links))

    def with_sd(self, sd: float) -> Balanced:
        return replace(self, gamma=np.where(self.gamma > 0, sd * np.sqrt(3), 0.0))

    def spread(self, when: When, tables: NeighbourTables) -> Float[np.ndarray, "agents numbers sources"]:
        units = np.broadcast_to(np.eye(tables.slots), (1, tables.n, tables.slots, tables.slots))
        return replace(self, given=None).deal(units / np.sqrt(3), when, tables)[0]

    def without(self, silent: Bool[np.ndarray, " links"], tables: NeighbourTables) -> Balanced:
        return replace(self, towards=np.where(silent[tables.link], 0.0, self.towards))


def share_along(product: Any, length: Any) -> Any:
    """How much of an agent's draws u lies along the weights b, from Σ b u and Σ b²."""
    return product / (length + (length == 0))  # zero where all links are silent


def balanced(u: Any, b: Any, along: Any, gamma: Any) -> Any:
    """γ P u with P = I − bbᵀ/‖b‖², over the links that are active in the round."""
    return gamma * (b > 0) * (u - b * along)


class Lonely(Draw):
    """Noise that an agent draws for itself and nobody cancels."""

    def deal(self, condensed: Any, when: When, tables: NeighbourTables) -> Any:
        return condensed

    def size(self, tables: NeighbourTables) -> int:
        return 2 * tables.n * self.width

    def spread(self, when: When, tables: NeighbourTables) -> Float[np.ndarray, "agents numbers sources"]:
        return np.full((tables.n, 1, 1), self.sd)


class Own(Lonely):
    """Lonely noise within a bound."""

    bound: Float[Any, ""]

    @property
    def sd(self) -> Any:
        return self.bound / np.sqrt(3)

    def raw(self, key: tuple[Any, Any], when: When, tables: NeighbourTables, dtype: Any) -> Any:
        draws, _ = uniform_pairs(key, when.rounds, tables.counted_agents, self.width, dtype)
        return self.bound * draws

    def with_sd(self, sd: float) -> Own:
        return replace(self, bound=np.asarray(sd * np.sqrt(3)))


class Gaussian(Lonely):
    """Normal lonely noise: what differential privacy calls for."""

    sigma: Float[Any, ""]
    given: Float[Any, "rounds agents width"] | None = eqx.field(kw_only=True, default=None)
    """What agents drew elsewhere, in place of random draws."""
    relative: Float[Any, " width"] | None = eqx.field(kw_only=True, default=None)
    """What each number is multiplied by, beside σ; None for nothing."""

    @property
    def sd(self) -> Any:
        return self.sigma

    def raw(self, key: tuple[Any, Any], when: When, tables: NeighbourTables, dtype: Any) -> Any:
        if self.given is not None:
            return _rows(self.given, when.rounds)
        pair = uniform_pairs(key, when.rounds, tables.counted_agents, self.width, dtype)
        drawn = normal_pairs(self.sigma, *pair, dtype)[0]
        return drawn if self.relative is None else drawn * self.relative

    def among(self, links: Int[np.ndarray, " some"], agents: Int[np.ndarray, " few"]) -> Gaussian:
        return replace(self, given=_taken(self.given, agents))

    def with_sd(self, sd: float) -> Gaussian:
        return replace(self, sigma=np.asarray(sd))


def _in_phase(table: Any, when: When) -> Any:
    """A row per round of a table by phase; a fixed network needs no look-up."""
    return table if len(table) == 1 else table[when.phases]


def _rows_of(gained: np.ndarray | jax.Array, link: Any) -> Any:
    """What each agent's link gained, in every round."""
    if isinstance(gained, np.ndarray):
        return gained[:, link]
    return gained.at[:, link].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _summed_slots(terms: Any) -> Any:
    """The sum over slots. XLA on CPUs takes fifty times longer for it as one sum, since slots are not what lies side by
    side in memory; a network of many neighbours would make the program too long, though.
    """
    if isinstance(terms, np.ndarray) or terms.shape[2] > FEW_SLOTS:
        return terms.__array_namespace__().sum(terms, axis=2, keepdims=True)
    return sum(terms[:, :, slot : slot + 1] for slot in range(terms.shape[2]))


def _taken(table: Any, items: np.ndarray) -> Any:
    """Some columns of a table by link or agent, on the host; zero where an item is none."""
    if table is None:
        return None
    taken = np.asarray(table)[:, items]
    taken[:, items < 0] = 0
    return taken


def _rows(given: Any, rounds: Any) -> Any:
    """The user's rows for these rounds: row k − 1 for round k, the only row for noise drawn once."""
    xp = rounds.__array_namespace__()
    return given[xp.clip(rounds - 1, 0, len(given) - 1)]
