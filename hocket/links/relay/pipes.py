"""Bytes both ways between a member and a relay: over plain TCP, or as WebSocket frames, which pass web proxies.

Both begin with a few short messages, whole and bounded, and then carry bytes as they come. Neither hides anything:
what is carried is the members' own TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from hocket.errors import BadConfig, LinkError
from hocket.links.relay.connection import PING, Connection

if TYPE_CHECKING:
    from websockets.client import ClientProtocol
    from websockets.server import ServerProtocol

LONGEST_FRAME = 1 << 20
LONGEST_MESSAGE = 4096
"""Bytes of a message before two ends are joined."""
MAGIC = b"hocket-relay/1\n"
"""Begins plain TCP; TLS and HTTP begin otherwise."""
PATH = "/hocket"
SILENT = logging.getLogger("hocket.links.relay")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


class Pipe(Protocol):
    """One connection."""

    async def receive(self) -> bytes:
        """The next bytes; none where the other end hung up."""
        ...

    async def send(self, data: bytes) -> None:
        """Pass bytes on; waits while too many are under way."""
        ...

    async def hear(self) -> bytes:
        """One whole message, before the bytes."""
        ...

    async def say(self, message: bytes) -> None:
        """One whole message, before the bytes."""
        ...

    def close(self) -> None:
        """Hang up once all is delivered."""
        ...


class PlainPipe:
    """Over TCP alone: the quickest, where nothing stands between."""

    def __init__(self, connection: Connection):
        self.connection = connection

    async def receive(self) -> bytes:
        return await self.connection.read()

    async def send(self, data: bytes) -> None:
        await self.connection.write(data)

    async def hear(self) -> bytes:
        length = int.from_bytes(await self.connection.read_exactly(2), "big")
        if length > LONGEST_MESSAGE:
            raise LinkError(f"a message of {length} bytes, where {LONGEST_MESSAGE} are the most")
        return await self.connection.read_exactly(length)

    async def say(self, message: bytes) -> None:
        await self.connection.write(len(message).to_bytes(2, "big") + message)

    def close(self) -> None:
        self.connection.close()


class WebPipe:
    """As WebSocket frames, inside TLS or not: what web servers and proxies let through."""

    def __init__(self, connection: Connection, protocol: ClientProtocol | ServerProtocol):
        self.connection = connection
        self.protocol = protocol
        self._arrived: deque[bytes] = deque()
        self._listening_since: float | None = None
        self._pinging = asyncio.get_running_loop().call_later(PING, self._ping)

    async def receive(self) -> bytes:
        from websockets.frames import Frame, Opcode

        while not self._arrived:
            self._listening_since = time.monotonic()
            try:
                data = await self.connection.read()
            finally:
                self._listening_since = None
            if not data:
                return b""
            self.protocol.receive_data(data)
            for event in self.protocol.events_received():
                if isinstance(event, Frame) and event.opcode in (Opcode.BINARY, Opcode.CONT) and event.data:
                    self._arrived.append(bytes(event.data))
            await self._flush()
            if self.protocol.close_expected() and not self._arrived:
                return b""
        return self._arrived.popleft()

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), LONGEST_FRAME):
            self._check_open()
            self.protocol.send_binary(data[start : start + LONGEST_FRAME])
            await self._flush()

    async def hear(self) -> bytes:
        message = await self.receive()
        if not message:
            raise asyncio.IncompleteReadError(b"", None)
        if len(message) > LONGEST_MESSAGE:
            raise LinkError(f"a message of {len(message)} bytes, where {LONGEST_MESSAGE} are the most")
        return message

    async def say(self, message: bytes) -> None:
        await self.send(message)

    def close(self) -> None:
        from websockets.protocol import State

        self._pinging.cancel()
        if self.protocol.state is State.OPEN:
            self.protocol.send_close(1000)
            with contextlib.suppress(OSError):
                self._write_out()
        self.connection.close()

    def _check_open(self) -> None:
        from websockets.protocol import State

        if self.protocol.state is not State.OPEN:
            raise ConnectionResetError("the other end has hung up")

    async def _flush(self) -> None:
        if self._write_out():
            await self.connection.drained()

    def _write_out(self) -> bool:
        parts = [part for part in self.protocol.data_to_send() if part]
        for part in parts:
            self.connection.write_now(part)
        return bool(parts)

    def _ping(self) -> None:
        """Say that this end is there, and give the other up if it does not."""
        from websockets.protocol import State

        transport = self.connection.transport
        if transport.is_closing() or self.protocol.state is not State.OPEN:
            return
        # Not while nobody listens to it: what comes waits then until the next one has taken what came before.
        since = self._listening_since
        if since is not None and time.monotonic() - since > 2 * PING:
            transport.abort()
            return
        self.protocol.send_ping(b"")
        self._write_out()
        self._pinging = asyncio.get_running_loop().call_later(PING, self._ping)


async def web_client(connection: Connection, host: str, *, secure: bool) -> WebPipe:
    """The dialling end of a WebSocket, once the other has agreed to it."""
    need_websockets()
    from websockets.client import ClientProtocol
    from websockets.exceptions import InvalidStatus
    from websockets.http11 import Response
    from websockets.uri import parse_uri

    uri = parse_uri(f"{'wss' if secure else 'ws'}://{host}{PATH}")
    protocol = ClientProtocol(uri, max_size=LONGEST_FRAME, logger=SILENT)
    protocol.send_request(protocol.connect())
    _write_all(connection, protocol.data_to_send())
    pending: list[Any] = []
    while not any(isinstance(event, Response) for event in pending):
        await _feed(protocol, connection)
        pending += protocol.events_received()
        if protocol.handshake_exc is not None:
            failure = protocol.handshake_exc
            if isinstance(failure, InvalidStatus):
                raise LinkError(f"HTTP status {failure.response.status_code}: no relay answers there")
            raise LinkError("what answers there is no relay")
    return _begun(WebPipe(connection, protocol), pending)


async def web_server(connection: Connection) -> WebPipe:
    """The listening end of a WebSocket, if that is what the other end asks for."""
    need_websockets()
    from websockets.http11 import Request
    from websockets.server import ServerProtocol

    protocol = ServerProtocol(max_size=LONGEST_FRAME, logger=SILENT)
    pending: list[Any] = []
    while not any(isinstance(event, Request) for event in pending):
        await _feed(protocol, connection)
        pending += protocol.events_received()
        if protocol.handshake_exc is not None:
            _write_all(connection, protocol.data_to_send())
            raise LinkError("this is no WebSocket")
    [request] = [event for event in pending if isinstance(event, Request)]
    protocol.send_response(protocol.accept(request))
    _write_all(connection, protocol.data_to_send())
    if protocol.handshake_exc is not None:
        raise LinkError("this is no WebSocket")
    return _begun(WebPipe(connection, protocol), pending)


def _begun(pipe: WebPipe, pending: list[Any]) -> WebPipe:
    """A pipe with whatever came right behind the handshake."""
    from websockets.frames import Frame

    pipe._arrived.extend(bytes(event.data) for event in pending if isinstance(event, Frame) and event.data)  # pyright: ignore[reportPrivateUsage]
    return pipe


async def _feed(protocol: Any, connection: Connection) -> None:
    data = await connection.read()
    if data:
        protocol.receive_data(data)
    else:
        protocol.receive_eof()


def _write_all(connection: Connection, parts: list[bytes]) -> None:
    for part in parts:
        if part:
            connection.write_now(part)


def need_websockets() -> None:
    """Refuse at the door where the library is missing."""
    try:
        import websockets  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise BadConfig(
            "a relay is spoken to as a web server is, by the library websockets, which is missing; install it with: "
            "pip install 'hocket[relay]'"
        ) from None
