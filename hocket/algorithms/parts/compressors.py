"""What of a vector is said where links are slow: its largest numbers, some at random, or all of them rounded.

A compressor makes a small message of a vector, and of the word a vector that lies nearer to it than zero does:
‖v − C(v)‖² ≤ (1 − δ) ‖v‖². The same lines run on JAX tracers, NumPy arrays and fractions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hocket.errors import BadAlgorithm
from hocket.noise import threefry

LABEL = 31
"""Of the stream from which coordinates are chosen."""


class Compressor(ABC):
    """Makes small messages of vectors. Subclass it for one of your own, as a frozen dataclass."""

    key: ClassVar[str] = ""
    """Its name in configurations, before a colon and its numbers."""

    @abstractmethod
    def encoded(self, v: Any, k: Any) -> Any:
        """What is said of a vector in round k: a pytree of arrays, of a form that depends on the dimension alone."""

    @abstractmethod
    def decoded(self, word: Any, k: Any, dim: int) -> Any:
        """What every receiver makes of it."""

    @abstractmethod
    def kept(self, dim: int) -> float:
        """δ: the part of a vector's squared length that is kept at least, or in the mean where coins are tossed."""

    def pull(self, dim: int) -> float:
        """γ where nobody gives one: a rule of thumb. Copies lag behind by about 1/δ rounds, and agents must wait."""
        return self.kept(dim)

    def __str__(self) -> str:
        numbers = [(getattr(self, one.name), one.default) for one in fields(self)]  # type: ignore[arg-type]
        while numbers and numbers[-1][0] == numbers[-1][1]:  # left to its default
            numbers.pop()
        return ":".join([self.key, *(str(number) for number, _ in numbers)])

    @staticmethod
    def parse(text: Any) -> Compressor:
        """A compressor from what files have: `top-k:0.1`, `top-k:20`, `random-k:0.1`, `quantised:4`.

        >>> Compressor.parse("quantised:4")
        Quantised(bits=4, block=64)
        """
        if isinstance(text, Compressor):
            return text
        key, *numbers = str(text).split(":")
        if key not in BY_KEY:
            raise BadAlgorithm(
                f"{text!r} is no compressor; write one of top-k:0.1, random-k:0.1 and quantised:4"
            )
        try:
            return BY_KEY[key](*(float(one) if "." in one else int(one) for one in numbers))
        except BadAlgorithm:
            raise
        except (TypeError, ValueError):
            numbers = " and ".join(field.name for field in fields(BY_KEY[key])) or "nothing"
            raise BadAlgorithm(f"{text!r}: {key} is followed by {numbers}") from None


@dataclass(frozen=True)
class Whole(Compressor):
    """All of a vector as it is.

    To compare with, and what stands for all others where it is asked what words tell: nobody is told less by these.
    """

    key: ClassVar[str] = "whole"

    def encoded(self, v: Any, k: Any) -> Any:
        return v

    def decoded(self, word: Any, k: Any, dim: int) -> Any:
        return word

    def kept(self, dim: int) -> float:
        return 1.0


class Sparse(NamedTuple):
    """Some numbers of a vector, and which they are."""

    values: Any
    at: Any


@dataclass(frozen=True)
class TopK(Compressor):
    """The k numbers of largest size, with their places.

    Choose it first where few coordinates matter at a time. Give how many, or which part of all.
    """

    key: ClassVar[str] = "top-k"

    k: int | float

    def __post_init__(self) -> None:
        _check_part(self.key, self.k)

    def encoded(self, v: Any, k: Any) -> Sparse:
        dim = v.shape[-1]
        order = v.__array_namespace__().argsort(-abs(v), stable=True)[: _count(self.k, dim)]
        return Sparse(v[order], order.astype(np.min_scalar_type(dim - 1)))

    def decoded(self, word: Sparse, k: Any, dim: int) -> Any:
        return _placed(word.values, word.at, dim)

    def kept(self, dim: int) -> float:
        return _count(self.k, dim) / dim


@dataclass(frozen=True)
class RandomK(Compressor):
    """k numbers whose places are tossed anew in every round, for all agents alike from one public seed.

    Choose it where words must be as short as can be: as everybody knows the places, numbers alone are said.
    """

    key: ClassVar[str] = "random-k"

    k: int | float
    seed: int = 0

    def __post_init__(self) -> None:
        _check_part(self.key, self.k)
        if not 0 <= self.seed < 1 << 64:
            raise BadAlgorithm(f"seed = {self.seed} of random-k; give a whole number from 0 to 2^64 - 1")

    def encoded(self, v: Any, k: Any) -> Any:
        return v[self._places(v, k, v.shape[-1])]

    def decoded(self, word: Any, k: Any, dim: int) -> Any:
        return _placed(word, self._places(word, k, dim), dim)

    def _places(self, like: Any, k: Any, dim: int) -> Any:
        """Where the largest of random words lie, one word to a coordinate."""
        xp = like.__array_namespace__()
        key = threefry.derive(tuple(threefry.seed_key(self.seed)), LABEL)
        moment = xp.astype(xp.asarray(k), np.uint32).reshape(1)
        first, _ = threefry.words((key[0][None], key[1][None]), moment, xp.arange(dim, dtype=np.uint32))
        return xp.argsort(first, stable=True)[: _count(self.k, dim)]

    def kept(self, dim: int) -> float:
        return _count(self.k, dim) / dim

    def pull(self, dim: int) -> float:
        # A copy waits T rounds, of mean 1/δ and mean square (2 − δ)/δ². Agents that pull with γ all the while come
        # together in the mean square if 2a > γa²(2 − δ)/δ for all eigenvalues a ≤ 2 of I − B.
        return self.kept(dim) / 2


