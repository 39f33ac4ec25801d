"""A process beside a member, between its gRPC and the relays: `python -m hocket.links.relay.forwarder`.

gRPC dials and listens on loopback, as it would anywhere; this process takes what it says to a relay. It is not in the
member's own event loop, where words would wait behind whatever is being computed. It reads its orders, a key among
them, from its standard input, and ends when that does, so it never outlives the member; what it has to say about
relays it writes as lines of JSON.

For a listener it keeps one connection waiting at every relay on the member's card, for each neighbour that dials it.
For a dialler it keeps one that is joined already, so that gRPC, which is impatient, finds the way open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hocket.errors import HocketError, LinkError
from hocket.files import json_value
from hocket.links.identity import Identity
from hocket.links.relay.call import Call, Role
from hocket.links.relay.connection import Connection, accepted, keep_memory
from hocket.links.relay.frames import Bytes
from hocket.links.relay.outbound import called, connected, joined
from hocket.links.relay.pipes import Pipe
from hocket.machine import LOOPBACK

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds between two attempts; each pause is twice the one before."""
TURN = 4.0
"""Seconds that a dialler waits for its neighbour at one of several relays, before it tries the next."""
HELD = 10.0
"""Seconds that gRPC's connection is held while there is no way to the neighbour; it tries again by itself."""
FAREWELL = 3.0
"""Seconds for what is still on its way when the member has ended."""


@dataclass(frozen=True)
class Orders:
    """What a forwarder is told by its member."""

    identity: Identity = field(repr=False)
    plan: str
    relays: tuple[str, ...]
    """On the member's own card: where its neighbours look for it."""
    diallers: tuple[str, ...]
    """Neighbours that dial this member through these."""
    dialled: Mapping[str, tuple[str, ...]]
    """Neighbours that this member dials, with the relays on their cards."""
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    """Where gRPC dials each of them, if that is settled already."""
    kept_proxy: Path | None = None

    def line(self) -> str:
        """The orders on one line; it holds the private key."""
        pem = (self.identity.certificate_pem.decode(), self.identity.private_key_pem.decode())
        proxy = None if self.kept_proxy is None else str(self.kept_proxy)
        said = (pem, self.plan, self.relays, self.diallers, dict(self.dialled), dict(self.ports), proxy)
        return json.dumps(said)

    @classmethod
    def read(cls, line: str) -> Orders:
        """Orders from their line."""
        pem, plan, relays, diallers, dialled, ports, proxy = json_value(line)
        identity = Identity.from_pem(*map(str.encode, pem))
        ways = {name: tuple(some) for name, some in dialled.items()}
        kept = None if proxy is None else Path(proxy)
        return cls(identity, plan, tuple(relays), tuple(diallers), ways, ports, kept)


Report = Callable[[dict[str, Any]], bool]
"""Takes {"ports": …} once, and {"about": neighbour, "relay": …, "trouble": …} whenever that changes; says whether it
could."""


