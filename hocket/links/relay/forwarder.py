"""A process beside a member, between its gRPC and the relays: `python -m hocket.links.relay.forwarder`.

gRPC dials and listens at sockets in a private folder; this process takes what it says to a relay. It is not in the
member's own event loop, where words would wait behind whatever is being computed. It reads its orders, a key among
them, from its standard input, and ends when that does, so it never outlives the member; what it has to say about
relays it writes as lines of JSON.

For a listener it keeps one connection waiting at every relay on the member's card, for each neighbour that dials it.
For a dialler it keeps one at each of the neighbour's relays that is joined already. No relay is believed that it leads
to the neighbour: the neighbour's TLS has to answer by it, within seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hocket.errors import HocketError
from hocket.files import json_value
from hocket.links.keys.identity import Identity
from hocket.links.relay.call import Call, Role
from hocket.links.relay.carrying import Pauses, carry_both_ways, look
from hocket.links.relay.connection import TLS_BEGINS, Connection, keep_memory
from hocket.links.relay.crowd import Crowd
from hocket.links.relay.outbound import called, connected, in_words, joined
from hocket.links.relay.pipe import Pipe
from hocket.links.relay.way import Way, open_door
from hocket.machine import LOOPBACK, UNIX

HELLO = 10.0
"""Seconds from being joined until the neighbour's TLS begins: its gRPC dials again after eight seconds at most."""
JOINED_AT_ONCE = 4
"""Connections of one neighbour by one relay: one is used and one is new; others may have died without a word."""
FAREWELL = 3.0
"""Seconds for what is still on its way when the member has ended."""
LONGEST_PATH = 100
"""Bytes of such a file's path that every system takes."""


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
    folder: str = ""
    """Private to this user: the sockets lie here, so that nobody else on this machine can connect to them."""
    kept_proxy: Path | None = None

    def dialled_at(self, neighbour: str) -> str:
        """Where gRPC dials this neighbour."""
        return f"{UNIX}{self.folder}/{list(self.dialled).index(neighbour)}"

    @property
    def listening_at(self) -> str:
        """Where the member's gRPC listens, unless it listens at a port anyway."""
        return f"{UNIX}{self.folder}/member"

    def line(self) -> str:
        """The orders on one line; it holds the private key."""
        pem = (self.identity.certificate_pem.decode(), self.identity.private_key_pem.decode())
        proxy = None if self.kept_proxy is None else str(self.kept_proxy)
        said = (pem, self.plan, self.relays, self.diallers, dict(self.dialled), self.folder, proxy)
        return json.dumps(said)

    @classmethod
    def read(cls, line: str) -> Orders:
        """Orders from their line."""
        pem, plan, relays, diallers, dialled, folder, proxy = json_value(line)
        identity = Identity.from_pem(*map(str.encode, pem))
        ways = {name: tuple(some) for name, some in dialled.items()}
        kept = None if proxy is None else Path(proxy)
        return cls(identity, plan, tuple(relays), tuple(diallers), ways, folder, kept)


Report = Callable[[dict[str, Any]], bool]
"""Takes {"about": neighbour, "relay": …, "trouble": …} whenever that changes; says whether it could."""


