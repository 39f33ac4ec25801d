"""What waits on a link has a bound in messages and in bytes, in both directions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hocket.errors import LinkError
from hocket.links.channel import METHOD
from hocket.links.events import Joined, Received
from hocket.links.line import MOST_MESSAGES, SMALL_BYTES, WORDS, Room
from hocket.links.server import LinkLimits
from hocket.links.tls import grpc

from .ends import ASH, BIRCH, SHORT, end, first_of, listener, play, to_ash
from .federation_case import free_ports

WORD = bytes(1 << 20)
LIMITS = LinkLimits(message=2 << 20, silence=1.0)
IN_FLIGHT = 96 << 20
"""Bytes that gRPC and the kernel may take over for a reader that does not read: 8 to 32 MiB, as kernels are set."""
MANY = 256
"""Words, more than may be in flight."""


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_ports(1)[0]}"


@asynccontextmanager
async def birch_by_hand(address: str) -> AsyncIterator[Any]:
    """Birch's stream to ash, for what no honest member does with it."""
    introduction = (await end(BIRCH, [])).introduction
    credentials = grpc.ssl_channel_credentials(
        ASH.certificate_pem, BIRCH.private_key_pem, BIRCH.certificate_pem
    )
    options = [("grpc.ssl_target_name_override", "ash")]
    async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
        call = channel.stream_stream(METHOD)(metadata=introduction.to("ash"))
        await call.initial_metadata()
        yield call


@pytest.mark.parametrize(
    "size", [1 << 20, pytest.param(100, marks=pytest.mark.slow)], ids=["words", "small messages"]
)
def test_who_never_reads_is_named_before_it_takes_our_memory(address, size):
    async def scene() -> None:
        ash = await listener(address, limits=LIMITS)
        async with birch_by_hand(address):
            await first_of(ash, Joined)
            sent, began = 0, time.monotonic()

            async def speak() -> None:
                nonlocal sent, began
                for _ in range(200_000):
                    began = time.monotonic()
                    await ash.send("birch", bytes(size))
                    sent += size

            with pytest.raises(LinkError, match=r"birch is connected but does not read: .* for 1 s"):
                await asyncio.wait_for(speak(), SHORT)
            assert time.monotonic() - began > 0.9  # it was given time first
            unsent = ash.lines["birch"].stream.unsent
            assert unsent.messages <= MOST_MESSAGES
            assert unsent.bytes <= WORDS * size + SMALL_BYTES
            assert sent <= WORDS * size + SMALL_BYTES + IN_FLIGHT
        await ash.close()

    play(scene)


def test_a_slow_reader_slows_the_sender_and_loses_nothing(address):
    async def scene() -> None:
        ash, birch = await listener(address), await end(BIRCH, to_ash(address))
        await first_of(ash, Joined)
        await first_of(birch, Joined)

        async def read() -> list[int]:
            await asyncio.sleep(0.5)
            return [(await first_of(birch, Received)).message[0] for _ in range(100)]

        reading = asyncio.create_task(read())
        for number in range(100):
            await ash.send("birch", bytes([number]) * (1 << 19))
        assert await reading == list(range(100))
        await birch.close()
        await ash.close()

    play(scene)


def test_what_nobody_reads_here_is_not_taken_in_without_end(address):
    """A neighbour speaks on, while this member is busy with something else."""

    async def scene() -> None:
        ash = await listener(address, limits=LIMITS)
        async with birch_by_hand(address) as birch:
            sent = 0

            async def speak() -> None:
                nonlocal sent
                while sent < MANY * len(WORD):
                    await birch.write(WORD)
                    sent += len(WORD)

            speaking = asyncio.create_task(speak())
            await asyncio.sleep(2.0)
            assert ash.lines["birch"].unread.bytes <= WORDS * len(WORD) + SMALL_BYTES
            assert sent <= WORDS * len(WORD) + SMALL_BYTES + IN_FLIGHT
            for _ in range(MANY):  # nothing was lost: it was only not taken in yet
                assert (await first_of(ash, Received)).message == WORD
            await speaking
            birch.cancel()
        await ash.close()

    play(scene)


def test_whoever_waits_for_room_goes_on_when_the_stream_ends():
    async def scene() -> None:
        room = Room()
        await room.enter(WORDS * SMALL_BYTES)
        for _ in range(WORDS):
            await room.enter(SMALL_BYTES)
        for _ in range(MOST_MESSAGES - room.messages):
            await room.enter(0)
        waiting = asyncio.create_task(room.enter(1))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        room.close()
        await asyncio.wait_for(waiting, SHORT)

    play(scene)
