"""Rounds of a compiled run: one generator for one agent, played for all agents at once in one `vmap`.

Inside the vmap each agent sees only its own arrays. `together` steps outside for a moment: it stacks all agents'
values, applies a function to the stack, and hands each agent its row. Neither direction copies anything, so that an
exchange of messages is a gather.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from hocket.agent import Agent, Each, no_step
from hocket.algorithm import Broadcast, Outgoing, SecureSum, SendEach, carry_out, opened, x_of
from hocket.engines.compiled import kernels
from hocket.engines.compiled.channel import (
    Arrivals,
    Mail,
    arrivals,
    delivered,
    no_mail,
    own_weight,
    sum_slots,
)
from hocket.engines.compiled.program import Carry, Moving, Population, Program, Steps, beside, entry
from hocket.engines.compiled.round_noise import adders, fresh_noise, kept_noise, noise_of_round
from hocket.errors import BadAlgorithm
from hocket.networks.neighbour_tables import NeighbourTables
from hocket.problems.objective import KnownObjective

AGENTS = "agents"


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


class BroadcastReceived(NamedTuple):
    """The same message to all: mixed for all agents at once, in the way that suits the graph."""

    message: Any
    mixed: Callable[[Any], Any]
    """B[j,j] own_j + Σ_{i≠j} B[j,i] w_i for every agent j, from the stacks of its own and of messages."""

    rows: Callable[[Any], Each]
    """Every agent's neighbours' messages and weights, from the stack of messages."""

    def mixed_with(self, own: Any) -> Any:
        return together(self.mixed, (own, self.message))

    def each(self) -> Each:
        return together(self.rows, self.message)


class EachReceived(NamedTuple):
    """A message for each neighbour: fetched from the slot in which the neighbour keeps this agent."""

    place: Place
    words: Any
    """All messages of all agents, slot by slot."""

    def mixed_with(self, own: Any) -> Any:
        return jax.tree.map(self._mix, own, self.words)

    def each(self) -> Each:
        return Each(self.place.weight, jax.tree.map(lambda stack: _at(stack, self.place.told_at), self.words))

    def _mix(self, own: Any, stack: Any) -> Any:
        place = self.place

        def word(slot: Any) -> Any:
            return place.weight[slot] * _at(stack, place.told_at[slot])

        return sum_slots(word, len(place.weight), place.own * own)


class ChannelReceived(NamedTuple):
    """Messages on a lossy channel: what is received is settled when they are sent."""

    own: Any
    others: Any

    def mixed_with(self, own: Any) -> Any:
        return jax.tree.map(lambda kept, rest: self.own * kept + rest, own, self.others)

    def each(self) -> Each:
        raise BadAlgorithm(
            "a lossy channel carries no single messages; take agent.mix, or leave channel= out"
        )


class Post(NamedTuple):
    """Carries the messages of one round over a lossy channel."""

    program: Program
    phase: Any
    now: Arrivals

    def exchange(self, outgoing: Broadcast | SendEach, kept: list[Any]) -> ChannelReceived:
        """What comes of it; whatever an agent keeps of its neighbours' messages is added to what it `kept` already."""
        if isinstance(outgoing, SendEach):
            raise BadAlgorithm(
                f"{self.program.algorithm.title} sends each neighbour a message of its own, which a lossy channel "
                "does not carry; let it send one to all, or leave channel= out"
            )
        leaves, structure = jax.tree.flatten(opened(outgoing, outgoing.message))
        held = self.now.mail.held[len(kept) : len(kept) + len(leaves)]

        def carried(stacks: list[Any]) -> tuple[Any, list[Any], list[Any]]:
            words = zip(stacks, held, strict=True)
            found = [delivered(self.program, self.phase, self.now, *word) for word in words]
            own = own_weight(self.program, self.phase, self.now)
            return own.astype(self.program.dtype), [one[0] for one in found], [one[1] for one in found]

        own, received, after = together(carried, leaves)
        kept += after
        return ChannelReceived(own, jax.tree.unflatten(structure, received))


