"""Where every agent of a run sits: its shard, its row there, and what crosses between shards."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
import scipy.sparse
from jax.experimental import multihost_utils
from jaxtyping import Int

from hocket.engines.cluster.processes import join
from hocket.engines.cluster.routes import TripPlan, plan_trips
from hocket.networks.neighbour_tables import NeighbourTables

SLACK = 1.03
"""How much larger than the mean a shard may be; what a partition with fewer crossing links is worth."""


def partition(links: Int[np.ndarray, "links 2"], n: int, shards: int) -> Int[np.ndarray, " agents"]:
    """The shard of every agent; no shard is empty.

    By METIS where it is installed (`pip install hocket[cluster]`), which lets fewer links cross; in pieces by their
    numbers otherwise, or should that be better.
    """
    in_pieces = np.arange(n) * shards // n
    try:
        import pymetis
    except ImportError:
        return in_pieces
    if shards == 1:
        return in_pieces
    ends = np.concatenate([links, links[:, ::-1]])
    graph = scipy.sparse.csr_array((np.ones(len(ends), np.int32), (ends[:, 0], ends[:, 1])), shape=(n, n))
    adjacency: Any = (graph.indptr, graph.indices)
    _, found = pymetis.part_graph(shards, pymetis.CSRAdjacency(*adjacency))
    tries = in_pieces, _balanced(graph, np.array(found), shards)
    return min(tries, key=lambda shard_of: crossing(links, shard_of))


def crossing(links: Int[np.ndarray, "links 2"], shard_of: Int[np.ndarray, " agents"]) -> int:
    """How many links have their ends in different shards."""
    return int((shard_of[links[:, 0]] != shard_of[links[:, 1]]).sum())


def _balanced(graph: scipy.sparse.csr_array, shard_of: np.ndarray, shards: int) -> np.ndarray:
    """Move agents out of shards that are too large, those that have the fewest neighbours there first."""
    n = len(shard_of)
    most = max(math.ceil(n / shards), int(SLACK * n / shards))
    for _ in range(n):
        sizes = np.bincount(shard_of, minlength=shards)
        full, poor = int(sizes.argmax()), int(sizes.argmin())
        if sizes[full] <= most and sizes[poor] > 0:
            break
        members = np.flatnonzero(shard_of == full)
        near = np.asarray(graph @ np.eye(shards, dtype=np.int32)[shard_of])[members]  # neighbours by shard
        shard_of[members[(near[:, poor] - near[:, full]).argmax()]] = poor
    return shard_of


@dataclass(frozen=True, eq=False)
class Layout:
    """Agents in shards of equal size: one that has fewer plays its first agent again, for nobody."""

    tables: NeighbourTables
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
        rows = np.empty(self.tables.n, np.int64)
        for own in self.agents[:, ::-1]:  # backwards, so that the first of two rows counts
            rows[own] = np.arange(self.size)[::-1]
        return rows

    @cached_property
    def role_of(self) -> Int[np.ndarray, " agents"]:
        """Every agent's place when the rows of all shards are joined."""
        return self.shard_of * self.size + self.row_of

    @cached_property
    def said(self) -> TripPlan:
        """An agent's message crosses once to every shard in which it has a neighbour."""
        ends = self.shard_of[self.tables.links]
        across = self.tables.links[ends[:, 0] != ends[:, 1]]
        sender, hearer = np.concatenate([across, across[:, ::-1]]).T
        return plan_trips(self.shards, self.shard_of[sender], self.shard_of[hearer], self.row_of[sender])

    @cached_property
    def told(self) -> TripPlan:
        """Where each neighbour is sent its own message, one crosses for every end of every link that does."""
        tables = self.tables
        agent, slot = np.nonzero(tables.filled)
        neighbour = tables.neighbour[agent, slot]
        leaves = self.shard_of[agent] != self.shard_of[neighbour]
        agent, slot, neighbour = agent[leaves], slot[leaves], neighbour[leaves]
        row = self.row_of[agent] * tables.slots + slot
        return plan_trips(self.shards, self.shard_of[agent], self.shard_of[neighbour], row)

    def links_at(self, shard: int) -> Int[np.ndarray, " some"]:
        """Links with an end in the shard, filled up with −1 to equally many for all shards."""
        own = np.flatnonzero((self.shard_of[self.tables.links] == shard).any(axis=1))
        return np.concatenate([own, np.full(self._most_links - len(own), -1)])

    @cached_property
    def _most_links(self) -> int:
        ends = self.shard_of[self.tables.links]
        inside = ends[:, 0] == ends[:, 1]
        count = np.bincount(ends.ravel(), minlength=self.shards)
        return int((count - np.bincount(ends[inside, 0], minlength=self.shards)).max())


def lay_out(tables: NeighbourTables, shards: int) -> Layout:
    """Place the agents of a network so that few links cross: process 0 decides, for all.

    METIS takes its random numbers from a generator that all threads of a process share, and may not be installed
    everywhere: left to themselves, processes would place agents differently.
    """
    tables = jax.tree.map(np.asarray, tables)
    shard_of, watch = np.zeros(tables.n, np.int64), join()
    if jax.process_index() == 0:
        with watch.busy() if watch else nullcontext():
            shard_of = partition(tables.links, tables.n, shards)
    agreed = multihost_utils.broadcast_one_to_all(shard_of.astype(np.int32))
    return Layout(tables, np.asarray(agreed, np.int64), shards)
