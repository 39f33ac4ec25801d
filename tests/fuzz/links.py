"""A relay as strangers and members speak to it, and a member as a relay speaks to it: bytes that come by a socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import trustme
from websockets.utils import accept_key

from hocket.errors import LinkError
from hocket.links.relay import crowd, outbound, server
from hocket.links.relay.call import CHALLENGE_BYTES, JOINED, WAIT, Call, Role
from hocket.links.relay.connection import Connection
from hocket.links.relay.crowd import READ_AT_ALL, Crowd
from hocket.links.relay.frames import BINARY, CLOSE, CONTINUED, PING, PONG, framed
from hocket.links.relay.pipes import LONGEST_MESSAGE, MAGIC
from hocket.links.relay.server import Guest, Relay
from hocket.machine import LOOPBACK
from tests.fuzz.disk import PLAN
from tests.fuzz.mutations import changed_bytes, pick
from tests.peers.plans import IDENTITIES
from tests.peers.strangers import UPGRADE

CHALLENGE = bytes(CHALLENGE_BYTES)
KEY = "AAAAAAAAAAAAAAAAAAAAAA=="
NAME = "tcp://relay:1"
LISTENER, DIALLER = IDENTITIES[0], IDENTITIES[1]
CERTIFICATES = {one.name: one.certificate_pem for one in (LISTENER, DIALLER)}
MOST_ANSWERED = 2 * READ_AT_ALL + LONGEST_MESSAGE
"""Bytes that a stranger may have a relay say."""


class Played:
    """Scenes of a few connections, in a loop in which nobody waits for a turn."""

    def __call__(self, data: bytes) -> None:
        with mock.patch.object(crowd, "PART", 1e12), contextlib.ExitStack() as ends:
            asyncio.run(self.scene(data, ends))

    def scene(self, data: bytes, ends: contextlib.ExitStack) -> Coroutine[Any, Any, None]:
        raise NotImplementedError


class AtRelay(Played):
    """A relay at which a member waits: whatever comes by another connection, it goes on, and holds nothing after it."""

    def __init__(self, folder: Path):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert(LOOPBACK).configure_cert(self.tls)
        client, sent = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.MemoryBIO()
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        with contextlib.suppress(ssl.SSLWantReadError):
            client.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
        self.waits = _plain(Role.LISTENS, LISTENER)
        dials, again = _plain(Role.DIALS, DIALLER), _plain(Role.LISTENS, LISTENER)
        call = dials[len(MAGIC) + 2 :]
        web = UPGRADE + framed(BINARY, call, mask=True)
        said = b"".join(framed(one, b"ab", mask=True) for one in (PING, BINARY, CONTINUED, PONG, CLOSE))
        # The second part of each is what comes after it is known who calls.
        self.corpus = (dials + b"hello", again, web + said, web, UPGRADE + said, sent.read(), MAGIC, UPGRADE)

    def make(self, draw: Random) -> bytes:
        return changed_bytes(pick(draw, self.corpus), draw)

    async def scene(self, data: bytes, ends: contextlib.ExitStack) -> None:
        made = Relay(
            frozenset([NAME]),
            lambda call: Guest(CERTIFICATES[call.speaker], 1) if call.speaker in CERTIFICATES else None,
            listen=(LOOPBACK, 0),
            tls=self.tls,
        )
        with mock.patch.object(server, "new_challenge", return_value=CHALLENGE):
            waiting, waits = _attended(made, ends)
            waits.sendall(self.waits)
            while not made._waiting:  # its steps are those of this loop
                await asyncio.sleep(0)
            task, mine = _attended(made, ends)
            answered = await _heard(mine, data)
            await task
            assert len(answered) <= max(MOST_ANSWERED, 2 * len(data))
            assert not waiting.done() or made.counts.joined or made.counts.admitted > 1
            waits.close()
            await asyncio.gather(waiting, return_exceptions=True)
            await asyncio.sleep(0)
        held = (made._attending, made._unknown, made._waiting, made._members, made._pairs, made._allowances)
        assert not any(held), held


class AtMember(Played):
    """A member at a relay that says whatever it likes: plainly, or behind a first letter by WebSocket."""

    def __init__(self, folder: Path):
        plain = (
            b"".join(len(one).to_bytes(2, "big") + one for one in (CHALLENGE, WAIT, JOINED)) + b"\x16hello"
        )
        refused = b"".join(len(one).to_bytes(2, "big") + one for one in (CHALLENGE, b"NNo \x1b[2J"))
        head = (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept_key(KEY)}\r\n\r\n"
        )
        said = (CHALLENGE, WAIT, JOINED, b"\x16hello")
        web = b"w" + head.encode() + b"".join(framed(BINARY, one, mask=False) for one in said)
        more = b"".join(framed(one, b"ab", mask=False) for one in (PING, BINARY, CONTINUED, PONG, CLOSE))
        self.corpus = (plain, refused, web, web + more, b"wHTTP/1.1 403 Forbidden\r\nServer: x\r\n\r\n")

    def make(self, draw: Random) -> bytes:
        return changed_bytes(pick(draw, self.corpus), draw)

    async def scene(self, data: bytes, ends: contextlib.ExitStack) -> None:
        scheme, data = ("ws", data[1:]) if data[:1] == b"w" else ("tcp", data)
        mine, theirs = socket.socketpair()
        ends.callback(mine.close)

        async def connected(host: str, port: int) -> socket.socket:
            return theirs

        telling = asyncio.create_task(_heard(mine, data))
        call = Call(f"{scheme}://relay:1", Role.LISTENS, PLAN.run_hash.hex(), LISTENER.name, DIALLER.name)
        try:
            with (
                mock.patch.object(outbound, "connected", connected),
                mock.patch("websockets.client.generate_key", return_value=KEY),
            ):
                pipe = await outbound.called(call, LISTENER, crowd=Crowd())
            try:
                if await outbound.joined(pipe):
                    pipe.connection.known()
                    while await pipe.receive():
                        pass
            except OSError as error:
                raise LinkError(outbound.in_words(error)) from None
            finally:
                pipe.close()
        finally:
            theirs.close()
            await telling


def _plain(role: Role, speaker: Any) -> bytes:
    """What a member says to a relay by TCP alone."""
    other = DIALLER if speaker is LISTENER else LISTENER
    call = Call(NAME, role, PLAN.run_hash.hex(), speaker.name, other.name).signed_by(speaker, CHALLENGE)
    return MAGIC + len(call).to_bytes(2, "big") + call


def _attended(made: Relay, ends: contextlib.ExitStack) -> tuple[asyncio.Task[None], socket.socket]:
    """A connection that a relay has taken, and its other end."""
    mine, theirs = socket.socketpair()
    ends.callback(mine.close)
    stream = Connection(theirs, made._crowd)
    task = asyncio.create_task(made._attend(stream))
    made._attending[task] = made._unknown[task] = None
    task.add_done_callback(made._left)
    task.add_done_callback(stream.close_after)
    return task, mine


async def _heard(mine: socket.socket, data: bytes) -> bytes:
    """What is answered to this, up to the end of both."""
    mine.setblocking(False)
    loop, heard = asyncio.get_running_loop(), b""

    async def send() -> None:
        with contextlib.suppress(OSError):
            await loop.sock_sendall(mine, data)
            mine.shutdown(socket.SHUT_WR)

    sending = asyncio.create_task(send())
    with contextlib.suppress(OSError):
        while more := await loop.sock_recv(mine, 1 << 16):
            heard += more
    await sending
    return heard
