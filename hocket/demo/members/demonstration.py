"""The demonstration from outside: make five members, let them run, and compare with the simulator."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm, derives_step
from hocket.config.sections import read_algorithm
from hocket.demo.members.digits import DIMENSION, MEMBERS, RADIUS, accuracy, everybody
from hocket.demo.members.member import ESCROW, member
from hocket.engines.solver import solve
from hocket.errors import Diverged, HocketError, RunStopped
from hocket.federation.audit.plan_audit import audit_plan
from hocket.federation.plan.cards import Card
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import Member, ended
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.state.consent import keep_consent
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.verification.replay import replayed
from hocket.files import json_value
from hocket.links.keys.identity import Identity
from hocket.machine import LOOPBACK, held_ports, running
from hocket.networks.network import Network
from hocket.runs.run import Run

ALGORITHMS: dict[str, dict[str, Any]] = {
    "dgd": {"name": "dgd"},
    "rss-nb": {"name": "rss-nb", "delta": 1.0},
    "rss-nb-persistent": {"name": "rss-nb", "delta": 1.0, "persistent": 0.5},
    "rss-lb": {"name": "rss-lb", "delta": 1.0},
    "function-sharing": {"name": "function-sharing", "degree": 2, "bound": 0.01},
}


DOUBLINGS = 6
"""Of a derived step, in a simulation."""


@dataclass(frozen=True)
class MembersRun:
    """How it went."""

    plan: FederationPlan
    states: np.ndarray
    """The members' own last states, read from their journals: only here, where all members are ours."""
    published: np.ndarray
    replay: Run
    seconds: float
    accuracies: tuple[float, ...]
    """Of each member's published state, on held-out digits."""
    clock: tuple[np.ndarray, np.ndarray]
    """Rounds that a member took note of, and seconds since its first."""

    @property
    def deviation(self) -> float:
        """The largest difference between a member's state and the simulator's."""
        return float(np.abs(self.states - self.replay.x).max())

    def reached(self, goal: float) -> tuple[int, float] | None:
        """The first round that is looked at in which all are within `goal` of the pooled optimum, and how many seconds
        after the first round it was over."""
        near = np.flatnonzero(np.asarray(self.replay.history["gap"]) <= goal)
        if not near.size:
            return None
        k = int(self.replay.history["round"][near[0]])
        rounds, times = self.clock
        return k, float(np.interp(k, rounds, times))


def prepare(
    folder: Path, ports: Sequence[int], *, algorithm: str, rounds: int, inner: str | None = None
) -> FederationPlan:
    """Five identities and a plan that all of them have signed, on these ports of this machine.

    An exact method inside takes a step of its own, which can be simulated here, where everybody's data are known.
    """
    section = read_algorithm(ALGORITHMS[algorithm] | ({} if inner is None else {"inner": inner}))
    step, planned = {"a": 20.0, "b": 20.0, "p": 0.75}, section.build()
    if derives_step(planned):
        step = {"constant": simulated_step(planned, rounds)}
    identities = [Identity.create(name) for name in MEMBERS]
    for identity in identities:
        identity.save(Home(folder / identity.name).identity)
    cards = [
        Card.of(identity, f"{LOOPBACK}:{port}") for identity, port in zip(identities, ports, strict=True)
    ]
    plan = draw_up(
        cards,
        "cycle",
        algorithm=section.model_dump(exclude_none=True),
        step=step,
        task={"name": "digits", "dataset": "digits", "dimension": DIMENSION},
        run={"rounds": rounds},
        feasible={"kind": "ball", "radius": RADIUS},
        audit={"colluders": 1, "unsafe": True},
    )
    for identity in identities:
        plan = plan.signed_by(identity)
    write_plan(plan, folder / "plan.toml")
    found = audit_plan(plan)
    for identity in identities:  # each has read it, here
        keep_consent(plan, RunFolder(Home(folder / identity.name).run(plan.run_hash)), found)
    return plan


