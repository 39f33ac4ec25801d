"""A connection that reads into one room and writes at once: asyncio's own transports, and above all its TLS, take new
memory for every piece, copy it several times more, and give the loop a turn for each. See docs/relay.md."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from hocket.links.relay.crowd import READ_AT_ALL, READ_AT_ONCE, Crowd, address_of

Bytes = bytes | bytearray | memoryview
TLS_BEGINS = b"\x16"
"""The first byte of a hello."""
NO_TLS = (
    "it speaks no TLS at this port; its operator gives it --cert and --key, or sets a web server before it"
)
TLS_REFUSES = b"\x15"
"""The first byte of an alert: in answer to what is no TLS, too."""
PIECE = 1 << 18
"""Bytes that are passed on at once."""
IN_A_ROW = 4
"""Pieces that one connection may read before the others have their turn."""
LONGEST_RECORD = (1 << 14) + 512
"""Bytes of one record of TLS, which may not be whole yet; half of what is whole is data, or more."""
UNREAD_ANSWERS = 8
"""Answers of TLS itself that the other end has not read; anybody who asks on is not answered."""
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
PING = 20.0
"""Seconds between two signs of life. Routers and reverse proxies forget what is silent for a minute."""
FAREWELL = 5.0
"""Seconds in which a connection that is closed may still deliver what it was given."""


class Connection:
    """One end of a TCP connection, in TLS or not. One task reads at a time.

    As long as it belongs to a crowd, it reads in its turn, and little: until `known`.
    """

    def __init__(self, connection: socket.socket, crowd: Crowd | None = None):
        connection.setblocking(False)
        self.address = "" if crowd is None else address_of(connection)
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._tls: Any = None
        """An SSLObject, which reads to a memoryview, though its stubs do not say so."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._room = self._sealed = memoryview(b"")
        """Where bytes are read to: as they are, and as TLS has them."""
        self._piece: bytes | memoryview = b""
        """Read, and not yet taken."""
        self._in_a_row = 0
        self._crowd = crowd
        self._as_stranger = 0
        """Bytes that were read in the crowd."""
        self._waiting: asyncio.Future[None] | None = None
        """Of anybody who reads."""
        self._watched = False
        self._ended = False
        self._backlog: deque[memoryview] = deque()
        """What the system would not take yet."""
        self._writable = asyncio.Event()
        self._writable.set()
        self.closing = False
        """Whether this end has hung up, or the connection broke."""
        _keep_alive(connection)

    async def secure(self, context: ssl.SSLContext, *, host: str | None = None) -> None:
        """Speak TLS from now on: as the server, or with a host whose certificate has to be good."""
        answered = host is None
        made = context.wrap_bio(
            self._incoming, self._outgoing, server_side=host is None, server_hostname=host
        )
        while True:
            try:
                made.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._push(self._outgoing.read())
                piece = await self._or_fail(b"", None)
                if not answered and bytes(piece[:1]) not in (TLS_BEGINS, TLS_REFUSES):
                    raise ConnectionResetError(NO_TLS) from None
                answered = True
                self._incoming.write(piece)
            except ssl.SSLError:
                self._push(self._outgoing.read())  # it is told why
                raise
        self._push(self._outgoing.read())
        self._tls, self._room = made, memoryview(b"")  # there must be one more for what is sealed

    def known(self) -> None:
        """It belongs to no crowd any more."""
        if self._crowd is not None:
            self._piece = bytes(self._piece)  # it lies in the room for strangers, which is given up
            self._crowd, self._room, self._sealed = None, memoryview(b""), memoryview(b"")

    async def read(self) -> bytes | memoryview:
        """The next piece, which the next read writes over; none once the other end hung up, or the connection broke."""
        while self._crowd is not None and not self._piece and not self._ended:
            if not self._incoming.pending and not (self._tls and self._tls.pending()):
                await self._arrival()
                if self.is_over:  # nobody has to wait for a turn to leave
                    self._end()
                    break
            await self._crowd.turn(self.address)
            self._fill()
        self._in_a_row += 1
        if self._in_a_row > IN_A_ROW:
            self._in_a_row = 0
            await asyncio.sleep(0)
        if not self._piece:
            self._fill()
        while not self._piece and not self._ended:
            self._in_a_row = 0
            await self._arrival()
        piece, self._piece = self._piece, b""
        return piece

    async def _arrival(self) -> None:
        """Wait until something came, or the end."""
        self._waiting = self._loop.create_future()
        if not self._watched:
            self._watched = True
            self._loop.add_reader(self._socket, self._readable)
        await self._waiting

    async def first_byte(self) -> bytes:
        """What it begins with, left where it is."""
        self._piece = await self._or_fail(b"", 1)
        return bytes(self._piece[:1])

    async def read_exactly(self, count: int) -> bytes:
        """So many bytes, and whatever came behind them is left."""
        found = b""
        while len(found) < count:
            found += await self._or_fail(found, count)
        self._piece = found[count:]
        return found[:count]

    async def read_until(self, end: bytes, most: int) -> bytes:
        """All up to these bytes, and whatever came behind them is left."""
        found = b""
        while end not in found:
            if len(found) > most:
                raise ConnectionResetError(f"over {most} bytes, and no end")
            found += await self._or_fail(found, None)
        count = found.index(end) + len(end)
        self._piece = found[count:]
        return found[:count]

    async def _or_fail(self, found: bytes, count: int | None) -> bytes | memoryview:
        piece = await self.read()
        if not piece:
            raise asyncio.IncompleteReadError(found, count)
        return piece

    async def write(self, data: Bytes) -> None:
        """Pass bytes on; waits until the system has taken them."""
        self.write_now(data)
        await self.drained()

    def write_now(self, data: Bytes) -> None:
        """Pass bytes on, however many are under way."""
        if self.closing:
            raise ConnectionResetError("the other end has hung up")
        if self._tls is not None:
            self._tls.write(data)
            data = self._outgoing.read()
        self._push(data)

    async def drained(self) -> None:
        """Wait until the system has taken all that was written."""
        await self._writable.wait()

    @property
    def is_over(self) -> bool:
        """Whether the other end hung up, and all that it said was read."""
        try:
            return self._ended or (not self._piece and not self._socket.recv(1, socket.MSG_PEEK))
        except OSError as error:
            return not isinstance(error, BlockingIOError)

    def close(self) -> None:
        """Hang up once all is delivered; anybody who does not read what it is sent is not waited for."""
        if self.closing:
            return
        with contextlib.suppress(OSError):
            if self._tls is not None:
                with contextlib.suppress(ssl.SSLError):  # the other's answer is not waited for
                    self._tls.unwrap()
                self._push(self._outgoing.read())
        self.closing = True
        self._end()
        if self._backlog:
            self._loop.call_later(FAREWELL, self.abort)
        else:
            self.abort()

    def close_after(self, _: asyncio.Task[Any]) -> None:
        """Hang up after a task that had it, and that was perhaps cancelled before it began."""
        self.close()

    def abort(self) -> None:
        """Hang up now."""
        self.closing = True
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
        self._backlog.clear()
        self._room = self._sealed = memoryview(
            b""
        )  # anybody who still holds this end holds no room for bytes with it
        self._writable.set()
        self._end()

    def _fill(self) -> None:
        """Read once what there is; by TLS there may be nothing in it."""
        if not self._room:
            room, sealed = (PIECE, PIECE) if self._crowd is None else (LONGEST_RECORD, READ_AT_ONCE)
            if self._tls is None:
                room = sealed
            else:
                self._sealed = memoryview(bytearray(sealed))
            self._room = memoryview(bytearray(room))
        try:
            count = self._received(self._room) if self._tls is None else self._unseal()
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:  # it broke, or somebody has touched what TLS protects
            count = 0
        self._piece = self._room[:count]
        if not count:
            self._end()

    def _received(self, room: memoryview) -> int:
        """Bytes from the system; strangers have few."""
        count = self._socket.recv_into(room)
        if self._crowd is not None:
            self._as_stranger += count
            if self._as_stranger > READ_AT_ALL:
                raise ConnectionResetError(f"over {READ_AT_ALL} bytes, and not known yet")
        return count

    def _unseal(self) -> int:
        """Bytes through TLS to the room, of one piece at most: others wait for their turn while there is no data."""
        with contextlib.suppress(ssl.SSLWantReadError):
            return self._opened()
        sealed = self._received(self._sealed)
        if not sealed:
            return 0
        self._incoming.write(self._sealed[:sealed])
        count = 0
        try:
            count = self._opened()
            return count
        finally:
            if self._outgoing.pending:  # TLS itself has an answer to give
                self._push(self._outgoing.read())
            if len(self._backlog) > UNREAD_ANSWERS or 2 * count + LONGEST_RECORD < sealed:
                raise ConnectionResetError("it asks without end, and says nothing")

    def _opened(self) -> int:
        """Data of as many records as are there and fit."""
        count = 0
        with contextlib.suppress(ssl.SSLWantReadError):
            while count < len(self._room):
                found = self._tls.read(len(self._room) - count, self._room[count:])
                if not found:  # it says that this is the end; what came before is handed on first
                    return count
                count += found
        if not count:
            raise ssl.SSLWantReadError
        return count

    def _readable(self) -> None:
        if self._waiting is None or self._waiting.done():  # nobody reads: what comes waits in the system
            self._watched = False
            self._loop.remove_reader(self._socket)
            return
        if self._crowd is None:
            self._fill()
        if self._piece or self._crowd is not None:
            self._waiting.set_result(None)

    def _push(self, data: Bytes) -> None:
        sent = 0
        if not self._backlog:
            sent = self._sent(data)
            if sent == len(data):
                return
            self._loop.add_writer(self._socket, self._send_on)
            self._writable.clear()
        self._backlog.append(memoryview(bytes(data[sent:])))

    def _sent(self, data: Bytes) -> int:
        """Bytes of these that the system took."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self.abort()
            raise ConnectionResetError("the other end has hung up") from None

    def _send_on(self) -> None:
        with contextlib.suppress(ConnectionResetError):
            while self._backlog:
                data = self._backlog[0]
                sent = self._sent(data)
                if sent < len(data):
                    self._backlog[0] = data[sent:]
                    return
                self._backlog.popleft()
            self._loop.remove_writer(self._socket)
            self._writable.set()
            if self.closing:
                self.abort()

    def _end(self) -> None:
        self._ended = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


async def accepted(door: socket.socket, crowd: Crowd | None = None) -> AsyncIterator[Connection]:
    """Connections as they come, for ever."""
    loop = asyncio.get_running_loop()
    door.setblocking(False)
    while True:
        try:
            connection, _ = await loop.sock_accept(door)
        except OSError:  # no file is free, or it was gone before it was looked at
            await asyncio.sleep(0.05)
            continue
        yield Connection(connection, crowd)


def _keep_alive(connection: socket.socket) -> None:
    """Have the system send at once, and look every now and then whether the other end is still there."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
