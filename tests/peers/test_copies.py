"""Two processes that speak for one member: neighbours listen to one of them, and the other is told."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hocket.errors import LinkError
from hocket.links.channel import METHOD, GrpcChannels
from hocket.links.conversation import Conversation
from hocket.links.events import Displaced, Joined, Lost, Received
from hocket.links.tls import grpc
from hocket.links.wire import Frame, Limits

from .ends import ASH, BIRCH, SHORT, end, first_of, listener, play, to_ash
from .federation_case import free_ports


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_ports(1)[0]}"


class Nobody:
    """Listens to nothing."""

    async def joined(self, neighbour: str, version: str) -> None: ...

    async def lost(self, neighbour: str, reason: str) -> None: ...

    async def received(self, neighbour: str, frame: Frame) -> None: ...


async def attend(channels: GrpcChannels) -> None:
    """Be a member that waits for ash until something ends it."""
    talk = Conversation(channels, ["ash"], plan=bytes(32), limits=Limits(1 << 20), listener=Nobody())
    async with asyncio.timeout(SHORT):
        while True:
            await talk.attend()


def test_the_later_copy_goes_on_and_the_earlier_one_stops(address):
    async def scene() -> None:
        ash = await listener(address)
        older = await end(BIRCH, to_ash(address), epoch=1)
        assert (await first_of(ash, Joined)).epoch == 1
        waiting = asyncio.create_task(attend(older))
        newer = await end(BIRCH, to_ash(address), epoch=2)
        joined = await first_of(ash, Joined)
        assert joined == ("birch", joined.version, 2, newer.introduction.stamp.instance)
        await newer.send("ash", b"lost if not yet connected")
        await first_of(newer, Joined)
        await newer.send("ash", b"here I am")
        while (await first_of(ash, Received)).message != b"here I am":
            pass
        await ash.send("birch", b"good day")
        assert (await first_of(newer, Received)).message == b"good day"
        said = (
            r"another process speaks for birch: epoch 2 at ipv4:127\.0\.0\.1:\d+; this one is epoch 1 at "
            r"ipv4:127\.0\.0\.1:\d+\. Two copies of one home must never run"
        )
        with pytest.raises(LinkError, match=said):
            await waiting
        for channels in (older, newer, ash):
            await channels.close()

    play(scene)


@pytest.mark.parametrize("epoch", [1, 2], ids=["older", "same"])
def test_a_copy_that_is_no_later_is_refused(address, epoch):
    async def scene() -> None:
        ash = await listener(address)
        first = await end(BIRCH, to_ash(address), epoch=2)
        await first_of(ash, Joined)
        await first_of(first, Joined)
        second = await end(BIRCH, to_ash(address), epoch=epoch)
        with pytest.raises(LinkError, match=f"another process speaks for birch: epoch 2 .* is epoch {epoch}"):
            await attend(second)
        await first.send("ash", b"still here")
        assert (await first_of(ash, Received)).message == b"still here"
        assert all(task.done() for task in second.dialling)  # it does not try again
        for channels in (first, second, ash):
            await channels.close()

    play(scene)


def test_a_process_that_connects_again_goes_on(address):
    """As after a line that broke on its side only: for ash the first stream is still alive, and must end."""

    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address), epoch=1)
        await first_of(ash, Joined)
        again = await end(BIRCH, to_ash(address), epoch=1)
        again.introduction = birch.introduction  # its dialling has not begun yet
        await first_of(ash, Joined)
        lost = await first_of(birch, Lost)
        assert lost.reason == "birch opened another stream"
        for task in birch.dialling:
            task.cancel()
        await again.close()
        await birch.close()
        await ash.close()

    play(scene)


async def call_of(channel: Any, channels: GrpcChannels) -> Any:
    """A stream of this member by hand, so that its end can be watched."""
    call = channel.stream_stream(METHOD)(metadata=channels.introduction.to("ash"))
    await call.initial_metadata()
    return call


@pytest.mark.parametrize(
    ("second", "code"),
    [({}, grpc.StatusCode.ABORTED), ({"epoch": 5}, grpc.StatusCode.ALREADY_EXISTS)],
    ids=["same process", "later copy"],
)
def test_a_stream_that_is_replaced_ends_for_its_other_end_too(address, second, code):
    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, [], epoch=1)
        credentials = grpc.ssl_channel_credentials(
            ASH.certificate_pem, BIRCH.private_key_pem, BIRCH.certificate_pem
        )
        options = [("grpc.ssl_target_name_override", "ash")]
        async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
            first = await call_of(channel, birch)
            if second:
                stamp = birch.introduction.stamp._replace(instance="0" * 16, **second)
                birch.introduction = replace(birch.introduction, stamp=stamp)
            await call_of(channel, birch)
            assert await asyncio.wait_for(first.code(), SHORT) is code
        assert (
            ash.lines["birch"].stream is None or ash.lines["birch"].stream.stamp == birch.introduction.stamp
        )
        await ash.close()

    play(scene)


def test_a_member_that_is_displaced_says_by_whom(address):
    """The event names who talks to the other process."""

    async def scene() -> None:
        ash = await listener(address)
        first = await end(BIRCH, to_ash(address), epoch=3)
        await first_of(first, Joined)
        second = await end(BIRCH, to_ash(address), epoch=3)
        displaced = await first_of(second, Displaced)
        assert displaced.neighbour == "ash"
        assert displaced.reason.startswith("another process speaks for birch: epoch 3 at ipv4:127.0.0.1:")
        for channels in (first, second, ash):
            await channels.close()

    play(scene)
