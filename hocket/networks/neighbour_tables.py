"""A network as index tables: who sits in which slot, on which link, with which weight.

Agents have numbered slots, one per neighbour in ascending order; agents with fewer neighbours than the busiest
leave slots empty, with weight zero. Engines and noise read these tables instead of walking a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int

from hocket.networks.network import Network


class NeighbourTables(eqx.Module):
    """Slot and link tables of one network; phase axis first where the network may vary with the round."""

    n: int = eqx.field(static=True)
    period: int = eqx.field(static=True)
    layout: str = eqx.field(static=True)
    links: Int[np.ndarray, "links 2"]
    own: Float[np.ndarray, "period agents"]
    link_weight: Float[np.ndarray, "period links 2"]
    neighbour: Int[np.ndarray, "agents slots"]
    link: Int[np.ndarray, "agents slots"]
    direction: Int[np.ndarray, "agents slots"]
    """Direction in which this agent sends on the slot's link: 0 if it is the lower-numbered end."""
    back: Int[np.ndarray, "agents slots"]
    """The slot that this agent occupies at the neighbour."""
    filled: Bool[np.ndarray, "agents slots"]
    weight: Float[np.ndarray, "period agents slots"]
    """B_k[j, i]: what agent j gives to the message of the neighbour i in the slot."""
    matrix: Float[np.ndarray, "period agents agents"] | None
    """B_k without its diagonal, where the graph is dense enough for a matrix product."""
    told_at: Int[np.ndarray, "agents slots"]
    """Where the message for this agent stands in a `SendEach` of all: the neighbour's row times slots, plus `back`."""
    beyond: int = eqx.field(static=True, default=0)
    """Where this is one shard of a network: how many rows of messages come from other shards, after those of `n`."""
    agent_numbers: Int[np.ndarray, " agents"] | None = None
    """Where this is one shard: the number of each agent in the whole network. None: 0 to n − 1."""
    link_numbers: Int[np.ndarray, " links"] | None = None
    """Where this is one shard: the number of each link in the whole network. None: in order."""

    @property
    def slots(self) -> int:
        return self.neighbour.shape[1]

    @property
    def counted_agents(self) -> int | Int[np.ndarray, " agents"]:
        """The agents that noise is counted by: how many, or in a shard which."""
        return self.n if self.agent_numbers is None else self.agent_numbers

    def numbers_of(self, links: Int[np.ndarray, " some"]) -> Int[np.ndarray, " some"]:
        """What links of these tables are called in the whole network."""
        return links if self.link_numbers is None else self.link_numbers[links]

    @property
    def counted_links(self) -> int | Int[np.ndarray, " links"]:
        """The links that noise is counted by: how many, or in a shard which."""
        return len(self.links) if self.link_numbers is None else self.link_numbers


SQUARE = 256
"""Agents up to whom networks that are laid out differently are all taken as matrices; beyond, link by link."""


class SharedLayout(NamedTuple):
    """A layout that several networks of equally many agents fit into, so that one compiled program serves them all."""

    layout: str
    links: int
    slots: int
    """Neighbours of the busiest agent."""

    @staticmethod
    def around(networks: Sequence[Network]) -> SharedLayout:
        """SharedLayout for each of these networks."""
        busiest = [int(np.bincount(one.links.ravel(), minlength=1).max()) for one in networks]
        counts = [len(one.links) for one in networks]
        n = networks[0].n
        layouts = {_layout(n, count, most) for count, most in zip(counts, busiest, strict=True)}
        shared = "dense" if n <= SQUARE else "links"
        return SharedLayout(layouts.pop() if len(layouts) == 1 else shared, max(counts), max(busiest))


