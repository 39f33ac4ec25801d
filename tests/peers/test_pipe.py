"""A WebSocket at a relay: what the library reads and writes reaches us whole, in turns, and within bounds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.links.relay.connection import PIECE, Connection
from hocket.links.relay.pipe import LONGEST_FRAME, Pipe, answer_web, dial_web

from .test_relay_connection import sockets, within_time
from .web_frames import Opcode, framed

SIZES = st.sampled_from([1, 125, 126, 65_535, 65_536, PIECE, PIECE + 1, 2 * PIECE + 9])


def message(size: int) -> bytes:
    return bytes(range(251)) * (size // 251) + bytes(range(size % 251))


async def pipes() -> tuple[Pipe, Pipe]:
    """The dialling end and the listening one."""
    dials, takes = map(Connection, sockets())
    return tuple(await asyncio.gather(dial_web(dials, "127.0.0.1:1", secure=False), answer_web(takes)))


def with_pipes(scene: Callable[[Pipe, Pipe], Awaitable[None]]) -> None:
    async def played() -> None:
        both = await pipes()
        try:
            await scene(*both)
        finally:
            for one in both:
                one.close()
                one.connection.abort()

    within_time(played)


async def received(pipe: Pipe, count: int) -> bytes:
    found = b""
    while len(found) < count and (more := await pipe.receive()):
        found += more
    return found


@settings(max_examples=20, deadline=None)
@given(sizes=st.lists(SIZES, min_size=1, max_size=4), back=st.lists(SIZES, min_size=1, max_size=4))
def test_bytes_arrive_both_ways_as_they_were(sizes, back):
    async def scene(dials: Pipe, takes: Pipe) -> None:
        async def send(pipe: Pipe, some: list[int]) -> None:
            for size in some:
                await pipe.send(message(size))

        found = await asyncio.gather(
            received(takes, sum(sizes)), received(dials, sum(back)), send(dials, sizes), send(takes, back)
        )
        assert found[:2] == [b"".join(map(message, some)) for some in (sizes, back)]
        dials.close()
        assert await takes.receive() == b""

    with_pipes(scene)


@pytest.mark.parametrize(
    "wrong",
    [
        framed(Opcode.BINARY, b"x", mask=False),
        bytes([0xC2, 0x80]),
        bytes([0x83, 0x80]),
        bytes([0x09, 0x80]),
        bytes([0x89, 0xFE, 0, 126]) + bytes(4 + 126),
        framed(Opcode.BINARY, bytes(LONGEST_FRAME + 1), mask=True)[:14],
        bytes([0x02, 0x81, 0, 0, 0, 0, 0x78]) + framed(Opcode.CONT, bytes(LONGEST_FRAME), mask=True)[:14],
    ],
    ids=["not masked", "compressed", "unknown", "half a ping", "long ping", "long", "long in parts"],
)
def test_other_frames_end_the_connection(wrong):
    async def scene(dials: Pipe, takes: Pipe) -> None:
        await dials.connection.write(wrong + bytes(8))
        with pytest.raises(ConnectionResetError, match="no frame of ours"):
            await takes.receive()

    with_pipes(scene)


@pytest.mark.parametrize(
    "frame",
    [framed(Opcode.PING, mask=True), framed(Opcode.PONG, mask=True), framed(Opcode.BINARY, mask=True)],
    ids=["pings", "pongs", "frames of nothing"],
)
def test_a_piece_full_of_frames_without_data_is_not_read_to_its_end(frame):
    """A member is hung up on as a stranger is, before others have waited long; it is not answered."""

    async def scene(dials: Pipe, takes: Pipe) -> None:
        takes._unread = memoryview(frame * (PIECE // len(frame)))
        began = time.process_time()
        with pytest.raises(ConnectionResetError, match="control frames without end"):
            await takes.receive()
        assert time.process_time() - began < 0.25  # all of it takes seconds
        assert len(takes._unread) > PIECE / 2
        assert not takes._protocol.data_to_send()

    with_pipes(scene)


def test_small_frames_leave_others_their_turn():
    async def scene(dials: Pipe, takes: Pipe) -> None:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        frame = framed(Opcode.BINARY, b"x", mask=True)
        takes._unread = memoryview(frame * (PIECE // len(frame)))
        assert len(await received(takes, PIECE // len(frame))) == PIECE // len(frame)
        assert turns >= 10
        counting.cancel()

    with_pipes(scene)


def test_a_reader_that_is_cancelled_in_the_middle_of_a_piece_loses_nothing():
    async def scene(dials: Pipe, takes: Pipe) -> None:
        frame = framed(Opcode.BINARY, b"x", mask=True)
        takes._unread = memoryview(frame * 20_000)
        reading = asyncio.create_task(takes.receive())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert await received(takes, 20_000) == b"x" * 20_000

    with_pipes(scene)
