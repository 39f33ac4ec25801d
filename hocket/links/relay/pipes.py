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
from typing import Protocol

from hocket.errors import BadConfig, LinkError
from hocket.links.relay.connection import PING, TLS_REFUSES, Connection
from hocket.links.relay.frames import BINARY, CLOSE, CONTINUED, LONGEST_FRAME, Bytes, Unframing, framed
from hocket.links.relay.frames import PING as ASKED
from hocket.links.relay.frames import PONG as ANSWERED
from hocket.links.text import shown

LONGEST_HTTP = 8192
NORMALLY = (1000).to_bytes(2, "big")
"""Why a WebSocket ends."""
WANTS_TLS = "it speaks TLS at this port; cards call such a relay host:port, without ws:// or tcp://"
LONGEST_MESSAGE = 4096
"""Bytes of a message before two ends are joined."""
MAGIC = b"hocket-relay/1\n"
"""Begins plain TCP; TLS and HTTP begin otherwise."""
PATH = "/hocket"
CONTROLS = 64
"""Control frames that may come at once; on average one in a second. One is sent in PING seconds, read or not."""
PARTS_IN_A_ROW = 256
"""Parts of frames, however small, before others have their turn."""
SILENT = logging.getLogger("hocket.links.relay")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


class Pipe(Protocol):
    """One connection."""

    connection: Connection

    async def receive(self) -> Bytes:
        """The next bytes; none where the other end hung up."""
        ...

    async def send(self, data: Bytes) -> None:
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

    async def receive(self) -> Bytes:
        return await self.connection.read()

    async def send(self, data: Bytes) -> None:
        await self.connection.write(data)

    async def hear(self) -> bytes:
        head = await self.connection.read_exactly(2)
        if head[:1] == TLS_REFUSES:
            raise LinkError(WANTS_TLS)
        length = int.from_bytes(head, "big")
        if length > LONGEST_MESSAGE:
            raise LinkError(f"a message of {length} bytes, where {LONGEST_MESSAGE} are the most")
        return await self.connection.read_exactly(length)

    async def say(self, message: bytes) -> None:
        await self.connection.write(len(message).to_bytes(2, "big") + message)

    def close(self) -> None:
        self.connection.close()


