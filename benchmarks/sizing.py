"""How to size a cluster: a model of a round's time, held against two and four processes, and what it says of 64 GPUs.

    python benchmarks/sizing.py            RSS-NB and DGD, 2 and 4 processes; three minutes on quiet cores
    python benchmarks/sizing.py --large    10⁶ agents with 10⁷ links, D = 10, two processes; ten minutes, 14 GB

The model of a round has two parts:

    compute     what a shard takes by itself: as many processes as there are shards play a network of a shard's size at
                the same time, each for itself, so that they share cores and memory as the shards of a cluster do
    exchange    trips · latency + bytes a shard sends / bandwidth, both from collective permutations of 4 kB and 4 MB
                between as many processes that do nothing else

Wanted: what a cluster takes within 20 % of it. For machines that are not here put in their own figures: compute from
one of their devices with a shard of yours (`hk.solve` on agents/shards agents), latency and bandwidth from the maker or
from a permutation between two of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import hocket as hk

AGENTS, DEGREE, DIM = 16_000, 8, 64
ROUNDS, TURNS = 40, 5
WITHIN = 0.2
SMALL, LARGE = 1 << 12, 1 << 22
"""Bytes of a permutation."""
ALGORITHMS = {"DGD": hk.Dgd(), "RSS-NB": hk.RssNb(1.0)}
GPUS, GPU_AGENTS, GPU_DIM = 64, 65_536, 140_112
GPU_SECONDS = {"DGD": 0.89e-3, "RSS-NB": 2.65e-3}
"""A round's exchange of 1,024 agents with 8 neighbours and 140,112 float32 on one H200, from `benchmarks/gpu.py`."""
NIC = 50e9
"""Bytes a second of one 400 Gbit/s adapter for each GPU: the maker's figure, not ours."""
NIC_LATENCY = 2e-5


