"""Rounds of a compiled run: one generator for one agent, played for all agents at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from hocket.agent import Agent
from hocket.algorithm import converse, x_of
from hocket.engines.exchange import AGENTS, exchange, places, together
from hocket.engines.program import Carry, Moving, Program, Steps, entry
from hocket.engines.round_noise import fresh_noise, kept_noise, noise_of_round


def begin(program: Program, start: Any, steps: Steps) -> Carry:
    """The state before round 1: noise that is kept is drawn, and the algorithm sets up its state."""
    kept, k = kept_noise(program), jnp.asarray(0)

    def one(agent: Agent, x: Any) -> Any:
        return converse(program.algorithm.setup(agent, x), None)  # type: ignore[arg-type]

    state = per_agent(program, steps, k, shares_in(program, kept, {}, k), one, start)
    weighted = jnp.zeros_like(start) if program.averaging else None
    # Typed like the rounds that follow: a bare 1 is of a weaker type, and the whole program would be compiled twice.
    return Carry(jnp.asarray(1, dtype=int), state, kept, weighted)


def one_round(
    program: Program, carry: Carry, k: Any, moving: Moving, steps: Steps, fresh: Mapping[str, Any]
) -> tuple[Moving, list[Any]]:
    """Play round k for all agents; also returns every array said in it, in order."""
    phase = program.phase(k)

    def one(agent: Agent, args: Any) -> tuple[Any, list[Any]]:
        state, place = args
        said: list[Any] = []

        def carried(spoken: Any) -> Any:
            said.extend(jax.tree.leaves(spoken[0]))
            return exchange(program.tables, program.population, phase, place, spoken)

        return converse(program.algorithm.round(agent, state, k), carried), said

    shares = shares_in(program, carry.kept, fresh, k)
    state, said = per_agent(program, steps, k, shares, one, (moving.state, places(program.tables, phase)))
    weighted = moving.weighted
    if weighted is not None:
        weighted = weighted + steps(k) * x_of(moving.state)
    return Moving(state, weighted), said


def run_until(program: Program, carry: Carry, steps: Steps, stop: Any) -> Carry:
    """Play rounds until round `stop` is next, drawing noise block by block."""

    def play(k: Any, moving: Moving, fresh: Mapping[str, Any]) -> Moving:
        return one_round(program, carry, k, moving, steps, fresh)[0]

    def block(turn: tuple[Any, Moving]) -> tuple[Any, Moving]:
        first, moving = turn
        noise = fresh_noise(program, first + jnp.arange(program.block))
        last = jnp.minimum(first + program.block, stop)

        def next_round(k: Any, moving: Moving) -> Moving:
            return play(k, moving, jax.tree.map(lambda rows: entry(rows, k - first), noise))

        return last, jax.lax.fori_loop(first, last, next_round, moving)

    moving = Moving(carry.state, carry.weighted)
    if program.block == 0:
        moving = jax.lax.fori_loop(carry.k, stop, lambda k, moving: play(k, moving, {}), moving)
    elif program.block == 1:
        moving = jax.lax.fori_loop(
            carry.k, stop, lambda k, moving: play(k, moving, noise_of_round(program, k)), moving
        )
    else:
        _, moving = jax.lax.while_loop(lambda turn: turn[0] < stop, block, (carry.k, moving))
    return carry.at(stop, moving)


def per_agent(program: Program, steps: Steps, k: Any, shares: Any, function: Any, args: Any) -> Any:
    """Run a function of one agent for all agents at once."""
    groups = program.problem.groups
    alone = len(groups) == 1

    def one(index: Any, data: Any, shares: Any, args: Any) -> Any:
        agent = Agent(
            index=index,
            alpha=steps,
            objective=(lambda v: groups[0].objective.gradient(v, data))
            if alone
            else lambda v: together(lambda stack: program.by_group("gradient", stack), v),
            feasible=program.problem.feasible,
            shares=shares,
            grad_at=program.grad_at,
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
