"""A relay that does whatever it can: it has the bytes, and no key."""

from __future__ import annotations

import asyncio
from typing import Any

from hocket.links.relay.call import JOINED, Call, Role
from hocket.links.relay.connection import Connection
from hocket.links.relay.frames import PING, Bytes, framed
from hocket.links.relay.outbound import connected
from hocket.links.relay.pipes import Pipe, PlainPipe
from hocket.links.relay.server import Guest, Relay
from hocket.machine import LOOPBACK

SLOWLY = 0.05
PINGS = framed(PING, b"", mask=False) * 1000


class HostileRelay(Relay):
    """Misbehaves in one way until it is told to be honest."""

    deed = "honest"
    false_door = 0
    """Where somebody else answers in a member's name."""
    done = 0
    """How often it did so."""

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self._kept: dict[tuple[str, str], bytes] = {}
        self.recorded: list[bytes] = []
        self._doing: list[asyncio.Task[None]] = []

    async def __aexit__(self, *given: object) -> None:
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)
        await super().__aexit__(*given)

    async def pass_on(self, call: Call, data: Bytes, other: Pipe) -> None:
        data = bytes(data)  # the next piece is read to the same place
        if call.role is Role.DIALS:
            self.recorded.append(data)
        if self.deed in ("drops", "delays", "reorders", "duplicates", "changes a bit"):
            self.done += 1
        if self.deed == "drops":
            return
        if self.deed == "delays":
            await asyncio.sleep(SLOWLY)
        if self.deed == "reorders":
            before = self._kept.pop((call.speaker, call.other), None)
            if before is None:
                self._kept[call.speaker, call.other] = data
                return
            data = data + before
        if self.deed == "duplicates":
            data = data + data
        if self.deed == "changes a bit":
            data = data[:-1] + bytes([data[-1] ^ 1])
        await other.send(data)

    async def _known(self, pipe: Pipe) -> tuple[Call, Guest]:
        call, guest = await super()._known(pipe)
        if self.deed == "cross-connects":
            self.done += 1
            return _Crossed(**vars(call)), guest
        return call, guest

    async def _met(self, pipe: Pipe, call: Call) -> tuple[Pipe, Bytes] | None:
        if self.deed == "impersonates" and call.role is Role.DIALS:
            self.done += 1
            false = PlainPipe(Connection(await connected(LOOPBACK, self.false_door)))
            await pipe.say(JOINED)
            self._doing.append(asyncio.create_task(_carry(false, pipe)))
            return false, b""
        if self.deed == "says again":
            self.done += 1
            return None
        if self.deed in ("says joined", "answers nonsense", "pings"):
            self.done += 1
            await pipe.say(JOINED)
            while self.deed == "pings":
                await pipe.connection.write(PINGS)
            while data := await pipe.receive():
                if self.deed == "answers nonsense" and data:
                    await pipe.send(b"\x16" + bytes(100))
                    break
            raise OSError("enough")
        if self.deed == "replays" and call.role is Role.LISTENS:
            self.done += 1
            await pipe.say(JOINED)
            for data in [*self.recorded]:
                await pipe.send(data)
            return pipe, b""  # and what it answers goes back to itself
        return await super()._met(pipe, call)


class _Crossed(Call):
    """Who dials ash gets cedar, and who dials cedar gets ash."""

    @property
    def link(self) -> tuple[str, str, str]:
        plan, listener, dialler = super().link
        if self.role is Role.DIALS:
            listener = {"ash": "cedar", "cedar": "ash"}[listener]
        return (plan, listener, dialler)


async def _carry(source: Pipe, sink: Pipe) -> None:
    while data := await source.receive():
        await sink.send(data)
    sink.close()
