"""Both ends of links over gRPC, for tests that open and break them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hocket.links.channel import GrpcChannels, Neighbour, open_channels
from hocket.links.keys.identity import Identity
from hocket.links.server import LinkLimits

SHORT = 20.0
ASH, BIRCH, CEDAR = (Identity.create(name) for name in ("ash", "birch", "cedar"))
OPENED: list[GrpcChannels] = []
"""Those of the scene that is played."""


async def listener(address: str, **changes: Any) -> GrpcChannels:
    """Ash, whom birch may dial."""
    return await end(ASH, [Neighbour("birch", BIRCH.certificate_pem, "birch")], listen=address, **changes)


async def end(
    me: Identity, neighbours: list[Neighbour], *, named: str | None = None, **changes: Any
) -> GrpcChannels:
    given = {"plan": "00", "listen": None, "limits": LinkLimits(message=1 << 20)} | changes
    channels = await open_channels(
        named or me.name,
        key=me.private_key_pem,
        certificate=me.certificate_pem,
        neighbours=neighbours,
        **given,
    )
    OPENED.append(channels)
    return channels


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
    """The scene, after which nothing stays open: a server that outlives its event loop can end the whole process."""

    async def played() -> None:
        try:
            await scene()
        finally:
            await asyncio.gather(*(channels.close() for channels in OPENED), return_exceptions=True)
            OPENED.clear()

    asyncio.run(played())
