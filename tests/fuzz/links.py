"""Bytes that come by a socket: to a relay from strangers and members, to a member from a relay, a proxy or its own
machine."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Coroutine
from random import Random
from typing import Any
from unittest import mock

import trustme
from websockets.utils import accept_key

from hocket.errors import LinkError
from hocket.federation.metrics_endpoint import MetricsEndpoint
from hocket.links.relay import crowd, outbound, server
from hocket.links.relay.call import CHALLENGE_BYTES, JOINED, WAIT, Call, Role
from hocket.links.relay.connection import Connection
from hocket.links.relay.crowd import READ_AT_ALL, Crowd
from hocket.links.relay.frames import BINARY, CLOSE, CONTINUED, PING, PONG, framed
from hocket.links.relay.pipes import LONGEST_MESSAGE, MAGIC
from hocket.links.relay.proxy import Proxy
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

STUCK = 300.0
"""Seconds after which a scene will never end: each has limits of some seconds of its own."""


class Played:
    """Scenes of a few connections, in a loop in which nobody waits for a turn."""

    def __call__(self, data: bytes) -> None:
        with mock.patch.object(crowd, "PART", 1e12), contextlib.ExitStack() as ends:
            asyncio.run(asyncio.wait_for(self.scene(data, ends), STUCK))

    def scene(self, data: bytes, ends: contextlib.ExitStack) -> Coroutine[Any, Any, None]:
        raise NotImplementedError


class AtRelay(Played):
    """A relay at which a member waits: whatever comes by another connection, it goes on, and holds nothing after it."""

    def __init__(self) -> None:
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

    def __init__(self) -> None:
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


class AtMetrics(Played):
    """A member's `--metrics-port`, at which any user of its machine may ask."""

    def make(self, draw: Random) -> bytes:
        asked = b"GET /metrics HTTP/1.1\r\nHost: localhost:PORT\r\nAuthorization: Bearer %s\r\n\r\n"
        return changed_bytes(asked % pick(draw, (b"token", b"none")), draw)

    async def scene(self, data: bytes, ends: contextlib.ExitStack) -> None:
        endpoint = await MetricsEndpoint.open(lambda: "round 3\n", 0, "token")
        ends.callback(endpoint.close)
        mine, theirs = socket.socketpair()
        ends.callback(mine.close)
        theirs.setblocking(False)
        talking = asyncio.create_task(endpoint._talk(theirs))
        talking.add_done_callback(lambda _: theirs.close())
        heard = await _heard(mine, data.replace(b"PORT", str(endpoint.port).encode()))
        await talking
        endpoint.close()
        await asyncio.sleep(0)
        assert not heard or heard.startswith(b"HTTP/1.1 ")
        assert b"round 3" not in heard or b"Bearer token" in data


class AtProxy(Played):
    """What a proxy, or anybody on the way to it, answers to CONNECT."""

    def make(self, draw: Random) -> bytes:
        return changed_bytes(
            pick(draw, (b"HTTP/1.1 200 OK\r\n\r\nmore", b"HTTP/1.0 407 \x1b[2J\r\nx: y\r\n\r\n")), draw
        )

    async def scene(self, data: bytes, ends: contextlib.ExitStack) -> None:
        mine, theirs = socket.socketpair()
        ends.callback(mine.close)
        theirs.setblocking(False)
        telling, refused = asyncio.create_task(_heard(mine, data)), None
        try:
            with theirs:
                await Proxy("proxy", 1, "me:password").pass_through(theirs, "relay", 1)
        except LinkError as error:
            refused = error
        await telling
        if refused is not None:
            assert str(refused).isprintable()
            assert "password" not in str(refused)
            raise refused


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
