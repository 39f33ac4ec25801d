"""Random words from counters: the same bits in NumPy and JAX, on any device, in any order.

A word depends on its key and its counter alone, never on what was drawn before, so noise does not change when
rounds are drawn in blocks, links are spread over machines or a run is resumed. The generator is Threefry-2x32
(Salmon et al. 2011), with 20 rounds the one behind `jax.random`. It is written out here because JAX offers no NumPy
twin, and because on CPUs JAX keeps it as a rolled loop, which is five times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

FULL = 20
ENOUGH = 13
"""The fewest rounds that pass every test of randomness its authors put it to (TestU01's BigCrush). Noise in float32 is
drawn by the billion, for learning, and there the generator's speed decides what a private exchange costs."""


def words(key: tuple[Any, Any], high: Any, low: Any, rounds: int = FULL) -> tuple[Any, Any]:
    """Two 32-bit words for every counter (high, low) under a key of two words.

    All arguments are uint32 arrays of one library; shapes broadcast.
    """
    return (_words if isinstance(high, np.ndarray | np.generic) else _traced_once())(key, high, low, rounds)


@cache
def _traced_once() -> Callable[..., tuple[Any, Any]]:
    """The same for JAX, which then traces all these operations once for every shape and not in every program."""
    import jax  # here, because members draw in NumPy

    return jax.jit(_words, static_argnums=3, inline=True)  # pyright: ignore[reportUnknownMemberType]


def _words(key: tuple[Any, Any], high: Any, low: Any, rounds: int) -> tuple[Any, Any]:
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    a, b = high + schedule[0], low + schedule[1]
    for done in range(rounds):
        group, place = divmod(done, 4)
        turn = _ROTATIONS[group % 2][place]
        a = a + b
        b = (b << np.uint32(turn)) | (b >> np.uint32(32 - turn))
        b = b ^ a
        if place == 3:
            a = a + schedule[(group + 1) % 3]
            b = b + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def derive(key: tuple[Any, Any], label: int) -> tuple[Any, Any]:
    """The key of a sub-stream; streams with different labels are independent."""
    xp = key[0].__array_namespace__()
    # Arrays of one entry, since NumPy warns when a lone number overflows, and here all are meant to. The top counter
    # value is never reached by a round, so no draw coincides with a derived key.
    first, second = words(
        (key[0][None], key[1][None]),
        xp.full(1, 0xFFFFFFFF, dtype=np.uint32),
        xp.full(1, label, dtype=np.uint32),
    )
    return first[0], second[0]


def seed_key(seed: int) -> np.ndarray:
    """The root key of a run, from a non-negative integer seed below 2^64."""
    return np.array([seed >> 32, seed & 0xFFFFFFFF], dtype=np.uint32)


def uniform(key: tuple[Any, Any], high: Any, low: Any, dtype: Any) -> tuple[Any, Any]:
    """Two draws from [-1, 1] for every counter, as fine-grained as `dtype` can hold.

    In float64 each draw spends two words: noise on a coarser grid than the state would let a reader test a
    guessed state by looking at the word modulo that grid.
    """
    xp = high.__array_namespace__()
    if np.dtype(dtype) == np.float32:
        first, second = words(key, high, low, ENOUGH)
        return _signed(xp, first, np.float32) * np.float32(2**-31), _signed(
            xp, second, np.float32
        ) * np.float32(2**-31)
    doubled = high << np.uint32(1)
    return (
        _fraction64(xp, *words(key, doubled, low)),
        _fraction64(xp, *words(key, doubled | np.uint32(1), low)),
    )


def _signed(xp: Any, word: Any, dtype: Any) -> Any:
    return xp.astype(xp.astype(word, np.int32), dtype)


def _fraction64(xp: Any, coarse: Any, fine: Any) -> Any:
    return _signed(xp, coarse, np.float64) * 2.0**-31 + xp.astype(fine, np.float64) * 2.0**-63


def uniform_pairs(key: tuple[Any, Any], rounds: Any, items: Any, width: int, dtype: Any) -> tuple[Any, Any]:
    """Two draws from [-1, 1] per round, item and coordinate, counted by round and by item · width + coordinate.

    `items` is how many there are, or the numbers of some of them: either way an item draws the same.
    """
    xp = rounds.__array_namespace__()
    if isinstance(items, int):
        place = xp.arange(items * width, dtype=np.uint32).reshape(1, items, width)
    else:
        place = xp.astype(items, np.uint32)[None, :, None] * np.uint32(width) + xp.arange(
            width, dtype=np.uint32
        )
    moment = xp.astype(rounds, np.uint32).reshape(-1, 1, 1)
    return uniform(key, moment, place, dtype)


def normal_pairs(sd: Any, first: Any, second: Any, dtype: Any) -> tuple[Any, Any]:
    """Two independent normal draws from two uniform ones, by Box and Muller."""
    xp = first.__array_namespace__()
    # The floor keeps a draw of zero finite; it lies below the grid on which draws are made.
    radius = sd * xp.sqrt(-2 * xp.log(xp.maximum(xp.abs(first), np.finfo(np.dtype(dtype)).tiny)))
    return radius * xp.cos(np.pi * second), radius * xp.sin(np.pi * second)
