"""Members who deviate on purpose, on a stage with honest ones: what the honest said, computed and came to is kept.

A hostile member has a place in the plan and its own key; a `Script` changes what it says and hears. Honest members run
as they always do, with an ear on what goes out. What has to hold whatever the script says is in hostile_oracles.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from hocket.engines.peers import Finished, Played
from hocket.federation import presence as presence_module
from hocket.federation import running
from hocket.federation.home import Home
from hocket.federation.member import Member
from hocket.federation.presence import Presence
from hocket.federation.sections import AuditSection
from hocket.federation.task import GradientTask
from hocket.links.escrow import Secrets
from hocket.links.events import Event
from hocket.links.memory import Switchboard
from hocket.links.wire import Frame, Kind, Limits, pack, unpack

from .federation_case import ESCROW, Federation
from .quadratic import DIMENSION, target

STALL = 1.0
"""Seconds without any progress of any honest member after which a scene is over."""
QUIET = 60
"""Turns without any progress that it takes as well: on a slow machine seconds say little."""
PATIENCE = 0.2
"""Seconds after which a member says for whom it waits, here."""
LONGEST = 30.0
"""Seconds in which any scene is over."""
AT_ONCE = 12
"""Scenes that are played side by side: most of their time is waiting."""

ALGORITHMS: dict[str, dict[str, Any]] = {
    "rss-nb": {"name": "rss-nb", "delta": 1.0},
    "anchored": {"name": "rss-nb", "delta": 1.0, "anchor": 0.5},
    "rss-lb": {"name": "rss-lb", "delta": 1.0},
    "function-sharing": {"name": "function-sharing", "degree": 2, "bound": 0.01},
    "dgd": {"name": "dgd"},
}
PAIRED = ("rss-nb", "anchored", "function-sharing")
"""Those whose neighbours agree on keys."""
TOPOLOGIES = {"K4": ("complete", 4), "K5": ("complete", 5), "C5": ("cycle", 5)}


class Said(NamedTuple):
    """One message of an exchange, as it left an honest member for somebody who was there."""

    round: int
    exchange: int
    receiver: str
    message: bytes


class Script:
    """What a hostile member does otherwise than the agreed software; by itself nothing."""

    async def play(self, hand: Hand) -> Any:
        """Take part; a script without the software overrides this."""
        return await running.take_part(hand.member, channels=hand)

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        """What is said in place of a message."""
        return [message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        """What the software hears of an event; None for nothing."""
        return event


class Deviation(NamedTuple):
    """A way to deviate: how many do it, and how."""

    name: str
    what: str
    script: Callable[[], Script]
    members: int = 1
    algorithms: Sequence[str] = tuple(ALGORITHMS)
    restart: tuple[str, int] | None = None
    """An honest member that is stopped and started again, and the round after which."""
    voted_out: bool = False
    """Whether all honest operators vote to drop those who deviate; then nobody may wait for them for ever."""
    replays: bool = False
    """Whether it has taken part in an earlier run of the same plan, and kept what was said."""
    refused: bool = False
    """Whether no honest neighbour may come to the end as if nothing had been said."""


@dataclass
class Hand:
    """A hostile member's channels, behind its script."""

    stage: Stage
    name: str
    member: Member
    channels: Any
    script: Script
    memory: dict[Any, Any] = field(default_factory=dict)
    """What a script remembers."""
    beside: list[asyncio.Task[Any]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.channels, name)

    async def send(self, to: str, message: bytes) -> None:
        for said in await self.script.says(self, to, message):
            await self.channels.send(to, said)

    async def receive(self) -> Event:
        while True:
            event = await self.script.hears(self, await self.channels.receive())
            if event is not None:
                return event

    @property
    def plan(self) -> Any:
        return self.member.plan

    @property
    def victims(self) -> list[str]:
        """The honest neighbours."""
        return [name for name in self.plan.neighbours(self.name) if name in self.stage.honest]

    async def shout(self, *messages: bytes) -> None:
        """Say something to all honest neighbours, past the script."""
        for victim in self.victims:
            for message in messages:
                await self.channels.send(victim, message)

    def frame(self, kind: Kind, *parts: Any, k: int = 0, exchange: int = 0) -> bytes:
        """A message of the run, in good form."""
        return pack(Frame(kind, self.plan.run_hash, k, exchange, parts))

    def start(self, work: Awaitable[Any]) -> None:
        """Do something beside taking part."""
        self.beside.append(asyncio.ensure_future(work))


