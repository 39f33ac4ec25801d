"""Mixing on a GPU, over agents first and over coordinates second.

Array code goes through one agent's coordinates after the other: by the time a word is wanted by the next neighbour, it
has left the cache, and with eight neighbours all words are read nine times from memory. Here the words of all agents on
one tile of coordinates are in the cache together, and memory is read once. The sums are taken in the same order, so
that they come to the same bits.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from hocket.networks.neighbour_tables import NeighbourTables

TILE, WARPS = 256, 2
"""Coordinates that one kernel instance mixes: a thousand agents' are a megabyte."""
MOST_SLOTS = 32
"""Neighbours up to whom an instance is straight-line code."""
INDEXED = 1 << 31
"""Numbers in one array, up to which kernels count."""


def on_gpu() -> bool:
    """Whether kernels run where arrays are; tests run them elsewhere, in JAX's interpreter."""
    return jax.default_backend() == "gpu"


def fits(tables: NeighbourTables, words: Any) -> bool:
    """Whether `mixed` can mix these: vectors, slot by slot, long enough to fill tiles."""
    return (
        on_gpu()
        and tables.layout == "slots"
        and 0 < tables.slots <= MOST_SLOTS
        and words.ndim == 2
        and words.shape[1] >= TILE
        and words.size < INDEXED
        and jnp.issubdtype(words.dtype, jnp.floating)
    )


def mixed(tables: NeighbourTables, phase: Any, own: Any, words: Any) -> Any:
    """B[j,j] own_j + Σ_i B[j,i] w_i for every agent j."""
    from jax.experimental import pallas as pl  # a fifth of a second, which only GPUs need
    from jax.experimental.pallas import triton

    width = words.shape[1]

    def kernel(neighbour: Any, weight: Any, own_weight: Any, own: Any, words: Any, out: Any) -> None:
        agent = pl.program_id(0)
        coordinate = pl.program_id(1) * TILE + jnp.arange(TILE)
        inside = coordinate < width

        def row(stack: Any, at: Any) -> Any:
            return triton.load(stack.at[at, coordinate], mask=inside, other=0)

        others = jnp.zeros(TILE, words.dtype)
        for slot in range(tables.slots):
            others = others + weight[agent, slot] * row(words, neighbour[agent, slot])
        result = own_weight[agent] * row(own, agent) + others
        triton.store(out.at[agent, coordinate], result, mask=inside)

    whole = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        grid=(tables.n, pl.cdiv(width, TILE)),  # the first axis is walked first
        in_specs=[whole] * 5,
        out_specs=whole,
        out_shape=jax.ShapeDtypeStruct((tables.n, width), words.dtype),
        compiler_params=triton.CompilerParams(num_warps=WARPS),
        interpret=jax.default_backend() == "cpu",
    )(tables.neighbour, tables.weight[phase], tables.own[phase], own, words)
