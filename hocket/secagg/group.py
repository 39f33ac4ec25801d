"""Whole numbers modulo 2^128 that stand for real ones: where sums are exact and a uniform mask hides everything.

A number is a column of two unsigned words, the low one first, so that a vector of m numbers is an array (2, m). Adding
wraps around, which is what makes a mask perfect and an overflow silent: `encode` refuses whatever could overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, UInt64

from hocket.errors import BadInput

Words = UInt64[np.ndarray, "2 numbers"]

HALF = 0.5
WORD = 2.0**64


@dataclass(frozen=True)
class FixedPoint:
    """Reals with so many bits after the point.

    >>> tenth = FixedPoint(32).encode(np.array([0.1, -3.0]), members=5)
    >>> FixedPoint(32).decode(add(tenth, tenth)).round(6)
    array([ 0.2, -6. ])
    """

    bits: int = 64
    """Bits after the point, at most 64; a number is off by half a unit of the last one at most."""
    size: ClassVar[int] = 16
    """Bytes that one number takes."""

    def __post_init__(self) -> None:
        if not 0 <= self.bits <= 64:
            raise BadInput(f"{self.bits} bits after the point; choose 0 to 64")

    def reach(self, members: int) -> float:
        """How far from zero a number of one member may be, so that no sum over all of them wraps around."""
        return 2.0 ** (127 - self.bits) / members

    def encode(self, values: Float[np.ndarray, " numbers"], *, members: int) -> Words:
        """The nearest numbers of the grid; refuses by its place what is not finite, or beyond `reach`."""
        values = np.asarray(values, dtype=np.float64)
        beyond = ~(np.abs(values) < self.reach(members))  # also where a value is not a number
        if beyond.any():
            first = int(np.argmax(beyond))
            raise BadInput(
                f"number {first} of {values.size} is {values[first]:g}: a sum over {members} members with {self.bits} "
                f"bits after the point holds numbers below {self.reach(members):.3g}; scale it, or use fewer bits"
            )
        # The size first: of a small negative number a double keeps nothing once it is split at the point.
        scaled = np.ldexp(np.abs(values), self.bits - 64)  # the point between the two words
        whole = np.floor(scaled)
        part = (scaled - whole) * WORD
        # From 2^52 on a double is whole already, and adding a half would only round it.
        part = np.where(part < 2.0**52, np.floor(part + HALF), part)
        size = np.stack([part.astype(np.uint64), whole.astype(np.uint64)])
        return np.where(values < 0, negate(size), size)

    def decode(self, words: Words) -> Float[np.ndarray, " numbers"]:
        """The reals that they stand for, to the precision of a double."""
        negative = words[1] >> np.uint64(63) == 1
        low, high = np.where(negative, negate(words), words)
        size: np.ndarray = np.ldexp(high.astype(np.float64), 64 - self.bits) + np.ldexp(
            low.astype(np.float64), -self.bits
        )
        return np.where(negative, -size, size)


def add(first: Words, second: Words) -> Words:
    """The sum modulo 2^128."""
    low = first[0] + second[0]
    carry = (low < first[0]).astype(np.uint64)
    return np.stack([low, first[1] + second[1] + carry])


def negate(words: Words) -> Words:
    """What adds up to zero with these."""
    low = ~words[0] + np.uint64(1)
    return np.stack([low, ~words[1] + (low == 0).astype(np.uint64)])
