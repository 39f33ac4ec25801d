"""The simulator beside hand-written scans of the same algorithm, in one process.

    python benchmarks/engine.py            a few minutes, prints a table
    python benchmarks/engine.py --json     the same as JSON

Floor: what the best hand-written scan takes. Expected: within 1.15 of it for DGD and 1.2 for RSS-NB, since both
compile to the same loops; the rest is bookkeeping (round counter, step lookup). Runs are interleaved, so that a busy
machine slows both alike; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from handwritten import dgd, mixes, rss_nb

import hocket as hk
from hocket.engines.compiled import Compiled
from hocket.engines.prepare import prepare
from hocket.engines.schedule import STOPS
from hocket.engines.simulator import step_table
from hocket.job import Job

REPEATS = 15


@dataclass(frozen=True)
class Case:
    """A problem with its gradient and projection written out for all agents at once."""

    name: str
    problem: hk.Problem
    network: hk.Network
    step: Any
    rounds: int
    start: np.ndarray
    gradient: Callable[[Any], Any]
    project: Callable[[Any], Any]


def polynomials() -> Case:
    problem = hk.paper_polynomials()
    coefficients = np.asarray(problem.groups[0].data)
    slopes = jnp.asarray(coefficients[:, 1:] * np.arange(1, coefficients.shape[1]))

    def gradient(v: Any) -> Any:
        out = slopes[:, -1:]
        for power in range(slopes.shape[1] - 2, -1, -1):
            out = out * v + slopes[:, power : power + 1]
        return out

    start = np.array([1, -0.5, 0.25, -0.75, 0.5])[:, None]
    step = hk.Power(1.0, 20, 0.75)
    return Case(
        "polynomials, C5",
        problem,
        hk.Network.cycle(5),
        step,
        260_000 // 512 * 512,
        start,
        gradient,
        lambda v: jnp.clip(v, -30, 30),
    )


def ball(radius: float) -> Callable[[Any], Any]:
    def project(v: Any) -> Any:
        norm = jnp.linalg.norm(v, axis=1, keepdims=True)
        return v * jnp.minimum(1, radius / jnp.maximum(norm, 1e-300))

    return project


def logistic() -> Case:
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(100, 100, 50)), np.sign(rng.normal(size=(100, 100)))
    problem = hk.logistic(features, labels, l2=0.1, feasible=hk.Ball(10.0), optimum=0.0)
    signed = jnp.asarray(features * labels[:, :, None])

    def gradient(v: Any) -> Any:
        margin = jnp.einsum("nsd,nd->ns", signed, v)
        return -jnp.einsum("nsd,ns->nd", signed, jax.nn.sigmoid(-margin)) / signed.shape[1] + 0.1 * v

    network = hk.Network.random_regular(4, 100)
    return Case(
        "logistic, n=100",
        problem,
        network,
        hk.Power(1.0, 20, 0.75),
        256,
        np.zeros((100, 50)),
        gradient,
        ball(10.0),
    )


def least_squares() -> Case:
    rng = np.random.default_rng(0)
    n, rows, dim = 2000, 20, 1000
    A, b = rng.normal(size=(n, rows, dim)), rng.normal(size=(n, rows))
    problem = hk.least_squares(A, b, feasible=hk.Ball(10.0), optimum=0.0)
    A, b = jnp.asarray(A), jnp.asarray(b)

    def gradient(v: Any) -> Any:
        return jnp.einsum("nrd,nr->nd", A, jnp.einsum("nrd,nd->nr", A, v) - b)

    network = hk.Network.random_regular(8, n)
    return Case(
        "least squares, n=2000",
        problem,
        network,
        hk.Constant(1e-4),
        4,
        np.zeros((n, dim)),
        gradient,
        ball(10.0),
    )


def engine(case: Case, algorithm: hk.Algorithm) -> tuple[Callable[[], Any], int]:
    """The simulator's compiled rounds, without measurements; and the block in which it draws noise."""
    job = Job.asked(
        case.problem, case.network, algorithm, step=case.step, rounds=case.rounds, start=case.start
    )
    program = Compiled(prepare(job, algorithm, averaging=True))
    steps = step_table(job, 0)
    carry = program.begin(jnp.asarray(job.first_states), steps)
    stops, wanted = np.full(STOPS, case.rounds + 1), np.zeros(STOPS, dtype=bool)

    def run() -> Any:
        end, _ = program.advance(carry, steps, stops, wanted)
        return end.state, end.weighted

    return run, program.program.block


def race(rivals: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds of each, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for run in rivals.values():
        jax.block_until_ready(run())
    for _ in range(REPEATS):
        for name, run in rivals.items():
            began = time.perf_counter()
            jax.block_until_ready(run())
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def compare(case: Case) -> list[dict[str, Any]]:
    alpha, start = jnp.asarray(case.step.table(1, case.rounds)), jnp.asarray(case.start)
    ways = mixes(case.network)
    plain, _ = engine(case, hk.Dgd())
    noisy, block = engine(case, hk.RssNb(1.0))
    parts = (case.gradient, case.project, alpha, start)
    rivals = {f"dgd {name}": dgd(mix, *parts) for name, mix in ways.items()}
    rivals |= {
        f"rss-nb {name}, block {size}": rss_nb(case.network, ways[name], *parts, delta=1.0, block=size)
        for name in ("slots", "dense")
        if name in ways and (name == "slots" or case.network.n <= 100)
        for size in sorted({1, block})
    }
    agree(plain(), rivals["dgd slots"]())
    agree(noisy(), rivals[f"rss-nb slots, block {block}"]())
    seconds = race({"hocket dgd": plain, "hocket rss-nb": noisy} | rivals)
    rows = []
    for algorithm in ("dgd", "rss-nb"):
        best = min((name for name in rivals if name.startswith(algorithm + " ")), key=seconds.__getitem__)
        rows.append(
            {
                "case": case.name,
                "algorithm": algorithm,
                "hocket_rounds_per_s": case.rounds / seconds[f"hocket {algorithm}"],
                "best_handwritten": best,
                "handwritten_rounds_per_s": case.rounds / seconds[best],
                "ratio": seconds[f"hocket {algorithm}"] / seconds[best],
            }
        )
    draws = 2 * len(case.network.links) * case.start.shape[1]
    rows[1]["over_dgd"] = seconds["hocket rss-nb"] / seconds["hocket dgd"]
    rows[1]["draws_per_s"] = draws * case.rounds / seconds["hocket rss-nb"]
    return rows


def agree(ours: Any, theirs: Any) -> None:
    """Both did the same work: the same final states and the same averages."""
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with jax.enable_x64(True):
        rows = [row for case in (polynomials(), logistic(), least_squares()) for row in compare(case)]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'case':24}{'algorithm':10}{'hocket':>14}{'hand-written':>16}{'ratio':>8}  best hand-written way")
    for row in rows:
        print(
            f"{row['case']:24}{row['algorithm']:10}{row['hocket_rounds_per_s']:>12,.1f}/s"
            f"{row['handwritten_rounds_per_s']:>14,.1f}/s{row['ratio']:>8.3f}  {row['best_handwritten']}"
        )
        if "over_dgd" in row:
            print(f"{'':34}{row['over_dgd']:.2f} times DGD, {row['draws_per_s'] / 1e6:,.0f} M draws/s")


if __name__ == "__main__":
    main()
