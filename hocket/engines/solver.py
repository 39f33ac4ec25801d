"""`solve`: one problem, one network, one algorithm, one run; and what to do where memory is too small for it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import jax
import numpy as np

from hocket.algorithm import Algorithm, x_of
from hocket.engines.checkpoint import Checkpoint
from hocket.engines.prepare import Measuring, prepare
from hocket.engines.simulator import Simulation, simulate
from hocket.engines.traffic import count_messages
from hocket.engines.transcripts import Recorder, play_last_exchange, readable
from hocket.errors import BadInput, Diverged, OutOfMemory
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.problems.sets import Box
from hocket.problems.traced import check_traced
from hocket.runs.channel import Channel
from hocket.runs.job import Job, describe, hides_records, is_certified, promised_remarks
from hocket.runs.remarks import remarks_of
from hocket.runs.run import Ending, Noise, Outcome, Run
from hocket.runs.theorems import claim
from hocket.steps import Derived, Step

if TYPE_CHECKING:
    from hocket.networks.topologies import Graph

COPIES = 4
"""States held at once: before and after a round, mixed, and their time average."""


def solve(
    problem: Problem,
    network: Network | list[Network] | Graph,
    algorithm: Algorithm | type[Algorithm] | str,
    *,
    rounds: int,
    step: Step | float | Callable[[int], float] | Literal["auto"] = "auto",
    seed: int = 0,
    start: Any = None,
    keep: Literal["metrics", "path", "transcript"] = "metrics",
    engine: Literal["simulator", "exact", "cluster"] = "simulator",
    dtype: Any = np.float64,
    grad_at: Literal["mixed", "projected"] = "mixed",
    tolerance: float | None = None,
    measure: Literal["sample", "exact"] = "sample",
    time_average: bool = True,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
    channel: Channel | None = None,
) -> Run:
    """Solve a problem together: every agent ends near the minimum of the sum of all objectives.

    The network may be a networkx graph. Where both it and the problem name their agents, they are matched by name. An
    algorithm without parameters may be given by its key, "dgd".
    `step` is a `Step`, a number, or a function of the round. "auto" takes what the algorithm works out from the problem
    and the network, and `run.step` says from what; those of the paper take steps that decay.
    `start` is one public vector or a row per agent (default: the point of X nearest to zero). With `tolerance` the
    run stops at the first recorded round whose gap, over every agent, is below it. `checkpoint` names a folder in which
    the run keeps its state; the same call later goes on from there. A list of networks is used in turn, one per round.
    `channel` loses and delays messages and keeps agents inactive; `run.messages` counts them.
    With the engine "cluster" all processes that were started together make this call, and each gets the whole run.

    The gap of the worst agent takes the sum of all objectives at every agent's state. Where that is more than a tenth
    of the run, it is taken over the agents farthest from the mean, at fewer rounds: `history["looked_at"]` says over
    how many, and a gap over some is at most that over all. `measure="exact"` looks at every agent at every recorded
    round, whatever that costs.
    """
    job = Job.asked(
        problem,
        network,
        algorithm,
        step=step,
        rounds=rounds,
        seed=seed,
        start=start,
        dtype=dtype,
        grad_at=grad_at,
        channel=channel,
    )
    _check_choices(job, keep, engine, tolerance, checkpoint)
    check_measure(measure)
    if engine == "exact":
        from hocket.engines.exact import play_exactly

        return play_exactly(job)
    if is_certified(job):
        check_traced(job.problem)
    folder = Path(checkpoint) if checkpoint is not None else None
    run = play(
        job,
        job.algorithm,
        Measuring(averaging=time_average),
        engine=engine,
        keep=keep,
        tolerance=tolerance,
        exact=measure == "exact",
        checkpoint=Checkpoint(folder) if folder else None,
        progress=progress,
    )
    if run.outcome.ending is Ending.DIVERGED:
        raise Diverged(str(run.outcome), round=run.outcome.round, run=run, checkpoint=folder)
    return run


def play(
    job: Job,
    algorithm: Algorithm,
    measured: Measuring,
    *,
    engine: str,
    keep: str = "metrics",
    tolerance: float | None = None,
    **how: Any,
) -> Run:
    """Play a job that was checked, on this device or on a cluster; `how` is as for `simulate`."""
    # The user's own JAX configuration stays as it is: precision changes inside this block only.
    with jax.enable_x64(job.dtype == np.float64):
        if engine == "cluster":
            from hocket.engines.cluster import play_on_cluster

            sim, traffic = play_on_cluster(job, algorithm, measured, tolerance=tolerance, **how)
            run = report(job, sim, None, tolerance)
            settings = run.settings | {"cluster": traffic.settings}
            return replace(run, settings=settings, remarks=(*run.remarks, str(traffic)))
        with explained(job):
            program = prepare(job, algorithm, **vars(measured))
            words = keep == "transcript"
            recorder = None if keep == "metrics" else Recorder(program, job.rounds, words=words)
            sim = simulate(program, job, recorder=recorder, tolerance=tolerance, **how)
        return report(job, sim, recorder, tolerance)


def _check_choices(job: Job, keep: str, engine: str, tolerance: float | None, checkpoint: Any) -> None:
    if engine not in ("simulator", "exact", "cluster"):
        raise BadInput(f"engine = {engine!r}; choose 'simulator', 'exact' or 'cluster'")
    if engine == "exact" and (tolerance is not None or checkpoint is not None):
        raise BadInput("the exact engine plays its few rounds at once; leave tolerance and checkpoint out")
    if engine == "exact" and job.channel is not None:
        raise BadInput("the exact engine carries every message; leave channel= out, or play in the simulator")
    check_keep(keep, engine, checkpoint)
    if tolerance is not None and not tolerance > 0:
        raise BadInput(f"tolerance = {tolerance}; a gap can only be compared with a positive number")
    if tolerance is not None and job.problem.best is None:
        raise BadInput("a tolerance is for the gap, but the optimum f* is not known; declare optimum=")
    if tolerance is not None and job.problem.best is not None and not job.problem.best.certain:
        raise BadInput(
            "a tolerance is for the gap, but the optimum f* that was found is not certain, and a run may end below it; "
            "declare convex=True if the sum is, or optimum="
        )
    if tolerance is not None and hides_records(job):
        raise BadInput(
            f"tolerance = {tolerance:g} ends a run by its gap, which follows from everybody's data without noise: when "
            f"the last message is sent would tell what the noise of {job.algorithm.title} hides; leave tolerance= out, "
            "and let rounds= end the run"
        )


def check_measure(measure: str) -> None:
    """Refuse what is no way to measure."""
    if measure not in ("sample", "exact"):
        raise BadInput(f"measure = {measure!r}; choose 'sample' or 'exact'")


def check_keep(keep: str, engine: str, checkpoint: Any) -> None:
    """Refuse to keep what an engine or a checkpoint cannot hold."""
    if keep not in ("metrics", "path", "transcript"):
        raise BadInput(f"keep = {keep!r}; choose 'metrics', 'path' or 'transcript'")
    if keep != "metrics" and checkpoint is not None:
        raise BadInput(
            "a checkpoint holds no path or transcript; use keep='metrics' with it, or leave it out"
        )
    if keep != "metrics" and engine == "cluster":
        raise BadInput(
            f"a cluster keeps measurements only; leave keep={keep!r} out, or play in the simulator"
        )


def report(job: Job, sim: Simulation, recorder: Recorder | None, tolerance: float | None = None) -> Run:
    """Everything a run is asked for afterwards, as NumPy."""
    program, end = sim.player.program, sim.whole
    # Noise that was handed in for the rounds alone has none for the exchange after them.
    tables = [getattr(draw, "given", None) for draw in program.draws.values() if not draw.once]
    goes_on = sim.broken is None and all(table is None or len(table) > job.rounds for table in tables)
    x = np.asarray(x_of(end.state))
    feasible = job.problem.feasible  # a box takes all rows at once, and needs no program for it
    inside = feasible.project(x) if isinstance(feasible, Box) else np.asarray(jax.vmap(feasible.project)(x))
    history = sim.table()
    averaged, noisy = end.weighted, history["noise_rms"][history["round"] > 0]
    weights = job.step.table(1, sim.done).sum()
    return Run(
        x=x,
        gap=float(history["gap"][-1]),
        disagreement=float(history["disagreement"][-1]),
        time_average=None if averaged is None or not sim.done else np.asarray(averaged) / weights,
        infeasibility=float(np.linalg.norm(x - inside, axis=1).max()),
        noise=Noise(
            float(np.sqrt(np.mean(noisy**2))) if len(noisy) else 0.0, float(history["noise_max"].max())
        ),
        outcome=_outcome(job, sim, tolerance),
        claim=claim(job),
        history=history,
        network=job.own_network,
        settings=describe(job),
        remarks=(
            *remarks_of(job),
            *([] if job.channel is None else [job.channel.outlook(job.algorithm)]),
            *(promised_remarks(job) if program.gauge is None else []),
            *([str(job.step)] if isinstance(job.step, Derived) else []),
            *_about_the_gap(history, len(x)),
            *([] if np.isnan(history["gap"][-1]) else _about_the_optimum(job)),
        ),
        path=None if recorder is None else recorder.path(x, sim.done),
        transcript=recorder.transcript(sim.done) if recorder and recorder.words else None,
        problem=job.problem,
        step=job.step,
        algorithm=job.algorithm,
        last_exchange=partial(play_last_exchange, program, job, end) if goes_on else None,
        count_messages=partial(count_messages, job, program, end.mail, sim.done),
    )


def _about_the_gap(history: dict[str, np.ndarray], agents: int) -> list[str]:
    """What a reader must know about a gap that is not over all agents."""
    looked_at = int(history["looked_at"][-1]) if "looked_at" in history else agents
    if looked_at == agents:
        return []
    return [
        f"the gap is over {looked_at:,} of {agents:,} agents, those farthest from the mean, and that of all may be "
        "larger; measure='exact' looks at all"
    ]


def _about_the_optimum(job: Job) -> list[str]:
    """What a reader must know about a gap to an optimum that is not certain."""
    best = job.problem.best
    if best is None or best.certain:
        return []
    lower = f"it may be lower by {best.error:.2g}" if best.error is not None else ""
    why = lower or "whether the sum is convex is not known"
    return [f"the optimum that gaps are taken to is not certain: {why}"]


def _outcome(job: Job, sim: Simulation, tolerance: float | None) -> Outcome:
    if sim.broken is not None:
        agent, k, what = sim.broken
        source = ", from its gradient" if what == "state" else ""
        fix = "take smaller steps, bound X, or look at its data"
        why = f"{job.own_problem.name(agent)}'s {what} is not finite{source}; {fix}"
        return Outcome(Ending.DIVERGED, k, why)
    if tolerance is not None and sim.gap <= tolerance:
        return Outcome(Ending.CONVERGED, sim.done, f"gap below {tolerance:g}")
    return Outcome(Ending.OUT_OF_ROUNDS, sim.done)


@contextmanager
def explained(job: Job) -> Generator[None]:
    """Turn what the compiler says about memory into what to do."""
    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if "RESOURCE_EXHAUSTED" not in str(error) and "out of memory" not in str(error).lower():
            raise
        raise OutOfMemory(_message(job)) from error


def _message(job: Job) -> str:
    device, (agents, dim) = jax.local_devices()[0], job.first_states.shape
    data = sum(np.size(leaf) for leaf in jax.tree.leaves(job.own_problem.groups))
    least = (data + COPIES * job.first_states.size) * job.dtype.itemsize / jax.device_count()
    limit = (device.memory_stats() or {}).get("bytes_limit")
    has = "" if limit is None else f" and {device.device_kind} offers {readable(limit)}"
    half = "take dtype='float32', " if job.dtype == np.float64 else ""
    return (
        f"out of memory on {device.platform}:{device.id}: data and states alone take {readable(least)}{has}; {half}"
        f"leave the time average out, lower the agents ({agents:,}), their dimension ({dim:,}) or their data, or "
        "spread the agents over more devices with engine='cluster'"
    )
