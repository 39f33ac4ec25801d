"""`sweep`: many runs of one job at once, over seeds and parameters, in one compiled program."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, x_of
from hocket.engines import measurement_cost
from hocket.engines.compiled import Compiled, legs
from hocket.engines.measures import Measures
from hocket.engines.prepare import prepare
from hocket.engines.program import Program
from hocket.engines.progress import Bar
from hocket.engines.rounds import begin
from hocket.engines.schedule import Looks, Pace
from hocket.engines.simulator import reach, step_table
from hocket.engines.solver import check_measure
from hocket.engines.spoken import counting
from hocket.errors import BadAlgorithm, BadInput
from hocket.networks.network import Network
from hocket.noise import threefry
from hocket.problems.problem import Problem
from hocket.runs.job import Job, check_seed, describe
from hocket.runs.messages import Messages
from hocket.runs.theorems import Claim, claim
from hocket.runs.weather import Weather
from hocket.steps import Step


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many runs side by side. Leading axes are the swept parameters in order, then the seeds."""

    axes: dict[str, tuple[float, ...]]
    """The values along each leading axis: swept parameters, then `seed`."""
    x: Float[np.ndarray, "*axes agents dim"]
    time_average: Float[np.ndarray, "*axes agents dim"] | None
    history: dict[str, np.ndarray]
    """`round` (points,), and measurements of shape (*axes, points) as in `Run.history`."""
    finite: np.ndarray
    """Whether each run stayed finite to the end."""
    claim: Claim
    settings: dict[str, Any]
    count_messages: Callable[[], Messages] = field(repr=False)

    @property
    def gap(self) -> np.ndarray:
        """Every run's last gap."""
        return self.history["gap"][..., -1]

    @cached_property
    def messages(self) -> Messages:
        """Words from agent to agent in every run: how many were sent, received and lost."""
        shape = tuple(len(values) for values in self.axes.values())
        # One number where all runs say alike; a row of them where weather differs.
        each = (np.asarray(part).reshape(shape if np.ndim(part) else ()) for part in self.count_messages())
        return Messages.counted(*(np.broadcast_to(part, shape) for part in each))

    @property
    def disagreement(self) -> np.ndarray:
        """Every run's last disagreement."""
        return self.history["disagreement"][..., -1]


def sweep(
    problem: Problem,
    network: Network | list[Network],
    algorithm: Algorithm,
    *,
    rounds: int,
    seeds: Iterable[int] = range(20),
    step: Step | float | Callable[[int], float] | Literal["auto"] = "auto",
    start: Any = None,
    dtype: Any = np.float64,
    grad_at: str = "mixed",
    measure: Literal["sample", "exact"] = "sample",
    time_average: bool = True,
    progress: bool | None = None,
    weather: Weather | None = None,
    **parameters: Sequence[float],
) -> Sweep:
    """Run an algorithm for every seed and every combination of its parameters, all in one compiled program.

    Parameters are the algorithm's own numbers, `delta=[1, 10]` or `anchor=[0.2, 0.5]`. A run of a sweep draws the same
    noise as the single run with that seed, and `measure` is as for `solve`. Runs that stop being finite are marked, not
    raised.
    """
    check_measure(measure)
    seeds = list(seeds)
    if not seeds:
        raise BadInput("a sweep needs at least one seed")
    for seed in seeds:
        check_seed(seed)
    axes = {name: _axis(name, values) for name, values in parameters.items()}
    variants = [
        _vary(algorithm, dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())
    ]
    asked: dict[str, Any] = {
        "step": step,
        "rounds": rounds,
        "start": start,
        "dtype": dtype,
        "grad_at": grad_at,
        "weather": weather,
    }
    jobs = [Job.asked(problem, network, variant, seed=seeds[0], **asked) for variant in variants]
    with jax.enable_x64(jobs[0].dtype == np.float64):
        program, varied = _stack_programs(jobs, seeds, time_average)
        return _play(jobs[0], program, varied, axes | {"seed": tuple(seeds)}, measure == "exact", progress)


class Varied(eqx.Module):
    """The part of a program that differs between the runs of a sweep, stacked."""

    algorithm: Algorithm
    draws: dict[str, Any]
    key: Any

    def of(self, program: Program) -> Program:
        """The whole program of one run."""
        return dataclasses.replace(program, algorithm=self.algorithm, draws=self.draws, key=self.key)


def _axis(name: str, values: Any) -> tuple[float, ...]:
    """The values that a parameter takes in turn."""
    if isinstance(values, str) or not isinstance(values, Iterable) or not (axis := tuple(values)):
        raise BadInput(f"{name} = {values!r}; give the values to sweep over, {name}=[…]")
    return tuple(float(value) for value in axis)


