"""The simulator: all agents on one machine, all rounds compiled.

The host only decides how many rounds the compiled program runs before it looks again: often enough for a progress
bar and a checkpoint, rarely enough that small problems run at full speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from hocket.algorithm import x_of
from hocket.engines import schedule
from hocket.engines.checkpoint import Checkpoint
from hocket.engines.compiled.measures import Measures
from hocket.engines.compiled.player import Compiled, ProgramPlayer
from hocket.engines.compiled.program import Carry, Program, Steps
from hocket.engines.progress import Bar, asked_to_stop
from hocket.engines.schedule import Leg, MarkedRounds, Pace
from hocket.engines.transcripts import Recorder
from hocket.errors import Interrupted
from hocket.runs.job import REMARK, Job, is_certified

SHORT, LONG = 1 << 12, 1 << 18
"""Rounds that one call of the program can play: two sizes of step table, so that at most two programs are compiled."""


class Break(NamedTuple):
    """Where a run stopped making sense."""

    agent: int
    round: int
    what: str
    """What of the agent is not finite: its state or its objective."""


@dataclass
class Simulation:
    """Where a simulated run stands, and what was measured on the way."""

    player: ProgramPlayer
    job: Job
    carry: Carry
    steps: Steps
    history: list[tuple[int, Measures]] = field(default_factory=list)
    broken: Break | None = None

    @property
    def done(self) -> int:
        """Rounds completed."""
        return int(self.carry.k) - 1

    @property
    def rounds(self) -> int:
        """Rounds asked for."""
        return self.job.rounds

    @property
    def gap(self) -> float:
        """The gap when it was last measured."""
        return float(self.history[-1][1].gap)

    @property
    def whole(self) -> Carry:
        """Where all agents stand, in the order of their numbers."""
        return self.player.whole(self.carry)

    def table(self) -> dict[str, np.ndarray]:
        """All measurements, a column each."""
        columns = {"round": np.array([k for k, _ in self.history])}
        measured = zip(*(row for _, row in self.history), strict=True)
        for name, column in zip(self.history[0][1]._fields, measured, strict=True):
            if name != "finite":
                columns[name] = np.array(column, np.int64 if name == "looked_at" else np.float64)
        return columns


def simulate(
    program: Program,
    job: Job,
    *,
    tolerance: float | None = None,
    checkpoint: Checkpoint | None = None,
    recorder: Recorder | None = None,
    progress: bool | None = None,
    marks: np.ndarray | None = None,
    exact: bool = False,
    player: ProgramPlayer | None = None,
    watch: Callable[[Simulation], None] | None = None,
) -> Simulation:
    """Play a run to its end, to convergence, or to the first state or objective that is not finite.

    It is measured after each number of completed rounds in `marks`; None spreads them on a logarithmic axis, as many
    as a tenth of the run pays for, or with `exact` over every agent whatever that costs. A gap that meets the
    `tolerance` is taken over every agent before it ends a run. The `player` is this device unless another is named.
    `watch` sees the run whenever the host looks at it, about twice a second; what it raises ends the run.
    """
    player, steps = Compiled(program) if player is None else player, step_table(job, 0)
    carry = player.begin(jax.device_put(job.first_states.astype(job.dtype)), steps)
    sim = Simulation(player, job, carry, steps)
    if checkpoint is not None:
        checkpoint.restore(sim)
    bar = Bar(job.rounds, show=progress, start=sim.done)
    if recorder is not None:
        bar.say(recorder.announcement)
    if program.gauge is None and is_certified(job):
        bar.say(f"Of what is shown here: {REMARK}.")
    try:
        with asked_to_stop() as stopping:
            pace = _pace(sim, marks, exact=exact, singly=tolerance is not None)
            _play(sim, pace, tolerance, checkpoint, recorder, bar, watch, stopping)
    except KeyboardInterrupt:
        if checkpoint is not None:
            checkpoint.save(sim)
        hint = (
            f"; what was reached is in {checkpoint.folder}: run the same again to go on from there"
            if checkpoint is not None
            else "; nothing was kept: pass checkpoint=FOLDER next time"
        )
        raise Interrupted(
            f"interrupted after round {sim.done} of {job.rounds}{hint}",
            round=sim.done,
            checkpoint=checkpoint.folder if checkpoint is not None else None,
        ) from None
    finally:
        bar.close()
    if checkpoint is not None:
        checkpoint.save(sim)
    return sim


def _pace(sim: Simulation, marks: np.ndarray | None, *, exact: bool, singly: bool) -> Pace:
    program = sim.player.program
    if marks is None:
        # By the whole program, wherever its parts are played, so that all engines measure alike.
        wanted = schedule.marks(program, sim.rounds, exact=exact)
    else:
        wanted = MarkedRounds.everybody(marks, program.tables.n)
    # Rounds that are measured at places of their own, the ends of epochs, are long ones: begin with a single one.
    quota = 64 if marks is None else 1
    return Pace(sim.rounds, wanted, done=sim.done, measured=bool(sim.history), singly=singly, quota=quota)


def _play(
    sim: Simulation,
    pace: Pace,
    tolerance: float | None,
    checkpoint: Checkpoint | None,
    recorder: Recorder | None,
    bar: Bar,
    watch: Callable[[Simulation], None] | None,
    stopping: Callable[[], bool],
) -> None:
    if _reached(sim, tolerance):
        return  # taken up where it had converged
    while not pace.finished:
        before, began = sim.carry, time.monotonic()
        sim.steps, last = reach(sim.steps, sim.done, partial(step_table, sim.job))
        leg = pace.next_leg(sim.done, reach=last)
        measures = _advance(sim, leg, recorder)
        sim.history += zip(leg.measured.tolist(), _rows(measures), strict=True)
        sound = measures.finite.all(axis=1)
        # Measured or not at its end: the next leg must start from sound states.
        if not (sound.all() and sim.player.sound(sim.carry)):
            sim.broken = _find_break(sim, before, int([*leg.measured[~sound], leg.last][0]))
            _forget_what_followed(sim, pace.agents_at_the_end)
            return
        if leg.wanted:
            if bar.show:
                bar.update(sim.done, **sim.history[-1][1].shown)
            if _reached(sim, tolerance):
                return
        if watch is not None:
            watch(sim)
        seconds, stop = sim.player.agree(time.monotonic() - began, stopping())
        if stop:
            raise KeyboardInterrupt
        pace.learn(seconds)
        if checkpoint is not None:
            checkpoint.save_if_due(sim, seconds)


def _reached(sim: Simulation, tolerance: float | None) -> bool:
    """Whether the gap was measured where the run stands, and every agent's is within the tolerance.

    A gap over some agents is at most that over all: above the tolerance it settles the question, below it does not.
    """
    if tolerance is None or not sim.history or sim.history[-1][0] != sim.done:
        return False
    agents = sim.player.program.tables.n
    done, measured = sim.history[-1]
    if sim.gap <= tolerance and measured.looked_at < agents:
        sim.history[-1] = (done, next(_rows(_advance(sim, Leg.to(done, agents=agents)))))
    return sim.gap <= tolerance


def _advance(sim: Simulation, leg: Leg, recorder: Recorder | None = None) -> Measures:
    """Run one leg; returns the measurements that were wanted."""
    if recorder is not None:
        return _advance_recorded(sim, leg, recorder)
    carry, measures = sim.player.advance(sim.carry, sim.steps, leg.padded + 1, leg.looks)
    measures = jax.tree.map(lambda leaf: np.asarray(leaf)[: leg.wanted], measures)
    sim.carry = carry  # only now: an interrupt while waiting leaves the run where its last measurement was
    return measures


def _advance_recorded(sim: Simulation, leg: Leg, recorder: Recorder) -> Measures:
    """Run one leg chunk by chunk, keeping what happens in it; measurements are taken inside the chunks."""
    parts = []
    while not parts or sim.done < leg.last:
        done, count = sim.done, min(leg.last - sim.done, recorder.chunk)
        ends = done + count == leg.last
        here = MarkedRounds(leg.measured - done, leg.agents).chosen(
            (leg.measured >= done) & (leg.measured < done + count + ends)
        )
        sim.carry, measures = recorder.play(sim.carry, sim.steps, count, here, own=leg.own and ends)
        parts.append(measures)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _rows(measures: Measures) -> Iterator[Measures]:
    """One measurement after the other."""
    return map(type(measures)._make, zip(*measures, strict=True))


def _find_break(sim: Simulation, good: Carry, high: int) -> Break:
    """The agent that is no longer sound, and the round that made it so: by halving the stretch up to round `high`."""
    low = int(good.k) - 1
    while high - low > 1:
        sim.carry = good
        middle = (low + high) // 2
        if _advance(sim, Leg.to(middle, agents=1, own=True)).finite.all():
            low, good = middle, sim.carry
        else:
            high = middle
    sim.carry = good
    agent = int(np.argmin(_advance(sim, Leg.to(high, agents=1, own=True)).finite[0]))
    what = "objective" if np.isfinite(np.asarray(x_of(sim.whole.state))[agent]).all() else "state"
    sim.carry = good
    return Break(agent, max(high, 1), what)


def _forget_what_followed(sim: Simulation, agents: int) -> None:
    """Keep measurements up to the last sound round, and measure that one too, over so many agents."""
    sim.history = [(k, measured) for k, measured in sim.history if k <= sim.done]
    if not sim.history or sim.history[-1][0] < sim.done:
        sim.history.append((sim.done, next(_rows(_advance(sim, Leg.to(sim.done, agents=agents))))))


def step_table(job: Job, base: int) -> Steps:
    """Step sizes from round `base` on (α_0 = 0), in one of two lengths."""
    return Steps(*jax.device_put((np.asarray(base), _table(job, base))))


def step_tables(jobs: Sequence[Job], base: int) -> Steps:
    """The tables of all jobs, those that are equal once; `row` says which is whose."""
    each = [_table(job, base) for job in jobs]
    distinct = {table.tobytes(): table for table in each}
    rows = [list(distinct).index(table.tobytes()) for table in each]
    first, table = jax.device_put((np.asarray(base), np.stack([*distinct.values()])))
    return Steps(first, table, np.asarray(rows, np.int32))


def _table(job: Job, base: int) -> np.ndarray:
    length = table_length(job)
    first, last = max(base, 1), min(base + length - 1, job.rounds)
    table = np.zeros(length, job.dtype)
    table[first - base : last - base + 1] = job.step.table(first, last)
    # The measurement after the last round asks how large the noise of one more would be. Its step need not exist.
    table[last - base + 1 :] = table[last - base]
    return table


def table_length(job: Job) -> int:
    """Entries of a run's step tables."""
    return SHORT if job.rounds + 2 <= SHORT else LONG


def reach(steps: Steps, done: int, lay_out: Callable[[int], Steps]) -> tuple[Steps, int]:
    """The last round that the step table covers; the next table is laid out when this one is used up."""
    margin = 2  # a measurement after round k looks at α_{k+1}
    length = steps.table.shape[-1] - margin
    if done >= int(steps.base) + length:
        steps = lay_out(done - 1)  # persistent noise looks back at α_{k−1}
    return steps, int(steps.base) + length
