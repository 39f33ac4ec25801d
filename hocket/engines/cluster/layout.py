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
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hocket.engines.cluster.processes import join
from hocket.engines.cluster.routes import Timetable, plan_trips
from hocket.networks.neighbour_tables import NeighbourTables

SLACK = 1.03
"""How much larger than the mean a shard may be; what a partition with fewer crossing links is worth."""
PASSES = 20


def partition(links: Int[np.ndarray, "links 2"], n: int, shards: int) -> Int[np.ndarray, " agents"]:
    """The shard of every agent; no shard is empty.

    By METIS where it is installed (`pip install hocket[cluster]`), otherwise in pieces of an order that keeps
    neighbours close, or in halves of halves of it; in pieces by their numbers, should that be better. Links that need
    not cross are then swapped away.
    """
    if shards == 1:
        return np.zeros(n, np.int64)
    ends = np.concatenate([links, links[:, ::-1]])
    graph = scipy.sparse.csr_array((np.ones(len(ends), np.int32), (ends[:, 0], ends[:, 1])), shape=(n, n))
    in_pieces = np.arange(n) * shards // n
    tries = [in_pieces, *(_by_metis(graph, shards) or _by_closeness(graph, in_pieces, shards))]
    return _refined(graph, min(tries, key=lambda shard_of: crossing(links, shard_of)), shards)


def crossing(links: Int[np.ndarray, "links 2"], shard_of: Int[np.ndarray, " agents"]) -> int:
    """How many links have their ends in different shards."""
    return int((shard_of[links[:, 0]] != shard_of[links[:, 1]]).sum())


def _by_metis(graph: scipy.sparse.csr_array, shards: int) -> list[np.ndarray]:
    try:
        import pymetis
    except ImportError:
        return []
    ends: Any = (graph.indptr, graph.indices)
    _, found = pymetis.part_graph(shards, pymetis.CSRAdjacency(*ends))
    return [_balanced(graph, np.array(found), shards)]


def _by_closeness(graph: scipy.sparse.csr_array, in_pieces: np.ndarray, shards: int) -> list[np.ndarray]:
    along, in_halves = np.empty_like(in_pieces), np.empty_like(in_pieces)
    along[reverse_cuthill_mckee(graph, symmetric_mode=True)] = in_pieces
    _halve(graph, np.arange(len(along)), 0, shards, in_halves)
    return [_refined(graph, along, shards), in_halves]


def _halve(
    graph: scipy.sparse.csr_array, agents: np.ndarray, first: int, shards: int, shard_of: np.ndarray
) -> None:
    """Split agents in two along an order that keeps neighbours close, and each part again, into so many shards."""
    if shards == 1:
        shard_of[agents] = first
        return
    part, low = graph[agents][:, agents], shards // 2
    order = reverse_cuthill_mckee(part, symmetric_mode=True)
    side = np.ones(len(agents), np.int64)
    side[order[: len(agents) * low // shards]] = 0
    side = _refined(part, side, 2)
    _halve(graph, agents[side == 0], first, low, shard_of)
    _halve(graph, agents[side == 1], first + low, shards - low, shard_of)


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
        near = _neighbours_in(graph, shard_of, shards)[members]
        shard_of[members[(near[:, poor] - near[:, full]).argmax()]] = poor
    return shard_of


def _refined(graph: scipy.sparse.csr_array, shard_of: np.ndarray, shards: int) -> np.ndarray:
    """Swap agents between shards while fewer links cross; sizes stay as they are."""
    near, fraction = _neighbours_in(graph, shard_of, shards), 0.5
    for _ in range(PASSES):
        tried = _swapped(near, shard_of, shards, fraction)
        near_then = _neighbours_in(graph, tried, shards)
        if _at_home(near_then, tried).sum() > _at_home(near, shard_of).sum():
            shard_of, near = tried, near_then
        else:
            # Gains are counted as if everybody else stayed: swapping fewer at once keeps them nearer the truth.
            fraction /= 4
            if fraction < 1e-3:
                break
    return shard_of


def _swapped(near: np.ndarray, shard_of: np.ndarray, shards: int, fraction: float) -> np.ndarray:
    stays = _at_home(near, shard_of)
    moved, out = np.zeros(len(shard_of), bool), shard_of.copy()
    for a in range(shards):
        for b in range(a + 1, shards):
            there, gain_there = _eager(near[:, b] - stays, (shard_of == a) & ~moved)
            back, gain_back = _eager(near[:, a] - stays, (shard_of == b) & ~moved)
            pairs = min(len(there), len(back))
            worth = int((gain_there[:pairs] + gain_back[:pairs] > 0).sum())
            count = min(worth, math.ceil(worth * fraction))
            out[there[:count]], out[back[:count]] = b, a
            moved[there[:count]] = moved[back[:count]] = True
    return out


def _eager(gain: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Agents by what would be gained if they moved, the largest first."""
    agents = np.flatnonzero(among)
    order = np.argsort(-gain[agents], kind="stable")
    return agents[order], gain[agents[order]]


def _neighbours_in(graph: scipy.sparse.csr_array, shard_of: np.ndarray, shards: int) -> np.ndarray:
    """How many neighbours each agent has in each shard."""
    return np.asarray(graph @ np.eye(shards, dtype=np.int32)[shard_of])


def _at_home(near: np.ndarray, shard_of: np.ndarray) -> np.ndarray:
    """How many neighbours each agent has in its own shard: links that do not cross are counted twice."""
    return near[np.arange(len(shard_of)), shard_of]


@dataclass(frozen=True, eq=False)
class Layout:
    """Agents in shards of equal size: one that has fewer plays its first agent again, and nobody hears the double."""

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
    def said(self) -> Timetable:
        """An agent's word crosses once to every shard in which it has a neighbour."""
        ends = self.shard_of[self.tables.links]
        across = self.tables.links[ends[:, 0] != ends[:, 1]]
        speaker, hearer = np.concatenate([across, across[:, ::-1]]).T
        return plan_trips(self.shards, self.shard_of[speaker], self.shard_of[hearer], self.row_of[speaker])

    @cached_property
    def told(self) -> Timetable:
        """Where each neighbour is told its own word, one crosses for every end of every link that does."""
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
