"""Exchanges over links that break: everybody sends one message, and receives one from each neighbour.

A neighbour cannot go on without our message, so that at most two of its own wait for us; the last two that were sent
over a link are all that anybody who reconnects can have missed, and they are sent again, byte for byte. What comes
twice counts once; what could not have been sent yet is refused.

An exchange may be silent over some links, as all know beforehand. Anybody who speaks in exchanges of its own choice
keeps to this: before a third message over a link it has received one that was sent after the first was read. What comes
over a link that is silent by the plan is not looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, Protocol

from hocket.errors import BadFrame, LinkError
from hocket.links.events import Channels, Displaced, Lost, Received
from hocket.links.journals.records import digest_of
from hocket.links.wire import Frame, Kind, Limits, unpack

IN_AN_EXCHANGE = (Kind.MESSAGE, Kind.DONE)
MOST_AHEAD = 2
"""Messages of a neighbour for exchanges that we have not come to."""
FOR_GOOD = (Kind.VOTE, Kind.ROSTER)
"""What is sent about the run, whatever attempt at it the two ends are in."""


class Moment(NamedTuple):
    """One exchange of a run."""

    round: int
    exchange: int = 0


class Kept(NamedTuple):
    """A message as it was read, and the digest that stands for it."""

    frame: Frame
    digest: bytes
    message: bytes


class Listener(Protocol):
    """Anybody who wants to know what happens beside the exchanges."""

    async def joined(self, neighbour: str, version: str) -> None:
        """A neighbour is connected."""
        ...

    async def lost(self, neighbour: str, reason: str) -> None:
        """A neighbour's connection ended, or could not be made."""
        ...

    async def received(self, neighbour: str, frame: Frame) -> None:
        """A message that is part of no exchange: a handshake or a vote."""
        ...