@dataclass
class Honest:
    """What one honest member did, over all its starts."""

    member: Member
    said: list[Said] = field(default_factory=list)
    states: dict[int, list[np.ndarray]] = field(default_factory=dict)
    """By round, the states with which it began; more than one if it computed it twice and came to another."""
    played: list[Played] = field(default_factory=list)
    keys: dict[int, tuple[dict[int, bytes], dict[int, bytes]]] = field(default_factory=dict)
    """By round, the chains and the kept keys by neighbour."""
    finished: Finished | None = None
    error: BaseException | None = None
    status: dict[str, Any] = field(default_factory=dict)
    most_kept: int = 0
    """Words that it held at once, at most."""
    most_queued: int = 0
    """Messages to one neighbour that waited to go out, at most."""
    restarts: int = 0
    presence: Presence | None = None

    @property
    def ended(self) -> str:
        """In a few words, how it came out."""
        if self.finished is not None:
            return "finished"
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return f"waits in round {self.status.get('round')} for {', '.join(self.status.get('waiting_for', {}))}"

    @property
    def log_bytes(self) -> int:
        log = self.member.folder.log
        return log.stat().st_size if log.exists() else 0

    @property
    def journal_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.member.folder.path.glob("journal.db*"))


@dataclass
class Ear:
    """An honest member's channels, with an ear on what goes out to whoever is there."""

    channels: Any
    honest: Honest

    def __getattr__(self, name: str) -> Any:
        return getattr(self.channels, name)

    async def send(self, to: str, message: bytes) -> None:
        frame = unpack(message, Limits(len(message)))
        if frame.kind is Kind.WORD and self._is_there(to):
            self.honest.said.append(Said(frame.round, frame.exchange, to, message))
        await self.channels.send(to, message)
        self.honest.most_queued = max(self.honest.most_queued, self._queued(to))

    def _is_there(self, to: str) -> bool:
        if hasattr(self.channels, "board"):
            board = self.channels.board
            return to in board.queues and frozenset((self.channels.name, to)) not in board.down
        return self.channels.lines[to].outgoing is not None

    def _queued(self, to: str) -> int:
        if hasattr(self.channels, "board"):
            return 0  # a switchboard hands over at once
        outgoing = self.channels.lines[to].outgoing
        return 0 if outgoing is None else outgoing.qsize()


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
    """The longest time in which nothing else had its turn."""
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
        self.coalition = self.coalition or names[len(names) - self.deviation.members :]
        self.honest = {name: Honest(self.member(name)) for name in names if name not in self.coalition}

    def member(self, name: str) -> Member:
        aim = target(self.federation.plan.agent(name))
        task = GradientTask(DIMENSION, lambda x, k, h, rng: x - aim)
        usual = self.federation.member(name, task=task, linger=0.5)
        return dataclasses.replace(usual, home=Home(self.folder / name), secrets=self.secrets)

    async def play(self) -> Stage:
        """All of it, until every honest member has ended or none gets any further."""
        await self._set()
        hostile = [asyncio.create_task(hand.script.play(hand)) for hand in self.hostile.values()]
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

    async def _set(self) -> None:
        """Everybody's channels, the hostile members' first: nobody is heard before all are there."""
        for name in self.coalition:
            member = self.member(name)
            self.hostile[name] = Hand(
                self, name, member, await self._channels(member), self.deviation.script()
            )
        for one in self.honest.values() if self.deviation.voted_out else ():
            one.member.folder.make()
            for leaver in self.coalition:
                (one.member.folder.votes / f"{leaver}.vote").touch()

    async def _channels(self, member: Member) -> Any:
        return await member.open_channels() if self.board is None else self.board.plug_in(member.name)

    async def _part(self, one: Honest) -> None:
        """One honest member's run; where it is to be started again, the second one too."""
        again = self.deviation.restart
        if again is None or again[0] != one.member.name:
            one.finished = await self._run(one)
            return
        running_ = asyncio.create_task(self._run(one))
        while not running_.done() and max(one.states, default=0) <= again[1]:
            await asyncio.sleep(0.001)
        running_.cancel()
        await asyncio.gather(running_, return_exceptions=True)
        one.restarts += 1
        one.finished = await self._run(one)

    async def _run(self, one: Honest) -> Finished:
        ear = Ear(await self._channels(one.member), one)
        start = one.member.plan.feasible.project(one.member.task.start(0))
        one.states.setdefault(1, [start])

        def watch(played: Played, presence: Presence) -> None:
            one.played.append(played)
            before = one.states.setdefault(played.k + 1, [])
            if not any(np.array_equal(played.x, state) for state in before):
                before.append(np.array(played.x))
            if presence.peer is not None:
                streams = presence.peer.streams
                one.keys[played.k] = dict(streams.chains), dict(streams.once)
            self.round_over(one, played.k)

        return await running.take_part(one.member, channels=ear, watch=watch)

    def round_over(self, one: Honest, k: int) -> None:
        """For scenes in which something happens to an honest member after a round."""

    async def _watch_over(self, tasks: list[asyncio.Task[None]]) -> None:
        began = moved = looked = time.monotonic()
        before, quiet = None, 0
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0.01)
            now = time.monotonic()
            self.slowest, looked = max(self.slowest, now - looked), now
            quiet += 1
            if (progress := self._progress(tasks)) != before:
                before, moved, quiet = progress, now, 0
            stalled = quiet > QUIET and now - moved > self.stall + 3 * self.deviation.voted_out
            if stalled or now - began > LONGEST:
                return

    def _progress(self, tasks: list[asyncio.Task[None]]) -> Any:
        for one in self.honest.values():
            talk = None if one.presence is None else one.presence.conversation
            kept = getattr(talk, "_heard", {})
            one.most_kept = max(one.most_kept, sum(map(len, kept.values())))
        return [(len(one.played), one.restarts, task.done()) for one, task in zip(self.honest.values(), tasks, strict=True)]


