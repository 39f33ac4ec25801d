"""When the host looks at a compiled run, what is measured there, and over how many agents.

The gap of the worst agent needs the sum of all objectives at every agent's state: n times what it takes at the mean.
Where that is more than a tenth of the rounds, fewer agents are looked at, those farthest from the mean, and then fewer
rounds are recorded. All is decided before the run, by the sizes of its arrays: what is measured must be the same on
every machine, in every engine and after a break. Sizes are right to a factor of two or so where objectives read their
data once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

if TYPE_CHECKING:
    from hocket.engines.compiled.program import Program

MOST, FEW = 200, 24
"""Measurements of a run; few where states are so large that measuring often would take longer than the run."""
LARGE = 1 << 18
"""Numbers in all states from which on a problem counts as large."""
FARTHEST = 32
"""Agents that a gap is taken over at most where it is not taken over all: those farthest from the mean."""
STOPS = 64
"""Stops that one call of the program can make."""
LOOK_EVERY = 0.5
"""Seconds of compiled work between two looks of the host."""
READ, MOVED, DRAWN = 3, 20, 48
"""Additions in the time of reading one number of the data, of one number of a state in a round, and of drawing one
number of noise; seen on CPUs."""
PASSES = 16
"""Additions per number of all states, at a stop: their mean, the distances from it, whether they are finite."""
STOPPING = 1 << 17
"""Additions in the time that it takes to leave the rounds and come back, some 15 µs."""
SHARE = 1 / 16
"""Of the rounds' own work: a tenth, less what sizes may be wrong by."""
SLIGHT = 1 << 20
"""Numbers that may be read for measuring in any case: in a millisecond or so, a tenth of what `solve` takes to lay out
and report even the smallest run."""
EACH = 4
"""Additions that this takes for each, as far as one can tell beforehand."""
AT_THE_END = 1 / 3
"""The part of the budget that the last measurement may take."""


def recorded_rounds(rounds: int, *, most: int = MOST) -> np.ndarray:
    """Numbers of completed rounds after which a run is measured: evenly spread on a logarithmic axis.

    >>> recorded_rounds(1000, most=8)
    array([   0,    1,    3,    7,   19,   52,  139,  373, 1000])
    """
    marks = np.geomspace(1, rounds, num=min(most, rounds))
    return np.unique(np.concatenate([[0], np.round(marks).astype(np.int64)]))


class Sizes(NamedTuple):
    """How much a program computes with: in numbers."""

    agents: int
    states: int
    data: int
    """Of all agents, that their gradients read."""
    pooled: int
    """That the sum of all objectives reads at one point."""
    noise: int
    """Drawn afresh in a round."""
    block: int
    """Rounds of noise drawn at once."""

    @staticmethod
    def of(program: Program) -> Sizes:
        tables, problem = program.tables, program.problem
        data = sum(leaf.size for leaf in jax.tree.leaves(problem.groups))
        noise = sum(draw.size(tables) for draw in program.draws.values() if not draw.once)
        states = tables.n * problem.dim
        return Sizes(tables.n, states, data, program.pooled_numbers, noise, max(program.block, 1))

    @property
    def round(self) -> float:
        """What a round costs, in additions."""
        return READ * self.data + MOVED * self.states + DRAWN * self.noise

    @property
    def total(self) -> float:
        """What Σ_j f_j at one point costs."""
        return READ * self.pooled

    @property
    def stop(self) -> float:
        """What a measurement of the mean, of disagreement and noise costs before any agent is looked at, and what it
        interrupts: what is left of a block of noise is drawn again."""
        return self.total + PASSES * self.states + DRAWN * self.noise * self.block + STOPPING


class MarkedRounds(NamedTuple):
    """After how many rounds a run is measured, and over how many agents its gap is taken there."""

    rounds: np.ndarray
    agents: np.ndarray

    @staticmethod
    def everybody(rounds: np.ndarray, agents: int) -> MarkedRounds:
        """Every agent is looked at, at each of these rounds."""
        return MarkedRounds(rounds, np.full(len(rounds), agents))

    def chosen(self, which: Any) -> MarkedRounds:
        """Some of the marks, in order."""
        return MarkedRounds(self.rounds[which], self.agents[which])


def marks(program: Program, rounds: int, *, exact: bool) -> MarkedRounds:
    """After which rounds a run is measured, and over how many agents at each of them.

    With `exact` over every agent, everywhere. So it is without, wherever that costs no more than a tenth of the run.
    """
    return _marks(Sizes.of(program), rounds, exact)


@lru_cache(maxsize=128)
def _marks(sizes: Sizes, rounds: int, exact: bool) -> MarkedRounds:
    n, large = sizes.agents, sizes.states > LARGE
    often = recorded_rounds(rounds, most=FEW if exact and large else MOST)
    if exact or len(often) * (n + 1) * (sizes.pooled + sizes.states // n) <= SLIGHT:
        found = MarkedRounds.everybody(often, n)
    else:
        found = affordable(sizes, rounds)
    for column in found:
        column.setflags(write=False)  # other runs are given the same
    return found


def affordable(sizes: Sizes, rounds: int) -> MarkedRounds:
    """As many agents as few stops allow, then as many stops as the budget allows; more agents at the end.

    >>> affordable(Sizes(20, states=1, data=30, pooled=30, noise=0, block=1), 120_000_000).agents[[0, -1]]
    array([20, 20])
    """
    n, total, stop = sizes.agents, sizes.total, sizes.stop

    def bought(budget: float, most: int) -> int:
        """How many agents one measurement can look at; one at least."""
        return int(np.clip((budget - stop) / max(total, 1.0), 1, most))

    budget = SHARE * rounds * sizes.round + EACH * SLIGHT
    before = (1 - AT_THE_END) * budget
    often = min(MOST, rounds)
    agents = n
    if often * (stop + n * total) > before:
        agents = bought(before / min(FEW, often), min(FARTHEST, n))
        often = int(before / (stop + agents * total))
    last = bought(AT_THE_END * budget, n)
    if last < n:  # between few and all there is no order by distance to choose by
        last = min(last, FARTHEST)
    # Before the first round, after it and at the end a run is measured at least.
    recorded = recorded_rounds(rounds, most=max(min(often - 1, MOST), 2))
    looked_at = np.full(len(recorded), agents)
    looked_at[-1] = max(last, agents)
    return MarkedRounds(recorded, looked_at)


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
        self,
        rounds: int,
        marks: MarkedRounds,
        *,
        done: int,
        measured: bool,
        singly: bool = False,
        quota: int = 64,
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
