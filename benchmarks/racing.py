"""How everything here is timed: contestants take turns in one process, and what counts is the ratio of medians.

Turns are interleaved, so that a busy machine slows all alike. A contestant may do as much work in a turn as makes it
last long enough to be timed; speed is work per second.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

PATIENCE = 2.0
"""Seconds after which somebody who waits is told how far it is."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    turns: int
    """Of each contestant; a race whose turns are long takes fewer."""
    threads: tuple[int, ...]
    """What PyTorch is tried with: one, and as many as there are cores."""

    @classmethod
    def usual(cls) -> Effort:
        """Nine turns, on every core."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return cls(9, tuple(sorted({1, cores})))


@dataclass(frozen=True)
class Contestant:
    """One way to do the work."""

    name: str
    turn: Callable[[], Any]
    work: float
    """Rounds, steps or exchanges in a turn."""


@dataclass(frozen=True)
class Pace:
    """How fast a contestant was."""

    name: str
    seconds: float
    """Median of a turn."""
    spread: float
    """Half the distance between the quartiles of its turns, over the median."""
    work: float

    @property
    def rate(self) -> float:
        """Work per second."""
        return self.work / self.seconds


def race(contestants: Sequence[Contestant], *, turns: int, about: str = "") -> dict[str, Pace]:
    """Every contestant's pace, by name. A first turn of each compiles and warms caches, and does not count."""
    waiting = Waiting(about, (turns + 1) * len(contestants))
    taken: dict[str, list[float]] = {one.name: [] for one in contestants}
    for turn in range(turns + 1):
        for one in contestants:
            waiting.tell(one.name)
            began = time.perf_counter()
            jax.block_until_ready(one.turn())
            if turn:
                taken[one.name].append(time.perf_counter() - began)
            waiting.done += 1
    waiting.clear()
    return {one.name: _pace(one, taken[one.name]) for one in contestants}


class Waiting:
    """One line on a terminal that says what is going on; silent where nobody watches, and for the first two seconds."""

    def __init__(self, about: str, total: int):
        self.about, self.total, self.done = about, total, 0
        self.began, self.written = time.monotonic(), False

    def tell(self, now: str) -> None:
        if sys.stderr.isatty() and time.monotonic() - self.began > PATIENCE:
            line = f"{self.about}: {self.done} of {self.total} turns, now {now}"
            print(f"\r{line[:100]:100}", end="", file=sys.stderr, flush=True)
            self.written = True

    def clear(self) -> None:
        if self.written:
            print(f"\r{'':100}\r", end="", file=sys.stderr, flush=True)


def _pace(one: Contestant, seconds: list[float]) -> Pace:
    middle = statistics.median(seconds)
    quartiles = statistics.quantiles(seconds, n=4) if len(seconds) > 1 else [middle] * 3
    return Pace(one.name, middle, (quartiles[2] - quartiles[0]) / 2 / middle, one.work)
