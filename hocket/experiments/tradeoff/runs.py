"""What is run, and how much of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hocket.experiments.tradeoff.level import ALGORITHMS, ByNoise, ByRounds, by_noise, by_rounds
from hocket.experiments.tradeoff.price import CONTENDERS, Falling, Private, falling, private
from hocket.experiments.work import Watch, side_by_side, unwatched


@dataclass(frozen=True)
class Size:
    """How much to run."""

    price_rounds: int = 10**5
    price_seeds: int = 100
    private_rounds: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5)
    private_seeds: int = 60
    noise_rounds: tuple[int, int] = (1000, 10**4)
    """The T at which the gap is taken for every Δ; the first shows how it falls with T."""
    noise_seeds: int = 100
    boundary_rounds: tuple[int, ...] = (100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5)
    boundary_seeds: int = 50


FULL = Size()
QUICK = Size(
    price_rounds=3000,
    price_seeds=40,
    private_rounds=(10, 100, 1000),
    private_seeds=40,
    noise_rounds=(100, 1000),
    noise_seeds=20,
    boundary_rounds=(100, 300, 1000),
    boundary_seeds=10,
)


@dataclass(frozen=True)
class Tradeoff:
    """Everything the experiment found."""

    size: Size
    falling: list[Falling]
    private: list[Private]
    by_noise: list[ByNoise]
    """At the longer T."""
    by_noise_early: list[ByNoise]
    by_rounds: list[ByRounds]
    seconds: float


def play(size: Size = FULL, watch: Watch = unwatched) -> Tradeoff:
    """Run everything, the longest pieces first."""
    began = time.monotonic()
    early, late = size.noise_rounds
    pieces: list[Callable[[], Any]] = [
        partial(private, rounds=size.private_rounds, seeds=size.private_seeds),
        *(partial(falling, name, rounds=size.price_rounds, seeds=size.price_seeds) for name in CONTENDERS),
        *(partial(by_rounds, a, rounds=size.boundary_rounds, seeds=size.boundary_seeds) for a in ALGORITHMS),
        *(partial(_by_noise, a, rounds=(early, late), seeds=size.noise_seeds) for a in ALGORITHMS),
    ]
    floors, *rest = side_by_side(lambda piece: piece(), pieces, watch)
    runs, rest = rest[: len(CONTENDERS)], rest[len(CONTENDERS) :]
    boundary, noisy = rest[: len(ALGORITHMS)], rest[len(ALGORITHMS) :]
    return Tradeoff(
        size,
        runs,
        floors,
        [found[late] for found in noisy],
        [found[early] for found in noisy],
        boundary,
        time.monotonic() - began,
    )


def _by_noise(algorithm: Any, *, rounds: tuple[int, ...], seeds: int) -> dict[int, ByNoise]:
    """One after the other, so that both share one compilation."""
    return {T: by_noise(algorithm, rounds=T, seeds=seeds) for T in rounds}