class Forwarder:
    """All ways of one member through relays."""

    def __init__(self, orders: Orders, report: Report):
        self.orders = orders
        self.report = report
        self._said: dict[tuple[str, str], dict[str, Any]] = {}
        self._keeping: list[asyncio.Task[None]] = []
        self._idle: set[asyncio.Task[None]] = set()
        """Joined, and nothing was said yet."""
        self._carrying: set[asyncio.Task[None]] = set()

    async def open(self) -> dict[str, int]:
        """Begin to dial; returns the port on loopback for each neighbour that is dialled."""
        ports: dict[str, int] = {}
        for name, relays in self.orders.dialled.items():
            way = Way(self, name, relays)
            door = socket.create_server((LOOPBACK, self.orders.ports.get(name, 0)))
            ports[name] = door.getsockname()[1]
            self._keep(way.take_all(door))
            self._keep(way.keep_ready())
        return ports

    def park(self, port: int) -> None:
        """Begin to wait for those who dial, now that the member listens at this port."""
        for name in self.orders.diallers:
            for relay in self.orders.relays:
                self._keep(self._keep_parked(name, relay, port))

    async def close(self) -> None:
        """Stop, once what is on its way is delivered or a few seconds have passed."""
        over = [*self._keeping, *self._idle]
        for task in over:
            task.cancel()
        await asyncio.gather(*over, return_exceptions=True)
        if self._carrying:
            await asyncio.wait(self._carrying, timeout=FAREWELL)
        for task in [*self._carrying]:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def carry(self, work: Awaitable[None]) -> asyncio.Task[None]:
        """Have something done until the end."""
        task = asyncio.ensure_future(work)
        self._carrying.add(task)
        task.add_done_callback(partial(_forget, self._carrying))
        return task

    def say(self, about: str, relay: str, trouble: str | None) -> None:
        """Report how it stands with a neighbour at a relay, if that is new."""
        news = {"about": about, "relay": relay, "trouble": trouble}
        if self._said.get((about, relay)) != news and self.report(news):
            self._said[about, relay] = news

    async def call(self, role: Role, neighbour: str, relay: str) -> Pipe:
        orders = self.orders
        mine = Call(relay, role, orders.plan, orders.identity.name, neighbour)
        return await called(mine, orders.identity, kept_proxy=orders.kept_proxy)

    def _keep(self, work: Awaitable[None]) -> None:
        self._keeping.append(asyncio.ensure_future(work))

    async def _keep_parked(self, name: str, relay: str, port: int) -> None:
        """One connection after the other that waits for this neighbour at this relay."""
        pauses = Pauses()
        while True:
            try:
                pipe = await self.call(Role.LISTENS, name, relay)
                self.say(name, relay, None)
                met = await _or_close(pipe, joined(pipe))
            except HocketError as error:
                self.say(name, relay, str(error))
                await pauses.next()
                continue
            pauses.over()
            if met:
                idle = asyncio.create_task(self._begun(pipe, port))
                self._idle.add(idle)
                idle.add_done_callback(partial(_forget, self._idle))
            else:
                pipe.close()

    async def _begun(self, pipe: Pipe, port: int) -> None:
        """What a neighbour says first opens a connection to the member; until then there is none to hold."""
        first: Bytes = b""
        try:
            first = await pipe.receive()
        finally:
            if not first:
                pipe.close()
        if first:
            self.carry(_to_member(pipe, port, first))


class Way:
    """From gRPC on this machine to one neighbour at one of its relays."""

    def __init__(self, forwarder: Forwarder, name: str, relays: tuple[str, ...]):
        self.forwarder = forwarder
        self.name = name
        self.relays = relays
        self._ready: Pipe | None = None
        self._watching: asyncio.Task[Bytes] | None = None
        self._changed = asyncio.Event()

    async def keep_ready(self) -> None:
        """Have one connection joined and unused at all times."""
        pauses = Pauses()
        while True:
            pipe = await self._joined()
            if pipe is None:
                await pauses.next()
                continue
            pauses.over()
            self._ready, self._watching = pipe, asyncio.create_task(pipe.receive())
            self._changed.set()
            try:
                await asyncio.wait([self._watching])  # until it is taken, or breaks
            finally:
                if self._ready is pipe:
                    self._ready = None
                    self._watching.cancel()
                    pipe.close()
                    await pauses.next()

    async def take_all(self, door: socket.socket) -> None:
        """Lead gRPC's connections to the neighbour."""
        with door:
            async for stream in accepted(door):
                self.forwarder.carry(self._lead(stream)).add_done_callback(stream.close_after)

    async def _lead(self, connection: Connection) -> None:
        pipe = None
        try:
            first = await connection.read()
            async with asyncio.timeout(HELD):
                while pipe is None and not connection.is_over:
                    pipe = await self._taken()
                    if pipe is None:
                        self._changed.clear()
                        with contextlib.suppress(TimeoutError):
                            await asyncio.wait_for(self._changed.wait(), 0.2)
            if pipe is not None:
                await pipe.send(first)
                await carry_both_ways(connection, pipe)
        except (OSError, TimeoutError):
            pass
        finally:
            connection.close()
            if pipe is not None:
                pipe.close()

    async def _taken(self) -> Pipe | None:
        """The connection that is ready, if it is still alive; another is made ready in its place."""
        pipe, watching = self._ready, self._watching
        if pipe is None or watching is None or watching.done():
            return None
        self._ready = self._watching = None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        if watching.cancelled():
            return pipe
        pipe.close()  # it broke just now
        return None

    async def _joined(self) -> Pipe | None:
        """A connection to the neighbour by the first of its relays that has it."""
        for relay in self.relays:
            say = self.forwarder.say
            try:
                pipe = await self.forwarder.call(Role.DIALS, self.name, relay)
                waiting = joined(pipe) if len(self.relays) == 1 else asyncio.wait_for(joined(pipe), TURN)
                news = asyncio.get_running_loop().call_later(
                    1.0, say, self.name, relay, f"{self.name} has not come to the relay {relay} yet"
                )
                try:
                    met = await _or_close(pipe, waiting)
                finally:
                    news.cancel()
            except TimeoutError:
                continue
            except HocketError as error:
                say(self.name, relay, str(error))
                continue
            if met:
                say(self.name, relay, None)
                return pipe
            pipe.close()
        return None


