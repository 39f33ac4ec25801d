"""Many runs of one program at once: variants of an algorithm, each for every seed, as lanes of one compiled call."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from hocket.algorithm import Algorithm, x_of
from hocket.algorithms.function_sharing import stored_of
from hocket.engines import schedule
from hocket.engines.compiled.measures import Measures, measures_kind
from hocket.engines.compiled.player import Blueprint, Compiled, legs
from hocket.engines.compiled.program import Carry, Program
from hocket.engines.compiled.rounds import begin
from hocket.engines.schedule import Leg, Looks, Pace
from hocket.engines.simulator import reach, step_tables
from hocket.engines.traffic import count_messages
from hocket.errors import BadAlgorithm, BadInput
from hocket.noise import threefry
from hocket.runs.job import Job
from hocket.runs.run import Messages


class Varied(eqx.Module):
    """The part of a program that differs between lanes, stacked; numbers that do not are None."""

    algorithm: Algorithm
    draws: dict[str, Any]
    key: Any
    row: Any
    """Whose steps it takes."""

    def of(self, program: Program) -> Program:
        """The whole program of one run."""
        own = eqx.combine((self.algorithm, self.draws), (program.algorithm, program.draws))
        return dataclasses.replace(program, algorithm=own[0], draws=own[1], key=self.key)


@dataclass(frozen=True, eq=False)
class LaneResults:
    """What came of runs side by side; arrays lead with variants and seeds."""

    x: Float[np.ndarray, "variants seeds agents dim"]
    time_average: Float[np.ndarray, "variants seeds agents dim"] | None
    rounds: Int[np.ndarray, " points"]
    measured: dict[str, np.ndarray]
    """By what was measured: (variants, seeds, points)."""
    finite: np.ndarray
    """Whether each run stayed finite to the end."""
    seconds: float
    """That all of them took together, compilation aside."""
    compiling: float
    count_messages: Callable[[], Messages]

    @property
    def messages(self) -> Messages:
        """Messages from agent to agent in every run: how many were sent, received and lost."""
        shape = self.finite.shape
        # One number where all runs say alike; a row of them where channels differ.
        each = (np.asarray(part).reshape(shape if np.ndim(part) else ()) for part in self.count_messages())
        return Messages.counted(*(np.broadcast_to(part, shape) for part in each))


def check_drawn(algorithm: Algorithm) -> None:
    """Refuse noise that compiled code cannot draw."""
    if getattr(algorithm, "given", None) is not None:
        raise BadAlgorithm("a sweep draws its own noise; leave given= out, or use solve for a single run")
    if stored_of(algorithm) is not None or getattr(algorithm, "grid", None) is not None:
        raise BadAlgorithm(
            "a sweep draws its noise in compiled code, and noise on a grid is drawn before; leave grid= out, or use "
            "solve for each seed"
        )


def play_together(
    jobs: Sequence[Job],
    programs: Sequence[Program],
    seeds: Sequence[int],
    *,
    exact: bool,
    tell: Callable[[int, float, float], None] = lambda done, gap, disagreement: None,
) -> LaneResults:
    """Play every job for every seed. The jobs differ in numbers of their algorithms and in steps alone."""
    if len({jax.tree.structure(program) for program in programs}) > 1:
        raise BadInput(
            "a swept parameter changes the program itself (persistent=0, say); sweep it separately"
        )
    job, alone = jobs[0], Compiled(programs[0])
    steps = step_tables(jobs, 0)
    all_runs = Compiled(dataclasses.replace(alone.program, lanes=len(jobs) * len(seeds)))
    given = all_runs.blueprint, all_runs.numbers, stack_lanes(programs, np.asarray(steps.row), seeds)
    began = time.monotonic()
    carry = _begin_all(*given, jax.device_put(job.first_states.astype(job.dtype)), steps)
    # Nothing is played yet: whatever is compiled is compiled now, and the rounds are timed without it.
    standing = Leg.to(0, agents=0)
    carry, _ = _advance_all(*given, carry, steps, standing.padded + 1, standing.looks)
    jax.block_until_ready(x_of(carry.state))
    compiling = time.monotonic() - began
    done, parts, marks = 0, [], []
    # What a run of a sweep measures, its single run measures too.
    wanted = schedule.marks(alone.program, job.rounds, exact=exact)
    pace = Pace(job.rounds, wanted, done=0, measured=False)
    started = time.monotonic()
    while not pace.finished:
        began = time.monotonic()
        steps, last = reach(steps, done, partial(step_tables, jobs))
        leg = pace.next_leg(done, reach=last)
        carry, measures = _advance_all(*given, carry, steps, leg.padded + 1, leg.looks)
        measures = jax.tree.map(lambda leaf, n=leg.wanted: np.asarray(leaf)[:, :n], measures)
        parts.append(measures)
        marks.append(leg.measured)
        done = leg.last
        pace.learn(time.monotonic() - began)
        if leg.wanted:
            tell(done, float(np.median(measures.gap[:, -1])), float(np.median(measures.disagreement[:, -1])))
    seconds = time.monotonic() - started
    kind = measures_kind(alone.program)
    joined = kind(*(np.concatenate(leaves, axis=1) for leaves in zip(*parts, strict=True)))
    shape = len(jobs), len(seeds)
    x = np.asarray(x_of(carry.state))
    average = None
    if carry.weighted is not None:
        weights = np.array([one.step.table(1, one.rounds).sum() for one in jobs])
        average = np.asarray(carry.weighted).reshape(shape + x.shape[1:]) / weights[:, None, None, None]
    return LaneResults(
        x=x.reshape(shape + x.shape[1:]),
        time_average=average,
        rounds=np.concatenate(marks),
        measured={
            name: getattr(joined, name).reshape((*shape, -1)) for name in kind._fields if name != "finite"
        },
        finite=joined.finite.all(axis=(1, 2)).reshape(shape),
        seconds=seconds,
        compiling=compiling,
        count_messages=partial(count_messages, job, alone.program, carry.mail, job.rounds),
    )


def stack_lanes(programs: Sequence[Program], rows: np.ndarray, seeds: Sequence[int]) -> Varied:
    """What differs between lanes: variants first, seeds last."""
    keys = np.tile([threefry.seed_key(seed) for seed in seeds], (len(programs), 1))

    def stack(*leaves: Any) -> Any:
        # On the host: to stack hundreds of arrays in compiled code takes seconds to compile.
        levels = np.stack([np.asarray(leaf) for leaf in leaves])
        return None if (levels == levels[0]).all() else jax.device_put(levels.repeat(len(seeds), axis=0))

    parts = [(one.algorithm, one.draws) for one in programs]
    return Varied(*jax.tree.map(stack, *parts), *jax.device_put((keys, rows.repeat(len(seeds)))))


@partial(jax.jit, static_argnums=0)
def _begin_all(blueprint: Blueprint, numbers: Any, varied: Varied, start: Any, steps: Any) -> Carry:
    program = blueprint.program(numbers)
    return jax.vmap(lambda one: begin(one.of(program), start, steps._replace(row=one.row)))(varied)


@partial(jax.jit, static_argnums=0, compiler_options={"xla_cpu_prefer_vector_width": 512})
def _advance_all(
    blueprint: Blueprint, numbers: Any, varied: Varied, carry: Carry, steps: Any, stops: Any, looks: Looks
) -> tuple[Carry, Measures]:
    # Every run has reached the same round, so the round is taken out of the batch: a batched loop bound would make
    # each run pay for all of them.
    program, k = blueprint.program(numbers), carry.k[0]

    def one(varied: Varied, carry: Carry) -> tuple[Carry, Measures]:
        here = dataclasses.replace(carry, k=k)
        return legs(varied.of(program), here, steps._replace(row=varied.row), stops, looks)

    return jax.vmap(one)(varied, carry)
