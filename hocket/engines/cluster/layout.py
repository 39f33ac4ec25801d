"""Where every agent of a run sits: its shard, its row there, and what crosses between shards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import Int

from hocket.engines.cluster.partition import crossing, partition
from hocket.engines.cluster.routes import Timetable, plan_trips
from hocket.wiring import Wiring


@dataclass(frozen=True, eq=False)
class Layout:
    """Agents in shards of equal size: one that has fewer plays its first agent again, and nobody hears the double."""

    wiring: Wiring
    """Of the whole network, as NumPy arrays."""
    shard_of: Int[np.ndarray, " agents"]
    shards: int

    @cached_property
    def agents(self) -> Int[np.ndarray, "shards rows"]:
        """Who sits in each row of each shard."""
        members = [np.flatnonzero(self.shard_of == shard) for shard in range(self.shards)]
        size = max(map(len, members))
        return np.stack([np.concatenate([own, np.repeat(own[:1], size - len(own))]) for own in members])

    @property
    def size(self) -> int:
        """Rows of a shard."""
        return self.agents.shape[1]

    @cached_property
    def row_of(self) -> Int[np.ndarray, " agents"]:
        """Every agent's row in its shard."""
        rows = np.empty(self.wiring.n, np.int64)
        for own in self.agents[:, ::-1]:  # backwards, so that the first of two rows counts
            rows[own] = np.arange(self.size)[::-1]
        return rows

    @cached_property
    def seat_of(self) -> Int[np.ndarray, " agents"]:
        """Every agent's place when the rows of all shards are joined."""
        return self.shard_of * self.size + self.row_of

    @cached_property
    def said(self) -> Timetable:
        """An agent's word crosses once to every shard in which it has a neighbour."""
        speaker, hearer = np.concatenate([self._crossing, self._crossing[:, ::-1]]).T
        return plan_trips(self.shards, self.shard_of[speaker], self.shard_of[hearer], self.row_of[speaker])

    @cached_property
    def told(self) -> Timetable:
        """Where each neighbour is told its own word, one crosses for every end of every link that does."""
        wiring = self.wiring
        agent, slot = np.nonzero(wiring.filled)
        neighbour = wiring.neighbour[agent, slot]
        leaves = self.shard_of[agent] != self.shard_of[neighbour]
        agent, slot, neighbour = agent[leaves], slot[leaves], neighbour[leaves]
        row = self.row_of[agent] * wiring.slots + slot
        return plan_trips(self.shards, self.shard_of[agent], self.shard_of[neighbour], row)

    @property
    def crossing(self) -> int:
        """Links between shards: the cut."""
        return crossing(self.wiring.links, self.shard_of)

    @property
    def _crossing(self) -> np.ndarray:
        ends = self.shard_of[self.wiring.links]
        return self.wiring.links[ends[:, 0] != ends[:, 1]]

    def links_at(self, shard: int) -> Int[np.ndarray, " some"]:
        """Links with an end in the shard, filled up with −1 to equally many for all shards."""
        own = np.flatnonzero((self.shard_of[self.wiring.links] == shard).any(axis=1))
        return np.concatenate([own, np.full(self._most_links - len(own), -1)])

    @cached_property
    def _most_links(self) -> int:
        ends = self.shard_of[self.wiring.links]
        inside = ends[:, 0] == ends[:, 1]
        count = np.bincount(ends.ravel(), minlength=self.shards)
        return int((count - np.bincount(ends[inside, 0], minlength=self.shards)).max())


def lay_out(wiring: Wiring, shards: int) -> Layout:
    """Place the agents of a network so that few links cross: process 0 decides, for all.

    METIS takes its random numbers from a generator that all threads of a process share, and may not be installed
    everywhere: left to themselves, processes would place agents differently.
    """
    wiring = jax.tree.map(np.asarray, wiring)
    first, nothing = jax.process_index() == 0, np.zeros(wiring.n, np.int64)
    shard_of = partition(wiring.links, wiring.n, shards) if first else nothing
    agreed = multihost_utils.broadcast_one_to_all(shard_of.astype(np.int32))
    return Layout(wiring, np.asarray(agreed, np.int64), shards)
