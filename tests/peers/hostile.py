"""Members who deviate on purpose, beside honest ones at whom somebody listens.

A hostile member has a place in the plan and its own key; a `Script` changes what it says and hears. Honest members run
as they always do, with an ear on what goes out. They meet on a stage, see hostile_stage.py; what has to hold whatever
the script says is in hostile_oracles.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from hocket.errors import BadFrame
from hocket.federation.membership.session import Session
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.peer import Finished, Played
from hocket.links.events import Event, Received
from hocket.links.wire import HEADER, Frame, Kind, Limits, pack, unpack

if TYPE_CHECKING:
    from .hostile_stage import Stage

ALGORITHMS: dict[str, dict[str, Any]] = {
    "rss-nb": {"name": "rss-nb", "delta": 1.0},
    "persistent": {"name": "rss-nb", "delta": 1.0, "persistent": 0.5},
    "rss-lb": {"name": "rss-lb", "delta": 1.0},
    "function-sharing": {"name": "function-sharing", "degree": 2, "bound": 0.01},
    "dgd": {"name": "dgd"},
    "joint-average": {"name": "joint-average"},
}
PAIRED = ("rss-nb", "persistent", "function-sharing", "joint-average")
"""Those whose neighbours agree on keys."""
SUMMED = ("rss-nb", "persistent", "rss-lb", "function-sharing", "dgd")
"""Those whose members may add up their states now and then: not sums, which do so anyway."""


def in_turn(algorithms: Iterable[str]) -> list[Any]:
    """RSS-NB with persistent noise in every run of the tests, the others with the slow laws."""
    return [one if one == "persistent" else pytest.param(one, marks=pytest.mark.slow) for one in algorithms]


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
        return await hand.stage.take_part(hand.member, hand.plugged_in)

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
    coalition: tuple[str, ...] = ()
    """Who deviates; the last members of the plan if nobody is named."""
    replays: bool = False
    """Whether it has taken part in an earlier run of the same plan, and kept what was said."""
    refused: bool = False
    """Whether no honest neighbour may come to the end as if nothing had been said."""
    means: int = 0
    """How often members add up where they stand, by the plan."""


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

    def plugged_in(self, channels: Any) -> Hand:
        self.channels = channels
        return self

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
    received: list[Said] = field(default_factory=list)
    """The same of what came in, with the sender in place of the receiver."""
    means: list[Said] = field(default_factory=list)
    """What it told of its states, or passed on of others'."""
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
    session: Session | None = None

    @property
    def ended(self) -> str:
        """In a few words, how it came out."""
        if self.finished is not None:
            return "finished"
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return (
            f"waits in round {self.status.get('round')} for {', '.join(self.status.get('waiting_for', {}))}"
        )

    @property
    def log_bytes(self) -> int:
        log = self.member.folder.log
        return log.stat().st_size if log.exists() else 0

    @property
    def journal_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.member.folder.path.glob("journal.db*"))


@dataclass
class Ear:
    """An honest member's channels, with an ear on what goes out to anybody who is there."""

    channels: Any
    honest: Honest

    def __getattr__(self, name: str) -> Any:
        return getattr(self.channels, name)

    async def send(self, to: str, message: bytes) -> None:
        frame = unpack(message, Limits(len(message)))
        if frame.kind is Kind.MESSAGE and self._is_there(to):
            self.honest.said.append(Said(frame.round, frame.exchange, to, message))
        if frame.kind is Kind.STATE_SUM:
            self.honest.means.append(Said(frame.round, frame.exchange, to, message))
        await self.channels.send(to, message)
        self.honest.most_queued = max(self.honest.most_queued, self._queued(to))

    async def receive(self) -> Event:
        event = await self.channels.receive()
        if isinstance(event, Received) and len(event.message) >= HEADER.size:
            self._overhear(event)
        return event

    def _overhear(self, event: Received) -> None:
        try:
            frame = unpack(event.message, Limits(len(event.message)))
        except BadFrame:
            return
        if frame.kind is Kind.MESSAGE:
            self.honest.received.append(Said(frame.round, frame.exchange, event.neighbour, event.message))

    def _is_there(self, to: str) -> bool:
        if hasattr(self.channels, "board"):
            board = self.channels.board
            return to in board.queues and frozenset((self.channels.name, to)) not in board.down
        return self._outgoing(to) is not None

    def _queued(self, to: str) -> int:
        if hasattr(self.channels, "board"):
            return 0  # a switchboard hands over at once
        outgoing = self._outgoing(to)
        return 0 if outgoing is None else outgoing.qsize()

    def _outgoing(self, to: str) -> Any:
        line = self.channels.lines[to]
        return getattr(getattr(line, "stream", line), "outgoing", None)
