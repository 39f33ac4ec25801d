"""A connection whose pieces are handed on where they were read: asyncio's own streams copy every byte twice more."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

PIECE = 1 << 18
"""Bytes that are passed on at once; asyncio reads no more."""
MOST = 4 * PIECE
"""Bytes that may wait to be passed on, either way; then no more are read."""
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
PING = 20.0
"""Seconds between two signs of life. Routers and reverse proxies forget what is silent for a minute."""
FAREWELL = 5.0
"""Seconds in which a connection that is closed may still deliver what it was given."""


class Connection(asyncio.BufferedProtocol):
    """One end of a TCP connection, in TLS or not. One task reads at a time."""

    transport: asyncio.Transport

    def __init__(self, made: Callable[[Connection], None] | None = None):
        self._made = made
        self._room = memoryview(b"")
        """Where the next bytes are read to."""
        self._pieces: deque[bytes | memoryview] = deque()
        self._waiting = 0
        """Bytes that nobody has read yet."""
        self._ended = False
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    async def read(self) -> bytes | memoryview:
        """The next piece; none once the other end hung up, or the connection broke."""
        while not self._pieces:
            if self._ended:
                return b""
            self._arrived.clear()
            await self._arrived.wait()
        piece = self._pieces.popleft()
        if self._waiting > MOST >= self._waiting - len(piece):
            self.transport.resume_reading()
        self._waiting -= len(piece)
        return piece

    async def read_exactly(self, count: int) -> bytes:
        """So many bytes, and whatever came behind them is left."""
        found = b""
        while len(found) < count:
            found += await self._or_fail(found, count)
        return self._split(found, count)

    async def read_until(self, end: bytes, most: int) -> bytes:
        """All up to these bytes, and whatever came behind them is left."""
        found = b""
        while end not in found:
            if len(found) > most:
                raise ConnectionResetError(f"over {most} bytes, and no end")
            found += await self._or_fail(found, None)
        return self._split(found, found.index(end) + len(end))

    async def _or_fail(self, found: bytes, count: int | None) -> bytes | memoryview:
        piece = await self.read()
        if not piece:
            raise asyncio.IncompleteReadError(found, count)
        return piece

    def _split(self, found: bytes, count: int) -> bytes:
        if len(found) > count:
            self._pieces.appendleft(found[count:])
            self._waiting += len(found) - count
        return found[:count]

    async def write(self, data: bytes | memoryview) -> None:
        """Pass bytes on; waits while too many are under way."""
        self.write_now(data)
        await self.drained()

    def write_now(self, data: bytes | memoryview) -> None:
        """Pass bytes on, however many are under way."""
        if self.transport.is_closing():
            raise ConnectionResetError("the other end has hung up")
        self.transport.write(data)

    async def drained(self) -> None:
        """Wait while too many bytes are under way."""
        await self._writable.wait()

    @property
    def is_over(self) -> bool:
        """Whether the other end hung up, and all that it said was read."""
        return self._ended and not self._pieces

    def close(self) -> None:
        """Hang up once all is delivered; whoever does not read what it is sent is not waited for."""
        if not self.transport.is_closing():
            self.transport.close()
            asyncio.get_running_loop().call_later(FAREWELL, self.transport.abort)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=MOST)
        _keep_alive(transport.get_extra_info("socket"))
        if self._made is not None:
            self._made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        if not self._room:
            self._room = memoryview(bytearray(PIECE))
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        piece = self._room[:nbytes]
        if nbytes < PIECE // 8:
            piece = bytes(piece)  # the room stays as it is for the next
        else:
            self._room = memoryview(b"")  # whoever is handed the piece may keep it
        if self._waiting <= MOST < self._waiting + nbytes:
            self.transport.pause_reading()
        self._pieces.append(piece)
        self._waiting += nbytes
        self._arrived.set()

    def eof_received(self) -> bool:
        self._over()
        return self.transport.get_extra_info("sslcontext") is None  # what is under way to it may still arrive

    def connection_lost(self, exc: Exception | None) -> None:
        self._over()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _over(self) -> None:
        self._ended = True
        self._arrived.set()


def _keep_alive(connection: Any) -> None:
    """Have the system look every now and then whether the other end is still there."""
    if connection is None:
        return
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
            if hasattr(socket, option):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), int(PING))


def keep_memory() -> None:
    """Have this process keep what it frees. glibc would give large pieces back to the system and get them again, page
    by page: for a process that does nothing but pass pieces on, up to a third of its time."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        for option, most in (
            (M_MMAP_THRESHOLD, 16 << 20),
            (M_TRIM_THRESHOLD, 64 << 20),
            (M_TOP_PAD, 4 << 20),
        ):
            ctypes.CDLL(None).mallopt(option, most)
