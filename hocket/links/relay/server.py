"""The relay: takes calls of members that it was told of, joins the two ends of a link, and passes bytes.

It needs no secret of anybody's and keeps nothing: kill it and start it again, and the members come back. What it
passes on is TLS 1.3 between two members who know each other's certificate, so it sees sizes and times, and who talks
with whom; what it can do is to stop. Strangers are shown the door within seconds, and compete with each other only.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, NoReturn

from hocket.errors import LinkError
from hocket.links.allowance import Allowance
from hocket.links.descriptors import KEPT_BACK, raise_soft_limit
from hocket.links.relay.call import AGAIN, JOINED, WAIT, Call, Role, new_challenge, read_call, refusal
from hocket.links.relay.carrying import look
from hocket.links.relay.connection import TLS_BEGINS, Bytes, Connection, accepted
from hocket.links.relay.crowd import Crowd
from hocket.links.relay.pipe import Pipe, answer_web

RECORD_HEAD = 5
"""Bytes before a record of TLS; the last two say how long it is."""
BACKLOG = 1024
CROWDED, HUNG_UP = 0.005, 0.0005
"""Seconds between two strangers of whom there are too many, or who have cost too much: a crowd gets so much of the
processor and no more, and a member among them has a second to show who it is before its place is taken. And from one of
them that is hung up on at once to the next: else others would stand behind them in the system's own line."""
A_FEW = 8
"""Strangers from one address who are no crowd: a member there calls for several links at once."""


@dataclass(frozen=True)
class RelayLimits:
    """Bounds on what strangers and members may cost a relay."""

    strangers: int = 256
    """Connections that have not shown yet whose they are; when there are more, the oldest is closed."""
    greeting: float = 10.0
    """Seconds to show it: two round trips of TLS, one of HTTP, one of ours."""
    spare: int = 8
    """Connections that one member may have beside four for each of its links."""
    pairs: int = 8
    """Joined connections of one link: one is used and one is ready; others may have died without a word."""
    wait: float = 600.0
    """Seconds that one end may wait for the other; then it calls again."""
    bandwidth: float | None = None
    """Bytes in a second that one member may send, over all its links."""


class Guest(NamedTuple):
    """A member that may call."""

    certificate: bytes
    links: int
    """How many of its links may go through the relay."""
    plan: str = ""
    """The plan that the relay knows it by; a member that it knows by its card alone has one share for all plans."""


Admission = Callable[[Call], Guest | None]
"""Whose certificate must have signed a call; None if the relay was not told of that member and that link."""


@dataclass(eq=False)
class Seat:
    """One end that waits for the other."""

    pipe: Pipe
    met: asyncio.Future[Pipe] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass
class Counts:
    """What happened, for the operator."""

    admitted: int = 0
    refused: int = 0
    strangers: int = 0
    joined: int = 0
    bytes: int = 0


