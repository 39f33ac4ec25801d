"""When the host looks at a compiled run: at recorded rounds, and often enough for a person waiting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOST, FEW = 200, 24
"""Measurements of a run; few where states are so large that measuring often would take longer than the run."""
LARGE = 1 << 18
"""Numbers in all states from which on a problem counts as large."""
STOPS = 64
"""Stops that one call of the program can make."""
LOOK_EVERY = 0.5
"""Seconds of compiled work between two looks of the host."""


def recorded_rounds(rounds: int, *, most: int = MOST) -> np.ndarray:
    """Numbers of completed rounds after which a run is measured: evenly spread on a logarithmic axis.

    >>> recorded_rounds(1000, most=8)
    array([   0,    1,    3,    7,   19,   52,  139,  373, 1000])
    """
    marks = np.geomspace(1, rounds, num=min(most, rounds))
    return np.unique(np.concatenate([[0], np.round(marks).astype(np.int64)]))


class Leg(NamedTuple):
    """What one call of the program is asked for: stops to run to, of which the first `wanted` are measured."""

    stops: np.ndarray
    wanted: int

    @property
    def last(self) -> int:
        return int(self.stops[-1])

    @property
    def measured(self) -> np.ndarray:
        return self.stops[: self.wanted]

    @property
    def padded(self) -> np.ndarray:
        """All calls have the same number of stops; nothing is done for those that repeat the last."""
        return np.concatenate([self.stops, np.repeat(self.stops[-1], STOPS - len(self.stops))])


class Pace:
    """Cuts a run into calls that take about half a second each, learning the speed as it goes."""

    def __init__(
        self,
        rounds: int,
        *,
        numbers: int,
        done: int,
        measured: bool,
        singly: bool = False,
        marks: np.ndarray | None = None,
    ):
        # Rounds that are measured at places of their own, the ends of epochs, are long ones: begin with a single one.
        self.quota = 64 if marks is None else 1
        if marks is None:
            marks = recorded_rounds(rounds, most=MOST if numbers <= LARGE else FEW)
        self.marks = marks[marks > done] if measured else marks[marks >= done]
        self.rounds = rounds
        self.most = 1 if singly else STOPS
        """Measurements in one call: one where a measurement may end the run, so that it ends right there."""

    @property
    def finished(self) -> bool:
        return not len(self.marks)

    def next_leg(self, done: int, *, reach: int) -> Leg:
        """The next call's stops, none of them beyond `reach`."""
        last = min(done + self.quota, self.rounds, reach)
        wanted = self.marks[self.marks <= last][: self.most]
        self.marks = self.marks[len(wanted) :]
        if len(wanted) == self.most or (len(wanted) and wanted[-1] == last):
            return Leg(wanted, len(wanted))
        return Leg(np.append(wanted, last), len(wanted))

    def learn(self, seconds: float) -> None:
        """Adapt to how long the last call took."""
        self.quota = int(
            np.clip(self.quota * np.clip(LOOK_EVERY / max(seconds, 1e-9), 1 / 8, 64), 1, 1 << 30)
        )
