"""Draws that are counted: each follows from its round, its item and its coordinate, never from another draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from hocket.noise import threefry


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
    return threefry.uniform(key, moment, place, dtype)


def normal_pairs(sd: Any, first: Any, second: Any, dtype: Any) -> tuple[Any, Any]:
    """Two independent normal draws from two uniform ones, by Box and Muller."""
    xp = first.__array_namespace__()
    # The floor keeps a draw of zero finite; it lies below the grid on which draws are made.
    radius = sd * xp.sqrt(-2 * xp.log(xp.maximum(xp.abs(first), np.finfo(np.dtype(dtype)).tiny)))
    return radius * xp.cos(np.pi * second), radius * xp.sin(np.pi * second)
