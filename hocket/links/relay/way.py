"""From gRPC on this machine to a neighbour that it dials, by whichever of its relays leads there."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.errors import HocketError
from hocket.links.relay.call import Role
from hocket.links.relay.carrying import LONGEST_PAUSE, Pauses, carry_both_ways, look
from hocket.links.relay.connection import TLS_BEGINS, Bytes, Connection, accepted
from hocket.links.relay.pipe import Pipe

if TYPE_CHECKING:
    from hocket.links.relay.forwarder import Forwarder

HEAD_START, LONG_START = 0.25, 1.0
"""Seconds for the neighbour to answer by one relay, before it is tried by the next as well; and by one that failed."""
FAILED = -1.0
HELD = 10.0
"""Seconds that gRPC's connection is held while there is no way to the neighbour; it tries again by itself."""


@dataclass(eq=False)
class Candidate:
    """A connection to the neighbour by one of its relays: joined, as that one says."""

    relay: str
    pipe: Pipe
    answer: asyncio.Task[Bytes]
    """What comes from there first."""

    @property
    def is_good(self) -> bool:
        """Whether the neighbour's TLS answers by it."""
        if not self.answer.done() or self.answer.cancelled() or self.answer.exception() is not None:
            return False
        return bytes(self.answer.result()[:1]) == TLS_BEGINS

    def close(self) -> None:
        self.answer.cancel()
        self.answer.add_done_callback(look)
        self.pipe.close()


class Way:
    """From gRPC on this machine to one neighbour, by whichever of its relays leads there.

    It is joined at all of them, as long as there is no link. Who answers first has the link; the relay by which a link
    stood longest is asked before the others.
    """

    def __init__(self, forwarder: Forwarder, name: str, relays: tuple[str, ...]):
        self.forwarder = forwarder
        self.name = name
        self._stood = dict.fromkeys(relays, math.inf)
        """By relay, the seconds that the last link stood, or FAILED; those that were not tried yet are tried first."""
        self._ready: dict[str, Candidate] = {}
        self._changed = asyncio.Event()
        self._links = 0
        self._wanted = asyncio.Event()
        self._wanted.set()

    async def keep_ready(self, relay: str) -> None:
        """Be joined at this relay while there is no link, so that gRPC, which is impatient, finds the way open."""
        pauses = Pauses()
        while True:
            await self._wanted.wait()
            pipe = await self._joined(relay)
            if pipe is not None:
                receiving = self.forwarder.crowd.charged(pipe.receive)
                one = Candidate(relay, pipe, asyncio.create_task(receiving))
                if self._wanted.is_set():
                    self._ready[relay] = one
                    self._changed.set()
                else:
                    one.close()
                try:
                    await asyncio.wait([one.answer])  # it is asked, or breaks
                finally:
                    if self._ready.get(relay) is one:
                        del self._ready[relay]
                        one.close()
            await pauses.next()

    async def take_all(self, door: socket.socket) -> None:
        """Lead gRPC's connections to the neighbour."""
        with door:
            async for stream in accepted(door):
                self.forwarder.carry(self._lead(stream)).add_done_callback(stream.close_after)

    async def _lead(self, connection: Connection) -> None:
        try:
            hello = bytes(await connection.read())
            async with asyncio.timeout(HELD):
                asked = await self._asked(connection, hello)
            if asked:
                await self._link(connection, *asked)
        except (OSError, TimeoutError):
            pass
        finally:
            connection.close()

    async def _link(self, connection: Connection, found: Candidate, *slower: Candidate) -> None:
        """Anybody can answer as TLS does; so the others are kept ready until the link has stood for a while."""
        began = time.monotonic()
        self._links += 1
        self.forwarder.report_trouble(self.name, found.relay, None)
        settling = asyncio.get_running_loop().call_later(LONGEST_PAUSE, self._settle, slower)
        try:
            found.pipe.connection.known()
            await connection.write(found.answer.result())
            await carry_both_ways(connection, found.pipe)
        finally:
            found.close()
            settling.cancel()
            stood = time.monotonic() - began
            self._stood[found.relay] = stood if stood > LONGEST_PAUSE else FAILED
            self._links -= 1
            if not self._links:
                self._wanted.set()

    def _settle(self, slower: Iterable[Candidate]) -> None:
        self._wanted.clear()
        while self._ready:
            self._ready.popitem()[1].close()
        for one in slower:
            self._failed(one)

    async def _asked(self, connection: Connection, hello: bytes) -> list[Candidate]:
        """All who were asked with this hello, the one that answered first; nobody once gRPC has given up."""
        asked: list[Candidate] = []
        since = 0.0
        try:
            while not connection.is_over:
                best = max(filter(self._ready.get, self._stood), key=self._stood.__getitem__, default=None)
                waited = time.monotonic() - since if asked else math.inf
                if best is not None and waited >= (HEAD_START if self._stood[best] >= 0 else LONG_START):
                    asked.append(one := self._ready.pop(best))
                    since = time.monotonic()
                    with contextlib.suppress(OSError):
                        await one.pipe.send(hello)
                self._changed.clear()
                news = [asyncio.ensure_future(self._changed.wait()), *(one.answer for one in asked)]
                await asyncio.wait(news, timeout=HEAD_START, return_when=asyncio.FIRST_COMPLETED)
                news[0].cancel()
                for one in [one for one in asked if one.answer.done()]:
                    asked.remove(one)
                    if one.is_good:
                        for slower in asked:
                            slower.close()
                        return [one, *asked]
                    self._failed(one)
        except BaseException:
            for one in asked:
                self._failed(one)
            raise
        for one in asked:
            self._failed(one)
        return []

    def _failed(self, one: Candidate) -> None:
        one.close()
        self._stood[one.relay] = FAILED
        words = f"the relay {one.relay} says that it leads to {self.name}, which does not answer there"
        self.forwarder.report_trouble(self.name, one.relay, words)

    async def _joined(self, relay: str) -> Pipe | None:
        """A connection that is joined at this relay, if it says so."""
        report, news = self.forwarder.report_trouble, list[asyncio.TimerHandle]()

        def waiting() -> None:
            words = f"{self.name} has not come to the relay {relay} yet"
            news.append(asyncio.get_running_loop().call_later(1.0, report, self.name, relay, words))

        try:
            pipe = await self.forwarder.join(Role.DIALS, self.name, relay, waiting)
        except HocketError as error:
            report(self.name, relay, str(error))
            return None
        finally:
            for one in news:
                one.cancel()
        if pipe is not None and self._stood[relay] >= 0:  # it has not been found out
            report(self.name, relay, None)
        return pipe


def open_door(path: str) -> socket.socket:
    """A socket at this place in a private folder, also where one was left before."""
    Path(path).unlink(missing_ok=True)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        door.bind(path)
        door.listen()
    except BaseException:
        door.close()
        raise
    return door
