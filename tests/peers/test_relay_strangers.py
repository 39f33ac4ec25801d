"""Strangers who never stop: a relay hangs up on each, and gives all together a part of the processor; and those on a
member's own machine find no door."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import ssl
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest
import trustme

from hocket.errors import LinkError
from hocket.federation.plan.relays import through_relays
from hocket.links.channel import GrpcChannels, Neighbour
from hocket.links.relay import crowd
from hocket.links.relay.call import CHALLENGE_BYTES, Call, Role
from hocket.links.relay.connection import Connection
from hocket.links.relay.crowd import LONGEST_TURN, PART, READ_AT_ALL, Crowd
from hocket.links.relay.forwarder import Orders
from hocket.links.relay.forwarding import Forwarding, RelayedChannels
from hocket.links.relay.outbound import called
from hocket.links.relay.pipe import CONTROLS
from hocket.links.relay.server import Guest, Relay, RelayLimits
from hocket.machine import LOOPBACK, UNIX

from .ends import ASH, BIRCH, CEDAR, end
from .key_updates import send_key_updates
from .strangers import UPGRADE
from .test_relay_connection import sockets
from .web_frames import Opcode, framed

PATIENT = RelayLimits(greeting=3600.0)
"""Nobody is hung up on because time is over."""


def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(LOOPBACK).configure_cert(context)
    return context


@contextlib.asynccontextmanager
async def patient_relay(tls: ssl.SSLContext | None = None, limits: RelayLimits = PATIENT):
    made = Relay(
        frozenset(["ws://relay:1"]),
        lambda call: Guest(BIRCH.certificate_pem, 1),
        listen=(LOOPBACK, 0),
        tls=tls,
        limits=limits,
    )
    async with made, asyncio.timeout(120):
        yield made


async def answers_a_member(made: Relay) -> None:
    pipe = await called(Call(f"ws://{LOOPBACK}:{made.port}", Role.DIALS, "ab" * 32, "birch", "ash"), BIRCH)
    pipe.close()


ENDLESS = {
    "pings": UPGRADE + framed(Opcode.PING, mask=True) * 10_000,
    "long pings": UPGRADE + framed(Opcode.PING, bytes(125), mask=True) * 1_000,
    "frames of nothing": UPGRADE + framed(Opcode.BINARY, mask=True) * 10_000,
    "a hello of TLS": b"\x16\x03\x01\x40\x00\x01\x00\xff\xff\x03\x03" + bytes(100_000),
    "a head of HTTP": b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000,
    "garbage": os.urandom(100_000),
    "a call": UPGRADE + framed(Opcode.BINARY, bytes(100_000), mask=True),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_stranger_who_never_stops_is_hung_up_on(what):
    async def scene() -> None:
        async with patient_relay(server_tls()) as made:
            made.names = frozenset([f"ws://{LOOPBACK}:{made.port}"])
            reader, writer = await asyncio.open_connection(LOOPBACK, made.port)
            writer.write(ENDLESS[what])
            received = b""
            with contextlib.suppress(ConnectionResetError):
                while more := await reader.read(1 << 16):
                    received += more
            assert received.count(b"\x8a\x00") <= CONTROLS
            writer.close()
            await answers_a_member(made)
            assert not made._unknown

    asyncio.run(scene())


def test_a_stranger_who_sends_key_updates_is_hung_up_on():
    async def scene() -> None:
        async with patient_relay(server_tls()) as made:
            made.names = frozenset([f"ws://{LOOPBACK}:{made.port}"])
            with socket.create_connection((LOOPBACK, made.port)) as stranger:
                sending = asyncio.create_task(asyncio.to_thread(send_key_updates, stranger, 10**6))
                await answers_a_member(made)
                assert await sending < 10**6
            await answers_a_member(made)

    asyncio.run(scene())


def test_a_member_whose_tls_says_nothing_is_hung_up_on():
    async def scene() -> None:
        mine, theirs = sockets()
        with mine:
            taken = Connection(theirs)
            sending = asyncio.create_task(asyncio.to_thread(send_key_updates, mine, 2_000))
            await taken.secure(server_tls())
            assert await sending == 2_000  # the system holds them all
            assert await taken.read() == b""
            taken.close()

    asyncio.run(scene())


class Answering:
    """TLS that has much to answer, and never any data."""

    def __init__(self, answers: ssl.MemoryBIO):
        self.answers = answers

    def read(self, *_: object) -> int:
        self.answers.write(bytes(1 << 16))
        raise ssl.SSLWantReadError


def test_who_does_not_read_what_tls_answers_is_not_answered_for_ever():
    async def scene() -> None:
        mine, theirs = sockets()
        with mine:
            taken = Connection(theirs)
            taken._tls = Answering(taken._outgoing)
            mine.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each byte is answered
            reading = asyncio.create_task(taken.read())
            for _ in range(2_000):
                with contextlib.suppress(OSError):
                    mine.send(b"x", socket.MSG_DONTWAIT)
                await asyncio.wait([reading], timeout=0.001)
            assert reading.done()
            assert await reading == b""
            taken.abort()

    asyncio.run(scene())


def test_what_strangers_read_is_bounded_and_what_is_known_is_not():
    async def scene() -> None:
        mine, theirs = sockets()
        with mine:
            mine.setblocking(False)
            loop, taken = asyncio.get_running_loop(), Connection(theirs, Crowd())
            sending = asyncio.create_task(loop.sock_sendall(mine, bytes(4 * READ_AT_ALL)))
            assert await taken.read_exactly(READ_AT_ALL // 2) == bytes(READ_AT_ALL // 2)
            taken.known()
            assert len(await taken.read_exactly(3 * READ_AT_ALL)) == 3 * READ_AT_ALL
            await sending
            taken.close()

    asyncio.run(scene())


def test_time_that_is_spent_on_one_stranger_is_waited_for_by_the_next(monkeypatch):
    """By clocks that the test sets: work in two steps."""
    now, spent, slept = 0.0, 0.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    monkeypatch.setattr(crowd.time, "monotonic", lambda: now)
    monkeypatch.setattr(crowd.time, "thread_time", lambda: spent)
    monkeypatch.setattr(crowd.asyncio, "sleep", sleep)

    async def scene() -> None:
        nonlocal spent
        everybody, going_on = Crowd(), asyncio.Event()

        async def work() -> str:
            nonlocal spent
            spent += 0.01
            await going_on.wait()
            spent += 0.01
            return "done"

        working = asyncio.ensure_future(everybody.charged(work))
        await everybody.turn()
        assert slept == []  # nothing was done yet
        while not spent:
            await asyncio.wait([working], timeout=0)
        spent += 100.0  # somebody else's, between the steps
        going_on.set()
        assert await working == "done"
        await everybody.turn()
        assert slept == [pytest.approx(0.02 / PART)]

        async def much() -> None:
            nonlocal spent
            spent += 5.0

        await everybody.charged(much)
        assert everybody.is_behind
        await everybody.turn()
        assert slept[1:] == [LONGEST_TURN]
        assert not everybody.is_behind

    asyncio.run(scene())


def test_who_comes_from_elsewhere_waits_for_one_of_a_crowd():
    async def scene() -> None:
        everybody, took = Crowd(), []

        async def wait(address: str) -> None:
            await everybody.turn(address)
            took.append(address)

        everybody._paid = float("inf")
        waiting = [asyncio.create_task(wait("192.0.2.1")) for _ in range(100)]
        waiting.append(asyncio.create_task(wait("192.0.2.2")))
        await asyncio.wait(waiting, timeout=0)
        assert took == []
        everybody._paid = 0.0
        waiting[0].cancel()  # its time would never have come
        await asyncio.gather(*waiting, return_exceptions=True)
        assert "192.0.2.2" in took[:2]
        assert len(took) == 100

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_nothing_is_kept_of_an_address_where_nobody_waits():
    async def scene() -> None:
        everybody = Crowd()
        for number in range(100):
            await everybody.turn(f"192.0.2.{number}")
        gc.collect()
        assert not everybody._lines

    asyncio.run(asyncio.wait_for(scene(), 60))


@pytest.mark.skipif(sys.platform != "linux", reason="only there is all of 127.0.0.0/8 this machine")
def test_strangers_from_one_address_take_no_place_of_others():
    few = RelayLimits(greeting=3600.0, strangers=16)

    async def scene() -> None:
        async with patient_relay(limits=few) as made:
            reader, writer = await asyncio.open_connection(LOOPBACK, made.port)
            while not made._unknown:
                await asyncio.sleep(0)
            others = [
                await asyncio.open_connection(LOOPBACK, made.port, local_addr=("127.0.0.2", 0))
                for _ in range(60)
            ]
            hung_up = [asyncio.create_task(one.read()) for one, _ in others]
            while sum(one.done() for one in hung_up) < 60 - few.strangers:
                await asyncio.wait(
                    [one for one in hung_up if not one.done()], return_when=asyncio.FIRST_COMPLETED
                )
            writer.write(UPGRADE)  # slow, and there before all of them
            await reader.readuntil(b"\r\n\r\n")
            assert len(await reader.readexactly(2 + CHALLENGE_BYTES)) == 2 + CHALLENGE_BYTES
            for one in hung_up:
                one.cancel()
            await asyncio.gather(*hung_up, return_exceptions=True)
            for _, one in (*others, (reader, writer)):
                one.close()

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("place", "address"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3::4", 1, 0, 0), "2001:db8:1:2::/64"),
        (("::1", 1, 0, 0), "::/64"),
        ("", ""),
    ],
)
def test_what_counts_as_one_address(place, address):
    class Connected:
        def getpeername(self) -> object:
            return place

    assert crowd.address_of(Connected()) == address  # type: ignore[arg-type]


def doors(process: psutil.Process) -> set[object]:
    """Where a process listens for anybody who is on this machine."""
    return {one.laddr for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN}


def test_other_users_of_the_machine_can_connect_to_neither_member_nor_forwarder():
    dead = (f"ws://{LOOPBACK}:1",)
    orders = Orders(ASH, "ab" * 32, dead, ("birch",), {"cedar": dead})

    async def opening(listen: str | None, elsewhere: Mapping[str, str]) -> GrpcChannels:
        both = [(BIRCH, None), (CEDAR, elsewhere["cedar"])]
        neighbours = [Neighbour(one.name, one.certificate_pem, one.name, at) for one, at in both]
        return await end(ASH, neighbours, listen=listen)

    async def scene() -> None:
        itself = psutil.Process()
        before = doors(itself)
        async with asyncio.timeout(120):
            channels = await through_relays(orders, None, opening, lambda *_: None)
            assert isinstance(channels, RelayedChannels)
            [forwarder] = itself.children()
            assert doors(itself) == before
            assert not doors(forwarder)
            given = channels.forwarding.orders
            for address in (given.listening_at, given.dialled_at("cedar")):
                assert Path(address.removeprefix(UNIX)).is_socket()
            assert stat.S_IMODE(Path(given.folder).stat().st_mode) == 0o700
            await channels.close()
            assert not Path(given.folder).exists()

    asyncio.run(scene())


def test_a_folder_for_temporary_files_that_is_too_deep_is_named(tmp_path, monkeypatch):
    deep = tmp_path / ("deep" * 25)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(LinkError, match="set TMPDIR to a folder with a shorter name"):
        asyncio.run(Forwarding.start(Orders(ASH, "ab" * 32, (), (), {})))
    assert not [*deep.iterdir()]
