"""One logistic regression, or one average of large states, among many members on one machine.

    python benchmarks/many_members.py [members] [columns] [rows of each]
    python benchmarks/many_members.py average [members] [numbers]

Each member has links and a disk of its own. All are in one process, and talk over mutual TLS on loopback, journal
before speech and all, as they would on machines of their own; so time and memory are those of all of them together.
Linked as `hocket peer plan` does: beyond twelve members with few links and short ways. The rows are made up.

Beside the bytes of messages stands the floor of a tree: over each of its n − 1 links the numbers go up once and down
once, 16 bytes each as the group has 2^128 elements, in a frame, with what gRPC, HTTP/2 and TLS put around a message.
"""

from __future__ import annotations

import asyncio
import json
import math
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithms.totals import Totals
from hocket.config.files import dumps
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.membership.session import Session
from hocket.federation.plan.cards import Card
from hocket.federation.plan.draft import draw_up, study_topology
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Played
from hocket.federation.runtime.secure_sum import MaskedSum
from hocket.federation.state.consent import keep_consent
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.workloads.study import MOST_SUMS, NUMBERS, StudyTask
from hocket.federation.workloads.task import GradientTask
from hocket.files import toml_tables
from hocket.links.conversation import Conversation
from hocket.links.keys.identity import Identity
from hocket.links.wire import HEADER, PART, SHAPE, Kind
from hocket.machine import LOOPBACK, held_ports
from hocket.studies import Table, parse_study, simulate


@dataclass
class Traffic:
    """What was said in all exchanges of a run, as it travels."""

    messages: int = 0
    bytes: int = 0
    floor: int = 0
    """Of the sums that were asked for."""
    began: float = math.inf
    """When the first message was sent: by then the links are up, and keys agreed on."""
    processor: float = 0.0
    """And how much processor time there was by then."""
    _sums: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def counted(cls) -> Iterator[Traffic]:
        """Of all members in this process."""
        found, send, begin = cls(), Conversation.send, MaskedSum.of

        async def sent(self: Conversation, name: str, message: bytes) -> None:
            if message[5] == Kind.MESSAGE:
                if not found.messages:
                    found.began, found.processor = time.perf_counter(), time.process_time()
                found.messages += 1
                found.bytes += on_the_wire(len(message))
            await send(self, name, message)

        def begun(
            role: Any, tree: Any, streams: Any, asked: Any, k: int, exchange: int, *more: Any
        ) -> MaskedSum:
            one = begin(role, tree, streams, asked, k, exchange, *more)
            size = HEADER.size + PART.size + SHAPE.size + one.partial.nbytes
            found._sums[k, exchange] = 2 * (len(tree.parent) - 1) * on_the_wire(size)
            return one

        Conversation.send, MaskedSum.of = sent, begun  # type: ignore[method-assign]
        try:
            yield found
        finally:
            Conversation.send, MaskedSum.of = send, begin  # type: ignore[method-assign]
            found.floor = sum(found._sums.values())

    def __str__(self) -> str:
        return (
            f"{self.messages:,} messages of {self.bytes / 1e6:,.2f} MB in all, {self.bytes / self.floor:.3f} of the "
            f"tree's {self.floor / 1e6:,.2f} MB"
        )


def on_the_wire(size: int) -> int:
    """Bytes of a message with gRPC's 5 before it, and HTTP/2's 9 and TLS's 22 for every 16 KiB of it."""
    return size + 5 + 31 * math.ceil((size + 5) / (1 << 14))


@dataclass(frozen=True)
class Outcome:
    """What it took."""

    links: int
    totals: int
    seconds: float
    """From the first connection to the last member's results."""
    since_links: tuple[float, float]
    """Seconds from the first message to the last member's results, and the processor time of all members in them."""
    traffic: Traffic
    megabytes: float
    """Taken by all members together, beyond what the process had before."""
    per_link: float
    """Kilobytes said over a link in both directions, on average."""
    most: float
    """Kilobytes sent by the member that sent most."""
    same: bool
    """Whether everybody has the results of the dry run, to the last bit."""


def tables(members: int, columns: int, rows: int) -> dict[str, Table]:
    """Made-up rows, the same every time."""
    rng = np.random.default_rng(0)
    beta = rng.normal(size=columns) / np.sqrt(columns)
    made = {}
    for place in range(members):
        X = rng.normal(size=(rows, columns))
        y = rng.random(rows) < 1 / (1 + np.exp(-(0.3 + X @ beta)))
        cells = {f"x{i}": X[:, i].tolist() for i in range(columns)} | {"y": y.astype(int).tolist()}
        made[f"clinic-{place:02}"] = Table.of(cells, f"clinic-{place:02}")
    return made


def study_text(columns: int) -> str:
    formula = "y ~ " + " + ".join(f"x{i}" for i in range(columns))
    return dumps({"study": {"title": "Many clinics", "formula": formula, "family": "binomial"}})


def planned(identities: list[Identity], ports: list[int], study: str) -> FederationPlan:
    """The plan that all have signed."""
    drawn = draw_up(
        [Card.of(one, f"{LOOPBACK}:{port}") for one, port in zip(identities, ports, strict=True)],
        study_topology(len(identities), 1),
        algorithm={"name": Totals.name, "study": study},
        step={"constant": 1.0},
        task={"name": "many clinics", "dataset": "many-clinics", "dimension": NUMBERS},
        run={"rounds": MOST_SUMS},
        audit={"colluders": 1},
    )
    for one in identities:
        drawn = drawn.signed_by(one)
    return drawn


