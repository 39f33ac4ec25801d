"""One shard of a program: its agents, the links that touch them, and how they reach those of other shards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from hocket.engines.cluster.layout import Layout
from hocket.engines.cluster.routes import SHARDS, Routes
from hocket.engines.compiled.program import Population, Program
from hocket.networks.neighbour_tables import NeighbourTables
from hocket.problems.objective_groups import Group


class ShardPopulation(Population):
    """Some agents are here, the others are reached through the mesh."""

    agents: int = eqx.field(static=True)
    """How many there are in all."""
    stand_in: Int[Any, " rows"]
    """The row of the agent that each row plays; another one only where a row fills up the shard."""
    numbers: Int[Any, " rows"]
    """The agent that each row plays."""
    first: Bool[Any, " rows"]
    """Whether a row is its agent's own."""
    seats: Int[Any, " agents"]
    """Every agent's place when the rows of all shards are joined."""
    said_routes: Routes
    told_routes: Routes | None

    def count(self, tables: NeighbourTables) -> int:
        return self.agents

    def said(self, words: Any) -> Any:
        return self.said_routes.fetch(words)

    def told(self, words: Any) -> Any:
        assert self.told_routes is not None
        return self.told_routes.fetch(words.reshape(-1, *words.shape[2:]))

    def real(self, rows: Any) -> Any:
        return rows[self.stand_in]

    def mean(self, rows: Any) -> Any:
        return self.summed(rows) / self.agents

    def summed(self, rows: Any) -> Any:
        return jax.lax.psum(self._once(rows).sum(axis=0), SHARDS)

    def total(self, rows: Any) -> Any:
        return jax.lax.psum(self._once(rows).sum(), SHARDS)

    def largest(self, numbers: Any) -> Any:
        return jax.lax.pmax(numbers.max(), SHARDS)

    def every(self, true: Any) -> Any:
        return jax.lax.pmin(true.astype(jnp.int32), SHARDS) == 1

    def farthest(self, distance: Any, most: int) -> tuple[Any, Any]:
        own, rows = jax.lax.top_k(jnp.where(self.first, distance, -jnp.inf), min(most, len(distance)))
        number = jnp.where(self.first, self.numbers, self.agents)[rows]
        of_all, numbers = (jax.lax.all_gather(part, SHARDS, tiled=True) for part in (own, number))
        # Of equals the lower number comes first, as where all are in one place.
        before = (of_all > own[:, None]) | ((of_all == own[:, None]) & (numbers < number[:, None]))
        place = before.sum(axis=1)
        order = jnp.argsort(place)
        return rows[order], place[order]

    def roll(self, rows: Any) -> Any:
        return jax.lax.all_gather(rows, SHARDS, tiled=True)[self.seats]

    def _once(self, rows: Any) -> Any:
        return jnp.where(self.first.reshape(-1, *(1,) * (rows.ndim - 1)), rows, 0)


def cut(program: Program, layout: Layout, shard: int) -> Program:
    """The program of one shard; arrays that differ between shards are on the host, and of one shape in all."""
    agents = layout.agents[shard]
    links = layout.links_at(shard)
    groups, order = _groups(program, layout, shard)
    return replace(
        program,
        problem=eqx.tree_at(lambda problem: problem.groups, program.problem, groups),
        tables=_wiring(layout, shard),
        draws={name: draw.among(links, agents) for name, draw in program.draws.items()},
        order=order,
        population=ShardPopulation(
            agents=layout.tables.n,
            stand_in=layout.row_of[agents].astype(np.int32),
            numbers=agents.astype(np.int32),
            first=layout.row_of[agents] == np.arange(layout.size),
            seats=layout.role_of.astype(np.int32),
            said_routes=layout.said.routes(shard),
            told_routes=layout.told.routes(shard) if layout.tables.slots else None,
        ),
    )


