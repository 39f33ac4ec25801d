"""How to size a cluster: a model of a round's time, held against two and four processes, and what it says of 64 GPUs.

    python benchmarks/sizing.py                     DGD, RSS-NB and AugDGM at two sizes, with 2 and 4 processes
    python benchmarks/sizing.py --processes 2       with two alone
    python benchmarks/sizing.py --gpus              only what the model says of many GPUs
    srun --ntasks 4 python -m hocket.engines.cluster benchmarks/sizing.py --group     the table of your own machines

The model of a round:

    time = shard + Σ over messages (latency + bytes / bandwidth)

    shard         what one shard takes by itself, with all packing and unpacking of messages: every process plays
                  its own
                  shard at the same time, and sends to itself what is meant for others
    messages      that are sent in a round; each takes as many permutations at once as there are other shards, and
                  `bytes` is what a shard sends in all of them
    latency,      from so many permutations at once of 4 kB and of 2 MB between the same processes, which do nothing
    bandwidth     else meanwhile

Nothing is fitted to the runs that are predicted. Model and cluster take turns, in the same processes, and the slowest
process counts; `seen/model` is the median over turns of the ratio in each. Wanted: within 20 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

import hocket as hk

SIZES = ((4_000, 64), (16_000, 64))
"""Agents and numbers of each; float64, 8 neighbours on random rings."""
DEGREE, TURNS = 8, 9
WITHIN = 0.2
SMALL, LARGE = 1 << 12, 1 << 21
"""Bytes of a permutation."""
OFTEN = 20
SECONDS = 0.15
"""That rounds are timed for, in one turn."""
ALGORITHMS = {"DGD": hk.Dgd(), "RSS-NB": hk.RssNb(1.0), "AugDGM": hk.AugDgm()}

GPU_AGENTS, GPU_DIM, FLOAT = 1_024, 140_112, 4
"""Of one GPU, in `benchmarks/gpu.py`: agents with 8 neighbours, float32 each."""
GPU_SECONDS = {"DGD": 0.893e-3, "RSS-NB": 2.649e-3}
"""A round's exchange of these on one H200, measured by `benchmarks/gpu.py`."""
COPIES = 3
"""Passes over messages that leave and arrive, as the shard packs and unpacks them; an H200 copies at 3.75 TB/s."""
COPYING = 3.75e12
LINKS = {"NVLink, 450 GB/s each way": (450e9, 1e-5), "Ethernet, 400 Gbit/s": (50e9, 2e-5)}
"""Bytes a second and latency of one GPU's own connection: the makers' rates and a usual latency, none of them ours."""
CROSSING = {"random graph": None, "1 link in 10 crosses": 0.1, "1 link in 100 crosses": 0.01}
GPUS = (1, 2, 4, 8, 16, 32, 64)


class Row:
    """One algorithm at one size, as every process of a group times it."""

    def __init__(self, name: str, agents: int, dim: int):
        import jax
        from shards import Stage, permutations, timed

        self.about = {"algorithm": name, "agents": agents, "dim": dim}
        self.cluster = Stage(ALGORITHMS[name], agents, dim, DEGREE).together()
        self.alone, self.loads = self.cluster.alone(), self.cluster.loads
        self.trips = max(jax.process_count() - 1, 1)
        self.little, self.much = (permutations(size, self.trips, OFTEN) for size in (SMALL, LARGE))
        for warm_up in (lambda: self.alone(2), lambda: self.cluster.rounds(2), self.little, self.much):
            warm_up()
        self.count = int(np.clip(SECONDS / (timed(lambda: self.alone(4)) / 4), 4, 500))

    def turn(self) -> dict[str, float]:
        """Each part once; all processes at once, and the slowest counts."""
        from shards import timed

        return {
            "short": timed(self.little) / OFTEN,
            "long": timed(self.much) / OFTEN,
            "shard": timed(lambda: self.alone(self.count)) / self.count,
            "seen": timed(lambda: self.cluster.rounds(self.count)) / self.count,
        }


def group(answer: Path | None) -> None:
    """What each process plays; process 0 writes it down, or prints it."""
    import jax

    with jax.enable_x64(True):
        rows = [Row(name, *size) for size in SIZES for name in ALGORITHMS]
        turns = [[row.turn() for row in rows] for _ in range(TURNS)]
    found = [
        row.about | modelled(row.loads, row.trips, [turn[at] for turn in turns], turns)
        for at, row in enumerate(rows)
    ]
    if jax.process_index() == 0:
        if answer is None:
            show(jax.process_count(), found)
        else:
            answer.write_text(json.dumps(found))


