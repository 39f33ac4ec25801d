"""Exchanges over links that break: everybody says one message, and everybody hears one from each neighbour.

A neighbour cannot go on without our message, so that at most two of its own wait for us; the last two that were said
over a link are all that anybody who reconnects can have missed, and they are said again, byte for byte. What is heard
twice is heard once; what could not have been said yet is refused.

An exchange may be silent over some links, as all know beforehand. Whoever speaks in exchanges of its own choice keeps
to this: before a third message over a link it has heard one that was said after the first was read. What somebody says
over a link that is silent by the plan is not looked at.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, Protocol

from hocket.errors import BadFrame, LinkError
from hocket.links.events import Channels, Displaced, Heard, Lost
from hocket.links.records import digest_of
from hocket.links.wire import Frame, Kind, Limits, unpack

IN_AN_EXCHANGE = (Kind.WORD, Kind.DONE)
MOST_AHEAD = 2
"""Messages of a neighbour for exchanges that we have not come to."""
FOR_GOOD = (Kind.VOTE, Kind.ATTENDANCE)
"""What is said of the run, whatever attempt at it the two ends are in."""


class Moment(NamedTuple):
    """One exchange of a run."""

    round: int
    exchange: int = 0


class Kept(NamedTuple):
    """What a message says, and the digest that stands for it."""

    frame: Frame
    digest: bytes
    message: bytes


class Listener(Protocol):
    """Whoever wants to know what happens beside the exchanges."""

    async def joined(self, neighbour: str, version: str) -> None:
        """A neighbour is connected."""
        ...

    async def lost(self, neighbour: str, reason: str) -> None:
        """A neighbour's connection ended, or could not be made."""
        ...

    async def heard(self, neighbour: str, frame: Frame) -> None:
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
        self.bytes_said = self.bytes_heard = 0
        self.repeats = 0
        """Messages that came again after a reconnection."""
        self.waiting_since = time.monotonic()
        self.arrivals: dict[str, float] = {}
        """Seconds after our own word at which each neighbour's came, in the last exchange."""
        self.refused: dict[str, str] = {}
        """Neighbours that are not listened to for now, and why; nothing is said to them either."""
        self.note: Callable[[str, Moment, bytes], None] = lambda name, moment, digest: None
        """Told of every word as it arrives, by its digest, before anything comes of it."""
        self._due: Collection[str] | None = None
        """Who speaks in the present exchange; None for all."""
        self._said: dict[str, list[bytes]] = {}
        """By neighbour: the last two messages."""
        self._untold = False
        """Whether the last words were made again after a crash, and those who are connected may have missed them."""
        self._heard: dict[Moment, dict[str, Kept]] = {}

    @property
    def missing(self) -> list[str]:
        """The neighbours whose message is still awaited."""
        heard = self._heard.get(self.now, {})
        due = self.neighbours if self._due is None else self._due
        return [name for name in self.neighbours if name in due and name not in heard]

    def remember(self, said: Mapping[str, bytes]) -> None:
        """What was said last, in case that somebody misses it."""
        for name, message in said.items():
            self._said[name] = [*self._said.get(name, [])[-1:], message]

    async def exchange(
        self,
        moment: Moment,
        said: Mapping[str, bytes],
        *,
        due: Collection[str] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> dict[str, Frame]:
        """Say one message to each neighbour in `said`, and wait for one from each that is `due`, which are all unless
        it says otherwise; do something `meanwhile`."""
        self.remember(said)
        self.now, self._due, self.waiting_since = moment, due, time.monotonic()
        for past in [past for past in self._heard if past < moment]:
            del self._heard[past]
        self.arrivals = dict.fromkeys(self._heard.get(moment, ()), 0.0)
        for name in [*self.neighbours]:  # somebody may leave meanwhile
            if self._untold:
                await self.say_again(name)
            elif name in said and name not in self.refused:
                await self.send(name, said[name])
        self._untold = False
        if meanwhile is not None:
            await asyncio.sleep(0)  # so that what was handed over is on its way
            meanwhile()
        while self.missing:
            await self.attend()
        return self.heard_by_now()

    def heard_by_now(self) -> dict[str, Frame]:
        """What neighbours who are still there have said in the present exchange so far."""
        heard = self._heard.get(self.now, {})
        return {name: heard[name].frame for name in self.neighbours if name in heard}

    def digests(self) -> dict[str, bytes]:
        """Of the words heard in the present exchange."""
        return {name: kept.digest for name, kept in self._heard.get(self.now, {}).items()}

    def messages(self) -> dict[str, bytes]:
        """The words heard in the present exchange, as they came."""
        return {name: kept.message for name, kept in self._heard.get(self.now, {}).items()}

    def relive(
        self, moment: Moment, said: Mapping[str, bytes], heard: Mapping[str, bytes]
    ) -> dict[str, Frame]:
        """An exchange that was over before a crash: what was heard in it is on the disk.

        What was said in it is said again with the next exchange's words: a neighbour that crashed, too, may have
        forgotten it, and be connected already.
        """
        self.remember(said)
        self._untold = True
        self.now, self._due, self.waiting_since = moment, heard.keys(), time.monotonic()
        frames = {name: unpack(message, self.limits, plan=self.plan) for name, message in heard.items()}
        self._heard[moment] = {
            name: Kept(frame, digest_of(heard[name]), heard[name]) for name, frame in frames.items()
        }
        return frames

    async def attend(self) -> None:
        """Take in the next thing that happens on any link."""
        event = await self.channels.receive()
        name = event.neighbour
        if name not in self.neighbours:
            return
        if isinstance(event, Heard):
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
            await self.say_again(name)

    async def say_again(self, name: str) -> None:
        """What a neighbour may have missed: the same bytes, or nothing."""
        for message in self._said.get(name, ()):
            if name not in self.refused:
                await self.send(name, message)

    async def send(self, name: str, message: bytes) -> None:
        """Say something to one neighbour."""
        self.bytes_said += len(message)
        await self.channels.send(name, message)

    def forget(self, name: str) -> None:
        """Wait no longer for a neighbour who left for good."""
        if name in self.neighbours:
            self.neighbours.remove(name)
            self.connected.discard(name)
            self.channels.nudge()

    async def _listen(self, event: Heard) -> None:
        name, message = event
        self.bytes_heard += len(message)
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
            await self.listener.heard(name, frame)

    def _keep(self, name: str, message: bytes, frame: Frame) -> None:
        moment, digest = Moment(frame.round, frame.exchange), digest_of(message)
        if moment < self.now:
            self.repeats += 1
            return
        ahead = {later for later, kept in self._heard.items() if later > self.now and name in kept}
        if moment.round > self.now.round + 1 or (moment > self.now and len(ahead | {moment}) > MOST_AHEAD):
            raise LinkError(
                f"{name} spoke for round {moment.round} while this member is in round {self.now.round}; nobody can "
                f"be more than {MOST_AHEAD} words ahead: ask {name} what it runs"
            )
        kept = self._heard.setdefault(moment, {})
        if name not in kept:
            self.note(name, moment, digest)
            kept[name] = Kept(frame, digest, message)
            if moment == self.now:
                self.arrivals[name] = time.monotonic() - self.waiting_since
        elif kept[name].digest == digest:
            self.repeats += 1
        else:
            raise two_words(name, moment)


def two_words(name: str, moment: Moment) -> LinkError:
    """What is said of a neighbour that contradicts itself."""
    return LinkError(
        f"{name} said two different things in round {moment.round}: it lost its journal, or runs twice; either undoes "
        "its noise, so this run cannot go on with it"
    )