def rings(n: int, count: int) -> hk.Network:
    """So many rings through all agents in random orders: nearly regular, and built in no time however large."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(count)]
    ends = [(order, np.roll(order, 1)) for order in orders]
    links = np.unique(np.concatenate([np.minimum(*pair) * n + np.maximum(*pair) for pair in ends]))
    return hk.Network(np.column_stack(np.divmod(links, n)), n=n, name=f"{count} rings of {n}")


def bowls(n: int, dim: int) -> hk.Problem:
    """Quadratics with minimisers of their own."""
    centre = np.random.default_rng(0).uniform(-1, 1, size=(n, dim))
    table = np.stack([centre**2, -2 * centre, np.ones_like(centre)], axis=1)
    return hk.polynomials(table, box=(-5, 5), dim=dim, optimum=0.0)


def a_round(
    algorithm: hk.Algorithm, n: int, dim: int, engine: Any, *, degree: int = DEGREE, rounds: int = ROUNDS
) -> tuple[float, dict[str, Any]]:
    """Seconds of one more round, without measuring, and what crosses."""
    problem, network = bowls(n, dim), rings(n, degree // 2)
    taken: dict[int, list[float]] = {rounds: [], 3 * rounds: []}
    settings: dict[str, Any] = {}
    for turn in range(TURNS + 1):  # the first compiles
        for count in taken:
            began = time.perf_counter()
            run = hk.solve(problem, network, algorithm, rounds=count, engine=engine, time_average=False)
            if turn:
                taken[count].append(time.perf_counter() - began)
            settings = run.settings.get("cluster", {})
    short, long = (statistics.median(each) for each in taken.values())
    return (long - short) / (2 * rounds), settings


def permuting(size: int) -> float:
    """Seconds of one trip: every process passes so many bytes on to the next."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    count, often = jax.process_count(), 200 if size < LARGE else 20
    mesh = Mesh(np.array(jax.devices()), ("shards",))
    pairs = [(i, (i + 1) % count) for i in range(count)]

    def trips(x: Any) -> Any:
        return jax.lax.fori_loop(0, often, lambda _, x: jax.lax.ppermute(x, "shards", pairs), x)

    spec = PartitionSpec("shards")
    play = jax.jit(jax.shard_map(trips, mesh=mesh, in_specs=spec, out_specs=spec))
    whole = np.zeros((count, size // 4), np.float32)
    x = jax.make_array_from_callback(whole.shape, NamedSharding(mesh, spec), lambda where: whole[where])
    taken = []
    for _ in range(TURNS + 1):
        began = time.perf_counter()
        jax.block_until_ready(play(x))
        taken.append(time.perf_counter() - began)
    return statistics.median(taken[1:]) / often


def member(asked: argparse.Namespace) -> None:
    """What each process of a cluster plays; process 0 writes it down."""
    import jax

    found: dict[str, Any]
    if asked.large:
        began = time.perf_counter()
        seconds, settings = a_round(hk.RssNb(1.0), asked.agents, 10, "cluster", degree=20, rounds=2)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found = {
            "seconds": seconds,
            "memory": memory,
            "whole": time.perf_counter() - began,
            "settings": settings,
        }
    else:
        small, large = permuting(SMALL), permuting(LARGE)
        bandwidth = (LARGE - SMALL) / (large - small)
        played = {name: a_round(algorithm, AGENTS, DIM, "cluster") for name, algorithm in ALGORITHMS.items()}
        found = {"latency": max(small - SMALL / bandwidth, 0.0), "bandwidth": bandwidth, "played": played}
    if jax.process_index() == 0:
        asked.member.write_text(json.dumps(found))


def together(processes: int, *arguments: str) -> dict[str, Any]:
    """What a cluster of so many processes found."""
    from hocket.engines.cluster.local_processes import run_together

    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "found.json"
        script = [str(Path(__file__).resolve()), "--member", str(answer), *arguments]
        run_together(["hocket.engines.cluster", *script], processes)
        return json.loads(answer.read_text())


def apart(processes: int) -> dict[str, float]:
    """Seconds that shards take by themselves, so many at a time."""
    command = [sys.executable, __file__, "--alone", str(AGENTS // processes)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    answers = [json.loads(one.communicate()[0]) for one in started]
    return {name: max(answer[name] for answer in answers) for name in ALGORITHMS}


def compare(processes: int) -> None:
    """Print what the model says beside what a cluster takes."""
    alone, found = apart(processes), together(processes)
    latency, bandwidth = found["latency"], found["bandwidth"]
    print(
        f"\n{processes} processes: latency {1e6 * latency:.0f} µs, bandwidth {bandwidth / 1e6:,.0f} MB/s a process"
    )
    print(f"  {'':8}{'compute':>10}{'exchange':>10}{'model':>10}{'seen':>10}   seen/model")
    for name, (seen, settings) in found["played"].items():
        exchange = (processes - 1) * latency + settings["bytes_moved"] / processes / bandwidth
        model = alone[name] + exchange
        times = "".join(f"{1e3 * one:>7.2f} ms" for one in (alone[name], exchange, model, seen))
        kept = "" if abs(seen / model - 1) <= WITHIN else f"   NOT within {WITHIN:.0%}"
        print(f"  {name:8}{times}   {seen / model:.2f}{kept}")


def many_gpus() -> None:
    """What the model says of 64 of the GPUs that were measured."""
    shard, word = GPU_AGENTS // GPUS, 4 * GPU_DIM
    # A random graph has nearly all its links between shards: an agent's word goes to each shard of its neighbours.
    spread = GPUS * (1 - (1 - 1 / GPUS) ** DEGREE)
    print(
        f"\n{GPUS} GPUs, {GPU_AGENTS:,} agents with {DEGREE} neighbours and {GPU_DIM:,} numbers, {shard:,} agents each"
    )
    for label, copies in (
        ("a random graph", spread),
        ("a graph of which one link in ten crosses", 0.1 * DEGREE),
    ):
        exchange = (GPUS - 1) * NIC_LATENCY + shard * copies * word / NIC
        for name, compute in GPU_SECONDS.items():
            print(
                f"  {label}, {name}: {1e3 * compute:.1f} ms compute + {1e3 * exchange:.0f} ms exchange "
                f"({shard * copies * word / 1e9:.2f} GB sent by each)"
            )


def large() -> None:
    """Print how 10⁶ agents fare, and how cost grew from a tenth of them."""
    rows = []
    for agents in (100_000, 1_000_000):
        found = together(2, "--large", "--agents", str(agents))
        settings = found["settings"]
        rows.append((settings["links"], found["seconds"], found["memory"]))
        print(
            f"{agents:>10,} agents  {settings['links']:>11,} links, {settings['crossing']:,} cross  "
            f"{found['seconds']:.3f} s a round  needs {settings['bytes_needed'] / 1e6:,.0f} MB, moves "
            f"{settings['bytes_moved'] / 1e6:,.0f} MB  {found['memory'] / 1e9:.1f} GB a process at most  "
            f"{found['whole']:.0f} s in all"
        )
    (links, seconds, memory), (more, longer, larger) = rows
    wide = np.log(more / links)
    power, room = np.log(longer / seconds) / wide, np.log(larger / memory) / wide
    print(f"time grows with links to the power {power:.2f}, memory to {room:.2f}")


def main() -> None:
    """Compare for two and four processes, or play the large one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--member", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--agents", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.member is not None:
        member(asked)
    elif asked.alone is not None:
        taken = {
            name: a_round(algorithm, asked.alone, DIM, "simulator")[0]
            for name, algorithm in ALGORITHMS.items()
        }
        print(json.dumps(taken))
    elif asked.large:
        large()
    else:
        for processes in (2, 4):
            compare(processes)
        many_gpus()


if __name__ == "__main__":
    main()