def exchange(
    tables: NeighbourTables, population: Population, phase: Any, place: Place, outgoing: Broadcast | SendEach
) -> Any:
    """Carry what was said or told to the neighbours; what comes back is theirs."""
    if isinstance(outgoing, SendEach):
        return EachReceived(place, jax.tree.map(population.told, stacked(outgoing.messages)))

    def mixed(stacks: tuple[Any, Any]) -> Any:
        own, words = stacks[0], jax.tree.map(population.said, stacks[1])
        if outgoing.decode is not None:  # what crosses between devices is the message as it was said
            words = jax.vmap(outgoing.decode)(words)
        return jax.tree.map(lambda kept, leaf: _mixed(tables, phase, kept, leaf), own, words)

    def rows(stack: Any) -> Each:
        words = jax.tree.map(population.said, stack)
        if outgoing.decode is not None:
            words = jax.vmap(outgoing.decode)(words)
        weights, at = _neighbours(tables, phase)
        return Each(weights, jax.tree.map(lambda leaf: leaf[at], words))

    return BroadcastReceived(outgoing.message, mixed, rows)


def _neighbours(tables: NeighbourTables, phase: Any) -> tuple[Any, Any]:
    """By agent, the weights of its neighbours and where their messages stand: by slot, or where a layout has no slots,
    of all agents there are."""
    if tables.slots:
        return tables.weight[phase], tables.neighbour
    everybody = jnp.broadcast_to(jnp.arange(tables.n + tables.beyond), (tables.n, tables.n + tables.beyond))
    if tables.matrix is not None:
        return tables.matrix[phase], everybody
    lower, higher = tables.links[:, 0], tables.links[:, 1]
    weight = tables.link_weight[phase]
    matrix = jnp.zeros(everybody.shape, weight.dtype).at[higher, lower].add(weight[:, 0])
    return matrix.at[lower, higher].add(weight[:, 1]), everybody


def _mixed(tables: NeighbourTables, phase: Any, own: Any, words: Any) -> Any:
    if kernels.mixing_fits(tables, words):
        return kernels.mixed(tables, phase, own, words)
    sum_others = {"slots": _by_slots, "dense": _by_matrix, "links": _by_links}[tables.layout]
    own_weight = tables.own[phase].reshape(-1, *(1,) * (words.ndim - 1))
    return own_weight * own + sum_others(tables, phase, words)


def _by_slots(tables: NeighbourTables, phase: Any, stack: Any) -> Any:
    weight, neighbour = tables.weight[phase], tables.neighbour
    spread = (...,) + (None,) * (stack.ndim - 1)

    def word(slot: Any) -> Any:
        return weight[:, slot][spread] * _at(stack, neighbour[:, slot])

    return sum_slots(word, tables.slots, jnp.zeros((tables.n, *stack.shape[1:]), stack.dtype))


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


def _at(stack: Any, *index: Any) -> Any:
    return stack.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def begin(program: Program, start: Any, steps: Steps) -> Carry:
    """The state before round 1: noise that is kept is drawn, and the algorithm sets up its state."""
    kept, k = kept_noise(program), jnp.asarray(0)

    def one(agent: Agent, x: Any) -> Any:
        return carry_out(program.algorithm.init(agent, x), None)  # type: ignore[arg-type]

    state = per_agent(program, steps, k, shares_in(program, kept, {}, k), one, start)
    weighted = jnp.zeros_like(start) if program.averaging else None
    # Typed like the rounds that follow: a bare 1 is of a weaker type, and the whole program would be compiled twice.
    carry = Carry(jnp.asarray(1, dtype=int), state, kept, weighted)
    return carry if program.channel is None else replace(carry, mail=_first_mail(program, carry, steps))


def _first_mail(program: Program, carry: Carry, steps: Steps) -> Mail:
    """An empty box for every array that is said in a round."""
    assert program.channel is not None
    fair = replace(program, channel=None)

    def words() -> list[Any]:
        fresh = noise_of_round(fair, carry.k)
        return one_round(fair, carry, carry.k, carry.moving, steps, fresh)[1]

    return no_mail(program.channel, program.root, program.tables, jax.eval_shape(words))


