"""One logistic regression among many members, each with links and a disk of its own, on one machine.

    python benchmarks/many_members.py [members] [columns] [rows of each]

All members are in one process, and talk over mutual TLS on loopback, journal before speech and all, as they would on
machines of their own; so time and memory are those of all of them together. Linked as `hocket peer plan` does beyond
twelve members: with few links and short ways. The rows are made up.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hocket.algorithms.totals import Totals
from hocket.config.files import dumps, loads
from hocket.federation.cards import Card
from hocket.federation.consent import keep_consent
from hocket.federation.engine.peer import Played
from hocket.federation.home import Home
from hocket.federation.member import Member
from hocket.federation.participation import take_part
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_draft import draw_up, study_topology
from hocket.federation.plan_verdict import judge_plan
from hocket.federation.presence import Presence
from hocket.federation.run_folder import RunFolder
from hocket.federation.study_task import MOST_TOTALS, NUMBERS, StudyTask
from hocket.links.identity import Identity
from hocket.machine import LOOPBACK, held_ports
from hocket.studies import Table, parse_study, rehearse


@dataclass(frozen=True)
class Outcome:
    """What it took."""

    links: int
    totals: int
    seconds: float
    """From the first connection to the last member's results."""
    megabytes: float
    """Taken by all members together, beyond what the process had before."""
    per_link: float
    """Kilobytes said over a link in both directions, on average."""
    most: float
    """Kilobytes said by whoever said most."""
    same: bool
    """Whether everybody has the results of the rehearsal, to the last bit."""


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
        algorithm={"name": Totals.key, "study": study},
        step={"constant": 1.0},
        task={"name": "many clinics", "dataset": "many-clinics", "dimension": NUMBERS},
        run={"rounds": MOST_TOTALS},
        audit={"colluders": 1},
    )
    for one in identities:
        drawn = drawn.signed_by(one)
    return drawn


def played(members: list[Member]) -> dict[str, int]:
    """All of them to the end; how many bytes each has said in sums."""
    said: dict[str, int] = {}

    def watch(played: Played, presence: Presence) -> None:
        assert presence.conversation is not None
        said[presence.name] = presence.conversation.bytes_said

    async def everybody() -> None:
        await asyncio.gather(*(take_part(member, watch=watch) for member in members))

    asyncio.run(everybody())
    return said


def measured(members: int, columns: int, rows: int) -> Outcome:
    """One study of so many members."""
    study, dealt = study_text(columns), tables(members, columns, rows)
    parsed = parse_study(loads(study))
    expected = json.loads(json.dumps(rehearse(parsed, dealt).data)) | {"rows_by_member": 0}
    identities = [Identity.create(name) for name in dealt]
    with tempfile.TemporaryDirectory() as folder, held_ports(members) as ports:
        plan = planned(identities, ports, study)
        verdict, some = judge_plan(plan), []
        for one in identities:
            home = Home(Path(folder) / one.name)
            keep_consent(plan, RunFolder(home.run(plan.run_hash)), verdict)
            some.append(Member(plan, one, StudyTask(parsed, dealt[one.name], one.name), home, linger=120.0))
        before, began = _megabytes(), time.perf_counter()
        said = played(some)
        seconds = time.perf_counter() - began
        found = [json.loads((one.folder.path / "results.json").read_text()) for one in some]
    links = len(plan.links)
    return Outcome(
        links,
        expected["totals"],
        seconds,
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
    return (
        f"{members} members with {rows:,} rows each, {columns} columns, {one.links} links: {one.totals} totals in "
        f"{one.seconds:.1f} s; {one.megabytes:,.0f} MB for all, {one.megabytes / members:.1f} MB each; "
        f"{one.per_link:,.0f} kB over a link, {one.most:,.0f} kB said by whoever said most; results as in the "
        f"rehearsal, to the last bit: {'yes' if one.same else 'NO'}"
    )


if __name__ == "__main__":
    print(line(*(int(one) for one in (sys.argv[1:] + ["50", "20", "200"][len(sys.argv) - 1 :]))))
