"""A stage: some members of a federation are honest, the others follow a script; what the honest do is kept."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from hocket.errors import JournalError
from hocket.federation.membership import session as session_module
from hocket.federation.membership.session import Session
from hocket.federation.plan.sections import AuditSection
from hocket.federation.runtime import participation
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.peer import Finished, Played
from hocket.federation.state.home import Home
from hocket.federation.workloads.task import GradientTask
from hocket.links.handshake import Secrets

from .federation_case import ESCROW, Federation
from .hostile import ALGORITHMS, Deviation, Ear, Hand, Honest
from .quadratic import DIMENSION, target
from .switchboard import Switchboard

STALL = 1.0
"""Seconds without any progress of any honest member after which a scene is over."""
QUIET = 60
"""Turns without any progress that it takes as well: on a slow machine seconds say little."""
PATIENCE = 0.2
"""Seconds after which a member says for whom it waits, here."""
LONGEST = 90.0
"""Seconds in which any scene is over, also beside other work."""
VOTING = 3.0
"""Seconds that votes take on an idle machine, and more on a busy one."""
AT_ONCE = 12
"""Scenes that are played side by side: most of their time is waiting."""

TOPOLOGIES = {"K4": ("complete", 4), "K5": ("complete", 5), "C5": ("cycle", 5)}


@dataclass(frozen=True)
class Wired(Member):
    """A member whose channels over the network are somebody else's to listen at."""

    wrap: Callable[[Any], Any] = lambda channels: channels

    async def open_channels(self, **given: Any) -> Any:
        return self.wrap(await super().open_channels(**given))


ON_STAGE: ContextVar[Callable[[Session], None]] = ContextVar("on_stage")
"""Who wants to know of the member that is about to run."""


def _waits(session: Session | None) -> bool:
    try:
        return session is not None and bool(session.waiting)
    except JournalError:  # it has closed its journal, and is on its way out
        return False