@contextlib.contextmanager
def impatient(stages: Iterable[Stage]) -> Iterator[None]:
    """Members say sooner for whom they wait, and are known to their stage while they run."""
    stages = list(stages)

    def noticed(*args: Any, **given: Any) -> Presence:
        found = Presence(*args, **given)
        for stage in stages:
            one = stage.honest.get(found.name)
            if one is not None and one.member.folder.survivors == found.survivors:
                one.presence = found
            hand = stage.hostile.get(found.name)
            if hand is not None and hand.member.folder.survivors == found.survivors:
                hand.memory["presence"] = found
        return found

    with (
        mock.patch.object(presence_module, "PATIENCE", PATIENCE),
        mock.patch.object(running, "Presence", noticed),
    ):
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

    with impatient(stages):
        return asyncio.run(scenes())


def federation_of(folder: Path, topology: str, algorithm: str, *, colluders: int, rounds: int = 12) -> Federation:
    """Members with a plan that counts on so many colluders."""
    name, members = TOPOLOGIES[topology]
    folder.mkdir(parents=True, exist_ok=True)
    federation = Federation(
        folder, members=members, rounds=rounds, topology=name, algorithm=ALGORITHMS[algorithm]
    )
    audit = AuditSection(colluders=colluders, unsafe=True)
    federation.plan = federation.signed(dataclasses.replace(federation.plan, audit=audit, signatures={}))
    return federation
