"""One connection to a relay: nothing is lost, changed or kept without bound, in TLS or not."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trustme

from hocket.links.relay.connection import PIECE, Connection
from hocket.machine import LOOPBACK

SIZES = [1, 16_384, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7]


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def contexts(authority: trustme.CA, **limits: Any) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(LOOPBACK).configure_cert(server)
    authority.configure_trust(client)
    for name, value in limits.items():
        setattr(client, name, value)
    return server, client


def sockets() -> tuple[socket.socket, socket.socket]:
    with socket.create_server((LOOPBACK, 0)) as door:
        mine = socket.create_connection(door.getsockname())
        theirs, _ = door.accept()
    return mine, theirs


async def ends(authority: trustme.CA | None, **limits: Any) -> tuple[Connection, Connection]:
    dials, takes = map(Connection, sockets())
    if authority is not None:
        server, client = contexts(authority, **limits)
        await asyncio.gather(takes.secure(server), dials.secure(client, host=LOOPBACK))
    return dials, takes


def within_time(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(limited())


async def all_of(connection: Connection) -> bytes:
    found = bytearray()
    while piece := await connection.read():
        found += piece
    return bytes(found)


KINDS = pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])


@KINDS
def test_what_is_written_both_ways_arrives_as_it_was_and_then_the_end(authority, tls):
    rng = random.Random(3)
    words = [rng.randbytes(size) for size in SIZES for _ in range(3)]

    async def talk() -> None:
        one, other = await ends(authority if tls else None)

        async def say(connection: Connection) -> None:
            for word in words:
                await connection.write(word)

        async def hear(connection: Connection) -> bytes:
            return await connection.read_exactly(sum(map(len, words)))

        received = await asyncio.gather(hear(one), hear(other), say(one), say(other))
        assert received[0] == received[1] == b"".join(words)
        one.write_now(b"last")
        one.close()
        assert await all_of(other) == b"last"
        assert other.is_over
        other.close()

    within_time(talk)


@KINDS
def test_who_is_not_read_from_is_not_written_to_without_end(authority, tls):
    """What waits is one word, and what the system holds: the writer waits with it."""

    async def talk() -> None:
        one, other = await ends(authority if tls else None)
        written = 0

        async def say() -> None:
            nonlocal written
            while True:
                await one.write(bytes(PIECE))
                written += PIECE

        saying = asyncio.create_task(say())
        before = -1
        while written != before:
            before = written
            await asyncio.sleep(0.3)
        assert not saying.done()
        assert sum(map(len, one._backlog)) < 2 * PIECE
        received = 0
        while received <= before:  # what waited is under way again
            received += len(await other.read())
        saying.cancel()
        other.abort()
        await asyncio.gather(saying, return_exceptions=True)
        one.close()

    within_time(talk)


@KINDS
def test_a_reader_that_is_cancelled_loses_nothing(authority, tls):
    async def talk() -> None:
        one, other = await ends(authority if tls else None)
        received = b""
        for number in range(50):
            reading = asyncio.create_task(other.read())
            for _ in range(number % 5):
                await asyncio.sleep(0)
            await one.write(bytes([number]))
            for _ in range(number % 7):
                await asyncio.sleep(0)
            reading.cancel()
            [piece] = await asyncio.gather(reading, return_exceptions=True)
            received += b"" if isinstance(piece, BaseException) else bytes(piece)
        one.close()
        assert received + await all_of(other) == bytes(range(50))
        other.close()

    within_time(talk)


def test_records_that_were_touched_end_the_connection(authority):
    async def talk() -> None:
        one, other = await ends(authority)
        one._tls.write(b"so many words")
        record = bytearray(one._outgoing.read())
        record[-1] ^= 1
        one._push(bytes(record))
        assert await other.read() == b""
        assert other.is_over
        one.close()
        other.close()

    within_time(talk)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_of_another_authority_is_refused_and_the_server_is_told(authority, version):
    async def talk() -> None:
        server, _ = contexts(authority)
        _, client = contexts(trustme.CA(), maximum_version=version)
        dials, takes = map(Connection, sockets())
        came = await asyncio.gather(
            takes.secure(server), dials.secure(client, host=LOOPBACK), return_exceptions=True
        )
        assert isinstance(came[1], ssl.SSLCertVerificationError)
        # By TLS 1.3 the server has finished before the client judges; then it hears of it as it reads.
        assert isinstance(came[0], ssl.SSLError) or await takes.read() == b""
        dials.close()
        takes.close()

    within_time(talk)


def test_one_who_never_stops_talking_leaves_others_their_turn():
    async def talk() -> None:
        one, other = await ends(None)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        other._fill = lambda: setattr(other, "_piece", b"more")
        before = turns
        for _ in range(100):
            await other.read()
        assert turns - before >= 20
        counting.cancel()
        one.close()
        other.close()

    within_time(talk)


def test_what_a_connection_did_not_deliver_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr("hocket.links.relay.connection.FAREWELL", 0.1)

    async def talk() -> None:
        one, other = await ends(None)
        one.write_now(bytes(64 * PIECE))  # more than the system takes
        one.close()
        assert one._socket.fileno() >= 0
        while one._socket.fileno() >= 0:
            await asyncio.sleep(0.01)
        assert not one._backlog
        other.close()

    within_time(talk)


def test_a_task_that_never_began_leaves_no_connection_open():
    async def work() -> None:
        mine, theirs = sockets()
        taken = Connection(theirs)
        task = asyncio.create_task(all_of(taken))
        task.add_done_callback(taken.close_after)
        task.cancel()
        await asyncio.wait([task])
        assert taken.closing
        assert theirs.fileno() == -1
        with mine:
            assert mine.recv(1) == b""

    within_time(work)
