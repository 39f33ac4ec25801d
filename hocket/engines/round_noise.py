"""Noise inside a compiled run: drawn, dealt, and finished in memory before a round reads it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jax.extend import core

from hocket.engines.program import Program
from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise import threefry
from hocket.noise.draws import Balanced, Draw, Pair, When, balanced, share_along

TILE = 512
"""Coordinates that one kernel instance draws: with 8 slots, 32 registers a thread hold them."""
MOST_SLOTS = 16
"""Beyond, draws no longer fit into registers."""


def kept_noise(program: Program) -> dict[str, Any]:
    """Every agent's share of the noise that is drawn once, by phase of the network."""
    phases = jnp.arange(program.tables.period)
    when = When(jnp.zeros_like(phases), phases)
    return {name: _dealt(program, draw, when) for name, draw in program.draws.items() if draw.once}


def fresh_noise(program: Program, rounds: Any) -> dict[str, Any]:
    """Every agent's share of the noise of these rounds."""
    when = program.when(rounds)
    return {name: _dealt(program, draw, when) for name, draw in program.draws.items() if not draw.once}


def noise_of_round(program: Program, k: Any) -> dict[str, Any]:
    """Every agent's share of the noise of one round."""
    return {name: rows[0] for name, rows in fresh_noise(program, k[None]).items()}


def pairwise(program: Program, rounds: Any) -> dict[str, Pair]:
    """What both ends of every link drew in these rounds: the part of the noise that two agents share."""
    out = {}
    for name, draw in program.draws.items():
        when = program.when(jnp.zeros(1, rounds.dtype) if draw.once else rounds)
        raw = _raw(program, draw, when)
        if isinstance(raw, Pair):
            out[name] = raw
    return out


def _dealt(program: Program, draw: Draw, when: When) -> Any:
    """Draw, then deal; each is finished in memory before what reads it begins.

    On a GPU memory is what is scarce, and every agent draws for itself, in the kernel that uses the noise.
    """
    if jax.default_backend() != "cpu":
        key = threefry.derive(program.root, draw.label)
        if isinstance(draw, Balanced) and in_one_kernel(draw, when, program.tables, program.dtype):
            return balanced_noise(draw, key, when, program.tables)
        return draw.at_each_end(key, when, program.tables, program.dtype)
    condensed = _settled(lambda: draw.condense(_raw(program, draw, when)), when)
    return _settled(lambda: draw.deal(condensed, when, program.tables), when)


def _settled(compute: Callable[[], Any], when: When) -> Any:
    """Compute in a step of its own.

    XLA on CPUs ignores optimisation barriers and fuses draws into the gathers that read them, so that each number is
    drawn again at every reader: five times slower with 8 neighbours. It does not fuse across a branch, though, and
    cannot tell that this one is always taken.
    """
    # Traced once, for the shapes and for the branch.
    traced, shapes = jax.make_jaxpr(compute, return_shape=True)()
    leaves, structure = jax.tree.flatten(shapes)
    settled = jax.lax.cond(
        when.rounds[0] >= 0,
        core.jaxpr_as_fun(traced),
        lambda: [jnp.zeros(leaf.shape, leaf.dtype) for leaf in leaves],
    )
    return jax.tree.unflatten(structure, settled)


def _raw(program: Program, draw: Draw, when: When) -> Any:
    return draw.raw(threefry.derive(program.root, draw.label), when, program.tables, program.dtype)


def in_one_kernel(draw: Balanced, when: When, tables: NeighbourTables, dtype: Any) -> bool:
    """Whether `balanced_noise` can draw this on a GPU; otherwise array code gives the same numbers."""
    return (
        draw.given is None
        and np.dtype(dtype) == np.float32
        and len(when.rounds) == 1
        and tables.slots <= MOST_SLOTS
    )


def balanced_noise(draw: Balanced, key: tuple[Any, Any], when: When, tables: NeighbourTables) -> Any:
    """RSS-LB's noise of one round, drawn, balanced and written in one kernel: (1, agents, slots, width).

    Every word that an agent tells has noise of its own, and balancing needs all of an agent's draws before the first is
    known. Compiled from plain array code that means drawing everything twice or carrying it through memory in between.
    Here a thread keeps its agent's draws in registers. The numbers are those of `Balanced.deal`.
    """
    agents, slots, width = tables.n, tables.slots, draw.width
    phase = when.phases[0] if len(draw.gamma) > 1 else 0

    def kernel(
        words_ref: Any, link_ref: Any, direction_ref: Any, b_ref: Any, gamma_ref: Any, out: Any
    ) -> None:
        agent, tile = pl.program_id(1), pl.program_id(0)
        coordinate = tile * TILE + jnp.arange(TILE)
        inside = coordinate < width

        def drawn(slot: int) -> Any:
            place = link_ref[0, slot] * np.uint32(width) + coordinate.astype(np.uint32)
            moment = jnp.full_like(place, words_ref[2])
            first, second = threefry.uniform((words_ref[0], words_ref[1]), moment, place, np.float32)
            return jnp.where(direction_ref[0, slot] == 0, first, second)

        b, u = [b_ref[0, slot] for slot in range(slots)], [drawn(slot) for slot in range(slots)]
        along = share_along(*(sum(map(operator.mul, b, other)) for other in (u, b)))
        for slot in range(slots):
            row = out.at[agent * slots + slot, pl.ds(tile * TILE, TILE)]
            triton.store(row, balanced(u[slot], b[slot], along, gamma_ref[0]), mask=inside)

    def of_agent(*shape: int) -> pl.BlockSpec:
        return pl.BlockSpec((1, *shape), lambda tile, agent: (agent,) + (0,) * len(shape))

    words = jnp.stack([key[0], key[1], when.rounds[0].astype(np.uint32), jnp.zeros((), np.uint32)])
    out = pl.pallas_call(
        kernel,
        grid=(pl.cdiv(width, TILE), agents),
        in_specs=[
            pl.BlockSpec((4,), lambda tile, agent: (0,)),
            of_agent(slots),
            of_agent(slots),
            of_agent(slots),
            of_agent(),
        ],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct((agents * slots, width), np.float32),
        interpret=jax.default_backend() == "cpu",
    )(
        words,
        tables.numbers_of(tables.link).astype(np.uint32),
        tables.direction,
        jnp.where(tables.filled, draw.towards[phase], 0).astype(np.float32),
        draw.gamma[phase].astype(np.float32),
    )
    return out.reshape(1, agents, slots, width)
