"""Links between members' machines: gRPC streams over mutual TLS 1.3, each end known by its pinned certificate.

One bidirectional stream per link, opened by whichever end dials; so a member behind a firewall takes part by dialling
all its links. A certificate decides who somebody is; what they say about themselves only has to agree with it.
Whoever is not a neighbour fails the TLS handshake and gets nothing. A broken stream is opened again, ever more
patiently; what was sent over it may be lost, and whoever listens to the events says it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hocket import __version__
from hocket.errors import LinkError
from hocket.links.events import NOBODY, Event, Heard, Joined, Lost
from hocket.links.limits import FIRST_PAUSE, Allowance, LinkLimits
from hocket.links.listening import limits_in_grpc, start_listening
from hocket.links.tls import dialling_credentials, grpc, listening_credentials

METHOD = "/hocket.Link/Talk"
LAST_WORD = b""
"""The message that ends a stream. Whoever hears it has read all before it, and ends the stream from its side: a
connection that is closed while something lies unread at either end is reset, and takes what was on its way with it."""
FAREWELL = 5.0
"""Seconds in which a closing link may still deliver what it was given."""
PENDING = 64
"""Events not yet read; when there are more, streams are not read on until somebody has read these."""


@dataclass(frozen=True)
class Neighbour:
    """One end of a link as the other end knows it."""

    name: str
    certificate: bytes
    """PEM; the only one accepted on this link."""
    host: str
    """The name that the certificate is made out to."""
    address: str | None = None
    """host:port to dial; None where the neighbour dials us."""


@dataclass
class Line:
    """The current stream to one neighbour, if there is one."""

    neighbour: Neighbour
    outgoing: asyncio.Queue[bytes] | None = None
    """What is still to be sent."""
    talking: asyncio.Task[Any] | None = None


@dataclass
class GrpcChannels:
    """All links of one member, over the network. Make one with `open_channels`."""

    name: str
    plan: str
    """The hash of the plan; both ends of a link must have the same."""
    lines: dict[str, Line]
    limits: LinkLimits
    events: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(PENDING))
    server: Any = None
    dialling: list[asyncio.Task[None]] = field(default_factory=list)
    closing: bool = False
    strangers: int = 0
    """Streams refused because of their certificate. Handshakes that fail are not even seen here."""

    async def send(self, neighbour: str, message: bytes) -> None:
        outgoing = self.lines[neighbour].outgoing
        if outgoing is not None:
            outgoing.put_nowait(message)

    async def receive(self) -> Event:
        return await self.events.get()

    def nudge(self) -> None:
        with contextlib.suppress(asyncio.QueueFull):  # then there is enough to look up for
            self.events.put_nowait(NOBODY)

    async def close(self) -> None:
        self.closing = True
        talking = [line.talking for line in self.lines.values() if line.talking is not None]
        for line in self.lines.values():
            if line.outgoing is not None:
                line.outgoing.put_nowait(LAST_WORD)
        # What was handed over goes out before the stream ends; a neighbour that does not listen is not waited for.
        if talking:
            await asyncio.wait(talking, timeout=FAREWELL)
        for task in (*self.dialling, *talking):
            task.cancel()
        await asyncio.gather(*self.dialling, *talking, return_exceptions=True)
        if self.server is not None:
            await self.server.stop(grace=None)

    async def dial(self, line: Line, credentials: Any) -> None:
        """Keep a stream to this neighbour, for as long as we run."""
        neighbour, pause = line.neighbour, FIRST_PAUSE
        options = [*limits_in_grpc(self.limits), ("grpc.ssl_target_name_override", neighbour.host)]
        async with grpc.aio.secure_channel(str(neighbour.address), credentials, options=options) as channel:
            while not self.closing:
                try:
                    call = channel.stream_stream(METHOD)(metadata=self._introduction(neighbour))
                    theirs = {key: str(value) for key, value in await call.initial_metadata()}
                    # Without an introduction we were refused, and the status says why.
                    reason = self._complaint(neighbour, theirs) if theirs else await call.details()
                    if reason is None:
                        pause = FIRST_PAUSE
                        reason = await self._talk(line, theirs, _messages(call), call.write)
                    call.cancel()
                except grpc.aio.AioRpcError as error:
                    reason = error.details() or error.code().name.lower()
                if self.closing:
                    return
                await self.events.put(Lost(neighbour.name, reason))
                # Spread out, so that members who were cut off together do not come back together.
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))
                pause = min(2 * pause, self.limits.longest_pause)

    async def answer(self, requests: AsyncIterable[bytes], context: Any) -> None:
        """One stream that a neighbour opened; everybody else's is refused without a word."""
        line = self._caller(context.auth_context())
        if line is None:
            self.strangers += 1
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "")
            return
        theirs = {key: str(value) for key, value in context.invocation_metadata()}
        complaint = self._complaint(line.neighbour, theirs)
        if complaint is not None:
            await self.events.put(Lost(line.neighbour.name, complaint))
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, complaint)
            return
        await context.send_initial_metadata(self._introduction(line.neighbour))
        reason = (
            "the stream broke off"  # when gRPC ends it, be it for a message over the limit, we are cancelled
        )
        try:
            reason = await self._talk(line, theirs, requests, context.write)
        finally:
            if line.outgoing is None and not self.closing:
                await self.events.put(Lost(line.neighbour.name, reason))

    async def _talk(
        self,
        line: Line,
        theirs: Mapping[str, str],
        messages: AsyncIterable[bytes],
        write: Callable[[bytes], Awaitable[Any]],
    ) -> str:
        """Carry messages both ways until the stream ends; returns why it did."""
        name = line.neighbour.name
        if line.talking is not None:
            line.talking.cancel()  # a neighbour that comes back before we noticed that it was gone
        outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        line.outgoing = outgoing
        line.talking = asyncio.current_task()
        reading = asyncio.create_task(self._read_all(name, theirs, messages))
        writing = asyncio.create_task(_write_all(outgoing, write))
        try:
            return await reading
        finally:
            reading.cancel()
            writing.cancel()
            if line.outgoing is outgoing:
                line.outgoing = line.talking = None

    async def _read_all(self, name: str, theirs: Mapping[str, str], messages: AsyncIterable[bytes]) -> str:
        allowance = Allowance(self.limits)
        await self.events.put(Joined(name, theirs.get("hocket-version", "")))
        try:
            async for message in messages:
                if message == LAST_WORD:
                    break
                await allowance.take()
                if not self.closing:
                    await self.events.put(Heard(name, message))
        except grpc.aio.AioRpcError as error:
            return error.details() or error.code().name.lower()
        except grpc.aio.BaseError as error:
            return f"the stream broke off: {error}"
        return "the stream ended"

    def _caller(self, context: Mapping[str, Sequence[bytes]]) -> Line | None:
        """The neighbour whose certificate opened the stream, in TLS 1.3; nobody else has a line here."""
        if context.get("ssl_tls_version", [b"TLSv1.3"])[0] != b"TLSv1.3":
            return None
        shown = _der(context["x509_pem_cert"][0])
        for line in self.lines.values():
            if line.neighbour.address is None and _der(line.neighbour.certificate) == shown:
                return line
        return None

    def _introduction(self, neighbour: Neighbour) -> tuple[tuple[str, str], ...]:
        return (
            ("hocket-from", self.name),
            ("hocket-to", neighbour.name),
            ("hocket-plan", self.plan),
            ("hocket-version", __version__),
        )

    def _complaint(self, neighbour: Neighbour, theirs: Mapping[str, str]) -> str | None:
        """Why a neighbour whose certificate is right is still not talked to."""
        claimed, meant = theirs.get("hocket-from"), theirs.get("hocket-to")
        if claimed != neighbour.name:
            return f"the certificate of {neighbour.name} came with the name {claimed}; one of them is not its own"
        if meant != self.name:
            return (
                f"{neighbour.name} wanted to speak with {meant}, and this is {self.name}; check its addresses"
            )
        if theirs.get("hocket-plan") != self.plan:
            return (
                f"{neighbour.name} has another plan ({theirs.get('hocket-plan', 'none')[:16]}…, here "
                f"{self.plan[:16]}…); compare the files, and run the one that everybody signed"
            )
        return None