async def _to_member(pipe: Pipe, port: int, first: Bytes) -> None:
    try:
        connection = Connection(await connected(LOOPBACK, port))
        connection.write_now(first)
        await carry_both_ways(connection, pipe)
    finally:
        pipe.close()


def _forget(tasks: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
    tasks.discard(task)
    if not task.cancelled():
        task.exception()  # a way that broke is opened anew


class Pauses:
    """Ever longer ones, spread out so that those who were cut off together do not come back together."""

    def __init__(self) -> None:
        self.seconds = FIRST_PAUSE

    async def next(self) -> None:
        await asyncio.sleep(self.seconds * random.uniform(0.5, 1.5))
        self.seconds = min(2 * self.seconds, LONGEST_PAUSE)

    def over(self) -> None:
        self.seconds = FIRST_PAUSE


async def carry_both_ways(connection: Connection, pipe: Pipe) -> None:
    """Between a connection on this machine and a relay, until either end hangs up."""

    async def out() -> None:
        while data := await connection.read():
            await pipe.send(data)

    async def back() -> None:
        while data := await pipe.receive():
            await connection.write(data)

    tasks = [asyncio.create_task(out()), asyncio.create_task(back())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        pipe.close()
        connection.close()


async def _or_close(pipe: Pipe, waiting: Awaitable[bool]) -> bool:
    try:
        return await waiting
    except BaseException as error:
        pipe.close()
        if isinstance(error, LinkError):
            raise LinkError(f"the relay was lost: {error}") from None
        raise


async def main() -> None:
    """Do as the orders on standard input say, until it ends."""
    keep_memory()
    out = sys.stdout.fileno()
    os.set_blocking(out, False)  # nothing waits because a member is too busy to read

    def report(news: dict[str, Any]) -> bool:
        try:
            os.write(out, json.dumps(news).encode() + b"\n")  # short enough to be written whole or not at all
        except OSError:  # the member has ended, or is too busy to read: it is said again with the next thing
            return False
        return True

    lines = asyncio.StreamReader(limit=1 << 20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    loop.add_signal_handler(signal.SIGTERM, lines.feed_eof)
    forwarder = Forwarder(Orders.read((await lines.readline()).decode()), report)
    try:
        report({"ports": await forwarder.open()})
        while line := await lines.readline():
            forwarder.park(int(json_value(line)["listen"]))
    finally:
        await forwarder.close()


if __name__ == "__main__":
    asyncio.run(main())
