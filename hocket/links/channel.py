"""Links between members' machines: gRPC streams over mutual TLS 1.3, each end known by its pinned certificate.

One bidirectional stream per link, opened by whichever end dials; so a member behind a firewall takes part by dialling
all its links. A certificate decides who somebody is; what they say about themselves only has to agree with it.
Anybody who is not a neighbour fails the TLS handshake and gets nothing. A broken stream is opened again, ever more
patiently; what was sent over it may be lost, and anybody who listens to the events says it again. Of two processes that
speak for one neighbour, only one has a stream: the later one, by the count of starts in its journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from hocket.errors import LinkError
from hocket.links.allowance import Allowance
from hocket.links.descriptors import raise_soft_limit
from hocket.links.events import NOBODY, Displaced, Event, Joined, Lost, Received
from hocket.links.line import ANOTHER_SPEAKS, Introduction, Line, Neighbour, Stamp, Stream, make_way
from hocket.links.server import FIRST_PAUSE, LinkLimits, limits_in_grpc, start_listening
from hocket.links.text import shown
from hocket.links.tls import dialling_credentials, grpc, listening_credentials

METHOD = "/hocket.Link/Talk"
LAST_MESSAGE = b""
"""The message that ends a stream. Who receives it has read all before it, and ends the stream from its side: a
connection that is closed while something lies unread at either end is reset, and takes what was on its way with it."""
FAREWELL = 5.0
"""Seconds in which a closing link may still deliver what it was given."""
PENDING = 64
"""Events not yet read; when there are more, streams are not read on until somebody has read these."""


@dataclass
class GrpcChannels:
    """All links of one member, over the network. Make one with `open_channels`."""

    introduction: Introduction
    lines: dict[str, Line]
    limits: LinkLimits
    events: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(PENDING))
    server: Any = None
    dialling: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    failure: BaseException | None = None
    """Why a link is not dialled any more, if that is an error of ours: `receive` raises it."""
    closing: bool = False
    strangers: int = 0
    """Streams refused because of their certificate. Handshakes that fail are not even seen here."""

    @property
    def name(self) -> str:
        return self.introduction.name

    async def send(self, neighbour: str, message: bytes) -> None:
        stream = self.lines[neighbour].stream
        if stream is None:
            return
        try:
            # There mostly is room, and a clock costs more than all else here.
            if not stream.unsent.take(len(message)):
                async with asyncio.timeout(self.limits.silence):
                    await stream.unsent.enter(len(message))
        except TimeoutError:
            raise LinkError(
                f"{neighbour} is connected but does not read: {stream.unsent} wait for it, and for "
                f"{self.limits.silence:g} s there was no room for one more; no member can be so far behind. Ask "
                f"{neighbour} what it runs, and start again"
            ) from None
        stream.outgoing.put_nowait(message)

    async def receive(self) -> Event:
        event = await self.events.get()
        if self.failure is not None:
            raise self.failure
        if isinstance(event, Received):
            self.lines[event.neighbour].unread.leave(len(event.message))
        return event

    def nudge(self) -> None:
        with contextlib.suppress(asyncio.QueueFull):  # then there is enough to look up for
            self.events.put_nowait(NOBODY)

    async def close(self) -> None:
        self.closing = True
        streams = [line.stream for line in self.lines.values() if line.stream is not None]
        talking = [stream.talking for stream in streams if stream.talking is not None]
        for stream in streams:
            stream.outgoing.put_nowait(LAST_MESSAGE)
        # What was handed over goes out before the stream ends; a neighbour that does not listen is not waited for.
        try:
            if talking:
                await asyncio.wait(talking, timeout=FAREWELL)
        finally:  # stopped a second time, too: a server that nobody stops outlives its loop
            for task in (*self.dialling, *talking):
                task.cancel()
            if self.server is not None:
                await self.server.stop(grace=None)
        await asyncio.gather(*self.dialling, *talking, return_exceptions=True)

    def begin_dialling(self, line: Line, credentials: Any) -> None:
        """Dial this neighbour from now on."""
        task = asyncio.create_task(self.dial(line, credentials))
        self.dialling.append(task)
        task.add_done_callback(self._observe)

    def _observe(self, task: asyncio.Task[None]) -> None:
        """A link that nothing dials any more would look as if its neighbour were away."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failure = error
            self.nudge()

    async def dial(self, line: Line, credentials: Any) -> None:
        """Keep a stream to this neighbour, for as long as we run."""
        neighbour, pause = line.neighbour, FIRST_PAUSE
        options = [*limits_in_grpc(self.limits), ("grpc.ssl_target_name_override", neighbour.host)]
        async with grpc.aio.secure_channel(str(neighbour.address), credentials, options=options) as channel:
            talk: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(METHOD)
            while not self.closing:
                try:
                    call = talk(metadata=self.introduction.to(neighbour.name))
                    theirs = _introduced(await call.initial_metadata())
                    if not theirs:
                        await call.read()  # we were refused: this fails with the status that says why
                    reason = self.introduction.complaint(neighbour.name, theirs)
                    if reason is None:
                        pause, stream = FIRST_PAUSE, Stream(theirs)
                        with line.carried_by(stream):
                            reason = await self._talk(line, stream, _messages(call), call.write)
                    call.cancel()
                except grpc.aio.AioRpcError as error:
                    reason = _in_words(error.details() or error.code().name.lower(), neighbour)
                    if error.code() is ANOTHER_SPEAKS and not self.closing:
                        await self.events.put(Displaced(neighbour.name, reason))
                        return
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
        name, theirs = line.neighbour.name, _introduced(context.invocation_metadata())
        complaint = self.introduction.complaint(name, theirs)
        if complaint is not None:
            if line.stream is None:
                await self.events.put(Lost(name, complaint))
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, complaint)
            return
        stream = Stream(theirs, unquote(context.peer()))
        refusal = make_way(line, stream)
        if refusal is not None:
            await context.abort(ANOTHER_SPEAKS, refusal)
            return
        reason = "the stream broke off"  # gRPC ends it, be it for a message over the limit: we are cancelled
        try:
            with line.carried_by(stream):
                await context.send_initial_metadata(self.introduction.to(name))
                reason = await self._talk(line, stream, requests, context.write)
        finally:
            if line.stream is None and not self.closing:
                await self.events.put(Lost(name, reason))
        # Only a status ends a stream for its other end: if this task were cancelled, that end would wait for ever.
        if stream.ending is not None:
            await context.abort(*stream.ending)

    async def _talk(
        self,
        line: Line,
        stream: Stream,
        messages: AsyncIterable[bytes],
        write: Callable[[bytes], Awaitable[Any]],
    ) -> str:
        """Carry messages both ways until the stream ends or is replaced; returns why it did."""
        reading = asyncio.create_task(self._read_all(line, stream, messages))
        writing = asyncio.create_task(_write_all(stream, write))
        replaced = asyncio.create_task(stream.replaced.wait())
        waiting = {reading, writing, replaced}
        try:
            while not reading.done() and not replaced.done():
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if writing in waiting and writing.done():
                    writing.result()  # an error of ours; a broken stream ends the reading, too
                    waiting.discard(writing)
            return "it connected anew" if stream.ending is not None else reading.result()
        finally:
            for task in (reading, writing, replaced):
                task.cancel()
            await asyncio.gather(reading, writing, replaced, return_exceptions=True)

    async def _read_all(self, line: Line, stream: Stream, messages: AsyncIterable[bytes]) -> str:
        name, allowance = line.neighbour.name, Allowance(self.limits.rate, self.limits.burst)
        await self.events.put(Joined(name, shown(stream.theirs["hocket-version"], 32), *stream.stamp))
        try:
            async for message in messages:
                if message == LAST_MESSAGE:
                    break
                await allowance.take()
                if not self.closing:
                    await self._take_in(line, message)
        except grpc.aio.BaseError as error:
            return f"the stream broke off: {shown(str(error))}"
        return f"{name} hung up: it was stopped, or the line broke"

    async def _take_in(self, line: Line, message: bytes) -> None:
        """Keep a message until it is read; while there is no room for it, the stream is not read on."""
        await line.unread.enter(len(message))
        try:
            await self.events.put(Received(line.neighbour.name, message))
        except asyncio.CancelledError:
            line.unread.leave(len(message))
            raise

    def _caller(self, context: Mapping[str, Sequence[bytes]]) -> Line | None:
        """The neighbour whose certificate opened the stream, in TLS 1.3; nobody else has a line here."""
        if context.get("ssl_tls_version") != [b"TLSv1.3"]:
            return None
        certificate = _der(context["x509_pem_cert"][0])
        for line in self.lines.values():
            if line.neighbour.address is None and _der(line.neighbour.certificate) == certificate:
                return line
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
    epoch: int = 0,
) -> GrpcChannels:
    """Listen at `listen` for the neighbours that dial us, and dial the others. `key` and `certificate` are PEM.

    `epoch` counts the starts of this member; of two processes that speak for it, neighbours believe the later.
    """
    limits = limits or LinkLimits()
    introduction = Introduction(name, plan, Stamp(epoch, secrets.token_hex(8)))
    channels = GrpcChannels(introduction, {other.name: Line(other) for other in neighbours}, limits)
    raise_soft_limit()
    dialers = [other.certificate for other in neighbours if other.address is None]
    if dialers:
        if listen is None:
            raise LinkError(
                f"{name} has no address, but {len(dialers)} neighbours dial it; plan links that it dials"
            )
        credentials = listening_credentials(key, certificate, dialers)
        channels.server = await start_listening(
            channels.answer, METHOD, listen, credentials, limits=limits, dialers=len(dialers)
        )
    for line in channels.lines.values():
        if line.neighbour.address is not None:
            credentials = dialling_credentials(key, certificate, line.neighbour.certificate)
            channels.begin_dialling(line, credentials)
    return channels