def one_round(
    program: Program,
    carry: Carry,
    k: Any,
    moving: Moving,
    steps: Steps,
    fresh: Mapping[str, Any],
    *,
    stay: bool = False,
) -> tuple[Moving, list[Any]]:
    """Play round k for all agents; also returns every array said in it, in order. Agents who `stay` take no step."""
    phase = program.phase(k)
    post = None if program.channel is None else Post(program, phase, arrivals(program, k, phase, moving.mail))
    exchanges: list[Broadcast | SendEach] = []
    added = {name: partial(together, adder) for name, adder in adders(program, k).items()}

    def one(agent: Agent, args: Any) -> tuple[Any, list[Any], list[Any]]:
        state, place = args
        agent = replace(agent, adders=added)
        if stay:
            agent = replace(agent, local=no_step)
        said: list[Any] = []
        kept: list[Any] = []

        def carried(outgoing: Outgoing) -> Any:
            if isinstance(outgoing, SecureSum):
                total = jax.tree.map(program.population.summed, stacked(outgoing.values))
                said.extend(jax.tree.leaves(total))  # all that anybody is shown
                return total
            said.extend(
                jax.tree.leaves(opened(outgoing, outgoing[0]))
            )  # a message stands for no more than it tells
            exchanges.append(outgoing)
            if post is not None:
                return post.exchange(outgoing, kept)
            return exchange(program.tables, program.population, phase, place, outgoing)

        return carry_out(program.algorithm.round(agent, state, k), carried), said, kept

    shares = shares_in(program, carry.kept, fresh, k)
    state, said, kept = per_agent(
        program, steps, k, shares, one, (moving.state, places(program.tables, phase))
    )
    weighted = moving.weighted
    if weighted is not None:
        weighted = weighted + steps(k) * x_of(moving.state)
    if post is None:
        return Moving(state, weighted), said
    mail = _posted(moving.mail, post.now.mail, kept, len(exchanges))
    return Moving(_where_active(post.now.active, state, moving.state), weighted, mail), said


def _posted(before: Any, now: Mail, kept: list[Any], exchanges: int) -> Mail:
    """The mail after a round: messages that were kept in it, and all that was counted so far."""
    sent, received, lost = (
        getattr(before, name) + exchanges * getattr(now, name) for name in ("sent", "received", "lost")
    )
    return replace(now, held=tuple(kept), sent=sent, received=received, lost=lost)


def _where_active(active: Any, after: Any, before: Any) -> Any:
    """The states of those who took part; an inactive agent stands where it stood."""

    def either(new: Any, old: Any) -> Any:
        return jnp.where(active.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(either, after, before)


def run_until(program: Program, carry: Carry, steps: Steps, stop: Any) -> Carry:
    """Play rounds until round `stop` is next, drawing noise block by block."""

    def play(k: Any, moving: Moving, fresh: Mapping[str, Any]) -> Moving:
        return beside(one_round(program, carry, k, moving, steps, fresh)[0])

    def block(turn: tuple[Any, Moving]) -> tuple[Any, Moving]:
        first, moving = turn
        noise = fresh_noise(program, first + jnp.arange(program.block))
        last = jnp.minimum(first + program.block, stop)

        def next_round(k: Any, turn: tuple[Moving, Any]) -> tuple[Moving, Any]:
            moving, noise = turn
            return play(k, moving, jax.tree.map(lambda rows: entry(rows, k - first), noise)), beside(noise)

        return last, jax.lax.fori_loop(first, last, next_round, (moving, noise))[0]

    def alone(k: Any, moving: Moving) -> Moving:
        return play(k, moving, noise_of_round(program, k))

    if program.block > 1:
        _, moving = jax.lax.while_loop(lambda turn: turn[0] < stop, block, (carry.k, carry.moving))
    else:
        moving = jax.lax.fori_loop(carry.k, stop, alone, carry.moving)
    return carry.at(stop, moving)


def per_agent(program: Program, steps: Steps, k: Any, shares: Any, function: Any, args: Any) -> Any:
    """Run a function of one agent for all agents at once."""
    groups = program.problem.groups
    alone = len(groups) == 1

    def one(index: Any, data: Any, shares: Any, args: Any) -> Any:
        agent = Agent(
            index=index,
            alpha=steps,
            objective=KnownObjective(groups[0].objective, data)
            if alone
            else lambda v: together(lambda stack: program.by_group("gradient", stack), v),
            feasible=program.problem.feasible,
            shares=shares,
            grad_at=program.grad_at,
            penalty=program.problem.penalty,
            members=program.population.count(program.tables),
            local=groups[0].objective.local(data) if alone else None,
        )
        return function(agent, args)

    numbers = program.tables.agent_numbers
    index = jnp.arange(program.tables.n) if numbers is None else numbers
    return jax.vmap(one, axis_name=AGENTS)(index, groups[0].data if alone else None, shares, args)


def shares_in(program: Program, kept: Mapping[str, Any], fresh: Mapping[str, Any], k: Any) -> dict[str, Any]:
    """All noise of round k: what is kept, in the phase of the round, and what is fresh."""
    phase = program.phase(k)
    return {name: rows[phase] for name, rows in kept.items()} | dict(fresh)