class WebPipe:
    """As WebSocket frames, inside TLS or not: what web servers and proxies let through."""

    def __init__(self, connection: Connection, *, dials: bool):
        self.connection = connection
        self.dials = dials
        self._unframing = Unframing(masked=not dials)
        self._arrived: deque[tuple[Bytes, bool]] = deque()
        """Parts of messages, and whether one ends with it."""
        self._asked = b""
        """What the other end's ping has said so far."""
        self._controls = time.monotonic() - CONTROLS
        """The time up to which control frames have come, one in a second."""
        self._over = False
        self._listening_since: float | None = None
        self._pinging = asyncio.get_running_loop().call_later(PING, self._ping)

    async def receive(self) -> Bytes:
        while await self._something():
            parts = [part for part, _ in self._arrived]
            self._arrived.clear()
            # Frames and pieces end in different places: unless joined, there would be twice as many at every hop.
            if data := parts[0] if len(parts) == 1 else b"".join(parts):
                return data
        return b""

    async def send(self, data: Bytes) -> None:
        for start in range(0, len(data), LONGEST_FRAME):
            self._write(BINARY, data[start : start + LONGEST_FRAME])
            await self.connection.drained()

    async def hear(self) -> bytes:
        message, whole = b"", False
        while not whole:
            if not await self._something():
                raise asyncio.IncompleteReadError(message, None)
            part, whole = self._arrived.popleft()
            message += part
            if len(message) > LONGEST_MESSAGE:
                raise LinkError(f"a message of over {LONGEST_MESSAGE} bytes, which are the most")
        return message

    async def say(self, message: bytes) -> None:
        await self.send(message)

    def close(self) -> None:
        self._pinging.cancel()
        if not self._over:
            with contextlib.suppress(OSError):
                self._write(CLOSE, NORMALLY)
        self._over = True
        self.connection.close()

    async def _something(self) -> bool:
        """Wait until there is something to take; not where the other end hung up."""
        while not self._arrived and not self._over:
            self._listening_since = time.monotonic()
            try:
                data = await self.connection.read()
            finally:
                self._listening_since = None
            if not data:
                break
            for count, (opcode, part, whole) in enumerate(self._unframing.parts(data), 1):
                self._take(opcode, part, whole)
                if count % PARTS_IN_A_ROW == 0:
                    await asyncio.sleep(0)
            await self.connection.drained()
        return bool(self._arrived)

    def _take(self, opcode: int, part: Bytes, whole: bool) -> None:
        if opcode in (CONTINUED, BINARY):
            self._arrived.append((part, whole))
            return
        now = time.monotonic()
        self._controls = max(self._controls, now - CONTROLS) + 1
        if self._controls > now:
            raise ConnectionResetError("it sends control frames without end")
        if opcode == ASKED:
            self._asked += part
            if whole:
                self._write(ANSWERED, self._asked)
                self._asked = b""
        elif opcode == CLOSE and whole and not self._over:
            self._write(CLOSE, NORMALLY)
            self._over = True

    def _write(self, opcode: int, data: Bytes) -> None:
        if self._over:
            raise ConnectionResetError("the other end has hung up")
        self.connection.write_now(framed(opcode, data, mask=self.dials))

    def _ping(self) -> None:
        """Say that this end is there, and give the other up if it does not."""
        if self.connection.closing or self._over:
            return
        # Not while nobody listens to it: what comes waits then until the next one has taken what came before.
        since = self._listening_since
        if since is not None and time.monotonic() - since > 2 * PING:
            self.connection.abort()
            return
        with contextlib.suppress(OSError):
            self._write(ASKED, b"")
        self._pinging = asyncio.get_running_loop().call_later(PING, self._ping)


async def web_client(connection: Connection, host: str, *, secure: bool) -> WebPipe:
    """The dialling end of a WebSocket, once the other has agreed to it."""
    need_websockets()
    from websockets.client import ClientProtocol
    from websockets.uri import parse_uri

    uri = parse_uri(f"{'wss' if secure else 'ws'}://{host}{PATH}")
    protocol = ClientProtocol(uri, logger=SILENT)
    protocol.send_request(protocol.connect())
    connection.write_now(b"".join(protocol.data_to_send()))
    try:
        head = await connection.read_until(b"\r\n\r\n", LONGEST_HTTP)
    except asyncio.IncompleteReadError as error:
        if error.partial[:1] == TLS_REFUSES:
            raise LinkError(WANTS_TLS) from None
        raise
    status = head.split(b" ", 2)[1:2]
    if head.startswith(b"HTTP/") and status != [b"101"]:
        raise LinkError(
            f"HTTP status {shown(b''.join(status).decode(errors='replace'))}: no relay answers there"
        )
    protocol.receive_data(head)
    if protocol.handshake_exc is not None or not protocol.events_received():
        raise LinkError("what answers there is no relay")
    return WebPipe(connection, dials=True)


async def web_server(connection: Connection) -> WebPipe:
    """The listening end of a WebSocket, if that is what the other end asks for."""
    need_websockets()
    from websockets.http11 import Request
    from websockets.server import ServerProtocol

    protocol = ServerProtocol(logger=SILENT)
    protocol.receive_data(await connection.read_until(b"\r\n\r\n", LONGEST_HTTP))
    for request in protocol.events_received():
        if isinstance(request, Request):
            protocol.send_response(protocol.accept(request))
    connection.write_now(b"".join(protocol.data_to_send()))
    if protocol.handshake_exc is not None:
        raise LinkError("this is no WebSocket")
    return WebPipe(connection, dials=False)


def need_websockets() -> None:
    """Refuse at the door where the library is missing."""
    try:
        import websockets  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise BadConfig(
            "a relay is spoken to as a web server is, by the library websockets, which is missing; install it with: "
            "pip install 'hocket[relay]'"
        ) from None
