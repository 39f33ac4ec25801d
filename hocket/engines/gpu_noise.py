"""RSS-LB's noise on a GPU: drawn, balanced and written in one kernel.

Every word that an agent tells has noise of its own, and balancing needs all of an agent's draws before the first is
known. Compiled from plain array code that means drawing everything twice or carrying it through memory in between.
Here a thread keeps its agent's draws in registers. The numbers are those of `Balanced.deal`.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise import threefry
from hocket.noise.draws import Balanced, When, balanced, share_along

TILE = 512
"""Coordinates that one kernel instance draws: with 8 slots, 32 registers a thread hold them."""
MOST_SLOTS = 16
"""Beyond, draws no longer fit into registers."""


def in_one_kernel(draw: Balanced, when: When, tables: NeighbourTables, dtype: Any) -> bool:
    """Whether this noise can be drawn here; otherwise array code gives the same numbers."""
    return (
        draw.given is None
        and np.dtype(dtype) == np.float32
        and len(when.rounds) == 1
        and tables.slots <= MOST_SLOTS
    )


def balanced_noise(draw: Balanced, key: tuple[Any, Any], when: When, tables: NeighbourTables) -> Any:
    """One round's noise for every agent's every neighbour: (1, agents, slots, width)."""
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
