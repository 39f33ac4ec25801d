"""A hostile relay: at worst nothing moves, and nobody takes a wrong peer for its neighbour."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from hocket.links.channel import GrpcChannels, Neighbour
from hocket.links.events import Heard, Joined
from hocket.links.identity import Identity
from hocket.links.relay.forwarder import Forwarder, Orders
from hocket.links.relay.server import Guest
from hocket.machine import LOOPBACK

from .ends import ASH, BIRCH, CEDAR, end, play
from .federation_case import free_ports
from .hostile_relay import HostileRelay

PLAN = "0" * 64
EVERYBODY = {one.name: one for one in (ASH, BIRCH, CEDAR)}

DEEDS = {
    # what the relay does: whether words may get through meanwhile
    "drops": False,
    "delays": True,
    "reorders": False,
    "duplicates": False,
    "changes a bit": False,
    "replays": False,
    "cross-connects": False,
    "impersonates": False,
}


class Scene:
    """Birch dials ash and cedar through one relay, all in this loop."""

    def __init__(self, relay: HostileRelay, name: str):
        self.relay = relay
        self.name = name
        self.forwarders: list[Forwarder] = []
        self.members: dict[str, GrpcChannels] = {}
        self.heard: dict[str, list[tuple[str, bytes]]] = {name: [] for name in EVERYBODY}
        self.joined: list[tuple[str, str]] = []
        self._hearing: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        for listener in (ASH, CEDAR):
            [port] = free_ports(1)
            forwarder = await self._forwarder(Orders(listener, PLAN, (self.name,), ("birch",), {}))
            self._hear(
                await end(
                    listener,
                    [Neighbour("birch", BIRCH.certificate_pem, "birch")],
                    listen=f"{LOOPBACK}:{port}",
                )
            )
            forwarder.park(port)
        dialled = dict.fromkeys(("ash", "cedar"), (self.name,))
        forwarder = await self._forwarder(Orders(BIRCH, PLAN, (), (), dialled))
        addresses = {name: f"{LOOPBACK}:{port}" for name, port in self.ports.items()}
        neighbours = [
            Neighbour(name, EVERYBODY[name].certificate_pem, name, addresses[name]) for name in dialled
        ]
        self._hear(await end(BIRCH, neighbours))

    async def close(self) -> None:
        for task in self._hearing:
            task.cancel()
        await asyncio.gather(*self._hearing, return_exceptions=True)
        for channels in self.members.values():
            await channels.close()
        for forwarder in self.forwarders:
            await forwarder.close()

    async def talk(self, seconds: float) -> None:
        """Everybody says who it is to everybody else, over and over."""
        for _ in range(int(seconds / 0.1)):
            for name, channels in self.members.items():
                for neighbour in channels.lines:
                    await channels.send(neighbour, f"{name} to {neighbour}".encode())
            await asyncio.sleep(0.1)

    async def until_all_have_heard(self) -> None:
        async with asyncio.timeout(30):
            while not all(
                {sender for sender, _ in self.heard[name]} == set(channels.lines)
                for name, channels in self.members.items()
            ):
                await self.talk(0.1)

    def check(self) -> None:
        """Whatever was heard came from whom it says, and was meant for whoever heard it."""
        for name, words in self.heard.items():
            assert all(word == f"{sender} to {name}".encode() for sender, word in words)

    async def _forwarder(self, orders: Orders) -> Forwarder:
        forwarder = Forwarder(orders, lambda news: True)
        self.forwarders.append(forwarder)
        self.ports = await forwarder.open()
        return forwarder

    def _hear(self, channels: GrpcChannels) -> None:
        self.members[channels.name] = channels
        self._hearing.append(asyncio.create_task(self._listen(channels)))

    async def _listen(self, channels: GrpcChannels) -> None:
        while True:
            event = await channels.receive()
            if isinstance(event, Joined):
                self.joined.append((channels.name, event.neighbour))
            elif isinstance(event, Heard):
                self.heard[channels.name].append((event.neighbour, event.message))


@contextlib.asynccontextmanager
async def scene(deed: str) -> AsyncIterator[Scene]:
    name = f"tcp://{LOOPBACK}:{free_ports(1)[0]}"
    port = int(name.rpartition(":")[2])
    relay = HostileRelay(
        frozenset([name]),
        lambda call: Guest(EVERYBODY[call.speaker].certificate_pem, 2),
        listen=(LOOPBACK, port),
    )
    async with relay:
        stage = Scene(relay, name)
        try:
            relay.deed = deed
            await stage.open()
            yield stage
        finally:
            await stage.close()


@pytest.mark.parametrize(("deed", "moves"), DEEDS.items())
def test_at_worst_nothing_moves(deed, moves):
    async def played() -> None:
        async with scene("honest" if deed == "replays" else deed) as stage:
            if deed == "impersonates":
                false = Identity.create("ash")  # the right name, and another key
                stage.relay.false_door = await open_false_door(false)
            if deed == "replays":  # there must be something to replay
                await stage.until_all_have_heard()
                await break_all(stage, deed)
            if moves:
                await stage.until_all_have_heard()
            else:
                await stage.talk(1.5)
                assert not any(stage.heard.values())
                assert not stage.joined
            assert stage.relay.done > 0
            stage.check()
            await break_all(stage, "honest")
            await stage.until_all_have_heard()
            stage.check()

    play(played)


async def break_all(stage: Scene, deed: str) -> None:
    """Cut every connection, and let the relay behave in another way; what was heard so far is forgotten."""
    stage.relay.deed = deed
    for task in [*stage.relay._attending]:
        task.cancel()
    await asyncio.sleep(0.05)
    for words in stage.heard.values():
        words.clear()
    stage.joined.clear()


async def open_false_door(false: Identity) -> int:
    [port] = free_ports(1)
    await end(false, [Neighbour("birch", BIRCH.certificate_pem, "birch")], listen=f"{LOOPBACK}:{port}")
    return port
