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
from hocket.federation.monitoring.metrics_endpoint import MetricsEndpoint
from hocket.links.relay import crowd, outbound, server
from hocket.links.relay.call import CHALLENGE_BYTES, JOINED, WAIT, Call, Role
from hocket.links.relay.connection import Connection
from hocket.links.relay.crowd import READ_AT_ALL, Crowd
from hocket.links.relay.pipe import LONGEST_MESSAGE
from hocket.links.relay.proxy import Proxy
from hocket.links.relay.server import Guest, Relay
from hocket.machine import LOOPBACK
from tests.fuzz.disk import PLAN
from tests.fuzz.mutations import changed_bytes, pick
from tests.peers.plans import IDENTITIES
from tests.peers.strangers import UPGRADE
from tests.peers.web_frames import Opcode, framed

CHALLENGE = bytes(CHALLENGE_BYTES)
KEY = "AAAAAAAAAAAAAAAAAAAAAA=="
NAME = f"ws://{LOOPBACK}:1"
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
        self.waits = _call(Role.LISTENS, LISTENER)
        dials, again = _call(Role.DIALS, DIALLER), _call(Role.LISTENS, LISTENER)
        said = _some_of_each(mask=True)
        # The second part of each is what comes after it is known who calls.
        self.corpus = (dials + said, again, dials, UPGRADE + said, sent.read(), UPGRADE)

    def make(self, draw: Random) -> bytes:
        return changed_bytes(pick(draw, self.corpus), draw)

    async def scene(self, data: bytes, ends: contextlib.ExitStack) -> None:
        made = Relay(
            frozenset([NAME]),
            lambda call: Guest(CERTIFICATES[call.sender], 1) if call.sender in CERTIFICATES else None,
            listen=(LOOPBACK, 0),
            tls=self.tls,
        )
        with mock.patch.object(server, "new_challenge", return_value=CHALLENGE):
            waiting, waits = _attended(made, ends)
            waits.sendall(self.waits)
            while not made._waiting:  # its steps are those of this loop
                await asyncio.sleep(0)
            task, mine = _attended(made, ends)
            answered = await _received(mine, data)
            await task
            assert len(answered) <= max(MOST_ANSWERED, 2 * len(data))
            assert not waiting.done() or made.counts.joined or made.counts.admitted > 1
            waits.close()
            await asyncio.gather(waiting, return_exceptions=True)
            await asyncio.sleep(0)
        held = (made._attending, made._unknown, made._waiting, made._members, made._pairs, made._allowances)
        assert not any(held), held


class AtMember(Played):
    """A member at a relay that says whatever it likes."""

    def __init__(self) -> None:
        head = (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept_key(KEY)}\r\n\r\n"
        )

        def after_head(*said: bytes) -> bytes:
            return head.encode() + b"".join(framed(Opcode.BINARY, one) for one in said)

        web = after_head(CHALLENGE, WAIT, JOINED, b"\x16hello")
        refused = after_head(CHALLENGE, b"NNo \x1b[2J")
        self.corpus = (
            refused,
            web,
            web + _some_of_each(mask=False),
            b"HTTP/1.1 403 Forbidden\r\nServer: x\r\n\r\n",
        )

    def make(self, draw: Random) -> bytes:
        return changed_bytes(pick(draw, self.corpus), draw)

    async def scene(self, data: bytes, ends: contextlib.ExitStack) -> None:
        mine, theirs = socket.socketpair()
        ends.callback(mine.close)

        async def connected(host: str, port: int) -> socket.socket:
            return theirs

        telling = asyncio.create_task(_received(mine, data))
        call = Call(NAME, Role.LISTENS, PLAN.run_hash.hex(), LISTENER.name, DIALLER.name)
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
        received = await _received(mine, data.replace(b"PORT", str(endpoint.port).encode()))
        await talking
        endpoint.close()
        await asyncio.sleep(0)
        assert not received or received.startswith(b"HTTP/1.1 ")
        assert b"round 3" not in received or b"Bearer token" in data


class AtProxy(Played):
    """What a proxy, or anybody on the way to it, answers to CONNECT."""

    def make(self, draw: Random) -> bytes:
        return changed_bytes(
            pick(draw, (b"HTTP/1.1 200 OK\r\n\r\nmore", b"HTTP/1.0 407 \x1b[2J\r\nx: y\r\n\r\n")), draw
        )

    async def scene(self, data: bytes, ends: contextlib.ExitStack) -> None:
        mine, theirs = socket.socketpair()
        ends.callback(mine.close)
        stream = Connection(theirs)
        telling, refused = asyncio.create_task(_received(mine, data)), None
        try:
            await Proxy("proxy", 1, "me:password").pass_through(stream, "relay:1")
        except LinkError as error:
            refused = error
        finally:
            stream.abort()
        await telling
        if refused is not None:
            assert str(refused).isprintable()
            assert "password" not in str(refused)
            raise refused


def _some_of_each(*, mask: bool) -> bytes:
    """A frame of each kind."""
    kinds = (Opcode.PING, Opcode.BINARY, Opcode.CONT, Opcode.PONG, Opcode.CLOSE)
    return b"".join(framed(one, b"\x03\xe8", mask=mask) for one in kinds)


def _call(role: Role, sender: Any) -> bytes:
    """What a member says to a relay."""
    other = DIALLER if sender is LISTENER else LISTENER
    call = Call(NAME, role, PLAN.run_hash.hex(), sender.name, other.name).signed_by(sender, CHALLENGE)
    return UPGRADE + framed(Opcode.BINARY, call, mask=True)


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


async def _received(mine: socket.socket, data: bytes) -> bytes:
    """What is answered to this, up to the end of both."""
    mine.setblocking(False)
    loop, received = asyncio.get_running_loop(), b""

    async def send() -> None:
        with contextlib.suppress(OSError):
            await loop.sock_sendall(mine, data)
            mine.shutdown(socket.SHUT_WR)

    sending = asyncio.create_task(send())
    with contextlib.suppress(OSError):
        while more := await loop.sock_recv(mine, 1 << 16):
            received += more
    await sending
    return received
