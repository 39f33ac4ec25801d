"""Who does not get in: strangers, members on the wrong link, members under another name, crowds."""

from __future__ import annotations

import asyncio

import pytest

from hocket.links.channel import METHOD, Neighbour
from hocket.links.events import Joined, Lost, Received
from hocket.links.tls import grpc

from .ends import ASH, BIRCH, CEDAR, SHORT, end, first_of, listener, play, say, to_ash
from .federation_case import free_ports


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_ports(1)[0]}"


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
    [({"plan": "01"}, "run different plans ("), ({"named": "cedar"}, "with the name cedar")],
    ids=["other plan", "other name"],
)
def test_the_right_certificate_with_a_wrong_introduction(address, changes, said):
    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address), **changes)
        assert said in (await first_of(ash, Lost)).reason
        assert said in (await first_of(birch, Lost)).reason
        await birch.close()
        await ash.close()

    play(scene)


def test_the_right_certificate_on_the_wrong_link(address):
    """Cedar is ash's neighbour, but ash dials cedar: on a link that cedar opens, it is a stranger."""

    async def scene() -> None:
        neighbours = [
            Neighbour("birch", BIRCH.certificate_pem, "birch"),
            Neighbour("cedar", CEDAR.certificate_pem, "cedar", f"127.0.0.1:{free_ports(1)[0]}"),
        ]
        ash = await end(ASH, neighbours, listen=address)
        cedar = await end(CEDAR, to_ash(address))
        assert (await first_of(cedar, Lost)).neighbour == "ash"
        assert all(line.stream is None for line in ash.lines.values())
        await cedar.close()
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
        assert (await first_of(ash, Received)).message == b"still here"
        for _, writer in crowd:
            writer.close()
        await birch.close()
        await ash.close()

    play(scene)
