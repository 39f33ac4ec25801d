"""Discrete Gaussians: whole numbers x with probability in proportion to exp(−x²/2σ²), drawn without rounding.

After Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy", algorithms 1 to 3: whole
numbers and fair bits only, so that what is drawn has the distribution that a certificate speaks of, exactly. Floating
point has not: sums of a float and a normal float can show which float it was. Bits come from a stream of bytes; both
ends of a link have the same stream, and so draw the same numbers. How long a draw takes depends on what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import isqrt
from typing import Any

import numpy as np

from hocket.noise.threefry import words

BLOCK = 512
"""Bytes that are asked for at a time."""


class Bits:
    """Fair bits one after the other, from any source of bytes."""

    def __init__(self, more: Callable[[int], bytes]):
        self._more = more
        self._held = self._count = 0

    def take(self, count: int) -> int:
        """The next bits, as a number below 2^count."""
        while self._count < count:
            self._held |= int.from_bytes(self._more(BLOCK), "little") << self._count
            self._count += 8 * BLOCK
        taken = self._held & ((1 << count) - 1)
        self._held >>= count
        self._count -= count
        return taken

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit − 1, all of them alike: drawn again until one is below."""
        count = (limit - 1).bit_length()
        while (drawn := self.take(count)) >= limit:
            pass
        return drawn


def bits_of(key: tuple[Any, Any], item: int) -> Bits:
    """The bits of one link or agent under a key: from counters, so that they are the same in any order."""
    places = np.arange(BLOCK // 8, dtype=np.uint32)  # two words of four bytes for each

    def blocks() -> Iterator[bytes]:
        for block in count():
            first, second = words(
                (np.asarray([key[0]]), np.asarray([key[1]])),
                np.full(len(places), item, dtype=np.uint32),
                places + np.uint32(block * len(places)),
            )
            yield np.stack([first, second], axis=1).astype("<u4").tobytes()

    made = blocks()
    return Bits(lambda size: next(made))


def discrete_gaussians(bits: Bits, variances: Sequence[int]) -> list[int]:
    """One draw for each σ², a whole number; zero where that is zero."""
    return [discrete_gaussian(bits, variance) if variance else 0 for variance in variances]


def discrete_gaussian(bits: Bits, variance: int) -> int:
    """One draw with this σ²: a discrete Laplace of scale t, kept with probability exp(−(|y| − σ²/t)² / 2σ²)."""
    scale = isqrt(variance) + 1
    while True:
        drawn = discrete_laplace(bits, scale)
        # (|y| − σ²/t)² / 2σ² as a fraction of whole numbers.
        if _happens_exp(bits, (abs(drawn) * scale - variance) ** 2, 2 * variance * scale**2):
            return drawn


def discrete_laplace(bits: Bits, scale: int) -> int:
    """A whole number with probability in proportion to exp(−|y|/t)."""
    while True:
        rest = bits.below(scale)
        if not _happens_exp(bits, rest, scale):
            continue
        times = 0
        while _happens_exp(bits, 1, 1):
            times += 1
        size, negative = rest + scale * times, bits.take(1)
        if size or not negative:  # zero has one sign only
            return -size if negative else size


def _happens_exp(bits: Bits, above: int, below: int) -> bool:
    """True with probability exp(−above/below)."""
    while above > below:
        if not _happens_exp(bits, 1, 1):
            return False
        above -= below
    # The first k at which an event of probability γ/k fails is odd with probability exp(−γ).
    k = 1
    while bits.below(below * k) < above:
        k += 1
    return k % 2 == 1
