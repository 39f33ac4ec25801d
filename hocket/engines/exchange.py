"""How words are carried inside a compiled program: one `vmap` over agents, in which an exchange is a gather.

Inside the vmap each agent sees only its own arrays. `together` steps outside for a moment: it stacks all agents'
values, applies a function to the stack, and hands each agent its row. Neither direction copies anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from hocket.algorithm import Say, Tell
from hocket.engines.population import Population
from hocket.networks.neighbour_tables import NeighbourTables

AGENTS = "agents"
UNROLLED = 32
"""Slots are summed in straight-line code up to here; beyond, in a loop, to keep programs small."""


class Place(NamedTuple):
    """One agent's rows of the tables, in the phase of the round."""

    own: Any
    weight: Any
    told_at: Any


def places(tables: NeighbourTables, phase: Any) -> Place:
    """Every agent's place in a phase, stacked for vmap."""
    return Place(tables.own[phase], tables.weight[phase], tables.told_at)


@custom_vmap
def _row(stack: Any, index: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], stack)


@_row.def_vmap
def _(_size: int, batched: Any, stack: Any, _index: Any) -> tuple[Any, Any]:
    # The index is the agents' own numbering, so agent j's row of the stack is entry j of the batch: nothing moves.
    assert not any(jax.tree.leaves(batched[0]))
    return stack, jax.tree.map(lambda _: True, stack)


def stacked(value: Any) -> Any:
    """All agents' values, as every agent may see them inside the vmap."""
    return jax.tree.map(lambda leaf: jax.lax.all_gather(leaf, AGENTS), value)


def together(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to all agents' values, stacked; each agent gets its own row of the result."""
    return _row(function(stacked(value)), jax.lax.axis_index(AGENTS))


class Said(NamedTuple):
    """The same word to all: mixed for all agents at once, in the way that suits the graph."""

    place: Place
    word: Any
    sum_others: Callable[[Any], Any]
    """Σ_{i≠j} B[j,i] w_i for every agent j, from the stack of words."""

    def mixed_with(self, own: Any) -> Any:
        others = together(lambda stack: jax.tree.map(self.sum_others, stack), self.word)
        return jax.tree.map(lambda kept, rest: self.place.own * kept + rest, own, others)


class Told(NamedTuple):
    """A word for each neighbour: fetched from the slot in which the neighbour keeps this agent."""

    place: Place
    words: Any
    """All words of all agents, slot by slot."""

    def mixed_with(self, own: Any) -> Any:
        return jax.tree.map(self._mix, own, self.words)

    def _mix(self, own: Any, stack: Any) -> Any:
        place = self.place

        def word(slot: Any) -> Any:
            return place.weight[slot] * _at(stack, place.told_at[slot])

        return _sum_slots(word, len(place.weight), place.own * own)


def exchange(
    tables: NeighbourTables, population: Population, phase: Any, place: Place, spoken: Say | Tell
) -> Any:
    """Carry what was said or told to the neighbours; what comes back is theirs."""
    if isinstance(spoken, Tell):
        return Told(place, jax.tree.map(population.told, stacked(spoken.words)))
    sum_others = {"slots": _by_slots, "dense": _by_matrix, "links": _by_links}[tables.layout]
    return Said(place, spoken.word, lambda stack: sum_others(tables, phase, population.said(stack)))


def _by_slots(tables: NeighbourTables, phase: Any, stack: Any) -> Any:
    weight, neighbour = tables.weight[phase], tables.neighbour
    spread = (...,) + (None,) * (stack.ndim - 1)

    def word(slot: Any) -> Any:
        return weight[:, slot][spread] * _at(stack, neighbour[:, slot])

    return _sum_slots(word, tables.slots, jnp.zeros((tables.n, *stack.shape[1:]), stack.dtype))


def _by_matrix(tables: NeighbourTables, phase: Any, stack: Any) -> Any:
    assert tables.matrix is not None
    return jnp.tensordot(tables.matrix[phase], stack, 1)


def _by_links(tables: NeighbourTables, phase: Any, stack: Any) -> Any:
    """Link by link, so that a star costs no more than its links."""
    lower, higher = tables.links[:, 0], tables.links[:, 1]
    spread = (...,) + (None,) * (stack.ndim - 1)
    weight = tables.link_weight[phase]
    total = jnp.zeros_like(stack).at[higher].add(weight[:, 0][spread] * stack[lower])
    return total.at[lower].add(weight[:, 1][spread] * stack[higher])[: tables.n]


def _sum_slots(word: Callable[[Any], Any], slots: int, start: Any) -> Any:
    """start + Σ_slot word(slot).

    In straight-line code, which runs up to ten times faster than a gather of all slots and a sum; in a loop where
    there are so many slots that the program would grow too long.
    """
    if slots > UNROLLED:
        return jax.lax.fori_loop(0, slots, lambda slot, total: total + word(slot), start)
    for slot in range(slots):
        start = start + word(slot)
    return start


def _at(stack: Any, *index: Any) -> Any:
    return stack.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)
