"""What measuring adds to a run: `hk.solve` as it is, over the same with nothing measured.

    python benchmarks/measuring.py             the paper's five agents; 20, 200 and 2,000; about two minutes
    python benchmarks/measuring.py --large     1,024 agents of 140,112 numbers, 50 rounds; needs a GPU
    python benchmarks/measuring.py --exact     the same with measure="exact"

Floor: 1, a run that is not measured at all. Expected: at most 1.1 by default, of the paper's five agents too, who are
measured at 155 rounds all the same. What is added is also held against the rounds alone, without what `hk.solve` does
before and after them.

Both are timed in turns, next to one another, and the ratio is the median over turns of the ratio in each: what else the
machine does slows both. A run of milliseconds is taken often enough for that to settle.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import hocket as hk
from hocket.algorithm import x_of
from hocket.engines.compiled.measures import Gauge, Measures
from hocket.engines.compiled.player import Compiled
from hocket.engines.compiled.program import Carry, Program, Steps
from hocket.engines.prepare import Measuring, prepare
from hocket.engines.schedule import STOPS, Looks
from hocket.engines.simulator import step_table
from hocket.engines.solver import play
from hocket.runs.job import Job
from hocket.steps import DEFAULT_STEP

DIM, SAMPLES, DEGREE = 20, 50, 4
ROUNDS = {20: 1000, 200: 1000, 2000: 200}
LARGE = (1024, 140_112, 50)
"""Agents, their dimension and the rounds of the run on a GPU; its graph has degree 8."""
LIMIT = 1.1
TURNS = 9
SECONDS = 8
"""For one line of the table: short runs take more than their turns."""


class Nothing(Gauge):
    """Measures nothing."""

    kind: ClassVar[type] = Measures

    def __call__(self, program: Program, carry: Carry, steps: Steps, look: Looks) -> Measures:
        x = x_of(carry.state)
        numbers = dict.fromkeys(Measures._fields, jnp.zeros((), x.dtype))
        return Measures(**numbers | {"finite": jnp.ones(len(x), bool)})


@dataclass(frozen=True)
class Case:
    """A run to be timed."""

    problem: hk.Problem
    network: hk.Network
    rounds: int
    how: dict[str, Any]


def logistic(n: int) -> Case:
    """Logistic regression, where Σ f_i at one point costs as much as everybody's gradient."""
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(n, SAMPLES, DIM)), np.sign(rng.normal(size=(n, SAMPLES)))
    problem = hk.logistic(features, labels, l2=0.1, reduction="mean", feasible=hk.Ball(10.0))
    return Case(problem, hk.Network.random_regular(DEGREE, n), ROUNDS.get(n, 200), {})


def polynomials() -> Case:
    """The paper's five agents, who are measured exactly everywhere."""
    return Case(hk.paper_polynomials(), hk.Network.cycle(5), 10_000, {"start": [1, -0.5, 0.25, -0.75, 0.5]})


def bowls(n: int, dim: int, rounds: int) -> Case:
    """Every agent's ‖x − a_j‖², for states so large that memory decides."""
    centres = np.random.default_rng(0).normal(size=(n, dim)).astype(np.float32)
    problem = hk.Problem(
        lambda x, a: jnp.sum((x - a) ** 2),
        centres,
        feasible=hk.Everywhere(),
        dim=dim,
        convex=True,
        smoothness=2.0,
        optimum=centres.mean(axis=0),
    )
    how = {"dtype": np.float32, "step": hk.Constant(0.1), "time_average": False}
    return Case(problem, hk.Network.random_regular(min(8, n - 1), n), rounds, how)


def unmeasured(case: Case, algorithm: hk.Algorithm) -> hk.Run:
    """What `hk.solve` does, with nothing measured on the way."""
    asked: dict[str, Any] = {"step": DEFAULT_STEP} | case.how
    averaging = asked.pop("time_average", True)
    job = Job.asked(case.problem, case.network, algorithm, rounds=case.rounds, **asked)
    nothing = Measuring(averaging=averaging, gauge=Nothing())
    return play(job, algorithm, nothing, engine="simulator", marks=np.array([case.rounds]))


