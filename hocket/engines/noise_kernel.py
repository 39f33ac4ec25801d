"""RSS-LB's noise on a GPU, drawn and balanced in the kernel that writes the words.

Balancing needs all of an agent's draws before the first is known. Compiled from plain array code that means drawing
everything twice or carrying it through memory; here a thread keeps its agent's draws in registers. Each is added to the
state at once, so that all these words are written once and read once, by whoever they are for. The numbers are those of
`Balanced.deal`.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hocket.engines.mixing_kernel import INDEXED
from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise import threefry
from hocket.noise.draws import Balanced, Draw, When, balanced, share_along

TILE, WARPS = 512, 4
"""Coordinates that one kernel instance draws: with 8 slots, 32 registers a thread hold them."""
MOST_SLOTS = 16
"""Beyond, draws no longer fit into registers."""


def fits(draw: Draw, when: When, tables: NeighbourTables, dtype: Any) -> bool:
    """Whether `noisy` can draw this; otherwise array code gives the same numbers."""
    return (
        isinstance(draw, Balanced)
        and draw.given is None
        and np.dtype(dtype) == np.float32
        and len(when.rounds) == 1
        and tables.slots <= MOST_SLOTS
        and tables.n * tables.slots * draw.width < INDEXED
    )


def noisy(
    draw: Balanced, key: tuple[Any, Any], when: When, tables: NeighbourTables, x: Any, scale: Any
) -> Any:
    """x + scale · noise of one round, a word for every neighbour: (agents, slots, width).

    `scale` is a number for each agent.
    """
    from jax.experimental import pallas as pl  # a fifth of a second, which only GPUs need
    from jax.experimental.pallas import triton

    agents, slots, width = tables.n, tables.slots, draw.width
    phase = when.phases[0] if len(draw.gamma) > 1 else 0

    def kernel(
        root: Any, link: Any, direction: Any, towards: Any, gamma: Any, scale: Any, x: Any, out: Any
    ) -> None:
        agent = pl.program_id(0)
        coordinate = pl.program_id(1) * TILE + jnp.arange(TILE)
        inside = coordinate < width

        def drawn(slot: int) -> Any:
            place = link[agent, slot] * np.uint32(width) + coordinate.astype(np.uint32)
            moment = jnp.full_like(place, root[2])
            first, second = threefry.uniform((root[0], root[1]), moment, place, np.float32)
            return jnp.where(direction[agent, slot] == 0, first, second)

        b, u = [towards[agent, slot] for slot in range(slots)], [drawn(slot) for slot in range(slots)]
        along = share_along(*(sum(map(operator.mul, b, other)) for other in (u, b)))
        state = triton.load(x.at[agent, coordinate], mask=inside, other=0)
        for slot in range(slots):
            word = state + scale[agent] * balanced(u[slot], b[slot], along, gamma[agent])
            triton.store(out.at[agent * slots + slot, coordinate], word, mask=inside)

    whole = pl.BlockSpec(memory_space=pl.ANY)
    out = pl.pallas_call(
        kernel,
        grid=(agents, pl.cdiv(width, TILE)),
        in_specs=[whole] * 7,
        out_specs=whole,
        out_shape=jax.ShapeDtypeStruct((agents * slots, width), np.float32),
        compiler_params=triton.CompilerParams(num_warps=WARPS),
        interpret=jax.default_backend() == "cpu",
    )(
        jnp.stack([key[0], key[1], when.rounds[0].astype(np.uint32)]),
        tables.numbers_of(tables.link).astype(np.uint32),
        tables.direction,
        jnp.where(tables.filled, draw.towards[phase], 0).astype(np.float32),
        draw.gamma[phase].astype(np.float32),
        scale,
        x,
    )
    return out.reshape(agents, slots, width)
