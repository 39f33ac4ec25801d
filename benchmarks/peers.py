"""Milliseconds per round of five processes in a ring, beside a bare gRPC ring that does the least it can.

    python benchmarks/peers.py

Both write durably to SQLite in every round and speak mutual TLS on loopback; they take turns in the same run, so that
a busy machine is busy for both. Reported is the median over turns of the slowest process.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

MEMBERS = ("a", "b", "c", "d", "e")
SIZES: dict[str, dict[str, Any]] = {
    "140,106 float32": {"dimension": 140_106, "dtype": "float32", "rounds": 60},
    "1 float64": {"dimension": 1, "dtype": "float64", "rounds": 400},
}
CONTESTANTS: dict[str, dict[str, Any] | None] = {
    "bare gRPC": None,
    "DGD": {"name": "dgd"},
    "RSS-NB": {"name": "rss-nb", "delta": 1.0},
}
TURNS = 3


def main() -> None:
    """Print one table for each size."""
    for size, about in SIZES.items():
        times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
        for _ in range(TURNS):
            for name, algorithm in CONTESTANTS.items():
                with tempfile.TemporaryDirectory() as folder:
                    times[name].append(play(Path(folder), algorithm, about))
        floor = statistics.median(times["bare gRPC"])
        print(f"\nRing of five, {size}")
        for name, measured in times.items():
            middle = statistics.median(measured)
            print(f"  {name:10} {1000 * middle:8.2f} ms a round  {middle / floor:5.2f} x")


def play(folder: Path, algorithm: dict[str, Any] | None, about: dict[str, Any]) -> float:
    """Five processes of one contestant; returns the slowest one's seconds per round."""
    from hocket.federation.cards import Card
    from hocket.federation.drawing_up import draw_up
    from hocket.federation.home import Home
    from hocket.federation.plan_file import write_plan
    from hocket.links.identity import Identity

    identities = [Identity.create(name) for name in MEMBERS]
    ports = _free_ports(len(MEMBERS))
    for identity in identities:
        identity.save(Home(folder / identity.name).identity)
    cards = [Card.of(one, f"127.0.0.1:{port}") for one, port in zip(identities, ports, strict=True)]
    plan = draw_up(
        cards,
        "cycle",
        algorithm=algorithm or {"name": "dgd"},
        step={"constant": 0.01},
        task={"name": "none", "dataset": "none", "dimension": about["dimension"], "dtype": about["dtype"]},
        run={"rounds": about["rounds"]},
        audit={"colluders": 1, "unsafe": True},
    )
    for identity in identities:
        plan = plan.signed_by(identity)
    write_plan(plan, folder / "plan.toml")
    kind = "bare" if algorithm is None else "hocket"
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, kind, str(folder), name], stdout=subprocess.PIPE, env=environment
        )
        for name in MEMBERS
    ]
    return max(json.loads(process.communicate()[0]) for process in processes)


def one(kind: str, folder: Path, name: str) -> float:
    """One process of either contestant."""
    from hocket.federation.home import Home
    from hocket.federation.plan_file import read_plan
    from hocket.links.identity import Identity

    plan = read_plan(folder / "plan.toml")
    identities = {other: Identity.load(Home(folder / other).identity) for other in plan.names}
    if kind == "bare":
        from bare_ring import run_bare

        ports = [int(str(card.address).rpartition(":")[2]) for card in plan.cards]
        state = np.ones(plan.task.dimension, plan.task.dtype)
        place = plan.agent(name)
        return asyncio.run(
            run_bare(place, list(plan.names), identities, ports, folder / name, state, plan.run.rounds)
        )
    return _hocket(plan, identities[name], Home(folder / name))


def _hocket(plan: Any, identity: Any, home: Any) -> float:
    from hocket.federation.running import Member, take_part
    from hocket.federation.task import GradientTask

    rounds, marks = plan.run.rounds, {}

    def watch(played: Any, presence: Any) -> None:
        if played.k in (rounds // 10, rounds):
            marks[played.k] = time.perf_counter()

    task = GradientTask(plan.task.dimension, lambda x, k, h, rng: x)
    asyncio.run(take_part(Member(plan, identity, task, home), watch=watch))
    return (marks[rounds] - marks[rounds // 10]) / (rounds - rounds // 10)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(one(sys.argv[1], Path(sys.argv[2]), sys.argv[3])))
    else:
        main()
