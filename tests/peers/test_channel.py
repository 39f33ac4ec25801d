"""Links over gRPC: what they carry, in which TLS, and what happens when a line breaks."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import pytest

from hocket.errors import LinkError
from hocket.links import channel
from hocket.links.allowance import Allowance
from hocket.links.channel import PENDING, GrpcChannels, Neighbour
from hocket.links.events import Joined, Lost, Received
from hocket.links.line import Introduction, Line, Stamp, Stream
from hocket.links.server import LinkLimits

from .ends import ASH, BIRCH, end, first_of, listener, play, to_ash
from .federation_case import free_ports


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_ports(1)[0]}"


def test_words_go_both_ways(address):
    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        assert (await first_of(ash, Joined)).neighbour == "birch"
        assert (await first_of(birch, Joined)).neighbour == "ash"
        await ash.send("birch", b"hello")
        await birch.send("ash", b"good day")
        assert await first_of(birch, Received) == ("ash", b"hello")
        assert await first_of(ash, Received) == ("birch", b"good day")
        await birch.close()
        await ash.close()

    play(scene)


@pytest.mark.parametrize("first_to_go", ["ash", "birch"])
def test_what_was_handed_over_arrives_before_the_end(address, first_to_go):
    """Who closes waits until the other has read all: that it left in time proves nothing, a reset would lose it."""
    words = [bytes([number]) for number in range(PENDING + 20)]

    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        await first_of(ash, Joined)
        await first_of(birch, Joined)
        goes, stays = (ash, birch) if first_to_go == "ash" else (birch, ash)
        for word in words:
            await goes.send(stays.name, word)
        closing = asyncio.create_task(goes.close())
        await asyncio.sleep(0.2)
        assert not closing.done()
        assert [(await first_of(stays, Received)).message for _ in words] == words
        await closing
        await stays.close()

    play(scene)


def test_whoever_is_stopped_while_it_closes_listens_no_longer(address):
    """A second signal, or the end of the loop: a server that runs on after it can end the whole process."""

    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        await first_of(ash, Joined)
        closing = asyncio.create_task(ash.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        assert closing.cancelled()
        assert not ash.server._server.is_running()
        await birch.close()

    play(scene)


def test_a_broken_line_is_mended(address):
    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        await first_of(birch, Joined)
        await ash.close()
        await first_of(birch, Lost)
        ash = await listener(address)
        await first_of(birch, Joined)
        await first_of(ash, Joined)
        await birch.close()
        await ash.close()

    play(scene)


async def shakes_hands(address: str, version: ssl.TLSVersion) -> bool:
    """Whether a listener goes on with a handshake in this TLS version, by a member's own certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    except OSError:
        return False
    writer.transport.abort()
    return True


@pytest.mark.parametrize("version", [None, b"TLSv1.2", b"TLSv1.3"])
def test_a_stream_is_for_tls_1_3_that_grpc_vouches_for(version):
    """Also where gRPC was imported before hocket could shut the older one out."""
    context = {"x509_pem_cert": [BIRCH.certificate_pem]} | ({"ssl_tls_version": [version]} if version else {})
    line = Line(Neighbour("birch", BIRCH.certificate_pem, "birch"))
    channels = GrpcChannels(Introduction("ash", "0" * 64, Stamp(1, "0" * 16)), {"birch": line}, LinkLimits())
    assert channels._caller(context) is (line if version == b"TLSv1.3" else None)


def test_an_error_of_ours_in_what_dials_is_raised_where_events_are_received(address, monkeypatch):
    async def scene() -> None:
        monkeypatch.setattr(channel, "_introduced", lambda metadata: 1 / 0)
        await listener(address)
        birch = await end(BIRCH, to_ash(address))
        with pytest.raises(ZeroDivisionError):
            await first_of(birch, Received)

    play(scene)


def test_an_error_of_ours_in_what_writes_ends_the_stream(address, monkeypatch):
    """Otherwise this end would read on, and its neighbour wait for ever."""
    written = channel._write_all

    async def broken(stream: Stream, write: Any) -> None:
        if stream.peer:  # the listener's end
            await written(stream, write)
        await stream.outgoing.get()
        raise ZeroDivisionError

    monkeypatch.setattr(channel, "_write_all", broken)

    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        await first_of(birch, Joined)
        await birch.send("ash", b"lost")
        with pytest.raises(ZeroDivisionError):
            await first_of(birch, Received)
        assert (await first_of(ash, Lost)).neighbour == "birch"

    play(scene)


def test_only_tls_1_3_is_answered(address):
    async def scene() -> None:
        ash = await listener(address)
        assert await shakes_hands(address, ssl.TLSVersion.TLSv1_3)
        assert not await shakes_hands(address, ssl.TLSVersion.TLSv1_2)
        await ash.close()

    play(scene)


def test_a_listener_in_tls_1_2_is_not_talked_to(address, tmp_path):
    """A neighbour's own certificate, on a server that offers nothing newer."""
    (tmp_path / "both.pem").write_bytes(ASH.private_key_pem + ASH.certificate_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])

    async def scene() -> None:
        async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        host, _, port = address.rpartition(":")
        server = await asyncio.start_server(nothing, host, int(port), ssl=context)
        birch = await end(BIRCH, to_ash(address))
        assert (await first_of(birch, Lost)).neighbour == "ash"
        await birch.close()
        server.close()

    play(scene)


def test_an_oversized_message_ends_the_stream_and_names_the_sender(address):
    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address), limits=LinkLimits(message=1 << 22))
        await first_of(birch, Joined)
        await birch.send("ash", bytes(2 << 20))
        assert (await first_of(ash, Lost)).neighbour == "birch"
        await birch.close()
        await ash.close()

    play(scene)


def test_an_address_that_is_taken_is_named(address):
    async def scene() -> None:
        ash = await listener(address)
        with pytest.raises(LinkError, match=f"cannot listen at {address}"):
            await listener(address)
        await ash.close()

    play(scene)


def test_a_scene_that_fails_leaves_nothing_open(address):
    """A listener that stayed would meet the next test, and could end its process."""

    async def scene() -> None:
        ash = await listener(address)
        await end(BIRCH, to_ash(address))
        await first_of(ash, Joined)
        raise AssertionError("as a test may fail")

    for _ in range(2):  # the second listens where the first did
        with pytest.raises(AssertionError, match="as a test may fail"):
            play(scene)


def test_a_member_that_is_dialled_needs_an_address():
    async def scene() -> None:
        with pytest.raises(LinkError, match="has no address"):
            await end(ASH, [Neighbour("birch", BIRCH.certificate_pem, "birch")])

    play(scene)


def test_who_talks_too_much_is_read_more_slowly():
    async def scene() -> None:
        allowance = Allowance(rate=100.0, burst=5)
        loop = asyncio.get_running_loop()
        began = loop.time()
        for _ in range(25):
            await allowance.take()
        assert loop.time() - began > 0.15  # 20 beyond the burst, at 100 a second

    play(scene)