@dataclass
class Stage:
    """One scene: some members of a federation are honest, the others follow a deviation's script."""

    federation: Federation
    deviation: Deviation
    folder: Path
    tls: bool = False
    stall: float = STALL
    honest: dict[str, Honest] = field(default_factory=dict)
    hostile: dict[str, Hand] = field(default_factory=dict)
    slowest: float = 0.0
    """The longest computation, in seconds, during which nothing else had its turn."""
    board: Switchboard | None = None
    earlier: list[bytes] = field(default_factory=list)
    """Messages of an earlier run of the same plan, for those who say them again."""
    overheard: list[bytes] = field(default_factory=list)
    """What scripts have put aside for a later run."""
    coalition: tuple[str, ...] = ()
    """Who deviates; the last members of the plan if nobody is named."""
    secrets: Secrets = ESCROW

    def __post_init__(self) -> None:
        names, links = self.federation.names, self.federation.plan.network.links.tolist()
        self.board = None if self.tls else Switchboard([(names[i], names[j]) for i, j in links])
        last = names[len(names) - self.deviation.members :]
        self.coalition = self.coalition or self.deviation.coalition or last
        self.honest = {name: Honest(self.member(name)) for name in names if name not in self.coalition}

    def member(self, name: str) -> Member:
        aim = target(self.federation.plan.agent(name))
        task = GradientTask(DIMENSION, lambda x, k, h, rng: x - aim)
        usual = self.federation.member(name, task=task, linger=0.5)
        home = Home(self.folder / name)
        self.federation.consent(name, usual.plan, home)
        return dataclasses.replace(usual, home=home, secrets=self.secrets)

    async def play(self) -> Stage:
        """All of it, until every honest member has ended or none gets any further."""
        self._set()
        hostile = [asyncio.create_task(self._deviate(hand)) for hand in self.hostile.values()]
        honest = {name: asyncio.create_task(self._part(one)) for name, one in self.honest.items()}
        await self._watch_over(list(honest.values()))
        beside = [task for hand in self.hostile.values() for task in hand.beside]
        for task in (*honest.values(), *hostile, *beside):
            task.cancel()
        for one, came in zip(
            self.honest.values(), await asyncio.gather(*honest.values(), return_exceptions=True), strict=True
        ):
            one.error = came if isinstance(came, Exception) else None
            if (one.member.folder.path / "status.json").exists():
                one.status = one.member.folder.status()
        await asyncio.gather(*hostile, *beside, return_exceptions=True)
        return self

    async def _deviate(self, hand: Hand) -> None:
        ON_STAGE.set(lambda found: hand.memory.update(session=found))
        await hand.script.play(hand)

    def _set(self) -> None:
        """Those who deviate, and the operators' votes."""
        for name in self.coalition:
            self.hostile[name] = Hand(self, name, self.member(name), None, self.deviation.script())
        for one in self.honest.values() if self.deviation.voted_out else ():
            one.member.folder.make()
            for leaver in self.coalition:
                (one.member.folder.votes / f"{leaver}.vote").touch()

    async def take_part(self, member: Member, wrap: Callable[[Any], Any], watch: Any = None) -> Finished:
        """A member's run over the stage's links, with its channels wrapped."""
        if self.board is not None:
            channels = wrap(self.board.plug_in(member.name))
            return await participation.take_part(member, channels=channels, watch=watch)
        given = {one.name: getattr(member, one.name) for one in dataclasses.fields(member)}
        return await participation.take_part(Wired(**given, wrap=wrap), watch=watch)

    async def _part(self, one: Honest) -> None:
        """One honest member's run; where it is to be started again, the second one too."""
        again = self.deviation.restart
        if again is None or again[0] != one.member.name:
            one.finished = await self._run(one)
            return
        running_ = asyncio.create_task(self._run(one))
        try:
            while not running_.done() and max(one.states, default=0) <= again[1]:
                await asyncio.sleep(0.001)
        finally:  # the scene may be over before that round
            running_.cancel()
            await asyncio.gather(running_, return_exceptions=True)
        one.restarts += 1
        one.finished = await self._run(one)

    async def _run(self, one: Honest) -> Finished:
        ON_STAGE.set(lambda found: setattr(one, "session", found))
        start = one.member.plan.feasible.project(one.member.task.start(0))
        one.states.setdefault(1, [start])

        def watch(played: Played, session: Session) -> None:
            one.played.append(played)
            before = one.states.setdefault(played.k + 1, [])
            if not any(np.array_equal(played.x, state) for state in before):
                before.append(np.array(played.x))
            if session.peer is not None:
                streams = session.peer.noise.streams
                one.keys[played.k] = dict(streams.chains), dict(streams.once)
            self.round_over(one, played.k)

        return await self.take_part(one.member, lambda channels: Ear(channels, one), watch)

    def round_over(self, one: Honest, k: int) -> None:
        """For scenes in which something happens to an honest member after a round."""

    async def _watch_over(self, tasks: list[asyncio.Task[None]]) -> None:
        began, looked = time.monotonic(), time.thread_time()
        moved = began
        before, quiet = None, 0
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0.01)
            now, spent = time.monotonic(), time.thread_time()
            self.slowest, looked = max(self.slowest, spent - looked), spent
            quiet += 1
            if (progress := self._progress(tasks)) != before or not self._all_wait(tasks):
                before, moved, quiet = progress, now, 0
            if (quiet > QUIET and now - moved > self._patience()) or now - began > LONGEST:
                return

    def _all_wait(self, tasks: list[asyncio.Task[None]]) -> bool:
        """Whether all who are still there wait for somebody: for its disk, a member may need any time."""
        return all(
            task.done() or _waits(one.session) for one, task in zip(self.honest.values(), tasks, strict=True)
        )

    def _patience(self) -> float:
        busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        return self.stall + VOTING * busy * self.deviation.voted_out

    def _progress(self, tasks: list[asyncio.Task[None]]) -> Any:
        for one in self.honest.values():
            talk = None if one.session is None else one.session.conversation
            kept = {} if talk is None else talk._received
            one.most_kept = max(one.most_kept, sum(map(len, kept.values())))
        return [
            (len(one.played), one.restarts, task.done())
            for one, task in zip(self.honest.values(), tasks, strict=True)
        ]


@contextlib.contextmanager
def impatient() -> Iterator[None]:
    """Members say sooner for whom they wait, and are known to their stage while they run."""

    def noticed(*args: Any, **given: Any) -> Session:
        found = Session(*args, **given)
        ON_STAGE.get()(found)
        return found

    with contextlib.ExitStack() as patched:
        patched.enter_context(mock.patch.object(session_module, "PATIENCE", PATIENCE))
        patched.enter_context(mock.patch.object(participation, "Session", noticed))
        yield


def play(stages: Iterable[Stage]) -> list[Stage]:
    """All scenes, some at a time."""
    stages = list(stages)

    async def scenes() -> list[Stage]:
        room = asyncio.Semaphore(AT_ONCE)

        async def scene(stage: Stage) -> Stage:
            async with room:
                return await stage.play()

        return await asyncio.gather(*map(scene, stages))

    with impatient():
        return asyncio.run(scenes())


def federation_of(
    folder: Path, topology: str, algorithm: str, *, colluders: int, means: int = 0, rounds: int = 10
) -> Federation:
    """Members with a plan that counts on so many colluders."""
    name, members = TOPOLOGIES[topology]
    folder.mkdir(parents=True, exist_ok=True)
    federation = Federation(
        folder, members=members, rounds=rounds, topology=name, algorithm=ALGORITHMS[algorithm]
    )
    audit = AuditSection(colluders=colluders, unsafe=True)
    run = federation.plan.run.model_copy(update={"means": means})
    federation.plan = federation.signed(
        dataclasses.replace(federation.plan, audit=audit, run=run, signatures={})
    )
    return federation
