"""A cluster on this machine: equality with the simulator, what crosses, how cost grows with links, and resuming.

    python benchmarks/cluster.py [--processes 2 4] [--links 1000 10000 100000]
    python benchmarks/cluster.py --million      RSS-NB, D = 10, 10⁴ to 10⁶ agents with 20 neighbours, two processes

Processes share this machine's cores and talk over its loopback: times say how cost grows, not how fast a cluster is.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import hocket as hk

DIM = 16
ROUNDS = 100
MILLION, MILLION_DIM, MILLION_DEGREE = (10_000, 100_000, 1_000_000), 10, 20
CHECKED = 3
"""Rounds after which states are compared, and over which time is taken, where there are so many agents."""
ALGORITHMS = {
    "DGD": hk.Dgd(),
    "RSS-NB": hk.RssNb(1.0),
    "RSS-NB paper": hk.RssNb(1.0, split="paper"),
    "RSS-NB persistent": hk.RssNb(1.0, persistent=0.5),
    "RSS-LB": hk.RssLb(1.0),
    "FS": hk.FunctionSharing(2, 1.0),
    "independent": hk.IndependentNoise(1.0),
}


def bowls(n: int) -> hk.Problem:
    """Quadratics with minimisers of their own."""
    centre = np.random.default_rng(0).uniform(-1, 1, size=(n, DIM))
    return hk.polynomials(
        np.stack([centre**2, -2 * centre, np.ones_like(centre)], axis=1), box=(-5, 5), dim=DIM
    )


def play(engine: Any, algorithm: hk.Algorithm, links: int) -> tuple[hk.Run, float]:
    """A run on an 8-regular graph with about so many links, and the seconds that a further round takes."""
    network = hk.Network.random_regular(8, max(links // 4, 12))
    problem = bowls(network.n)
    seconds, run = {}, None
    for rounds in (3 * ROUNDS, 3 * ROUNDS, ROUNDS):  # the first compiles
        began = time.perf_counter()
        run = hk.solve(problem, network, algorithm, rounds=rounds, engine=engine, time_average=False)
        seconds[rounds] = time.perf_counter() - began
    assert run is not None
    return run, (seconds[3 * ROUNDS] - seconds[ROUNDS]) / (2 * ROUNDS)


def member(links: list[int], folder: Path) -> None:
    """What each process plays; process 0 writes it down."""
    import jax

    rows = {}
    for name, algorithm in ALGORITHMS.items():
        run, seconds = play("cluster", algorithm, links[0])
        if jax.process_index() == 0:
            np.savez(
                folder / f"{name}.npz", x=run.x, gap=run.history["gap"], apart=run.history["disagreement"]
            )
        rows[name] = run.settings["cluster"] | {"seconds": seconds}
    growth = []
    for count in links:
        run, seconds = play("cluster", ALGORITHMS["RSS-NB"], count)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        growth.append({"links": run.settings["cluster"]["links"], "seconds": seconds, "bytes": memory})
    if jax.process_index() == 0:
        (folder / "rows.json").write_text(json.dumps({"rows": rows, "growth": growth}))


def compare(processes: int, links: list[int]) -> None:
    """Print one group's table beside the simulator."""
    from hocket.engines.cluster.local_processes import run_together

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = [str(Path(__file__).resolve()), "--member", str(folder), "--links", *map(str, links)]
        run_together(["hocket.engines.cluster", *arguments], processes)
        found = json.loads((folder / "rows.json").read_text())
        print(f"\n{processes} processes, {links[0]:,} links, D = {DIM}, {ROUNDS} rounds")
        head = ("algorithm", "x off by", "gap off by", "cut", "needs", "moves", "ratio")
        print("{:16} {:>9} {:>10} {:>6} {:>9} {:>9} {:>6}".format(*head))
        for algorithm, row in found["rows"].items():
            run, _ = play("simulator", ALGORITHMS[algorithm], links[0])
            with np.load(folder / f"{algorithm}.npz") as arrays:
                off = np.abs(arrays["x"] - run.x).max()
                gap = np.abs(arrays["gap"] - run.history["gap"]).max()
            needed, moved = row["bytes_needed"], row["bytes_moved"]
            print(
                f"{algorithm:16} {off:9.1e} {gap:10.1e} {row['crossing']:6,} {needed:9,} {moved:9,} "
                f"{moved / needed:6.3f}"
            )
        print_growth(found["growth"])