def rounds_alone(case: Case, algorithm: hk.Algorithm) -> Callable[[], Any]:
    """The compiled rounds, once everything is laid out."""
    asked: dict[str, Any] = {"step": DEFAULT_STEP} | case.how
    averaging = asked.pop("time_average", True)
    with jax.enable_x64(asked.get("dtype") is not np.float32):
        job = Job.asked(case.problem, case.network, algorithm, rounds=case.rounds, **asked)
        program = Compiled(prepare(job, algorithm, averaging=averaging))
        steps = step_table(job, 0)
        carry = program.begin(jnp.asarray(job.first_states, job.dtype), steps)

    def turn() -> Any:
        with jax.enable_x64(job.dtype == np.float64):
            stops = np.full(STOPS, case.rounds + 1)
            return program.advance(carry, steps, stops, Looks.nowhere())[0].state

    return turn


def seconds_of(turns: int, *ways: Callable[[], Any]) -> np.ndarray:
    """Seconds of each way, a row each, taken in turns and in either order.

    Of the processor, which a busy machine shakes less, or by the clock where a GPU works.
    """
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    taken: list[list[float]] = [[] for _ in ways]
    for way in ways:
        jax.block_until_ready(way())  # compiled
    ends = time.monotonic() + SECONDS
    while len(taken[0]) < turns or time.monotonic() < ends:
        for place in range(len(ways)) if len(taken[0]) % 2 else reversed(range(len(ways))):
            began = clock()
            jax.block_until_ready(ways[place]())
            taken[place].append(clock() - began)
    return np.array(taken)


def compare(case: Case, algorithm: hk.Algorithm, turns: int, measure: str) -> float:
    """One line of the table; returns how many times as long the measured run took."""
    found: list[hk.Run] = []

    def measured() -> Any:
        run = hk.solve(case.problem, case.network, algorithm, rounds=case.rounds, measure=measure, **case.how)
        found[:] = [run]
        return run.x

    seconds = seconds_of(
        turns, measured, lambda: unmeasured(case, algorithm).x, rounds_alone(case, algorithm)
    )
    whole, bare, rounds = np.median(seconds, axis=1)
    ratio = float(np.median(seconds[0] / seconds[1]))
    (run,) = found
    looked = run.history["looked_at"]
    agents = run.network.n
    print(
        f"{agents:6,} {type(algorithm).__name__:6}{case.rounds:6,} rounds {1e3 * rounds:9.1f} ms   "
        f"solve {1e3 * bare:9.1f} ms, measured {1e3 * whole:9.1f} ms, "
        f"ratio {ratio:6.3f} of {seconds.shape[1]:3} turns   "
        f"added over rounds {(whole - bare) / rounds:6.3f}   "
        f"{len(looked):3} stops, {int(np.median(looked)):,} agents, {int(looked[-1]):,} at the end",
        flush=True,
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true", help="large states on a GPU")
    parser.add_argument("--exact", action="store_true", help='with measure="exact"')
    parser.add_argument("--agents", type=int, help="one size instead of the usual ones")
    parser.add_argument("--dim", type=int, default=LARGE[1], help="with --large")
    parser.add_argument("--rounds", type=int, default=LARGE[2], help="with --large")
    parser.add_argument("--turns", type=int, default=TURNS, help="at least so many of each")
    given = parser.parse_args()
    began, ratios = time.monotonic(), []
    if given.large:
        cases = [bowls(given.agents or LARGE[0], given.dim, given.rounds)]
    elif given.agents:
        cases = [logistic(given.agents)]
    else:
        cases = [polynomials(), *map(logistic, ROUNDS)]
    for case in cases:
        for algorithm in (hk.Dgd(), hk.RssNb(1.0)):
            ratios.append(compare(case, algorithm, given.turns, "exact" if given.exact else "sample"))
    kept = max(ratios) <= LIMIT
    print(
        f"largest ratio {max(ratios):.3f}, wanted ≤ {LIMIT}: {'yes' if kept else 'NO'}; "
        f"{jax.devices()[0].device_kind}, {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
