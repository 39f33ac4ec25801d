"""The numbers of a total as one vector of the group, and back; each keeps its name, for errors to say which it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import jax
import numpy as np

from hocket.errors import BadInput
from hocket.secagg.group import FixedPoint, Words


def encoded(values: Any, *, bits: int, members: int, names: Any = None) -> Words:
    """One member's numbers in fixed point; what is too large for a sum over all members is refused by its name."""
    point = FixedPoint(bits)
    vector = flat(values)
    beyond = ~(np.abs(vector) < point.reach(members))  # also where a value is not a number
    if beyond.any():
        place = int(np.argmax(beyond))
        raise BadInput(
            f"{name_of(values, place, names)} is {vector[place]:g}, too large for an exact sum over {members} members, "
            f"which holds numbers below {point.reach(members):.3g}: use other units, or look for a wrong cell"
        )
    return point.encode(vector, members=members)


def decoded(words: Words, like: Any, *, bits: int) -> Any:
    """The sum, in the form of one member's numbers."""
    rest = FixedPoint(bits).decode(words)

    def next_of(leaf: Any) -> np.ndarray:
        nonlocal rest
        own, rest = rest[: np.size(leaf)], rest[np.size(leaf) :]
        return own.reshape(np.shape(leaf))

    return jax.tree.map(next_of, like)


def flat(values: Any) -> np.ndarray:
    """All numbers of a tree, one after the other."""
    leaves = [np.asarray(leaf, dtype=np.float64).ravel() for leaf in jax.tree.leaves(values)]
    return np.concatenate(leaves) if leaves else np.zeros(0)


def name_of(values: Any, place: int, names: Any = None) -> str:
    """What a number is called: its key, and its name among those along the last axis.

    >>> name_of({"squares": np.zeros(2)}, 1, {"squares": ("age", "chol")})
    'squares of chol'
    """
    tree: Any = jax.tree_util  # its types leave open what a path is
    for path, leaf in tree.tree_leaves_with_path(values):
        if place < np.size(leaf):
            keys = [str(getattr(key, "key", getattr(key, "idx", key))) for key in path]
            last = place % np.shape(leaf)[-1] if np.ndim(leaf) else 0
            title, known = ".".join(keys) or "value", _within(names, keys)
            return f"{title} of {known[last]}" if known is not None else f"{title}[{last}]"
        place -= np.size(leaf)
    raise IndexError(place)


def _within(names: Any, keys: list[str]) -> Any:
    for key in keys:
        if not isinstance(names, Mapping):
            return None
        names = cast("Mapping[str, Any]", names).get(key)
    return names