async def _messages(call: Any) -> AsyncIterator[bytes]:
    while isinstance(message := await call.read(), bytes):
        yield message


async def _write_all(stream: Stream, write: Callable[[bytes], Awaitable[Any]]) -> None:
    # A write fails with its stream, of which the reader says why.
    with contextlib.suppress(grpc.aio.AioRpcError, grpc.aio.BaseError, asyncio.InvalidStateError):
        while True:
            message = await stream.outgoing.get()
            await write(message)
            if message != LAST_MESSAGE:
                stream.unsent.leave(len(message))


TROUBLES = {
    "Connection refused": "nobody listens at {address} (connection refused): {name} does not run yet, or has another "
    "address now",
    "DNS resolution failed": "the host in {address} is not known here: check the address on the card of {name}, and "
    "your DNS",
    "WRONG_VERSION_NUMBER": "what answers at {address} does not speak TLS: another program listens there, or the "
    "address on the card of {name} is wrong",
    "CERTIFICATE_VERIFY_FAILED": "what answers at {address} has another certificate than the plan names for {name}: it "
    "is somebody else, or {name} changed its key and one of you still runs the plan with the old one",
    "Socket closed": "what answers at {address} hung up while TLS began: it does not accept this member's key, so it "
    "is somebody else, or one of you still runs a plan with an old key",
    "Timeout occurred": "no answer from {address}: {name} is off, or a firewall lets nothing through",
    "No route to host": "there is no way to {address} from here (no route to host)",
    "Network is unreachable": "there is no way to {address} from here (the network is unreachable)",
}
"""What gRPC says of a connection that cannot be made, by a part of it, and what that means."""


def _in_words(details: str, neighbour: Neighbour) -> str:
    for sign, words in TROUBLES.items():
        if sign in details:
            return words.format(address=neighbour.address, name=neighbour.name)
    return shown(details)


def _introduced(metadata: Any) -> dict[str, str]:
    return {key: str(value) for key, value in metadata}


def _der(pem: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