def differing(program: Program) -> Program:
    """For every array of a shard's program, whether it differs from shard to shard."""

    def all_of(part: Any, differs: bool) -> Any:
        return jax.tree.map(lambda _: differs, part)

    same = all_of(program, False)
    return replace(
        same,
        problem=eqx.tree_at(
            lambda problem: problem.groups, same.problem, all_of(program.problem.groups, True)
        ),
        tables=all_of(program.tables, True),
        draws=all_of(program.draws, True),
        order=all_of(program.order, True),
        population=all_of(program.population, True),
    )


def _wiring(layout: Layout, shard: int) -> NeighbourTables:
    whole, agents, said = layout.tables, layout.agents[shard], layout.said
    links = layout.links_at(shard)
    real = links >= 0
    ends = np.where(real[:, None], whole.links[links], agents[0])
    link_here = np.zeros(len(whole.links), np.int32)
    link_here[links[real]] = np.flatnonzero(real)
    filled, neighbour = whole.filled[agents], whole.neighbour[agents]

    def found(some: np.ndarray) -> np.ndarray:
        return said.found(shard, layout.size, layout.shard_of[some], layout.row_of[some]).astype(np.int32)

    beyond = said.routes(shard).beyond
    matrix = None
    if whole.matrix is not None:
        # A column for every row of messages at hand; of nobody, for rows that only fill up.
        received = np.flatnonzero((layout.shard_of == shard) | whole.matrix[:, agents].any(axis=(0, 1)))
        matrix = np.zeros((whole.period, layout.size, layout.size + beyond), whole.matrix.dtype)
        matrix[:, :, found(received)] = whole.matrix[:, agents][:, :, received]
    told_at = np.zeros_like(neighbour)
    if whole.slots:
        row = layout.row_of[neighbour] * whole.slots + whole.back[agents]
        home = layout.shard_of[neighbour]
        told_at = layout.told.found(shard, layout.size * whole.slots, home, row)
    return replace(
        whole,
        n=layout.size,
        beyond=beyond,
        links=found(ends),
        own=whole.own[:, agents],
        link_weight=whole.link_weight[:, links] * real[:, None],
        neighbour=np.where(filled, found(neighbour), 0).astype(np.int32),
        link=np.where(filled, link_here[whole.link[agents]] if len(link_here) else 0, 0).astype(np.int32),
        direction=whole.direction[agents],
        back=whole.back[agents],
        filled=filled,
        weight=whole.weight[:, agents],
        matrix=matrix,
        told_at=np.where(filled, told_at, 0).astype(np.int32),
        agent_numbers=agents.astype(np.int32),
        link_numbers=np.maximum(links, 0).astype(np.int32),
    )


def _groups(program: Program, layout: Layout, shard: int) -> tuple[tuple[Group, ...], np.ndarray | None]:
    """Every group's members in the shard, and where each agent stands when they are lined up."""
    agents, groups = layout.agents[shard], program.problem.groups
    if program.order is None:
        (group,) = groups
        return (
            Group(group.objective, _rows(group.data, agents), np.arange(layout.size, dtype=np.int32)),
        ), None
    parts, order, lined_up = [], np.zeros(layout.size, np.int32), 0
    for group in groups:
        place = np.full(layout.tables.n, -1)
        place[np.asarray(group.members)] = np.arange(len(group.members))
        # Filled up to equally many for all shards, with agents whose gradients nobody asks for.
        count = int((place[layout.agents] >= 0).sum(axis=1).max())
        here = np.flatnonzero(place[agents] >= 0)
        order[here] = lined_up + np.arange(len(here))
        members = np.concatenate([here, np.zeros(count - len(here), np.int64)])
        data = _rows(group.data, np.maximum(place[agents[members]], 0))
        parts.append(Group(group.objective, data, members.astype(np.int32)))
        lined_up += count
    return tuple(parts), order


def _rows(data: Any, rows: np.ndarray) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[rows], data)