async def open_channels(
    name: str,
    *,
    key: bytes,
    certificate: bytes,
    neighbours: Sequence[Neighbour],
    plan: str,
    listen: str | None = None,
    limits: LinkLimits | None = None,
) -> GrpcChannels:
    """Listen at `listen` for the neighbours that dial us, and dial the others. `key` and `certificate` are PEM."""
    limits = limits or LinkLimits()
    channels = GrpcChannels(name, plan, {other.name: Line(other) for other in neighbours}, limits)
    dialers = [other.certificate for other in neighbours if other.address is None]
    if dialers:
        if listen is None:
            raise LinkError(
                f"{name} has no address, but {len(dialers)} neighbours dial it; plan links that it dials"
            )
        credentials = listening_credentials(key, certificate, dialers)
        channels.server = await start_listening(
            channels.answer, METHOD, listen, credentials, limits=limits, streams=4 * len(dialers) + 4
        )
    for line in channels.lines.values():
        if line.neighbour.address is not None:
            credentials = dialling_credentials(key, certificate, line.neighbour.certificate)
            channels.dialling.append(asyncio.create_task(channels.dial(line, credentials)))
    return channels


async def _messages(call: Any) -> AsyncIterator[bytes]:
    while isinstance(message := await call.read(), bytes):
        yield message


async def _write_all(outgoing: asyncio.Queue[bytes], write: Callable[[bytes], Awaitable[Any]]) -> None:
    # A write fails only with its stream, and whoever reads that says so.
    with contextlib.suppress(grpc.aio.AioRpcError, grpc.aio.BaseError, asyncio.InvalidStateError):
        while True:
            await write(await outgoing.get())


def _der(pem: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