class Rounded(NamedTuple):
    """Numbers rounded to a grid, a block with a grid of its own."""

    scale: Any
    """The largest size in each block."""
    packed: Any
    """Which point of the grid each number is nearest to, as many to a byte as fit."""


@dataclass(frozen=True)
class Quantised(Compressor):
    """All numbers, rounded to the nearest of 2^bits − 1 levels between minus and plus the largest of their block.

    Choose it where all coordinates matter. Rounding is to the nearest, so that nobody tosses coins.
    """

    key: ClassVar[str] = "quantised"

    bits: int
    """2, 4, 8 or 16."""
    block: int = 64
    """Coordinates that share a scale."""

    def __post_init__(self) -> None:
        if self.bits not in (2, 4, 8, 16) or self.block < 1:
            raise BadAlgorithm(
                f"bits = {self.bits} and block = {self.block} of quantised; numbers have 2, 4, 8 or 16 bits, and a "
                "block one number at least"
            )

    @property
    def levels(self) -> int:
        """On either side of zero."""
        return 2 ** (self.bits - 1) - 1

    @property
    def _shifts(self) -> np.ndarray:
        """By how many bits the numbers of one byte are apart; of 16 bits each has two bytes for itself."""
        return np.arange(0, max(8, self.bits), self.bits, dtype=self._kind)

    @property
    def _kind(self) -> Any:
        return np.uint16 if self.bits > 8 else np.uint8

    def encoded(self, v: Any, k: Any) -> Rounded:
        block = min(self.block, v.shape[-1])
        blocks = _padded(v, block).reshape(-1, block)
        scale = abs(blocks).max(axis=1)
        spread = (scale + (scale == 0))[:, None]  # a block of zeros is rounded to zeros
        whole = (2 * blocks * self.levels / spread + 1) // 2 + self.levels
        fields = _padded(whole.reshape(-1)[: v.shape[-1]].astype(self._kind), len(self._shifts))
        packed = (fields.reshape(-1, len(self._shifts)) << self._shifts).sum(axis=1, dtype=self._kind)
        return Rounded(scale, packed)

    def decoded(self, word: Rounded, k: Any, dim: int) -> Any:
        block = min(self.block, dim)
        fields = (word.packed[:, None] >> self._shifts) & self._kind(2**self.bits - 1)
        levels = _padded(fields.reshape(-1)[:dim].astype(word.scale.dtype) - self.levels, block)
        return (levels.reshape(-1, block) * word.scale[:, None] / self.levels).reshape(-1)[:dim]

    def kept(self, dim: int) -> float:
        # The largest of a block is kept as it is, the others are off by half a level at most, and by no more than their
        # own size.
        others = min(self.block, dim) - 1
        return max(1 / (others + 1), 1 - others / (4 * self.levels**2))


BY_KEY: dict[str, type[Any]] = {one.key: one for one in (TopK, RandomK, Quantised, Whole)}


def _count(part: int | float, dim: int) -> int:
    """How many numbers of `dim`: so many, or such a part of them."""
    return min(part, dim) if isinstance(part, int) else max(1, round(part * dim))


def _check_part(key: str, part: Any) -> None:
    if isinstance(part, bool) or not (
        (isinstance(part, int) and part >= 1) or (isinstance(part, float) and 0 < part <= 1)
    ):
        raise BadAlgorithm(
            f"k = {part!r} of {key}; give a whole number, or a part of all between 0 and 1 such as 0.1"
        )


def _placed(values: Any, at: Any, dim: int) -> Any:
    """Numbers at their places, and zeros elsewhere."""
    placed: Any = values.__array_namespace__().zeros(dim, dtype=values.dtype)
    if hasattr(placed, "at"):  # JAX's arrays never change
        return placed.at[at].set(values)
    placed[at] = values
    return placed


def _padded(v: Any, block: int) -> Any:
    """With zeros up to a whole number of blocks."""
    xp, missing = v.__array_namespace__(), -v.shape[-1] % block
    return xp.concatenate([v, xp.zeros(missing, dtype=v.dtype)]) if missing else v
