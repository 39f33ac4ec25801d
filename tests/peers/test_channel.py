"""Links over gRPC: who gets in, who does not, and what happens when a line breaks."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hocket.errors import LinkError
from hocket.links.channel import METHOD, GrpcChannels, Neighbour, open_channels
from hocket.links.events import Heard, Joined, Lost
from hocket.links.identity import Identity
from hocket.links.limits import Allowance, LinkLimits
from hocket.links.tls import answers, grpc

from .federation_case import free_ports

SHORT = 20.0
ASH, BIRCH, CEDAR = (Identity.create(name) for name in ("ash", "birch", "cedar"))


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_ports(1)[0]}"


async def listener(address: str, **changes: Any) -> GrpcChannels:
    """Ash, whom birch may dial."""
    return await end(ASH, [Neighbour("birch", BIRCH.certificate_pem, "birch")], listen=address, **changes)


async def end(me: Identity, neighbours: list[Neighbour], **changes: Any) -> GrpcChannels:
    given = {"plan": "00", "listen": None, "limits": LinkLimits(message=1 << 20)} | changes
    return await open_channels(
        me.name, key=me.private_key_pem, certificate=me.certificate_pem, neighbours=neighbours, **given
    )


def to_ash(address: str) -> list[Neighbour]:
    return [Neighbour("ash", ASH.certificate_pem, "ash", address)]


async def first_of(channels: GrpcChannels, kind: type) -> Any:
    async with asyncio.timeout(SHORT):
        while not isinstance(event := await channels.receive(), kind):
            pass
        return event


async def say(call: Any, message: bytes) -> None:
    await call.write(message)
    await call.read()


def play(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scene())  # type: ignore[arg-type]


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


def test_what_was_handed_over_arrives_before_the_end(address):
    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        await first_of(ash, Joined)
        await first_of(birch, Joined)
        for number in range(20):
            await ash.send("birch", bytes([number]))
        await ash.close()
        heard = [(await first_of(birch, Heard)).message for _ in range(20)]
        assert heard == [bytes([number]) for number in range(20)]
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


@pytest.mark.parametrize("shown", [None, CEDAR], ids=["no certificate", "a stranger's certificate"])
def test_strangers_get_nothing(address, shown):
    async def scene() -> None:
        ash = await listener(address)
        pair = (None, None) if shown is None else (shown.private_key_pem, shown.certificate_pem)
        credentials = grpc.ssl_channel_credentials(ASH.certificate_pem, *pair)
        options = [("grpc.ssl_target_name_override", "ash")]
        async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
            call = channel.stream_stream(METHOD)()
            with pytest.raises(grpc.aio.AioRpcError):
                await asyncio.wait_for(say(call, b"let me in"), SHORT)
        assert ash.events.empty()
        await ash.close()

    play(scene)


def test_a_certificate_that_a_neighbour_issued_is_not_the_neighbours(address):
    """Cedar's key, certified by birch: birch is trusted to be birch, not to say who others are."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    birch = x509.load_pem_x509_certificate(BIRCH.certificate_pem)
    forged = (
        x509.CertificateBuilder()
        .subject_name(birch.subject)
        .issuer_name(birch.subject)
        .public_key(CEDAR.key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(birch.not_valid_before_utc)
        .not_valid_after(birch.not_valid_after_utc)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("birch")]), critical=False)
        .sign(BIRCH.key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )

    async def scene() -> None:
        ash = await listener(address)
        credentials = grpc.ssl_channel_credentials(ASH.certificate_pem, CEDAR.private_key_pem, forged)
        options = [("grpc.ssl_target_name_override", "ash")]
        async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
            call = channel.stream_stream(METHOD)()
            with pytest.raises(grpc.aio.AioRpcError):
                await asyncio.wait_for(say(call, b"I am birch"), SHORT)
        assert ash.events.empty()
        await ash.close()

    play(scene)


def test_a_dialler_refuses_another_ones_certificate(address):
    async def scene() -> None:
        cedar = await end(CEDAR, [Neighbour("birch", BIRCH.certificate_pem, "birch")], listen=address)
        birch = await end(BIRCH, to_ash(address))  # it means ash, and cedar answers
        await first_of(birch, Lost)
        assert cedar.events.empty()
        await birch.close()
        await cedar.close()

    play(scene)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"plan": "01"}, "another plan"), ({"named": "cedar"}, "with the name cedar")],
    ids=["other plan", "other name"],
)
def test_the_right_certificate_with_a_wrong_introduction(address, changes, said):
    async def scene() -> None:
        ash = await listener(address)
        name = changes.get("named", "birch")
        birch = await open_channels(
            name,
            key=BIRCH.private_key_pem,
            certificate=BIRCH.certificate_pem,
            neighbours=to_ash(address),
            plan=changes.get("plan", "00"),
        )
        assert said in (await first_of(ash, Lost)).reason
        assert said in (await first_of(birch, Lost)).reason
        await birch.close()
        await ash.close()

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


def test_a_crowd_of_strangers_and_garbage_disturb_nobody(address):
    async def scene() -> None:
        ash = await listener(address)
        host, _, port = address.rpartition(":")
        crowd = [await asyncio.open_connection(host, int(port)) for _ in range(1000)]
        for _, writer in crowd[:500]:
            writer.write(b"GET / HTTP/1.1\r\n\r\n" + bytes(100))
        birch = await end(BIRCH, to_ash(address))
        await first_of(birch, Joined)
        await birch.send("ash", b"still here")
        assert (await first_of(ash, Heard)).message == b"still here"
        for _, writer in crowd:
            writer.close()
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