def tabulate(network: Network, *, slots_needed: bool, room: SharedLayout | None = None) -> NeighbourTables:
    """Lay out a network for an engine; `slots_needed` keeps slot tables for messages sent one by one.

    In a `room` that is larger than the network, what is left over are links between nobody, of weight zero.
    """
    links = network.links
    count, n = len(links), network.n
    # Every link seen from both ends: (agent, neighbour, link, direction in which the agent sends).
    agent = np.concatenate([links[:, 0], links[:, 1]]).astype(np.int64)
    other = np.concatenate([links[:, 1], links[:, 0]]).astype(np.int64)
    link = np.tile(np.arange(count), 2)
    direction = np.repeat([0, 1], count)
    order = np.argsort(agent * n + other)
    agent, other, link, direction = agent[order], other[order], link[order], direction[order]
    degree = np.bincount(agent, minlength=n)
    slot = np.arange(2 * count) - np.repeat(np.cumsum(degree) - degree, degree)

    busiest = int(degree.max(initial=0))
    room = room or SharedLayout(_layout(n, count, busiest), count, busiest)
    layout = room.layout
    width = room.slots if slots_needed or layout == "slots" else 0
    spare = room.links - count

    slot_of = np.zeros((count, 2), dtype=np.int64)
    slot_of[link, direction] = slot

    def table(values: np.ndarray, empty: int) -> np.ndarray:
        out = np.full((n, width), empty, dtype=np.int32)
        if width:
            out[agent, slot] = values
        return out

    weight = np.zeros((network.period, n, width))
    if width:
        # Direction 1 - d is the one in which the neighbour sends to this agent.
        weight[:, agent, slot] = network.weight[:, link, 1 - direction]
    slot_there = slot_of[link, 1 - direction]
    return NeighbourTables(
        n=n,
        period=network.period,
        layout=layout,
        # No agent has the number n: whatever compiled code adds there is dropped.
        links=np.pad(links.astype(np.int32), ((0, spare), (0, 0)), constant_values=n),
        own=network.own,
        link_weight=np.pad(network.weight, ((0, 0), (0, spare), (0, 0))),
        neighbour=table(other, 0),
        link=table(link, 0),
        direction=table(direction, 0),
        back=table(slot_there, 0),
        filled=table(np.ones(2 * count), 0).astype(bool),
        weight=weight,
        matrix=_matrix(network) if layout == "dense" else None,
        told_at=table(other * width + slot_there, 0),
    )


def _matrix(network: Network) -> np.ndarray:
    lower, higher = network.links.T
    matrix = np.zeros((network.period, network.n, network.n))
    matrix[:, higher, lower] = network.weight[:, :, 0]
    matrix[:, lower, higher] = network.weight[:, :, 1]
    return matrix


def _layout(n: int, links: int, busiest: int) -> str:
    """How messages are best carried: a matrix product, neighbour slots or link by link."""
    if n > 16 and 4 * links >= n * n:
        return "dense"
    # A star would pad n slots for each of its n agents; link by link its cost stays proportional to the links.
    return "slots" if n * busiest <= 4 * links else "links"


def sum_over_slots(gained: Callable[[int], Any], tables: NeighbourTables) -> Any:
    """What each agent gains over its links: the higher-numbered end (direction 1) gains what the lower one loses."""
    xp = tables.filled.__array_namespace__()
    sign = xp.where(tables.filled, 2 * tables.direction - 1, 0)[:, :, None]
    return sum(sign[:, slot] * gained(slot) for slot in range(tables.slots))


def sum_over_links(gained: Any, tables: NeighbourTables) -> Any:
    """The same, link by link, so that a star costs no more than its links."""
    xp = gained.__array_namespace__()
    lower, higher = tables.links[:, 0], tables.links[:, 1]
    total = xp.zeros((gained.shape[0], tables.n + tables.beyond, gained.shape[2]), dtype=gained.dtype)
    if xp is np:
        everywhere: Any = slice(None)
        np.add.at(total, (everywhere, higher), gained)
        np.subtract.at(total, (everywhere, lower), gained)
    else:
        total = total.at[:, higher].add(gained).at[:, lower].add(-gained)
    return total[:, : tables.n]
