"""Noise between neighbours on a GPU, drawn once for each link and added to the states in one pass.

Two agents draw the same on their link. Drawn at both ends, all noise is drawn twice; drawn once and kept, it is more
than memory can carry. So it is drawn for one chunk of coordinates after the other: each launch draws a chunk for all
links, and deals to the agents the chunk that the launch before has drawn and that is still in the cache. No instance
waits for another, and arithmetic and memory are busy at once. The numbers are those of `Paired.at_each_end`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hocket.engines.mixing_kernel import INDEXED, MOST_SLOTS
from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise import threefry
from hocket.noise.draws import Draw, Paired, When

TILE, WARPS = 512, 4
"""Coordinates of one kernel instance."""
CHUNK = 1 << 24
"""Numbers that one launch draws: more launches take longer, and fewer leave the cache."""


def fits(draw: Draw, when: When, tables: NeighbourTables, dtype: Any) -> bool:
    """Whether `noisy` can draw this; otherwise array code gives the same numbers."""
    return (
        isinstance(draw, Paired)
        and draw.given is None
        and draw.active is None
        and draw.relative is None
        and not draw.normal
        and tables.layout == "slots"
        and 0 < tables.slots <= MOST_SLOTS
        and np.dtype(dtype) == np.float32
        and len(when.rounds) == 1
        and draw.width >= TILE
        and tables.n * draw.width < INDEXED
    )


def noisy(draw: Paired, key: tuple[Any, Any], when: When, tables: NeighbourTables, x: Any, scale: Any) -> Any:
    """x + scale · noise of one round; `scale` is a number for each agent."""
    from jax.experimental import pallas as pl  # a fifth of a second, which only GPUs need
    from jax.experimental.pallas import triton

    agents, links, width = tables.n, len(tables.links), draw.width
    each = -(-links // agents)
    rows, tiles = each * agents, pl.cdiv(width, TILE)
    chunk = TILE * min(max(CHUNK // (rows * TILE), 1), tiles)
    chunks = pl.cdiv(width, chunk)

    def kernel(
        turn: Any, root: Any, number: Any, size: Any, link: Any, sign: Any, scale: Any, x: Any, *written: Any
    ) -> None:
        kept, out = written[-2:]  # before them the same two, as they came from the last launch
        agent, here = pl.program_id(0), pl.program_id(1) * TILE + jnp.arange(TILE)
        now, before = jax.lax.rem(turn[0], 2) * rows, jax.lax.rem(turn[0] + 1, 2) * rows
        for part in range(each):
            row = agent * each + part
            place = number[row] * np.uint32(width) + (turn[0] * chunk + here).astype(np.uint32)
            moment = jnp.full_like(place, root[2])
            first, second = threefry.uniform((root[0], root[1]), moment, place, np.float32)
            triton.store(kept.at[now + row, here], size[row] * first - size[row] * second)
        coordinate = (turn[0] - 1) * chunk + here
        inside = (coordinate >= 0) & (coordinate < width)
        noise = jnp.zeros(TILE, np.float32)
        for slot in range(tables.slots):
            noise = noise + sign[agent, slot] * triton.load(kept.at[before + link[agent, slot], here])
        state = triton.load(x.at[agent, coordinate], mask=inside, other=0)
        triton.store(out.at[agent, coordinate], state + scale[agent] * noise, mask=inside)

    sizes = draw.scale[when.phases[0] if len(draw.scale) > 1 else 0] * (when.rounds[0] >= draw.first)
    whole, spare = pl.BlockSpec(memory_space=pl.ANY), (0, rows - links)
    arguments = (
        jnp.stack([key[0], key[1], when.rounds[0].astype(np.uint32)]),
        jnp.pad(tables.numbers_of(np.arange(links)).astype(np.uint32), spare),
        jnp.pad(sizes.astype(np.float32), spare),
        tables.link,
        jnp.where(tables.filled, 2 * tables.direction - 1, 0).astype(np.float32),
        scale,
        x,
    )

    def launch(turn: Any, *written: Any) -> tuple[Any, Any]:
        kept, out = pl.pallas_call(
            kernel,
            grid=(agents, chunk // TILE),
            in_specs=[whole] * (8 + len(written)),
            out_specs=[whole] * 2,
            out_shape=[
                jax.ShapeDtypeStruct((2 * rows, chunk), np.float32),
                jax.ShapeDtypeStruct((agents, width), np.float32),
            ],
            input_output_aliases={8: 0, 9: 1} if written else {},
            compiler_params=triton.CompilerParams(num_warps=WARPS),
            interpret=jax.default_backend() == "cpu",
        )(jnp.asarray(turn, np.int32)[None], *arguments, *written)
        return kept, out

    return jax.lax.fori_loop(1, chunks + 1, lambda turn, written: launch(turn, *written), launch(0))[1]