class Relay:
    """A running relay. Use it inside `async with`."""

    def __init__(
        self,
        names: frozenset[str],
        admission: Admission,
        *,
        listen: tuple[str, int],
        tls: ssl.SSLContext | None = None,
        limits: RelayLimits | None = None,
    ):
        self.names = names
        self.admission = admission
        self.listen = listen
        self.tls = tls
        self.limits = limits or RelayLimits()
        self.counts = Counts()
        self.port = listen[1]
        self._crowd = Crowd()
        self.accepting: asyncio.Task[None] | None = None
        """Takes connections until the relay is left; ends with an error of ours, or never."""
        self._attending: dict[asyncio.Task[None], None] = {}
        self._unknown: dict[asyncio.Task[None], str] = {}
        """Those that have not shown whose they are, the oldest first, and where they come from."""
        self._waiting: dict[tuple[tuple[str, str, str], Role], Seat] = {}
        self._members: Counter[Guest] = Counter()
        self._pairs: Counter[tuple[str, str, str]] = Counter()
        self._allowances: dict[Guest, Allowance] = {}
        self._most = 0

    async def __aenter__(self) -> Relay:
        self._most = raise_soft_limit() - KEPT_BACK
        host, port = self.listen
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            door = socket.create_server(
                (host, port),
                family=family,
                backlog=BACKLOG,
                dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6(),
            )
        except OSError as error:
            raise LinkError(
                f"the relay cannot listen at {host}:{port}: {error.strerror}; is another process there, or does the "
                "port need rights that you do not have?"
            ) from None
        self.port = door.getsockname()[1]
        self.accepting = asyncio.create_task(self._accept(door))
        self.accepting.add_done_callback(lambda _: door.close())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [task for task in (self.accepting, *self._attending) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, door: socket.socket) -> None:
        next_of_crowd = 0.0
        async for stream in accepted(door, self._crowd):
            full = len(self._attending) >= self._most or len(self._unknown) >= self.limits.strangers
            if not full and not self._crowd.is_behind:
                self._begin(stream)
                continue
            there, now = Counter(self._unknown.values()), time.monotonic()
            crowded = there[stream.address] >= A_FEW
            if crowded and now < next_of_crowd:
                self.counts.strangers += 1
                stream.abort()
                await asyncio.sleep(HUNG_UP)
                continue
            if full and there:
                [(most, _)] = there.most_common(1)
                oldest = next(task for task, address in self._unknown.items() if address == most)
                del self._unknown[oldest]
                oldest.cancel()
            self._begin(stream)
            if crowded:
                next_of_crowd = now + CROWDED
            few = not there or max(there.values()) < A_FEW  # they come from everywhere
            await asyncio.sleep(CROWDED if few else HUNG_UP)

    def _begin(self, stream: Connection) -> None:
        task = asyncio.create_task(self._attend(stream))
        self._attending[task] = None
        self._unknown[task] = stream.address
        task.add_done_callback(self._left)
        task.add_done_callback(stream.close_after)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._attending.pop(task, None)
        self._unknown.pop(task, None)
        look(task)

    async def _attend(self, stream: Connection) -> None:
        """One connection, from its first byte to its last."""
        task = asyncio.current_task()
        assert task is not None
        pipe = None
        try:
            async with asyncio.timeout(self.limits.greeting):
                pipe = await self._crowd.charged(partial(self._opened, stream))
                call, guest = await self._crowd.charged(partial(self._known, pipe))
            self._unknown.pop(task, None)
            stream.known()
            with self._counted(call, guest):
                self.counts.admitted += 1
                await self._seated(pipe, call, guest)
        except LinkError as error:
            self.counts.refused += 1
            if pipe is not None:
                with contextlib.suppress(OSError, TimeoutError):
                    await asyncio.wait_for(pipe.send(refusal(str(error))), 1.0)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            if task in self._unknown:
                self.counts.strangers += 1
        finally:
            if pipe is not None:
                pipe.close()

    async def _opened(self, stream: Connection) -> Pipe:
        """A WebSocket, in TLS or not, as a connection's first byte says."""
        try:
            if await stream.first_byte() == TLS_BEGINS:
                if self.tls is None:
                    await _decline_tls(stream)
                else:
                    await stream.secure(self.tls)
            return await answer_web(stream)
        except LinkError as error:  # a browser, or a probe of a reverse proxy: it got its answer
            stream.close()
            raise OSError(str(error)) from None
        except BaseException:
            stream.abort()
            raise

    async def _known(self, pipe: Pipe) -> tuple[Call, Guest]:
        """Who calls, once it has proved it."""
        challenge = new_challenge()
        await pipe.send(challenge)
        call, signature = read_call(await pipe.receive_message())
        if call.relay not in self.names:
            at = call.relay.rpartition("/")[2]
            known = sorted(name for name in self.names if name.rpartition("/")[2] == at)
            meant = f" but {' and '.join(known)} (host:port alone is with TLS)" if known else ""
            raise LinkError(
                f"this is not the relay {call.relay}{meant}; its operator gives its names with --name"
            )
        guest = self.admission(call)
        # One answer for all of these: a stranger learns nothing about who is in a plan.
        if guest is None or not call.is_signed(guest.certificate, challenge, signature):
            raise LinkError(
                f"{call.sender} is not admitted for the plan {call.plan[:16]}…: its operator gives the relay that "
                "plan, or the cards in it, with --admit"
            )
        return call, guest

    @contextlib.contextmanager
    def _counted(self, call: Call, guest: Guest) -> Generator[None]:
        """One more connection of a member, within its share."""
        most = 4 * guest.links + self.limits.spare
        if self._members[guest] >= most:
            raise LinkError(f"{call.sender} has {most} connections already; is it running twice?")
        self._members[guest] += 1
        try:
            yield
        finally:
            self._members[guest] -= 1
            if not self._members[guest]:
                del self._members[guest]
                self._allowances.pop(guest, None)

    async def _seated(self, pipe: Pipe, call: Call, guest: Guest) -> None:
        """Wait for the other end, and carry what this one says."""
        await pipe.send(WAIT)
        met = await self._met(pipe, call)
        if met is None:
            await pipe.send(AGAIN)
            return
        other, data = met
        most = self.limits.bandwidth
        allowance = None if most is None else self._allowances.setdefault(guest, Allowance(most, burst=most))
        self._pairs[call.link] += 1
        try:
            data = data or await pipe.receive()
            while data:
                self.counts.bytes += len(data)
                if allowance is not None:
                    await allowance.take(len(data))
                await self.pass_on(call, data, other)
                data = await pipe.receive()
        finally:
            other.close()  # TLS has no half-close, so neither have we
            self._pairs[call.link] -= 1
            if not self._pairs[call.link]:
                del self._pairs[call.link]

    async def pass_on(self, call: Call, data: Bytes, other: Pipe) -> None:
        """Hand what one end said to the other."""
        await other.send(data)

    async def _met(self, pipe: Pipe, call: Call) -> tuple[Pipe, Bytes] | None:
        """The other end's pipe, and what this end has said to it already; None if it did not come in time."""
        opposite = Role.DIALS if call.role is Role.LISTENS else Role.LISTENS
        if self._pairs[call.link] >= 2 * self.limits.pairs:  # both ends count
            raise LinkError(
                f"{self.limits.pairs} connections of this link stand already; wait until they are gone"
            )
        partner = self._waiting.pop((call.link, opposite), None)
        if partner is None:
            return await self._waited(pipe, (call.link, call.role))
        try:
            await partner.pipe.send(JOINED)
            await pipe.send(JOINED)
        except BaseException:
            partner.met.cancel()
            raise
        if not partner.met.done():
            partner.met.set_result(pipe)
        self.counts.joined += 1
        return partner.pipe, b""

    async def _waited(self, pipe: Pipe, mine: tuple[tuple[str, str, str], Role]) -> tuple[Pipe, Bytes] | None:
        seat, before = Seat(pipe), self._waiting.get(mine)
        if before is not None:
            before.met.cancel()  # the later one is certainly alive
        self._waiting[mine] = seat
        watching = asyncio.create_task(pipe.receive())
        try:
            await asyncio.wait(
                [watching, seat.met], timeout=self.limits.wait, return_when=asyncio.FIRST_COMPLETED
            )
            if self._waiting.get(mine) is seat:  # nobody came for it
                if watching.done():
                    raise OSError("it hung up, or speaks to nobody")
                return None
            other = await _unless_cancelled(seat.met)
        finally:
            if self._waiting.get(mine) is seat:
                del self._waiting[mine]
            watching.cancel()
            said = (await asyncio.gather(watching, return_exceptions=True))[0]
        # It may have spoken as soon as it was told, before we looked.
        return other, b"" if isinstance(said, BaseException) else said


async def _decline_tls(stream: Connection) -> NoReturn:
    """Say that there is no TLS here, once the hello is read: what lies unread would take the answer with it."""
    head = await stream.read_exactly(RECORD_HEAD)
    await stream.read_exactly(int.from_bytes(head[-2:], "big"))
    stream.write_now(
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
        b"This relay was started without --cert: it speaks no TLS.\r\n"
    )
    raise LinkError("TLS, where there is none")


async def _unless_cancelled(met: asyncio.Future[Pipe]) -> Pipe:
    await asyncio.wait([met])
    if met.cancelled():
        raise OSError("a later connection waits in its place")
    return met.result()
