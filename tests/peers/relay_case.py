"""Relays for tests: real ones in this process or in another, hostile ones, and a company's proxy."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from hocket.federation.plan.admission import admitted
from hocket.federation.plan.cards import Card
from hocket.links.relay.server import Relay, RelayLimits
from hocket.machine import LOOPBACK

from .federation_case import Federation, free_ports

ROOT = Path(__file__).parents[2]


def through(federation: Federation, *relays: str) -> None:
    """Let nobody have an address any more, and everybody these relays."""
    federation.renew(Card.of(federation.identities[name], None, relays=relays) for name in federation.names)


def relay_for(federation: Federation, *names: str, kind: type[Relay] = Relay, **changes: Any) -> Relay:
    """A relay for the members of a federation's plan, at the port that its first name says."""
    given = {"limits": RelayLimits()} | changes
    port = int(names[0].rpartition(":")[2])
    return kind(frozenset(names), admitted([federation.plan_file])[0], listen=(LOOPBACK, port), **given)


def names(scheme: str, count: int = 1) -> list[str]:
    """Relays at free ports of this machine: by host:port alone where TLS is spoken."""
    prefix = "" if scheme == "wss" else f"{scheme}://"
    return [f"{prefix}{LOOPBACK}:{port}" for port in free_ports(count)]


def start_relay(
    federation: Federation, *options: str, name: str, group: int | None = None
) -> subprocess.Popen[str]:
    """The command, in a process of its own, and of this group; ready once it has said so."""
    command = [sys.executable, "-m", "hocket", "relay", "--admit", str(federation.plan_file), "--name", name]
    command += ["--listen", name.rpartition("/")[2], *options]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=group,
    )
    assert process.stderr is not None
    assert "Relay at" in process.stderr.readline()
    return process


class CompanyProxy:
    """Passes CONNECT on for anybody who has the password, and keeps what it saw. Use it inside `async with
    proxy(...)`."""

    def __init__(self, password: str, allowed: Sequence[int]):
        self.password = password
        self.allowed = allowed
        self.asked: list[str] = []
        self.seen = bytearray()
        self._carrying: set[asyncio.Task[Any]] = set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            await self._answer(head, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._carrying.discard(task)

    async def _answer(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        verb, target, _ = head.split("\r\n")[0].split(" ")
        self.asked.append(f"{verb} {target}")
        secret = base64.b64encode(self.password.encode()).decode()
        host, _, port = target.rpartition(":")
        if f"Proxy-Authorization: Basic {secret}" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        elif verb != "CONNECT" or int(port) not in self.allowed:
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
        else:
            back, there = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            try:
                await asyncio.gather(self._carry(reader, there), self._carry(back, writer))
            finally:
                there.transport.abort()
            return
        await writer.drain()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            self.seen.extend(data)
            writer.write(data)
            await writer.drain()
        writer.close()

    async def close(self) -> None:
        for task in [*self._carrying]:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)


@contextlib.asynccontextmanager
async def proxy(
    port: int, password: str, allowed: Sequence[int], host: str = LOOPBACK
) -> AsyncIterator[CompanyProxy]:
    """A proxy that lets through to these ports alone."""
    made = CompanyProxy(password, allowed)
    server = await asyncio.start_server(made.take, host, port)
    try:
        yield made
    finally:
        server.close()
        await made.close()
        await asyncio.sleep(0)


async def _serve(port: int, password: str, allowed: list[int]) -> None:
    async with proxy(port, password, allowed, host="0.0.0.0"):
        await asyncio.Event().wait()


if __name__ == "__main__":  # the proxy as a process: PORT USER:PASSWORD ALLOWED...
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2], [int(one) for one in sys.argv[3:]]))