def _vary(algorithm: Algorithm, values: dict[str, float]) -> Algorithm:
    fields = {field.name for field in dataclasses.fields(algorithm) if not field.metadata.get("static")}
    fields -= {"noise"}
    unknown = sorted(set(values) - fields)
    if unknown:
        raise BadAlgorithm(
            f"{type(algorithm).__name__} has no number called {unknown[0]} to sweep over; "
            f"it has {', '.join(sorted(fields)) or 'none'}"
        )
    if getattr(algorithm, "noise", None) is not None:
        raise BadAlgorithm("a sweep draws its own noise; leave noise= out, or use solve for a single run")
    if algorithm.stored is not None or getattr(algorithm, "grid", None) is not None:
        raise BadAlgorithm(
            "a sweep draws its noise in compiled code, and noise on a grid is drawn before; leave grid= out, or use "
            "solve for each seed"
        )
    return dataclasses.replace(algorithm, **values)


def _stack_programs(jobs: list[Job], seeds: list[int], averaging: bool) -> tuple[Program, Varied]:
    """One program, and what differs between its runs: parameters first, seeds last."""
    lanes = len(jobs) * len(seeds)
    programs = [
        dataclasses.replace(prepare(job, job.algorithm, averaging=averaging), lanes=lanes) for job in jobs
    ]
    structures = {jax.tree.structure(program) for program in programs}
    if len(structures) > 1:
        raise BadInput(
            "a swept parameter changes the program itself (anchor from zero, say); sweep it separately"
        )
    keys = [threefry.seed_key(seed) for seed in seeds]
    runs = [Varied(program.algorithm, program.draws, key) for program in programs for key in keys]
    # On the host: to stack hundreds of arrays in compiled code takes seconds to compile.
    stacked = jax.tree.map(
        lambda *leaves: jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves])), *runs
    )
    return programs[0], stacked


def _play(
    job: Job,
    program: Program,
    varied: Varied,
    axes: dict[str, tuple[float, ...]],
    exact: bool,
    progress: bool | None,
) -> Sweep:
    steps = step_table(job, 0)
    carry = _begin_all(program, varied, jnp.asarray(job.first_states, job.dtype), steps)
    done, parts, marks = 0, [], []
    # What a run of a sweep measures, its single run measures too.
    wanted = measurement_cost.marks(Compiled(dataclasses.replace(program, lanes=1)), job.rounds, exact=exact)
    pace = Pace(job.rounds, wanted, done=0, measured=False)
    bar = Bar(job.rounds, show=progress)
    try:
        while not pace.finished:
            began = time.monotonic()
            steps, last = reach(job, steps, done)
            leg = pace.next_leg(done, reach=last)
            carry, measures = _advance_all(program, varied, carry, steps, leg.padded + 1, leg.looks)
            measures = jax.tree.map(lambda leaf, n=leg.wanted: np.asarray(leaf)[:, :n], measures)
            parts.append(measures)
            marks.append(leg.measured)
            done = leg.last
            pace.learn(time.monotonic() - began)
            if leg.wanted:
                bar.update(
                    done,
                    gap=float(np.median(measures.gap[:, -1])),
                    disagreement=float(np.median(measures.disagreement[:, -1])),
                )
    finally:
        bar.close()
    joined = Measures(*(np.concatenate(leaves, axis=1) for leaves in zip(*parts, strict=True)))
    shape = tuple(len(values) for values in axes.values())
    columns = [name for name in Measures._fields if name != "finite"]
    x = np.asarray(x_of(carry.state))
    average = (
        None if carry.weighted is None else np.asarray(carry.weighted) / job.step.table(1, job.rounds).sum()
    )
    return Sweep(
        axes=axes,
        x=x.reshape(shape + x.shape[1:]),
        time_average=None if average is None else average.reshape(shape + average.shape[1:]),
        history={"round": np.concatenate(marks)}
        | {name: getattr(joined, name).reshape((*shape, -1)) for name in columns},
        finite=joined.finite.all(axis=(1, 2)).reshape(shape),
        claim=claim(job),
        count_messages=counting(job, dataclasses.replace(program, lanes=1), carry.mail, job.rounds),
        settings=describe(job) | {"axes": {name: list(values) for name, values in axes.items()}},
    )


@eqx.filter_jit
def _begin_all(program: Program, varied: Varied, start: Any, steps: Any) -> Any:
    return eqx.filter_vmap(lambda one: begin(one.of(program), start, steps))(varied)


@eqx.filter_jit
def _advance_all(program: Program, varied: Varied, carry: Any, steps: Any, stops: Any, looks: Looks) -> Any:
    # Every run has reached the same round, so the round is taken out of the batch: a batched loop bound would make
    # each run pay for all of them.
    k = carry.k[0]

    def one(varied: Varied, carry: Any) -> Any:
        program_of_one = varied.of(program)
        return legs(program_of_one, dataclasses.replace(carry, k=k), steps, stops, looks)

    return eqx.filter_vmap(one)(varied, carry)
