"""A hostile relay: at worst nothing moves, and nobody takes a wrong peer for its neighbour."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hocket.links.channel import GrpcChannels, Neighbour
from hocket.links.events import Joined, Received
from hocket.links.keys.identity import Identity
from hocket.links.relay import carrying
from hocket.links.relay.carrying import FIRST_PAUSE, LONGEST_PAUSE, Pauses
from hocket.links.relay.forwarder import JOINED_AT_ONCE, Forwarder, Orders
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

    def __init__(self, relay: HostileRelay, *names: str):
        self.relay = relay
        self.names = names
        self.forwarders: list[Forwarder] = []
        self.members: dict[str, GrpcChannels] = {}
        self.received: dict[str, list[tuple[str, bytes]]] = {name: [] for name in EVERYBODY}
        self.joined: list[tuple[str, str]] = []
        self.reported: list[dict[str, Any]] = []
        self._hearing: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        for listener in (ASH, CEDAR):
            orders = Orders(listener, PLAN, self.names, ("birch",), {}, self._folder())
            forwarder = await self._forwarder(orders)
            self._hear(
                await end(
                    listener,
                    [Neighbour("birch", BIRCH.certificate_pem, "birch")],
                    listen=orders.listening_at,
                )
            )
            forwarder.park(orders.listening_at)
        dialled = dict.fromkeys(("ash", "cedar"), self.names)
        orders = Orders(BIRCH, PLAN, (), (), dialled, self._folder())
        await self._forwarder(orders)
        neighbours = [
            Neighbour(name, EVERYBODY[name].certificate_pem, name, orders.dialled_at(name))
            for name in dialled
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
            shutil.rmtree(forwarder.orders.folder)

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
                {sender for sender, _ in self.received[name]} == set(channels.lines)
                for name, channels in self.members.items()
            ):
                await self.talk(0.1)

    def check(self) -> None:
        """Whatever was heard came from whom it says, and was meant for the one who heard it."""
        for name, words in self.received.items():
            assert all(word == f"{sender} to {name}".encode() for sender, word in words)

    async def _forwarder(self, orders: Orders) -> Forwarder:
        forwarder = Forwarder(orders, lambda news: self.reported.append(news) or True)
        self.forwarders.append(forwarder)
        await forwarder.open()
        return forwarder

    @staticmethod
    def _folder() -> str:
        return tempfile.mkdtemp(prefix="hocket-")

    def _hear(self, channels: GrpcChannels) -> None:
        self.members[channels.name] = channels
        self._hearing.append(asyncio.create_task(self._listen(channels)))

    async def _listen(self, channels: GrpcChannels) -> None:
        while True:
            event = await channels.receive()
            if isinstance(event, Joined):
                self.joined.append((channels.name, event.neighbour))
            elif isinstance(event, Received):
                self.received[channels.name].append((event.neighbour, event.message))


def relay_at(name: str) -> HostileRelay:
    return HostileRelay(
        frozenset([name]),
        lambda call: Guest(EVERYBODY[call.sender].certificate_pem, 2),
        listen=(LOOPBACK, int(name.rpartition(":")[2])),
    )


@contextlib.asynccontextmanager
async def scene(deed: str, *, second: bool = False) -> AsyncIterator[Scene]:
    name, other = (f"ws://{LOOPBACK}:{port}" for port in free_ports(2))
    async with contextlib.AsyncExitStack() as relays:
        relay = await relays.enter_async_context(relay_at(name))
        if second:
            await relays.enter_async_context(relay_at(other))
        stage = Scene(relay, *((name, other) if second else (name,)))
        try:
            relay.deed = deed
            await stage.open()
            yield stage
        finally:
            await stage.close()


def test_at_worst_nothing_moves():
    async def played(deed: str, moves: bool) -> None:
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
                assert not any(stage.received.values())
                assert not stage.joined
            assert stage.relay.done > 0
            stage.check()
            await break_all(stage, "honest")
            await stage.until_all_have_heard()
            stage.check()

    async def one(deed: str, moves: bool) -> None:
        try:
            await played(deed, moves)
        except Exception as error:
            error.add_note(f"a relay that {deed}")
            raise

    async def side_by_side() -> None:  # most of their time is waiting
        async with asyncio.TaskGroup() as group:
            for deed, moves in DEEDS.items():
                group.create_task(one(deed, moves))

    play(side_by_side)


SILENT = ["drops", "replays", "says joined", "answers nonsense", "pings", "pongs", "says again", "closes"]


@pytest.mark.parametrize("deed", SILENT)
def test_a_hostile_relay_beside_a_good_one_costs_seconds(deed):
    """It stands first on the cards, and the good one is the only one by which anything can pass."""

    async def played() -> None:
        async with scene(deed, second=True) as stage:
            await stage.until_all_have_heard()
            assert stage.relay.counts.admitted > 0
            stage.check()
            await break_all(stage, deed)  # all that it holds is nothing that anybody needs
            await stage.until_all_have_heard()

    play(played)


@pytest.mark.parametrize(
    "deed", ["says joined", "answers nonsense", "says again", "pings", "pongs", "closes"]
)
def test_what_a_hostile_relay_makes_a_member_hold_is_bounded(deed, monkeypatch):
    """However often it says that a neighbour has come: here nobody pauses for long."""
    paused = 0

    async def next_(_: Pauses) -> None:
        nonlocal paused
        paused += 1
        await asyncio.sleep(0.001)

    monkeypatch.setattr(Pauses, "next", next_)

    async def played() -> None:
        [port] = free_ports(1)
        async with relay_at(f"ws://{LOOPBACK}:{port}") as relay, asyncio.timeout(60):
            relay.deed = deed
            orders = Orders(ASH, PLAN, tuple(relay.names), ("birch",), {})
            forwarder = Forwarder(orders, lambda news: True)
            forwarder.park(f"{LOOPBACK}:{port}")
            most = 0
            while relay.done < 60:
                await asyncio.sleep(0.001)
                most = max(most, len(forwarder._carrying))
            assert most <= JOINED_AT_ONCE + 1  # one is cancelled, and not gone yet
            assert paused >= relay.done - 1
            await forwarder.close()

    play(played)


@pytest.mark.parametrize(
    ("deed", "patience", "what"),
    [("says joined", 0.1, "nothing came within 0.1 s"), ("pings", 60.0, "control frames without end")],
)
def test_a_member_is_told_what_a_relay_does(deed, patience, what, monkeypatch):
    monkeypatch.setattr("hocket.links.relay.forwarder.HELLO", patience)

    async def played() -> None:
        [port] = free_ports(1)
        name, told = f"ws://{LOOPBACK}:{port}", asyncio.Queue[dict[str, Any]]()
        async with relay_at(name) as relay, asyncio.timeout(60):
            relay.deed = deed
            forwarder = Forwarder(
                Orders(ASH, PLAN, (name,), ("birch",), {}), lambda news: told.put_nowait(news) or True
            )
            forwarder.park(f"{LOOPBACK}:{port}")
            while what not in ((await told.get())["trouble"] or ""):
                pass
            await forwarder.close()

    play(played)


def test_pauses_grow_and_are_short_again_after_a_long_time(monkeypatch):
    now, slept = 0.0, []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(carrying.time, "monotonic", lambda: now)
    monkeypatch.setattr(carrying.random, "uniform", lambda low, high: 1.0)
    pauses = Pauses()

    async def played() -> None:
        nonlocal now
        with monkeypatch.context() as patched:
            patched.setattr(carrying.asyncio, "sleep", sleep)
            for _ in range(9):
                await pauses.next()
            now += LONGEST_PAUSE + 1
            await pauses.next()

    asyncio.run(played())
    assert slept[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert slept[8] == LONGEST_PAUSE
    assert slept[9] == FIRST_PAUSE


async def break_all(stage: Scene, deed: str) -> None:
    """Cut every connection, and let the relay behave in another way; what was received so far is forgotten."""
    stage.relay.deed = deed
    stage.relay.cut()
    await asyncio.sleep(0.05)
    for words in stage.received.values():
        words.clear()
    stage.joined.clear()


async def open_false_door(false: Identity) -> int:
    [port] = free_ports(1)
    await end(false, [Neighbour("birch", BIRCH.certificate_pem, "birch")], listen=f"{LOOPBACK}:{port}")
    return port
