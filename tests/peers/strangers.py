"""Strangers at relays, who never stop: python -m tests.peers.strangers PORT...

They send pings and updates of TLS's keys, and hold connections open that they have begun and do not go on with. To each
line on standard input they answer how often each of these was done; they end with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable

from hocket.machine import LOOPBACK

from .key_updates import send_key_updates
from .web_frames import Opcode, framed

PAUSE = 0.1
"""Seconds between two of one kind at one relay: they share their processors with all others."""
HELD = 150
"""Half-open connections at each relay: so many come in fifteen seconds, after ten of which a relay hangs up."""
PINGS = 10_000
UPGRADE = (
    b"GET /hocket HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
BEGINNINGS = (b"", b"\x16\x03\x01\x02\x00\x01", UPGRADE[:40], UPGRADE + b"\x82\x85", UPGRADE)


def ping(connection: socket.socket) -> None:
    """A WebSocket through TLS that says nothing but pings, until it is hung up on."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(connection) as wrapped:
        wrapped.sendall(UPGRADE + framed(Opcode.PING, mask=True) * PINGS)
        while wrapped.recv(1 << 16):
            pass


def update(connection: socket.socket) -> None:
    """TLS that says nothing but that its keys change."""
    send_key_updates(connection, 10**6)


def hold() -> Callable[[socket.socket], None]:
    """Connections that are begun, and closed long after anybody should have hung up on them."""
    held: deque[socket.socket] = deque()

    def begin(connection: socket.socket) -> None:
        connection.sendall(BEGINNINGS[os.urandom(1)[0] % len(BEGINNINGS)])
        held.append(connection.dup())
        if len(held) > HELD:
            held.popleft().close()

    return begin


def again_and_again(port: int, deed: Callable[[socket.socket], None], count: Callable[[], None]) -> None:
    """One connection after the other, whatever becomes of it; a relay that was killed comes back."""
    while True:
        with (
            contextlib.suppress(OSError, AssertionError),
            socket.create_connection((LOOPBACK, port), timeout=20) as connection,
        ):
            count()
            deed(connection)
        time.sleep(PAUSE)


def main(ports: list[int]) -> None:
    """Begin, and tell how it goes."""
    done: Counter[str] = Counter()
    for port in ports:
        for what, deed in (("pings", ping), ("key updates", update), ("half-open", hold())):

            def count(kind: str = f"{what} at {port}") -> None:
                done[kind] += 1

            threading.Thread(target=again_and_again, args=(port, deed, count), daemon=True).start()
    for _ in sys.stdin:
        print(json.dumps(done), flush=True)  # noqa: T201


if __name__ == "__main__":
    main([*map(int, sys.argv[1:])])
