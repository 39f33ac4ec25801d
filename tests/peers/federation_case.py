"""A federation for tests: identities and a signed plan in a folder, and members in this process or in others."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket.federation.plan.cards import Card
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.own_code import NO_CODE, OwnCode
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import Member, ended
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder, read_json, write_json
from hocket.links.handshake import SeedEscrow
from hocket.links.keys.identity import Identity
from hocket.machine import held_ports

from .quadratic import DIMENSION, task_of

NAMES = ("ash", "birch", "cedar", "elm", "fir", "hazel", "ivy", "juniper", "larch", "maple")
RSS_NB = {"name": "rss-nb", "delta": 1.0, "persistent": 0.5}
ESCROW = SeedEscrow(11)


PORTS = contextlib.ExitStack()
"""Holds the ports of the test that runs; tests/conftest.py lets go of them after it."""


def free_ports(count: int) -> list[int]:
    """Ports that are kept for anybody who is told of them until the test is over."""
    return PORTS.enter_context(held_ports(count))


def play(members: Iterable[Member], *, within: float = 60) -> list[Finished]:
    """All of them in this process, over real links."""

    async def everybody() -> list[Finished]:
        async with asyncio.timeout(within):
            return await asyncio.gather(*(take_part(member) for member in members))

    return asyncio.run(everybody())


def sign_as_any_run(folder: RunFolder, plan: FederationPlan, home: Home) -> None:
    """What signing leaves behind: consent to this plan after all runs so far, as whichever run on its data."""
    folder.make()
    earlier = sorted({one.plan for name in home.accounts.datasets for one in home.accounts.runs(name)})
    consent = {"hash": plan.hash.hex(), "runs": 1_000, "earlier": earlier, "least": None}
    if not folder.audit.exists() or read_json(folder.audit) != consent:
        write_json(folder.audit, consent)


@dataclass
class Federation:
    """Some members, their plan, and where they live."""

    folder: Path
    members: int = 3
    rounds: int = 20
    algorithm: dict[str, Any] = field(default_factory=lambda: RSS_NB)
    topology: str = "cycle"
    feasible: dict[str, Any] = field(default_factory=lambda: {"kind": "box", "low": -10.0, "high": 10.0})
    options: dict[str, Any] = field(default_factory=dict)
    own: OwnCode = NO_CODE

    def __post_init__(self) -> None:
        self.identities = {name: Identity.create(name) for name in NAMES[: self.members]}
        for name, identity in self.identities.items():
            identity.save(self.home(name).identity)
        ports = free_ports(self.members)
        cards = [
            Card.of(identity, f"127.0.0.1:{port}")
            for identity, port in zip(self.identities.values(), ports, strict=True)
        ]
        self.plan = self.signed(self.drawn(cards))
        write_plan(self.plan, self.plan_file)

    def drawn(
        self, cards: list[Card], *, after: FederationPlan | None = None, **changes: Any
    ) -> FederationPlan:
        return draw_up(
            cards,
            self.topology,
            algorithm=self.algorithm,
            step={"a": 1.0, "b": 5.0, "p": 0.75},
            task={"name": "quadratic", "dataset": "targets", "dimension": DIMENSION} | self.options,
            run={"rounds": self.rounds} | changes,
            feasible=self.feasible,
            # Little noise and no floor: what these tests look at is not how well gradients are known.
            audit={"colluders": 1, "min_sd": 0.0, "unsafe": True},
            after=after,
            own=self.own,
        )

    def signed(self, plan: FederationPlan) -> FederationPlan:
        for identity in self.identities.values():
            plan = plan.signed_by(identity)
        return plan

    def renew(self, cards: Iterable[Card]) -> None:
        """Put other cards of the same members into the plan, signed by all."""
        self.plan = self.signed(self.plan.with_renewed(cards))
        write_plan(self.plan, self.plan_file)

    @property
    def names(self) -> tuple[str, ...]:
        return self.plan.names

    @property
    def plan_file(self) -> Path:
        return self.folder / "plan.toml"

    def home(self, name: str) -> Home:
        return Home(self.folder / name)

    def consent(self, name: str, plan: FederationPlan, home: Home | None = None) -> None:
        """What signing leaves in a home: that this member agrees to the plan, as any run on its data."""
        place = home or self.home(name)
        folder = RunFolder(place.run(plan.run_hash))
        with contextlib.suppress(OSError):  # a test may have filled the disk
            sign_as_any_run(folder, plan, place)

    def vote(self, name: str, *leavers: str) -> None:
        """A member's operator votes to drop these, and accepts what remains, safe or not."""
        folder = self.member(name).folder
        folder.accept(frozenset(leavers))
        for leaver in leavers:
            (folder.votes / f"{leaver}.vote").touch()

    def member(self, name: str, **changes: Any) -> Member:
        place = self.plan.agent(name)
        self.consent(name, changes.get("plan", self.plan))
        given: dict[str, Any] = {"plan": self.plan, "task": task_of(place), "secrets": ESCROW, "linger": 20.0}
        return Member(identity=self.identities[name], home=self.home(name), **given | changes)

    def start(self, name: str, *, pause: float = 0.0) -> subprocess.Popen[bytes]:
        """A member in a process of its own."""
        self.consent(name, self.plan)
        root = str(Path(__file__).parents[2])
        environment = os.environ | {
            "PYTHONPATH": root,
            "QUADRATIC_PAUSE": str(pause),
            "OPENBLAS_NUM_THREADS": "1",
            "JAX_PLATFORMS": "cpu",
        }
        command = [sys.executable, "-m", "tests.peers.member_process", str(self.folder), name]
        with (self.folder / f"{name}.err").open("ab") as errors:
            return subprocess.Popen(command, env=environment, cwd=root, stderr=errors)

    def wipe(self, name: str) -> None:
        """Forget a run, so that the same plan and secrets can be played once more."""
        for folder in ("runs", "datasets"):
            shutil.rmtree(self.home(name).folder / folder, ignore_errors=True)
        for file in self.home(name).folder.glob("accounts.db*"):
            file.unlink()

    def ended(self, name: str) -> Finished:
        """A finished member's own state and the one it published."""
        return ended(self.member(name).folder, self.plan, name)
