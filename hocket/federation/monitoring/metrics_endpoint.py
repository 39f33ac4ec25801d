"""What Prometheus asks a member for, on loopback: `GET /metrics`, for anybody who asks this machine by its own name,
and who brings the token where there is one.

Everybody on the machine can connect. So there are few connections at once, the oldest of them makes way for the next,
and a crowd is let in slowly: it takes neither the member's descriptors nor its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
from collections.abc import Callable

from hocket.errors import BadConfig
from hocket.machine import LOOPBACK

AT_ONCE = 8
"""Connections that are open at a time."""
PATIENCE = 5.0
"""Seconds within which a request must have come."""
PAUSE = 0.05
"""Seconds from one connection to the next while there are that many."""
LAST_PORT = 65535
LONGEST = 8192
"""Bytes of a request."""


class MetricsEndpoint:
    """Answers until it is closed. Make one with `open`."""

    def __init__(self, text: Callable[[], str], door: socket.socket, token: str):
        self.text = text
        self.token = token
        self._door = door
        self._talking: dict[asyncio.Task[None], socket.socket] = {}
        self._taking = asyncio.create_task(self._take_all())
        self._taking.add_done_callback(lambda _: door.close())

    @classmethod
    async def open(cls, text: Callable[[], str], port: int, token: str = "") -> MetricsEndpoint:
        """Listen on loopback, and nowhere else; an empty token asks for none."""
        if not 0 <= port <= LAST_PORT:
            raise BadConfig(
                f"port {port} does not exist; name another with --metrics-port, up to {LAST_PORT}"
            )
        try:
            door = socket.create_server((LOOPBACK, port), backlog=AT_ONCE)
        except OSError as error:
            raise BadConfig(
                f"port {port} on this machine cannot be had ({error}); name another with --metrics-port"
            ) from None
        door.setblocking(False)
        return cls(text, door, token)

    @property
    def port(self) -> int:
        return self._door.getsockname()[1]

    def close(self) -> None:
        """Answer nobody any more."""
        for task in (self._taking, *self._talking):
            task.cancel()  # each closes its socket once it has let go of it

    async def _take_all(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._door)
            except OSError:  # no descriptor is left, or the caller is gone
                await asyncio.sleep(PAUSE)
                continue
            connection.setblocking(False)
            task = asyncio.create_task(self._talk(connection))
            self._talking[task] = connection
            task.add_done_callback(self._forget)
            if len(self._talking) > AT_ONCE:
                next(iter(self._talking)).cancel()
                await asyncio.sleep(PAUSE)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._talking.pop(task).close()

    async def _talk(self, connection: socket.socket) -> None:
        loop, request = asyncio.get_running_loop(), bytearray()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while b"\r\n\r\n" not in request and len(request) <= LONGEST:
                    piece = await loop.sock_recv(connection, LONGEST)
                    if not piece:
                        return
                    request += piece
                await loop.sock_sendall(connection, self._answer(bytes(request)))
                connection.shutdown(socket.SHUT_WR)
                while await loop.sock_recv(
                    connection, LONGEST
                ):  # closed before it is read, an answer is lost
                    pass

    def _answer(self, request: bytes) -> bytes:
        status, body = self._answered(request)
        head = f"Content-Type: text/plain; version=0.0.4\r\nConnection: close\r\nContent-Length: {len(body.encode())}"
        return f"HTTP/1.1 {status}\r\n{head}\r\n\r\n{body}".encode()

    def _answered(self, request: bytes) -> tuple[str, str]:
        head, whole, _ = request.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        if not whole:
            return "431 Request Header Fields Too Large", "a request has 8 kB at most\n"
        fields = [
            (name.strip().lower(), value.strip()) for name, _, value in (one.partition(":") for one in lines)
        ]
        hosts = [value for name, value in fields if name == "host"]
        # Another site may point its own name at this machine, so that a browser asks us for it.
        if len(hosts) != 1 or hosts[0] not in (f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"):
            return "421 Misdirected Request", f"ask {LOOPBACK}:{self.port}, by this name\n"
        given = "".join(value for name, value in fields if name == "authorization")
        if self.token and not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            return "401 Unauthorized", "bring the token in the file metrics-token of the member's home\n"
        if not first.startswith("GET /metrics "):
            return "404 Not Found", "only /metrics is here\n"
        return "200 OK", self.text()
