"""Links over gRPC: what they carry, in which TLS, and what happens when a line breaks."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from hocket.errors import LinkError
from hocket.links.channel import PENDING, Neighbour
from hocket.links.events import Heard, Joined, Lost
from hocket.links.server import Allowance, LinkLimits
from hocket.links.tls import answers

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
        assert await first_of(birch, Heard) == ("ash", b"hello")
        assert await first_of(ash, Heard) == ("birch", b"good day")
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
        assert [(await first_of(stays, Heard)).message for _ in words] == words
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


def test_only_tls_1_3_is_answered(address):
    async def scene() -> None:
        ash = await listener(address)
        assert await asyncio.to_thread(answers, address, ssl.TLSVersion.TLSv1_3)
        assert not await asyncio.to_thread(answers, address, ssl.TLSVersion.TLSv1_2)
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
        allowance = Allowance(LinkLimits(rate=100.0, burst=5))
        loop = asyncio.get_running_loop()
        began = loop.time()
        for _ in range(25):
            await allowance.take()
        assert loop.time() - began > 0.15  # 20 beyond the burst, at 100 a second

    play(scene)