def print_growth(growth: list[dict[str, float]]) -> None:
    """Time and memory of RSS-NB against links, and the slope between the first size and the last."""
    for row in growth:
        print(
            f"{row['links']:10,} links  {1e3 * row['seconds']:9.3f} ms a round  {row['bytes'] / 1e6:9.0f} MB at most"
        )
    if len(growth) > 1:
        first, last = growth[0], growth[-1]
        wide = np.log(last["links"] / first["links"])
        slopes = (np.log(last[what] / first[what]) / wide for what in ("seconds", "bytes"))
        print(
            "slope {:.2f} in time, {:.2f} in memory (1 is linear; a start-up cost makes it smaller)".format(
                *slopes
            )
        )


def large_member(agents: int, answer: Path) -> None:
    """One population, laid out once; process 0 writes down what a round takes, and what of it crosses."""
    import jax
    from shards import Stage, peak, sent, slowest, timed

    def of_all(number: float) -> list[float]:
        from jax.experimental import multihost_utils

        return np.asarray(multihost_utils.process_allgather(np.array(float(number)))).tolist()

    began, at_work = time.perf_counter(), time.process_time()
    with jax.enable_x64(True):
        played = Stage(hk.RssNb(1.0), agents, MILLION_DIM, MILLION_DEGREE).together()
        laid_out = slowest(time.perf_counter() - began)
        worked, before = of_all(time.process_time() - at_work), of_all(peak())
        x = played.states(CHECKED)  # compiles as well
        turns, counted = [], []
        for _ in range(3):
            already = sent()
            turns.append(timed(lambda: played.rounds(CHECKED)) / CHECKED)
            counted.append(sum(of_all(sent() - already)) / CHECKED)
        traffic = played.traffic.settings
        found = {
            "agents": agents, "seconds": statistics.median(turns), "laid out": laid_out, "worked": worked,
            "before": before, "memory": of_all(peak()), "counted": statistics.median(counted), "traffic": traffic,
        }  # fmt: skip
        if jax.process_index() == 0:
            np.save(answer.with_suffix(".npy"), x)
            answer.write_text(json.dumps(found))


def million() -> None:
    """Print how cost grows to 10⁶ agents with 10⁷ links, and hold the smaller ones against the simulator."""
    from hocket.engines.cluster.local_processes import run_together

    rows = []
    print(f"RSS-NB, D = {MILLION_DIM}, {MILLION_DEGREE} neighbours on random rings, float64, two processes")
    for agents in MILLION:
        with tempfile.TemporaryDirectory() as name:
            answer = Path(name) / "found.json"
            script = [str(Path(__file__).resolve()), "--member", str(answer), "--agents", str(agents)]
            ended = run_together(["hocket.engines.cluster", *script], 2)
            if not ended.well:
                raise SystemExit(f"processes failed: exit codes {ended.codes}")
            row = json.loads(answer.read_text())
            off = _off(agents, np.load(answer.with_suffix(".npy"))) if agents < MILLION[-1] else None
        rows.append(row)
        traffic, memory = row["traffic"], " + ".join(f"{one / 1e9:.2f}" for one in row["memory"])
        print(
            f"{agents:>10,} agents {traffic['links']:>11,} links, {traffic['crossing']:,} cross: "
            f"{row['seconds']:.3f} s a round; crossing by formula {traffic['bytes_moved']:,} bytes a round "
            f"(needed {traffic['bytes_needed']:,}), counted {row['counted']:,.0f}; peak {memory} GB "
            f"({' + '.join(f'{one / 1e9:.2f}' for one in row['before'])} before the first round); laid out in "
            f"{row['laid out']:.0f} s by the clock, {' + '.join(f'{one:.0f}' for one in row['worked'])} s at work"
            + ("" if off is None else f"; states off the simulator's by {off:.1e}"),
            flush=True,
        )
    for low, high in itertools.pairwise(rows):
        wide = np.log(high["traffic"]["links"] / low["traffic"]["links"])
        time_power = np.log(high["seconds"] / low["seconds"]) / wide
        room_power = np.log(sum(high["memory"]) / sum(low["memory"])) / wide
        print(
            f"from {low['agents']:,} to {high['agents']:,} agents time grows with links to the power "
            f"{time_power:.2f}, memory to {room_power:.2f}"
        )


def _off(agents: int, x: np.ndarray) -> float:
    """How far states are from those that the simulator ends with."""
    import jax
    from shards import Stage

    with jax.enable_x64(True):
        alone = Stage(hk.RssNb(1.0), agents, MILLION_DIM, MILLION_DEGREE).in_one_place().states(CHECKED)
    return float(np.abs(x - alone).max())


def main() -> None:
    """Compare for each number of processes, or go up to a million agents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--links", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--member", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--agents", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.agents is not None:
        large_member(asked.agents, asked.member)
        return
    if asked.million:
        million()
        return
    if asked.member is not None:
        member(asked.links, asked.member)
        return
    for processes in asked.processes:
        compare(processes, asked.links)


if __name__ == "__main__":
    sys.exit(main())
