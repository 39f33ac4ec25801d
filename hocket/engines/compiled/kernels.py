"""Kernels for GPUs: messages are mixed, and noise is drawn in the pass that adds it to the states.

Array code gives the same numbers and reads memory more often. `fits` says of each whether it can be used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise import threefry
from hocket.noise.draws import Balanced, Draw, Paired, When, balanced, share_along

MIXED_TILE, NOISY_TILE = 256, 512
"""Coordinates of one kernel instance: mixed, a thousand agents' are a megabyte; drawn, with 8 slots, 32 registers a
thread hold them."""
MIXED_SLOTS, BALANCED_SLOTS = 32, 16
"""Neighbours up to whom an instance is straight-line code; beyond, balanced draws no longer fit into registers."""
CHUNK = 1 << 24
"""Numbers that one launch draws on links: more launches take longer, and fewer leave the cache."""
INDEXED = 1 << 31
"""Numbers in one array, up to which kernels count."""


def on_gpu() -> bool:
    """Whether kernels run where arrays are; tests run them elsewhere, in JAX's interpreter."""
    return jax.default_backend() == "gpu"


def _call(kernel: Callable[..., None], grid: tuple[int, int], out: Any, *args: Any, **how: Any) -> Any:
    """Run a kernel over a grid whose first axis is walked first, on arguments that stay in memory."""
    from jax.experimental import pallas as pl  # a fifth of a second, which only GPUs need
    from jax.experimental.pallas import triton

    whole = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=[whole] * len(args),
        out_specs=jax.tree.map(lambda _: whole, out),
        out_shape=out,
        compiler_params=triton.CompilerParams(num_warps=how.pop("warps", 4)),
        interpret=jax.default_backend() == "cpu",
        **how,
    )(*args)


def _tile(width: int, tile: int) -> tuple[Any, Any, Any]:
    """Which agent an instance is for, its coordinates, and which of them exist."""
    from jax.experimental import pallas as pl

    coordinate = pl.program_id(1) * tile + jnp.arange(tile)
    return pl.program_id(0), coordinate, coordinate < width


def _load(place: Any, inside: Any = None) -> Any:
    from jax.experimental.pallas import triton

    return triton.load(place, mask=inside, other=None if inside is None else 0)


def _store(place: Any, values: Any, inside: Any = None) -> None:
    from jax.experimental.pallas import triton

    triton.store(place, values, mask=inside)


def mixing_fits(tables: NeighbourTables, words: Any) -> bool:
    """Whether `mixed` can mix these: vectors, slot by slot, long enough to fill tiles."""
    return (
        on_gpu()
        and tables.layout == "slots"
        and 0 < tables.slots <= MIXED_SLOTS
        and words.ndim == 2
        and words.shape[1] >= MIXED_TILE
        and words.size < INDEXED
        and jnp.issubdtype(words.dtype, jnp.floating)
    )


