"""When the host looks at a compiled run: at recorded rounds, and often enough for a person waiting."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Marks(NamedTuple):
    """After how many rounds a run is measured, and over how many agents its gap is taken there."""

    rounds: np.ndarray
    agents: np.ndarray

    @staticmethod
    def everybody(rounds: np.ndarray, agents: int) -> Marks:
        """Every agent is looked at, at each of these rounds."""
        return Marks(rounds, np.full(len(rounds), agents))

    def chosen(self, which: Any) -> Marks:
        """Some of the marks, in order."""
        return Marks(self.rounds[which], self.agents[which])


class Looks(NamedTuple):
    """What is measured at each stop of a call, or at one of them inside compiled code."""

    agents: Any
    """Over how many agents the gap is taken; 0 where nothing is measured."""
    own: Any
    """Whether every agent's own objective is read too, to find one that is not finite."""

    @staticmethod
    def nowhere(stops: int = STOPS) -> Looks:
        """Nothing is measured at any stop."""
        return Looks(np.zeros(stops, np.int32), np.zeros(stops, bool))

    def at(self, stop: Any) -> Looks:
        """What is measured at one stop."""
        return Looks(self.agents[stop], self.own[stop])


class Leg(NamedTuple):
    """What one call of the program is asked for: stops to run to, of which the first are measured."""

    stops: np.ndarray
    agents: np.ndarray
    """Over how many agents at each stop that is measured."""
    own: bool = False
    """Whether every agent's own objective is read at the last of them."""

    @staticmethod
    def to(stop: int, *, agents: int, own: bool = False) -> Leg:
        """Straight to one stop, measured over so many agents."""
        return Leg(np.array([stop]), np.array([agents] if agents else [], np.int32), own)

    @property
    def wanted(self) -> int:
        """How many stops are measured."""
        return len(self.agents)

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

    @property
    def looks(self) -> Looks:
        """What is measured at each of the padded stops."""
        looks = Looks.nowhere()
        looks.agents[: self.wanted] = self.agents
        looks.own[self.wanted - 1 : self.wanted] = self.own
        return looks


class Pace:
    """Cuts a run into calls that take about half a second each, learning the speed as it goes."""

    def __init__(
        self, rounds: int, marks: Marks, *, done: int, measured: bool, singly: bool = False, quota: int = 64
    ):
        self.quota = quota
        """Rounds of the next call."""
        self.marks = marks.chosen(marks.rounds > done if measured else marks.rounds >= done)
        self.agents_at_the_end = int(marks.agents[-1])
        self.rounds = rounds
        self.most = 1 if singly else STOPS
        """Measurements in one call: one where a measurement may end the run, so that it ends right there."""

    @property
    def finished(self) -> bool:
        return not len(self.marks.rounds)

    def next_leg(self, done: int, *, reach: int) -> Leg:
        """The next call's stops, none of them beyond `reach`."""
        last = min(done + self.quota, self.rounds, reach)
        count = min(int((self.marks.rounds <= last).sum()), self.most)
        wanted, agents = self.marks.chosen(slice(count))
        self.marks = self.marks.chosen(slice(count, None))
        if count == self.most or (count and wanted[-1] == last):
            return Leg(wanted, agents, own=self.finished)
        return Leg(np.append(wanted, last), agents)

    def learn(self, seconds: float) -> None:
        """Adapt to how long the last call took."""
        self.quota = int(
            np.clip(self.quota * np.clip(LOOK_EVERY / max(seconds, 1e-9), 1 / 8, 64), 1, 1 << 30)
        )