class Forwarder:
    """All ways of one member through relays."""

    def __init__(self, orders: Orders, report: Report):
        self.orders = orders
        self.report = report
        self.crowd = Crowd()
        """Connections to relays by which no neighbour has spoken yet."""
        self._silent: set[tuple[str, str]] = set()
        """A neighbour and a relay of ours that said it had come, and nothing came."""
        self._reported: dict[tuple[str, str], dict[str, Any]] = {}
        self._keeping: list[asyncio.Task[None]] = []
        self._carrying: set[asyncio.Task[None]] = set()
        self._idle: set[asyncio.Task[None]] = set()
        """Of these, who are joined and have not heard from the neighbour yet."""
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Has an error once no way can be kept open any more."""

    async def open(self) -> None:
        """Begin to take what gRPC dials."""
        for name, relays in self.orders.dialled.items():
            way = Way(self, name, relays)
            self._keep(way.take_all(open_door(self.orders.dialled_at(name).removeprefix(UNIX))))
            for relay in relays:
                self._keep(way.keep_ready(relay))

    def park(self, address: str) -> None:
        """Begin to wait for those who dial, now that the member listens here."""
        for name in self.orders.diallers:
            for relay in self.orders.relays:
                self._keep(self._keep_parked(name, relay, address))

    async def follow(self, lines: asyncio.StreamReader) -> None:
        """Wait where the member says that it listens, until it ends; an error in what keeps ways open is raised."""

        async def read() -> None:
            while line := await lines.readline():
                self.park(json_value(line)["listen"])

        reading = asyncio.create_task(read())
        try:
            await asyncio.wait([reading, self.failure], return_when=asyncio.FIRST_COMPLETED)
            await (self.failure if self.failure.done() else reading)
        finally:
            reading.cancel()

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

    def carry(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done until the end."""
        task = asyncio.create_task(work)
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        task.add_done_callback(look)
        return task

    def report_trouble(self, about: str, relay: str, trouble: str | None) -> None:
        """Report how it stands with a neighbour at a relay, if that is new."""
        news = {"about": about, "relay": relay, "trouble": trouble}
        if self._reported.get((about, relay)) != news and self.report(news):
            self._reported[about, relay] = news

    async def join(self, role: Role, neighbour: str, relay: str, waiting: Callable[[], None]) -> Pipe | None:
        """A pipe that leads to a neighbour, as this relay says; None if the relay wants to be called again. Calls
        `waiting` once the relay has taken the call."""
        orders = self.orders
        mine = Call(relay, role, orders.plan, orders.identity.name, neighbour)
        pipe = await self.crowd.charged(
            partial(called, mine, orders.identity, kept_proxy=orders.kept_proxy, crowd=self.crowd)
        )
        waiting()
        return pipe if await self.crowd.charged(partial(joined, pipe)) else None

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._keeping.append(task)
        task.add_done_callback(self._kept)

    def _kept(self, task: asyncio.Task[None]) -> None:
        """What keeps ways open never ends by itself: if it does, its error is that of the whole forwarder."""
        if not task.cancelled() and (error := task.exception()) is not None and not self.failure.done():
            self.failure.set_exception(error)

    async def _keep_parked(self, name: str, relay: str, address: str) -> None:
        """One connection after the other that waits for this neighbour at this relay, and a few that are joined."""
        pauses, joined_already = Pauses(), deque[asyncio.Task[None]]()

        def waiting() -> None:
            if (name, relay) not in self._silent:
                self.report_trouble(name, relay, None)

        while True:
            try:
                pipe = await self.join(Role.LISTENS, name, relay, waiting)
            except HocketError as error:
                self.report_trouble(name, relay, str(error))
            else:
                if pipe is not None:
                    task = self.carry(self._let_in(pipe, name, relay, address))
                    task.add_done_callback(pipe.connection.close_after)
                    self._idle.add(task)
                    task.add_done_callback(self._idle.discard)
                    joined_already.append(task)
                    if len(joined_already) > JOINED_AT_ONCE:
                        joined_already.popleft().cancel()
            await pauses.next()

    async def _let_in(self, pipe: Pipe, name: str, relay: str, address: str) -> None:
        """Lead a neighbour to the member, once its TLS begins; until then nothing is opened for it."""
        try:
            hello, what = b"", "it says no hello of TLS"
            try:
                async with asyncio.timeout(HELLO):
                    hello = bytes(await self.crowd.charged(pipe.receive))
            except TimeoutError:
                what = f"nothing came within {HELLO:g} s"
            except OSError as error:
                what = in_words(error)
            else:
                if not hello:  # it has gone again
                    return
            if hello[:1] != TLS_BEGINS:
                self._silent.add((name, relay))
                self.report_trouble(name, relay, f"the relay {relay} says that {name} has come, but {what}")
                return
            task = asyncio.current_task()
            assert task is not None
            self._idle.discard(task)  # from now on it is waited for at the end
            self._silent.discard((name, relay))
            self.report_trouble(name, relay, None)
            pipe.connection.known()
            connection = Connection(await _to_member(address))
            connection.write_now(hello)
            await carry_both_ways(connection, pipe)
        finally:
            pipe.close()


async def _to_member(address: str) -> socket.socket:
    """A connection to where the member's gRPC listens."""
    if not address.startswith(UNIX):
        return await connected(LOOPBACK, int(address.rpartition(":")[2]))
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, address.removeprefix(UNIX))
    except BaseException:
        connection.close()
        raise
    return connection


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
    itself = asyncio.current_task()
    assert itself is not None
    loop.add_signal_handler(signal.SIGTERM, itself.cancel)
    orders = Orders.read((await lines.readline()).decode())
    forwarder = Forwarder(orders, report)
    try:
        await forwarder.open()
        report({})  # it takes what gRPC dials
        await forwarder.follow(lines)
    finally:
        await forwarder.close()
    shutil.rmtree(orders.folder, ignore_errors=True)  # the member is gone, and perhaps could not


if __name__ == "__main__":
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(main())