@dataclass(eq=False)
class Conversation:
    """One member's talk with its neighbours."""

    channels: Channels
    neighbours: list[str]
    _: KW_ONLY
    plan: bytes
    limits: Limits
    listener: Listener
    run: bytes | None = None
    """Where those who stay may begin anew without somebody, what names the run for good; `plan` names the attempt, and
    what is of another one is passed over."""

    def __post_init__(self) -> None:
        self.neighbours = [*self.neighbours]  # those who leave go from it
        self.now = Moment(0)
        self.connected: set[str] = set()
        self.bytes_sent = self.bytes_received = 0
        self.repeats = 0
        """Messages that came again after a reconnection."""
        self.waiting_since = time.monotonic()
        self.arrivals: dict[str, float] = {}
        """Seconds after our own message at which each neighbour's came, in the last exchange."""
        self.refused: dict[str, str] = {}
        """Neighbours from whom nothing is taken for now, and why; nothing is sent to them either."""
        self.note: Callable[[str, Moment, bytes], None] = lambda name, moment, digest: None
        """Called for every message as it arrives, by its digest, before anything comes of it."""
        self._due: Collection[str] | None = None
        """Who speaks in the present exchange; None for all."""
        self._sent: dict[str, list[bytes]] = {}
        """By neighbour: the last two messages."""
        self._untold = False
        """Whether the last messages were made again after a crash, and those who are connected may have missed them."""
        self._received: dict[Moment, dict[str, Kept]] = {}

    @property
    def missing(self) -> list[str]:
        """The neighbours whose message is still awaited."""
        received = self._received.get(self.now, {})
        due = self.neighbours if self._due is None else self._due
        return [name for name in self.neighbours if name in due and name not in received]

    def remember(self, sent: Mapping[str, bytes]) -> None:
        """What was sent last, in case that somebody misses it."""
        for name, message in sent.items():
            self._sent[name] = [*self._sent.get(name, [])[-1:], message]

    async def exchange(
        self,
        moment: Moment,
        sent: Mapping[str, bytes],
        *,
        due: Collection[str] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> dict[str, Frame]:
        """Send one message to each neighbour in `sent`, and wait for one from each that is `due`, which are all unless
        it names others; do something `meanwhile`."""
        self.remember(sent)
        self.now, self._due, self.waiting_since = moment, due, time.monotonic()
        for past in [past for past in self._received if past < moment]:
            del self._received[past]
        self.arrivals = dict.fromkeys(self._received.get(moment, ()), 0.0)
        for name in [*self.neighbours]:  # somebody may leave meanwhile
            if self._untold:
                await self.send_again(name)
            elif name in sent and name not in self.refused:
                await self.send(name, sent[name])
        self._untold = False
        if meanwhile is not None:
            await asyncio.sleep(0)  # so that what was handed over is on its way
            meanwhile()
        while self.missing:
            await self.attend()
        return self.received_by_now()

    def received_by_now(self) -> dict[str, Frame]:
        """What neighbours who are still there have sent in the present exchange so far."""
        received = self._received.get(self.now, {})
        return {name: received[name].frame for name in self.neighbours if name in received}

    def digests(self) -> dict[str, bytes]:
        """Of the messages received in the present exchange."""
        return {name: kept.digest for name, kept in self._received.get(self.now, {}).items()}

    def messages(self) -> dict[str, bytes]:
        """The messages received in the present exchange, as they came."""
        return {name: kept.message for name, kept in self._received.get(self.now, {}).items()}

    def relive(
        self, moment: Moment, sent: Mapping[str, bytes], received: Mapping[str, bytes]
    ) -> dict[str, Frame]:
        """An exchange that was over before a crash: what was received in it is on the disk.

        What was sent in it is sent again with the next exchange's messages: a neighbour that crashed, too, may have
        forgotten it, and be connected already.
        """
        self.remember(sent)
        self._untold = True
        self.now, self._due, self.waiting_since = moment, received.keys(), time.monotonic()
        frames = {name: unpack(message, self.limits, plan=self.plan) for name, message in received.items()}
        self._received[moment] = {
            name: Kept(frame, digest_of(received[name]), received[name]) for name, frame in frames.items()
        }
        return frames

    async def attend(self) -> None:
        """Take in the next thing that happens on any link."""
        event = await self.channels.receive()
        name = event.neighbour
        if name not in self.neighbours:
            return
        if isinstance(event, Received):
            await self._listen(event)
        elif isinstance(event, Lost):
            self.connected.discard(name)
            await self.listener.lost(name, event.reason)
        elif isinstance(event, Displaced):
            raise LinkError(
                f"{name} will not talk to this process: {event.reason}. Two copies of one home must never run: stop "
                f"the other one, or, if there is none, ask {name} what it runs"
            )
        else:
            self.connected.add(name)
            await self.listener.joined(name, event.version)
            await self.send_again(name)

    async def send_again(self, name: str) -> None:
        """What a neighbour may have missed: the same bytes, or nothing."""
        for message in self._sent.get(name, ()):
            if name not in self.refused:
                await self.send(name, message)

    async def send(self, name: str, message: bytes) -> None:
        """Say something to one neighbour."""
        self.bytes_sent += len(message)
        await self.channels.send(name, message)

    def forget(self, name: str) -> None:
        """Wait no longer for a neighbour who left for good."""
        if name in self.neighbours:
            self.neighbours.remove(name)
            self.connected.discard(name)
            self.channels.nudge()

    async def _listen(self, event: Received) -> None:
        name, message = event
        self.bytes_received += len(message)
        try:
            frame = unpack(message, self.limits, plan=self.plan if self.run is None else None)
        except BadFrame as error:
            raise BadFrame(f"{name} sent a message that cannot be read: {error}") from error
        if self.run is not None and frame.plan != (self.run if frame.kind in FOR_GOOD else self.plan):
            return
        if frame.kind in IN_AN_EXCHANGE:
            if name not in self.refused:
                self._keep(name, message, frame)
        else:
            await self.listener.received(name, frame)

    def _keep(self, name: str, message: bytes, frame: Frame) -> None:
        moment, digest = Moment(frame.round, frame.exchange), digest_of(message)
        if moment < self.now:
            self.repeats += 1
            return
        ahead = {later for later, kept in self._received.items() if later > self.now and name in kept}
        if moment.round > self.now.round + 1 or (moment > self.now and len(ahead | {moment}) > MOST_AHEAD):
            raise LinkError(
                f"{name} spoke for round {moment.round} while this member is in round {self.now.round}; nobody can "
                f"be more than {MOST_AHEAD} messages ahead: ask {name} what it runs"
            )
        kept = self._received.setdefault(moment, {})
        if name not in kept:
            self.note(name, moment, digest)
            kept[name] = Kept(frame, digest, message)
            if moment == self.now:
                self.arrivals[name] = time.monotonic() - self.waiting_since
        elif kept[name].digest == digest:
            self.repeats += 1
        else:
            raise contradiction(name, moment)


def contradiction(name: str, moment: Moment) -> LinkError:
    """What is said of a neighbour that contradicts itself."""
    return LinkError(
        f"{name} said two different things in round {moment.round}: it lost its journal, or runs twice; either undoes "
        "its noise, so this run cannot go on with it"
    )