def modelled(
    loads: list[list[int]], trips: int, own: list[dict[str, float]], turns: list[list[dict[str, float]]]
) -> dict[str, Any]:
    """The model beside what was seen. Latency and bandwidth are those of the turn, over all permutations in it."""
    parts = []
    for mine, turn in zip(own, turns, strict=True):
        short, long = (statistics.median(row[name] for row in turn) for name in ("short", "long"))
        bandwidth = trips * (LARGE - SMALL) / max(long - short, 1e-9)
        latency = max(short - trips * SMALL / bandwidth, 0.0)
        exchange = sum(latency + sum(word) / bandwidth for word in loads)
        ratio = mine["seen"] / (mine["shard"] + exchange)
        parts.append((mine["shard"], exchange, mine["seen"], latency, bandwidth, ratio))
    names = ("shard", "exchange", "seen", "latency", "bandwidth", "ratio")
    medians = {
        name: statistics.median(some) for name, some in zip(names, zip(*parts, strict=True), strict=True)
    }
    spread = sorted(part[-1] for part in parts)
    sent = {"words": len(loads), "permutations": sum(map(len, loads)), "bytes": sum(map(sum, loads))}
    return medians | sent | {"low": spread[1], "high": spread[-2]}


def show(processes: int, rows: list[dict[str, Any]]) -> None:
    """Print what the model says beside what a cluster takes."""
    print(f"\n{processes} processes, {TURNS} turns")
    print(
        f"{'':20}{'shard':>9}{'exchange':>10}{'model':>9}{'seen':>9}   seen/model (without the two extremes)   "
        "messages, permutations, bytes, latency, bandwidth"
    )
    for row in rows:
        parts = (row["shard"], row["exchange"], row["shard"] + row["exchange"], row["seen"])
        times = "".join(f"{1e3 * one:>{width}.2f}" for one, width in zip(parts, (9, 10, 9, 9), strict=True))
        kept = "" if abs(row["ratio"] - 1) <= WITHIN else f" NOT within {WITHIN:.0%}"
        print(
            f"{row['algorithm']:7}{row['agents']:>7,} × {row['dim']:<3}{times} ms   {row['ratio']:.2f} "
            f"({row['low']:.2f} to {row['high']:.2f}){kept}   {row['words']}, {row['permutations']}, "
            f"{row['bytes']:,}, {1e6 * row['latency']:.0f} µs, {row['bandwidth'] / 1e6:,.0f} MB/s"
        )


def predicted(
    compute: float, gpus: int, bandwidth: float, latency: float, crossing: float | None
) -> tuple[float, float]:
    """The model's seconds of a round with so many GPUs, 1,024 agents on each, and the bytes that each sends.

    On a random graph an agent's message goes to every shard in which one of its neighbours sits.
    """
    if gpus == 1:
        return compute, 0.0
    spread = (gpus - 1) * (1 - (1 - 1 / gpus) ** DEGREE)
    copies = spread if crossing is None else min(crossing * DEGREE, spread)
    sent = GPU_AGENTS * copies * GPU_DIM * FLOAT
    packing = COPIES * sent / COPYING
    return compute + packing + (gpus - 1) * latency + sent / bandwidth, sent


def many_gpus() -> None:
    """Print what the model says of 64 of the GPUs that one was measured of."""
    most = GPUS[-1]
    print(
        f"\nmodel: {most} GPUs, {most * GPU_AGENTS:,} agents with {DEGREE} neighbours and {GPU_DIM:,} float32"
    )
    for graph, crossing in CROSSING.items():
        for link, (bandwidth, latency) in LINKS.items():
            cells = []
            for name, compute in GPU_SECONDS.items():
                seconds, sent = predicted(compute, most, bandwidth, latency, crossing)
                cells.append(f"{name} {1e3 * seconds:.1f} ms ({seconds / compute:.1f} × one GPU)")
            print(f"  {graph:22} {link:26} {sent / 1e9:5.2f} GB sent by each   {'   '.join(cells)}")


def main() -> None:
    """Compare for two and four processes, or as one process of a group."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument(
        "--group", action="store_true", help="this process is one of a group: process 0 prints"
    )
    parser.add_argument("--gpus", action="store_true", help="only what the model says of many GPUs")
    parser.add_argument("--member", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.group or asked.member is not None:
        group(asked.member)
        return
    if not asked.gpus:
        from shards import ask

        for processes in asked.processes:
            show(processes, ask(__file__, processes))
    many_gpus()


if __name__ == "__main__":
    main()
