"""Milliseconds per round of five processes in a ring, beside a bare gRPC ring that does the least it can.

    python benchmarks/peers.py

Both write durably to SQLite in every round and speak mutual TLS on loopback; they take turns in the same run, so that
a busy machine is busy for both. Reported are the slowest process's time for a round and the processor time that a
member spends in one, as the median over turns and at best: what else a machine does can only slow a turn down, and on
a virtual one it does so by a third from one minute to the next.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from bare_ring import WRITING, Pace, run_bare, warm_up

MEMBERS = ("a", "b", "c", "d", "e")
SIZES: dict[str, dict[str, Any]] = {
    "140,106 float32": {"dimension": 140_106, "dtype": "float32", "rounds": 160},
    "1 float64": {"dimension": 1, "dtype": "float64", "rounds": 800},
}
CONTESTANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "bare gRPC": ("bare", {"name": "dgd"}),
    "in place": ("bare in place", {"name": "dgd"}),
    "DGD": ("hocket", {"name": "dgd"}),
    "RSS-NB": ("hocket", {"name": "rss-nb", "delta": 1.0}),
}
"""Which program plays, and the algorithm in the plan; "in place" is the bare ring with a better way to write."""
TURNS = 5


def main() -> None:
    """Print one table for each size."""
    for size, about in SIZES.items():
        times: dict[str, list[Pace]] = {name: [] for name in CONTESTANTS}
        for _ in range(TURNS):
            for name, (kind, algorithm) in CONTESTANTS.items():
                with tempfile.TemporaryDirectory() as folder:
                    times[name].append(play(Path(folder), kind, algorithm, about))
        print(f"\nRing of five, {size}")
        print(f"  {'':10}" + "".join(f"{over:>22}" for over in ("median", "best", "processor", "best")))
        floor = _figures(times["bare gRPC"])
        for name, measured in times.items():
            figures = zip(_figures(measured), floor, strict=True)
            print(
                f"  {name:10}"
                + "".join(f"{1000 * one:10.2f} ms {one / least:6.2f} x" for one, least in figures)
            )


def play(folder: Path, kind: str, algorithm: dict[str, Any], about: dict[str, Any]) -> Pace:
    """Five processes of one contestant: the slowest one's time, and what they compute on average."""
    from hocket.machine import held_ports

    with held_ports(len(MEMBERS)) as ports:
        prepare(folder, ports, algorithm, about)
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
        processes = [
            subprocess.Popen(
                [sys.executable, __file__, kind, str(folder), name], stdout=subprocess.PIPE, env=environment
            )
            for name in MEMBERS
        ]
        paces = [Pace(*json.loads(process.communicate()[0])) for process in processes]
    return Pace(max(pace.seconds for pace in paces), statistics.mean(pace.processor for pace in paces))


def prepare(folder: Path, ports: list[int], algorithm: dict[str, Any], about: dict[str, Any]) -> None:
    """Identities and a plan that all have signed."""
    from hocket.federation.audit.plan_audit import audit_plan
    from hocket.federation.plan.cards import Card
    from hocket.federation.plan.draft import draw_up
    from hocket.federation.plan.plan_file import write_plan
    from hocket.federation.state.consent import keep_consent
    from hocket.federation.state.home import Home
    from hocket.federation.state.run_folder import RunFolder
    from hocket.links.keys.identity import Identity

    identities = [Identity.create(name) for name in MEMBERS]
    for identity in identities:
        identity.save(Home(folder / identity.name).identity)
    cards = [Card.of(one, f"127.0.0.1:{port}") for one, port in zip(identities, ports, strict=True)]
    plan = draw_up(
        cards,
        "cycle",
        algorithm=algorithm,
        step={"constant": 0.01},
        task={"name": "none", "dataset": "none", "dimension": about["dimension"], "dtype": about["dtype"]},
        run={"rounds": about["rounds"]},
        audit={"colluders": 1, "unsafe": True},
    )
    for identity in identities:
        plan = plan.signed_by(identity)
    write_plan(plan, folder / "plan.toml")
    found = audit_plan(plan)
    for identity in identities:
        keep_consent(plan, RunFolder(Home(folder / identity.name).run(plan.run_hash)), found)


def one(kind: str, folder: Path, name: str) -> Pace:
    """One process of either contestant."""
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.state.home import Home
    from hocket.links.keys.identity import Identity

    plan = read_plan(folder / "plan.toml")
    identities = {other: Identity.load(Home(folder / other).identity) for other in plan.names}
    if kind in WRITING:
        ports = [int(str(card.address).rpartition(":")[2]) for card in plan.cards]
        place = plan.agent(name)
        state, pull = np.random.default_rng(place).normal(size=(2, plan.task.dimension))
        return asyncio.run(
            run_bare(
                place,
                list(plan.names),
                identities,
                ports,
                folder / name,
                state.astype(plan.task.dtype),
                (0.01 * pull).astype(plan.task.dtype),
                plan.run.rounds,
                write=WRITING[kind],
            )
        )
    return _hocket(plan, identities[name], Home(folder / name))


def _hocket(plan: Any, identity: Any, home: Any) -> Pace:
    from hocket.federation.runtime.member import Member
    from hocket.federation.runtime.participation import take_part
    from hocket.federation.workloads.task import GradientTask

    rounds, marks = plan.run.rounds, {}

    def watch(played: Any, session: Any) -> None:
        if played.k in (warm_up(rounds), rounds):
            marks[played.k] = Pace.now()

    # A gradient that costs nothing, and changes every number in every round: unchanged pages are not written.
    pull = np.random.default_rng(plan.agent(identity.name)).normal(size=plan.task.dimension)
    pull = pull.astype(plan.task.dtype)
    task = GradientTask(plan.task.dimension, lambda x, k, h, rng: pull)
    asyncio.run(take_part(Member(plan, identity, task, home), watch=watch))
    return marks[rounds].since(marks[warm_up(rounds)], rounds=rounds - warm_up(rounds))


def _figures(paces: list[Pace]) -> list[float]:
    """Seconds and processor time of a round, each in the middle and at best."""
    return [over(values) for values in zip(*paces, strict=True) for over in (statistics.median, min)]


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(one(sys.argv[1], Path(sys.argv[2]), sys.argv[3])))
    else:
        main()
