"""A member with a key of its own sends what is small on the wire, and would be huge once gRPC has unpacked it."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

import pytest

from hocket.links.channel import METHOD
from hocket.links.events import Joined, Received
from hocket.links.server import LinkLimits, limits_in_grpc
from hocket.links.tls import grpc, listening_credentials

from .ends import ASH, BIRCH, SHORT, end, first_of, listener, play, to_ash
from .federation_case import free_ports

ROOT = Path(__file__).parents[2]
SMALL = bytes(1 << 19)
"""Within what a link admits, packed or not."""
BOMB = 1 << 29
"""Bytes: half a megabyte on the wire, within what a link admits there."""
SPARED = 64
"""MB by which a member may grow meanwhile; a bomb that went off takes eight times as much."""
VICTIM = """
import asyncio, sys
from pathlib import Path
from hocket.links.channel import Neighbour, open_channels
from hocket.links.keys.identity import Identity
from hocket.links.server import LinkLimits

def megabytes(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) // 1024

async def main(address, home, birch):
    ash = Identity.load(Path(home))
    neighbour = Neighbour("birch", Path(birch).read_bytes(), "birch")
    channels = await open_channels(
        "ash", key=ash.private_key_pem, certificate=ash.certificate_pem, neighbours=[neighbour],
        plan="00", listen=address, limits=LinkLimits(message=1 << 20),
    )
    Path("/proc/self/clear_refs").write_text("5")  # its peak begins here
    before = megabytes("VmRSS")
    print("listening", flush=True)
    asked = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    while not asked.done():
        await asyncio.wait([asked, asyncio.ensure_future(channels.receive())], return_when="FIRST_COMPLETED")
    print(megabytes("VmHWM") - before, flush=True)
    await channels.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_ports(1)[0]}"


def options(name: str) -> list[tuple[str, Any]]:
    return [("grpc.ssl_target_name_override", name), ("grpc.max_send_message_length", -1)]


async def dialled(address: str) -> tuple[Any, Any]:
    """Birch's stream to ash, by hand, packed."""
    introduction = (await end(BIRCH, [])).introduction
    credentials = grpc.ssl_channel_credentials(
        ASH.certificate_pem, BIRCH.private_key_pem, BIRCH.certificate_pem
    )
    channel = grpc.aio.secure_channel(
        address, credentials, options=options("ash"), compression=grpc.Compression.Gzip
    )
    call = channel.stream_stream(METHOD)(metadata=introduction.to("ash"))
    await call.initial_metadata()
    return channel, call


def test_what_is_packed_stays_packed_where_it_is_listened_to(address):
    async def scene() -> None:
        ash = await listener(address)
        channel, call = await dialled(address)
        async with channel:
            await first_of(ash, Joined)
            await call.write(SMALL)
            received = await first_of(ash, Received)
            assert len(received.message) < 10_000
            assert gzip.decompress(received.message) == SMALL

    play(scene)


def test_what_is_packed_stays_packed_where_it_was_dialled(address):
    async def scene() -> None:
        introduction = (await end(ASH, [])).introduction

        async def answer(requests: AsyncIterable[bytes], context: Any) -> None:
            await context.send_initial_metadata(introduction.to("birch"))
            await context.write(SMALL)
            await anext(aiter(requests), None)

        handler: Any = grpc.stream_stream_rpc_method_handler(answer)
        service = METHOD.strip("/").split("/")
        door = grpc.method_handlers_generic_handler(service[0], {service[1]: handler})
        server = grpc.aio.server(
            handlers=[door], options=limits_in_grpc(LinkLimits()), compression=grpc.Compression.Gzip
        )
        credentials = listening_credentials(ASH.private_key_pem, ASH.certificate_pem, [BIRCH.certificate_pem])
        server.add_secure_port(address, credentials)
        await server.start()
        try:
            birch = await end(BIRCH, to_ash(address))
            received = await first_of(birch, Received)
            assert gzip.decompress(received.message) == SMALL
        finally:
            await server.stop(None)

    play(scene)


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="it measures a process as Linux shows it"
)
def test_a_bomb_takes_no_memory(tmp_path, address):
    ASH.save(tmp_path / "ash")
    (tmp_path / "birch").write_bytes(BIRCH.certificate_pem)
    command = [sys.executable, "-c", VICTIM, address, str(tmp_path / "ash"), str(tmp_path / "birch")]
    victim = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert victim.stdin is not None
    assert victim.stdout is not None
    try:
        assert victim.stdout.readline() == "listening\n"

        async def scene() -> None:
            channel, call = await dialled(address)
            async with channel:
                async with asyncio.timeout(3 * SHORT):
                    try:
                        await call.write(bytes(BOMB))
                        await call.write(b"")
                        await call.done_writing()
                        while await call.read() is not grpc.aio.EOF:
                            pass
                    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                        pass  # thrown out, once the message had come

        play(scene)
        victim.stdin.write("\n")
        victim.stdin.flush()
        grown = int(victim.stdout.readline())
        assert grown < SPARED, f"{grown} MB"
        print(f"grown by {grown} MB")  # noqa: T201
    finally:
        victim.kill()
        victim.communicate()
