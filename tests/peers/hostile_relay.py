"""A relay that does whatever it can: it has the bytes, and no key.

As a process: python -m tests.peers.hostile_relay PLAN NAME PEM. It is honest until its standard input says otherwise, a
deed in each line, and ends with it.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections import deque
from pathlib import Path
from typing import Any

from hocket.federation.plan.admission import admitted
from hocket.links.relay.call import JOINED, Call, Role
from hocket.links.relay.connection import Bytes, Connection
from hocket.links.relay.outbound import connected
from hocket.links.relay.pipe import Pipe
from hocket.links.relay.server import Guest, Relay
from hocket.machine import LOOPBACK

from .web_frames import Opcode, framed

SLOWLY = 0.05
ENDLESS = {"pings": framed(Opcode.PING) * 1000, "pongs": framed(Opcode.PONG) * 1000}
PASSING = ("drops", "delays", "reorders", "duplicates", "changes a bit")
"""Done to connections that stand; for any other deed they are cut first."""
MEETING = ("says joined", "says again", "answers nonsense", "closes", "replays", "cross-connects", *ENDLESS)
"""Done to anybody who comes."""


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
        self.recorded: deque[bytes] = deque(maxlen=1000)
        self._doing: list[asyncio.Task[None]] = []

    async def __aexit__(self, *given: object) -> None:
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)
        await super().__aexit__(*given)

    def cut(self) -> None:
        """Cut every connection."""
        for task in [*self._attending]:
            task.cancel()

    async def pass_on(self, call: Call, data: Bytes, other: Pipe) -> None:
        data = bytes(data)  # the next piece is read to the same place
        if call.role is Role.DIALS:
            self.recorded.append(data)
        if self.deed in PASSING:
            self.done += 1
        if self.deed == "drops":
            return
        if self.deed == "delays":
            await asyncio.sleep(SLOWLY)
        if self.deed == "reorders":
            before = self._kept.pop((call.sender, call.other), None)
            if before is None:
                self._kept[call.sender, call.other] = data
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
            false = Connection(await connected(LOOPBACK, self.false_door))
            await pipe.send(JOINED)
            self._doing.append(asyncio.create_task(_answered(false, pipe)))
            try:
                while data := await pipe.receive():
                    await false.write(data)
            finally:
                false.close()
            raise OSError("enough")
        if self.deed == "says again":
            self.done += 1
            return None
        if self.deed == "closes":
            self.done += 1
            raise OSError("enough")
        if self.deed in ("says joined", "answers nonsense", *ENDLESS):
            self.done += 1
            await pipe.send(JOINED)
            while self.deed in ENDLESS:
                await pipe.connection.write(ENDLESS[self.deed])
            while data := await pipe.receive():
                if self.deed == "answers nonsense" and data:
                    await pipe.send(b"\x16" + bytes(100))
                    break
            raise OSError("enough")
        if self.deed == "replays" and call.role is Role.LISTENS:
            self.done += 1
            await pipe.send(JOINED)
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


async def _answered(source: Connection, sink: Pipe) -> None:
    while data := await source.read():
        await sink.send(data)
    sink.close()


async def _serve(plan: Path, name: str, pem: str) -> None:
    tls, lines = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), asyncio.StreamReader()
    tls.load_cert_chain(pem)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    port = int(name.rpartition(":")[2])
    made = HostileRelay(frozenset([name]), admitted([plan])[0], listen=(LOOPBACK, port), tls=tls)
    async with made:
        print("ready", flush=True)  # noqa: T201 - it is waited for
        while deed := (await lines.readline()).decode().strip():
            made.deed = deed
            if deed not in PASSING:
                made.cut()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), *sys.argv[2:]))
