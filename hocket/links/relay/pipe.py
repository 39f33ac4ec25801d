"""A WebSocket between a member and a relay: what web servers and companies' proxies let through.

It begins with a few short messages, whole and bounded, and then carries bytes as they come. It hides nothing: what it
carries is the members' own TLS. The library makes and reads the frames; the connection beneath it, the pauses and the
bounds are ours, because the library answers every ping and reads whatever it is given.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import TYPE_CHECKING

from hocket.errors import BadConfig, LinkError
from hocket.links.relay.connection import PIECE, PING, TLS_REFUSES, Bytes, Connection
from hocket.links.text import shown

if TYPE_CHECKING:
    from websockets.frames import Frame
    from websockets.protocol import Protocol

PATH = "/hocket"
LONGEST_HTTP = 8192
LONGEST_MESSAGE = 4096
"""Bytes of a message before two ends are joined."""
LONGEST_FRAME = 1 << 20
SLICE = 1 << 14
"""Bytes that the library reads at once: of pings alone some 10 ms, in which nobody else is served."""
CONTROLS = 64
"""Frames without data that may come at once; on average one in a second. A ping is sent every PING seconds."""
FRAMES_IN_A_ROW = 256
"""Frames, however small, before others have their turn."""
WANTS_TLS = "it speaks TLS at this port; cards call such a relay host:port, without ws://"
SILENT = logging.getLogger("hocket.links.relay")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


class Pipe:
    """One end of a WebSocket whose handshake is done."""

    def __init__(self, connection: Connection, protocol: Protocol):
        self.connection = connection
        self._protocol = protocol
        self._unread = memoryview(b"")
        """Of the last piece, what the library has not read yet."""
        self._arrived: deque[Frame] = deque()
        self._controls = time.monotonic() - CONTROLS
        """The time up to which frames without data have come, one in a second."""
        self._over = False
        """Whether either end has said that it hangs up."""
        self._reading_since: float | None = None
        self._pinging = asyncio.get_running_loop().call_later(PING, self._ping)

    async def receive(self) -> Bytes:
        """The next bytes; none where the other end hung up."""
        if not await self._has_data():
            return b""
        frames = [*self._arrived]
        self._arrived.clear()
        return frames[0].data if len(frames) == 1 else b"".join(frame.data for frame in frames)

    async def send(self, data: Bytes) -> None:
        """Pass bytes on; waits while too many are under way."""
        for start in range(0, len(data), PIECE):
            if self._over:
                raise ConnectionResetError("the other end has hung up")
            self._protocol.send_binary(data[start : start + PIECE])
            self._flush()
            await self.connection.drained()

    async def receive_message(self) -> bytes:
        """One whole message, before the bytes."""
        message, whole = b"", False
        while not whole:
            if not await self._has_data():
                raise asyncio.IncompleteReadError(message, None)
            frame = self._arrived.popleft()
            message, whole = message + frame.data, frame.fin
            if len(message) > LONGEST_MESSAGE:
                raise LinkError(f"a message of over {LONGEST_MESSAGE} bytes, which are the most")
        return message

    def close(self) -> None:
        """Hang up once all is delivered."""
        self._pinging.cancel()
        if not self._over:
            self._over = True
            with contextlib.suppress(OSError):
                self._protocol.send_close(1000)
                self._flush()
        self.connection.close()

    async def _has_data(self) -> bool:
        """Wait until there is something to take; not where the other end hung up."""
        while not self._arrived and not self._over:
            if not self._unread:
                self._reading_since = time.monotonic()
                try:
                    self._unread = memoryview(await self.connection.read())
                finally:
                    self._reading_since = None
                if not self._unread:
                    break
            if self._take() > FRAMES_IN_A_ROW:
                await asyncio.sleep(0)
            await self.connection.drained()
        return bool(self._arrived)

    def _take(self) -> int:
        """Have the library read on until a frame is whole, and answer; how many frames there were."""
        from websockets.frames import DATA_OPCODES, Frame

        events = []
        while self._unread and not events:
            data, self._unread = self._unread[:SLICE], self._unread[SLICE:]
            self._protocol.receive_data(data)  # pyright: ignore[reportArgumentType]
            events = self._protocol.events_received()
        frames = [event for event in events if isinstance(event, Frame)]
        self._over = self._protocol.close_rcvd is not None or self._protocol.parser_exc is not None
        now = time.monotonic()
        for frame in frames:
            if frame.opcode in DATA_OPCODES and frame.data:
                self._arrived.append(frame)
                continue
            self._controls = max(self._controls, now - CONTROLS) + 1
            if self._controls > now:
                self._protocol.data_to_send()  # nothing is answered any more
                raise ConnectionResetError("it sends control frames without end")
        self._flush()
        if self._protocol.parser_exc is not None:
            raise ConnectionResetError("it says what is no frame of ours")
        return len(frames)

    def _flush(self) -> None:
        """Write what the library has to say."""
        for data in self._protocol.data_to_send():
            if data:  # an empty piece asks for a half-close, which TLS does not have
                self.connection.write_now(data)

    def _ping(self) -> None:
        """Say that this end is there, and give the other up if it does not."""
        if self.connection.closing or self._over:
            return
        # Not while nobody reads from it: what comes waits then until the next one has taken what came before.
        since = self._reading_since
        if since is not None and time.monotonic() - since > 2 * PING:
            self.connection.abort()
            return
        with contextlib.suppress(OSError):
            self._protocol.send_ping(b"")
            self._flush()
        self._pinging = asyncio.get_running_loop().call_later(PING, self._ping)


async def dial_web(connection: Connection, host: str, *, secure: bool) -> Pipe:
    """The dialling end of a WebSocket, once the other has agreed to it."""
    need_websockets()
    from websockets.client import ClientProtocol
    from websockets.uri import parse_uri

    uri = parse_uri(f"{'wss' if secure else 'ws'}://{host}{PATH}")
    protocol = ClientProtocol(uri, max_size=LONGEST_FRAME, logger=SILENT)
    protocol.send_request(protocol.connect())
    connection.write_now(b"".join(protocol.data_to_send()))
    try:
        head = await connection.read_until(b"\r\n\r\n", LONGEST_HTTP)
    except asyncio.IncompleteReadError as error:
        if error.partial[:1] == TLS_REFUSES:
            raise LinkError(WANTS_TLS) from None
        raise
    status = head.split(b" ", 2)[1:2]
    if head.startswith(b"HTTP/") and status != [b"101"]:  # its body is not waited for
        said = shown(b"".join(status).decode(errors="replace"))
        raise LinkError(f"HTTP status {said}: no relay answers there")
    protocol.receive_data(head)
    if protocol.handshake_exc is not None or not protocol.events_received():
        raise LinkError("what answers there is no relay")
    return Pipe(connection, protocol)


async def answer_web(connection: Connection) -> Pipe:
    """The listening end of a WebSocket, if that is what the other end asks for."""
    need_websockets()
    from websockets.http11 import Request
    from websockets.server import ServerProtocol

    protocol = ServerProtocol(max_size=LONGEST_FRAME, logger=SILENT)
    protocol.receive_data(await connection.read_until(b"\r\n\r\n", LONGEST_HTTP))
    for request in protocol.events_received():
        if isinstance(request, Request):
            protocol.send_response(protocol.accept(request))
    connection.write_now(b"".join(protocol.data_to_send()))
    if protocol.handshake_exc is not None:
        raise LinkError("this is no WebSocket")
    return Pipe(connection, protocol)


def need_websockets() -> None:
    """Refuse at the door where the library is missing."""
    try:
        import websockets  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise BadConfig(
            "a relay is spoken to as a web server is, by the library websockets, which is missing; install it with: "
            "pip install 'hocket[relay]'"
        ) from None