def mixed(tables: NeighbourTables, phase: Any, own: Any, words: Any) -> Any:
    """B[j,j] own_j + Σ_i B[j,i] w_i for every agent j, agents first and coordinates second.

    Array code goes through one agent's coordinates after the other: by the time the next neighbour wants a message, it
    has left the cache, and with eight neighbours all messages are read nine times from memory. Here the messages of all
    agents on one tile are in the cache together. The sums are taken in the same order, so that bits are the same.
    """
    width = words.shape[1]

    def kernel(neighbour: Any, weight: Any, own_weight: Any, own: Any, words: Any, out: Any) -> None:
        agent, coordinate, inside = _tile(width, MIXED_TILE)
        others = jnp.zeros(MIXED_TILE, words.dtype)
        for slot in range(tables.slots):
            word = _load(words.at[neighbour[agent, slot], coordinate], inside)
            others = others + weight[agent, slot] * word
        result = own_weight[agent] * _load(own.at[agent, coordinate], inside) + others
        _store(out.at[agent, coordinate], result, inside)

    out = jax.ShapeDtypeStruct((tables.n, width), words.dtype)
    grid = (tables.n, -(-width // MIXED_TILE))
    args = tables.neighbour, tables.weight[phase], tables.own[phase], own, words
    return _call(kernel, grid, out, *args, warps=2)


def noise_fits(draw: Draw, when: When, tables: NeighbourTables, dtype: Any) -> bool:
    """Whether `noisy` can draw this."""
    if np.dtype(dtype) != np.float32 or len(when.rounds) != 1 or getattr(draw, "given", None) is not None:
        return False
    if isinstance(draw, Balanced):
        return tables.slots <= BALANCED_SLOTS and tables.n * tables.slots * draw.width < INDEXED
    return (
        isinstance(draw, Paired)
        and draw.active is None
        and draw.relative is None
        and not draw.normal
        and tables.layout == "slots"
        and 0 < tables.slots <= MIXED_SLOTS
        and draw.width >= NOISY_TILE
        and tables.n * draw.width < INDEXED
    )


def noisy(draw: Any, key: tuple[Any, Any], when: When, tables: NeighbourTables, x: Any, scale: Any) -> Any:
    """x + scale · noise of one round; `scale` is a number for each agent. Balanced noise gives a message per slot."""
    add: Any = _add_balanced if isinstance(draw, Balanced) else _add_paired
    return add(draw, key, when, tables, x, scale)


def _add_balanced(
    draw: Balanced, key: tuple[Any, Any], when: When, tables: NeighbourTables, x: Any, scale: Any
) -> Any:
    """RSS-LB's messages: (agents, slots, width), by the numbers of `Balanced.deal`.

    Balancing needs all of an agent's draws before the first is known. Compiled from array code that means drawing
    everything twice or carrying it through memory; here a thread keeps its agent's draws in registers.
    """
    agents, slots, width = tables.n, tables.slots, draw.width
    phase = when.phases[0] if len(draw.gamma) > 1 else 0

    def kernel(
        root: Any, link: Any, direction: Any, towards: Any, gamma: Any, scale: Any, x: Any, out: Any
    ) -> None:
        agent, coordinate, inside = _tile(width, NOISY_TILE)

        def drawn(slot: int) -> Any:
            place = link[agent, slot] * np.uint32(width) + coordinate.astype(np.uint32)
            first, second = _uniform(root, place)
            return jnp.where(direction[agent, slot] == 0, first, second)

        b, u = [towards[agent, slot] for slot in range(slots)], [drawn(slot) for slot in range(slots)]
        along = share_along(*(sum(map(operator.mul, b, other)) for other in (u, b)))
        state = _load(x.at[agent, coordinate], inside)
        for slot in range(slots):
            word = state + scale[agent] * balanced(u[slot], b[slot], along, gamma[agent])
            _store(out.at[agent * slots + slot, coordinate], word, inside)

    out = _call(
        kernel,
        (agents, -(-width // NOISY_TILE)),
        jax.ShapeDtypeStruct((agents * slots, width), np.float32),
        _root(key, when),
        tables.numbers_of(tables.link).astype(np.uint32),
        tables.direction,
        jnp.where(tables.filled, draw.towards[phase], 0).astype(np.float32),
        draw.gamma[phase].astype(np.float32),
        scale,
        x,
    )
    return out.reshape(agents, slots, width)


def _add_paired(
    draw: Paired, key: tuple[Any, Any], when: When, tables: NeighbourTables, x: Any, scale: Any
) -> Any:
    """RSS-NB's messages, by the numbers of `Paired.at_each_end`.

    Drawn at both ends of a link, all noise is drawn twice; drawn once and kept, it is more than memory can carry. So
    each launch draws one chunk of coordinates for all links, and deals to the agents the chunk that the launch before
    has drawn and that is still in the cache. No instance waits for another.
    """
    from jax.experimental import pallas as pl

    agents, links, width = tables.n, len(tables.links), draw.width
    each = -(-links // agents)
    rows, tiles = each * agents, -(-width // NOISY_TILE)
    chunk = NOISY_TILE * min(max(CHUNK // (rows * NOISY_TILE), 1), tiles)
    chunks = -(-width // chunk)

    def kernel(
        turn: Any, root: Any, number: Any, size: Any, link: Any, sign: Any, scale: Any, x: Any, *written: Any
    ) -> None:
        kept, out = written[-2:]  # before them the same two, as they came from the last launch
        agent, here = pl.program_id(0), pl.program_id(1) * NOISY_TILE + jnp.arange(NOISY_TILE)
        now, before = jax.lax.rem(turn[0], 2) * rows, jax.lax.rem(turn[0] + 1, 2) * rows
        for part in range(each):
            row = agent * each + part
            place = number[row] * np.uint32(width) + (turn[0] * chunk + here).astype(np.uint32)
            first, second = _uniform(root, place)
            _store(kept.at[now + row, here], size[row] * first - size[row] * second)
        coordinate = (turn[0] - 1) * chunk + here
        inside = (coordinate >= 0) & (coordinate < width)
        noise = jnp.zeros(NOISY_TILE, np.float32)
        for slot in range(tables.slots):
            noise = noise + sign[agent, slot] * _load(kept.at[before + link[agent, slot], here])
        state = _load(x.at[agent, coordinate], inside)
        _store(out.at[agent, coordinate], state + scale[agent] * noise, inside)

    sizes = draw.scale[when.phases[0] if len(draw.scale) > 1 else 0] * (when.rounds[0] >= draw.first)
    spare = (0, rows - links)
    args = (
        _root(key, when),
        jnp.pad(tables.numbers_of(np.arange(links)).astype(np.uint32), spare),
        jnp.pad(sizes.astype(np.float32), spare),
        tables.link,
        jnp.where(tables.filled, 2 * tables.direction - 1, 0).astype(np.float32),
        scale,
        x,
    )
    shapes = (
        jax.ShapeDtypeStruct((2 * rows, chunk), np.float32),
        jax.ShapeDtypeStruct((agents, width), np.float32),
    )

    def launch(turn: Any, *written: Any) -> Any:
        aliases = {8: 0, 9: 1} if written else {}
        now = jnp.asarray(turn, np.int32)[None]
        grid = (agents, chunk // NOISY_TILE)
        return _call(kernel, grid, shapes, now, *args, *written, input_output_aliases=aliases)

    return jax.lax.fori_loop(1, chunks + 1, lambda turn, written: launch(turn, *written), launch(0))[1]


def _root(key: tuple[Any, Any], when: When) -> Any:
    """The key of the draws and their round."""
    return jnp.stack([key[0], key[1], when.rounds[0].astype(np.uint32)])


def _uniform(root: Any, place: Any) -> tuple[Any, Any]:
    """Two draws for each place, inside a kernel."""
    moment = jnp.full_like(place, root[2])
    return threefry.uniform((root[0], root[1]), moment, place, np.float32)