def simulated_step(algorithm: Algorithm, rounds: int) -> float:
    """The step that comes nearest to the optimum in so many rounds of the simulator: the derived one, or 2, 4, … times
    it, up to the first that diverges. The derived step assumes a larger smoothness than these digits have."""
    network = Network.cycle(len(MEMBERS))
    derived = float(algorithm.configure(everybody(), network, None)[1](1))
    tried = [derived * 2**power for power in range(DOUBLINGS + 1)]
    gaps: list[float] = []
    for step in tried:
        try:
            run = solve(
                everybody(), network, algorithm, rounds=rounds, step=step, time_average=False, progress=False
            )
            gaps.append(float(run.gap))
        except Diverged:
            break
    sound = gaps[:-1] or gaps[:1]
    return tried[int(np.argmin(sound))] if sound else derived


def start(folder: Path, name: str) -> subprocess.Popen[bytes]:
    """One member's process. It may be killed at any moment and started again."""
    command = running("hocket.demo.members.member", str(folder), name, isolated=True)
    # One thread for linear algebra each: five members share this machine.
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    with (folder / f"{name}.err").open("ab") as errors:
        return subprocess.Popen(command, stderr=errors, env={**os.environ, **threads})


def demonstrate(
    folder: Path,
    *,
    algorithm: str = "rss-nb-persistent",
    rounds: int = 200,
    inner: str | None = None,
    watch: Callable[[Mapping[str, Any]], None] | None = None,
) -> MembersRun:
    """Everything: prepare, run five processes, and compare."""
    everybody()  # where the digits are missing, that is said before anything is begun
    with held_ports(len(MEMBERS)) as ports:
        plan = prepare(folder, ports, algorithm=algorithm, rounds=rounds, inner=inner)
        began = time.monotonic()
        _run(folder, plan, watch)
    return compare(folder, plan, time.monotonic() - began)


def _run(folder: Path, plan: FederationPlan, watch: Callable[[Mapping[str, Any]], None] | None) -> None:
    """Five processes, until all have finished or one has failed."""
    processes = {name: start(folder, name) for name in plan.names}
    try:
        while any(process.poll() is None for process in processes.values()):
            failed = [name for name, process in processes.items() if process.poll()]
            if failed:
                said = (folder / f"{failed[0]}.err").read_text(encoding="utf-8", errors="replace").strip()
                raise RunStopped(f"{failed[0]} stopped: {said}", round=0)
            if watch is not None:
                watch({name: _round(folder, plan, name) for name in plan.names})
            time.sleep(0.2)
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.terminate()
                process.wait()


def compare(folder: Path, plan: FederationPlan, seconds: float) -> MembersRun:
    """The members' states beside the simulator's, on the same noise."""
    members = [member(folder, name) for name in plan.names]
    ends = [ended(one.folder, plan, one.name) for one in members]
    published = np.stack([end.published for end in ends])
    return MembersRun(
        plan,
        np.stack([end.x for end in ends]),
        published,
        replay(members),
        seconds,
        tuple(accuracy(state) for state in published),
        _clock(members[0].folder),
    )


def _clock(folder: RunFolder) -> tuple[np.ndarray, np.ndarray]:
    noted = [json_value(line) for line in folder.metrics.read_text(encoding="utf-8").splitlines()]
    times = np.array([float(line["time"]) for line in noted])
    return np.array([int(line["round"]) for line in noted]), times - times[0]


def replay(members: list[Member]) -> Run:
    """The same run in the simulator, on the noise that the escrow gives away."""
    plan, roles = members[0].plan, [one.role() for one in members]
    streams: list[ChainStreams] = []
    for role in roles:
        keys = {
            other: ESCROW.keys(plan.run_hash, min(role.index, other), max(role.index, other))
            for other in role.neighbours
        }
        chains = {other: key.chain for other, key in keys.items()}
        once = {other: key.once for other, key in keys.items()}
        streams.append(ChainStreams(1, chains, once, ESCROW.own_chain(role.index), role.dtype))
    return solve(
        everybody(),
        plan.network,
        replayed(roles, streams),
        rounds=plan.run.rounds,
        step=plan.step,
        start=members[0].start(),
        measure="exact",
        time_average=False,
        progress=False,
    )


def _round(folder: Path, plan: FederationPlan, name: str) -> int:
    try:
        return RunFolder(Home(folder / name).run(plan.run_hash)).status()["round"]
    except HocketError:
        return 0
