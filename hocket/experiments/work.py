"""Doing independent pieces of work, two at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

AT_ONCE = 2
"""XLA keeps one core busy with problems this small, and compiles on one: a second piece takes the other core."""


class Watch(Protocol):
    """Wraps a loop, to show how far it is."""

    def __call__(self, sequence: Iterable[Any], /, *, total: int) -> Iterable[Any]: ...


def unwatched(sequence: Iterable[Any], /, *, total: int) -> Iterable[Any]:
    """Show nothing."""
    return sequence


def side_by_side(do: Callable[[Piece], Result], pieces: Sequence[Piece], watch: Watch) -> list[Result]:
    """What `do` makes of every piece, in their order; put the longest pieces first."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(watch(pool.map(do, pieces), total=len(pieces)))