def played(members: list[Member]) -> dict[str, int]:
    """All of them to the end; how many bytes each has said in sums."""
    said: dict[str, int] = {}

    def watch(played: Played, session: Session) -> None:
        assert session.conversation is not None
        said[session.name] = session.conversation.bytes_sent

    async def everybody() -> None:
        await asyncio.gather(*(take_part(member, watch=watch) for member in members))

    asyncio.run(everybody())
    return said


def measured(members: int, columns: int, rows: int) -> Outcome:
    """One study of so many members."""
    study, dealt = study_text(columns), tables(members, columns, rows)
    parsed = parse_study(toml_tables(study))
    expected = json.loads(json.dumps(simulate(parsed, dealt).data)) | {"rows_by_member": 0}
    identities = [Identity.create(name) for name in dealt]
    with tempfile.TemporaryDirectory() as folder, held_ports(members) as ports:
        plan = planned(identities, ports, study)
        verdict, some = judge_plan(plan), []
        for one in identities:
            home = Home(Path(folder) / one.name)
            keep_consent(plan, RunFolder(home.run(plan.run_hash)), verdict)
            some.append(Member(plan, one, StudyTask(parsed, dealt[one.name], one.name), home, linger=120.0))
        before, began = _megabytes(), time.perf_counter()
        with Traffic.counted() as traffic:
            said = played(some)
        ended, processor = time.perf_counter(), time.process_time()
        found = [json.loads((one.folder.path / "results.json").read_text()) for one in some]
    links = len(plan.links)
    return Outcome(
        links,
        expected["totals"],
        ended - began,
        (ended - traffic.began, processor - traffic.processor),
        traffic,
        _megabytes() - before,
        sum(said.values()) / links / 1e3,
        max(said.values()) / 1e3,
        all(one | {"rows_by_member": 0} == expected for one in found),
    )


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def line(members: int, columns: int, rows: int) -> str:
    """What it took, in one sentence."""
    one = measured(members, columns, rows)
    seconds, processor = one.since_links
    return (
        f"{members} members with {rows:,} rows each, {columns} columns, {one.links} links: {one.totals} totals in "
        f"{one.seconds:.1f} s, {seconds:.2f} s of them since the first word, with {processor:.2f} s of processor time; "
        f"{one.megabytes:,.0f} MB for all, {one.megabytes / members:.1f} MB each; {one.traffic}; "
        f"{one.per_link:,.0f} kB over a link, {one.most:,.0f} kB sent by the member that sent most; results as in the "
        f"dry run, to the last bit: {'yes' if one.same else 'NO'}"
    )


def averaging(members: int, numbers: int) -> str:
    """One joint average of large float32 states, in one sentence.

    A run of one round has two sums: of the start, which all share, and after everybody's step of what they came to,
    whose average is published. Steps are multiples of 2^-12, so that the sum has no rounding and is known exactly.
    """
    identities = [Identity.create(f"member-{place:02}") for place in range(members)]
    rng, steps, some = np.random.default_rng(0), np.zeros(numbers), []
    with tempfile.TemporaryDirectory() as folder, held_ports(members) as ports:
        plan = draw_up(
            [Card.of(one, f"{LOOPBACK}:{port}") for one, port in zip(identities, ports, strict=True)],
            study_topology(members, 1),
            algorithm={"name": "joint-average"},
            step={"constant": 1.0},
            task={"name": "none", "dataset": "none", "dimension": numbers, "dtype": "float32"},
            run={"rounds": 1},
            audit={"colluders": 1, "unsafe": True},
        )
        for one in identities:
            plan = plan.signed_by(one)
        verdict = judge_plan(plan)
        for one in identities:
            pull = (rng.integers(-(1 << 14), 1 << 14, size=numbers) / 4096).astype(np.float32)
            steps -= pull
            home = Home(Path(folder) / one.name)
            keep_consent(plan, RunFolder(home.run(plan.run_hash)), verdict)
            task = GradientTask(numbers, lambda x, k, h, rng, pull=pull: pull)
            some.append(Member(plan, one, task, home, linger=600.0))
        before, began = _megabytes(), (time.perf_counter(), time.process_time())
        with Traffic.counted() as traffic:
            found = asyncio.run(_all(some))
        seconds, processor = time.perf_counter() - began[0], time.process_time() - began[1]
        disk = sum(one.stat().st_size for one in Path(folder).rglob("*") if one.is_file()) / 1e6
    average = steps.astype(np.float32) / members
    same = all(np.array_equal(one, average) for one in found)
    megabytes = _megabytes() - before
    return (
        f"{members} members, {numbers:,} float32, {len(plan.links)} links, two sums: {seconds:.1f} s, "
        f"{processor:.1f} s of processor time; {megabytes:,.0f} MB for all, {megabytes / members:.0f} MB each; "
        f"{disk:,.0f} MB on disk; "
        f"{traffic}; the exact average at every member, to the last bit: {'yes' if same else 'NO'}"
    )


async def _all(members: Sequence[Member]) -> list[np.ndarray]:
    return [one.published for one in await asyncio.gather(*map(take_part, members))]


if __name__ == "__main__":
    averages = sys.argv[1:2] == ["average"]
    given, usual = (sys.argv[2:], ["50", "1000000"]) if averages else (sys.argv[1:], ["50", "20", "200"])
    print((averaging if averages else line)(*(int(one) for one in given + usual[len(given) :])))
