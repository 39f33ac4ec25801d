"""Somebody on the wire between members: passes everything on, and may delay it, hold it back or keep a copy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Relay:
    """All the lines that one test watches over. Use it inside `async with watching(...)`."""

    def __init__(self, delay: float, keep: bool):
        self.delay = delay
        self.keep = keep
        self.captured = bytearray()
        self.held_back = 0
        """Pieces that a storm has kept on their way."""
        self.clear = asyncio.Event()
        self.clear.set()
        self._servers: list[asyncio.Server] = []
        self._carrying: set[asyncio.Task[None]] = set()

    async def before(self, port: int, behind: int) -> None:
        """Pass on what arrives at one port to another."""

        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._carrying.add(task)
            try:
                await self.clear.wait()
                await self._carry_both_ways(reader, writer, behind)
            except (OSError, asyncio.CancelledError):
                pass  # one end is gone, or the test is over
            finally:
                writer.transport.abort()
                self._carrying.discard(task)

        self._servers.append(await asyncio.start_server(connect, "127.0.0.1", port))

    async def storm(self, seconds: float) -> None:
        """Let nothing through for a while."""
        self.clear.clear()
        await asyncio.sleep(seconds)
        self.clear.set()

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying)

    async def _carry_both_ways(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, behind: int
    ) -> None:
        back, there = await asyncio.open_connection("127.0.0.1", behind)
        try:
            await asyncio.gather(self._carry(reader, there), self._carry(back, writer))
        finally:
            there.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            if self.keep:
                self.captured.extend(data)
            await asyncio.sleep(self.delay)
            self.held_back += not self.clear.is_set()
            await self.clear.wait()
            writer.write(data)
        writer.close()


@contextlib.asynccontextmanager
async def watching(*, delay: float = 0.0, keep: bool = False) -> AsyncIterator[Relay]:
    """A relay that leaves no connection behind."""
    relay = Relay(delay, keep)
    try:
        yield relay
    finally:
        await relay.close()
        await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next turn
