"""Bytes both ways between gRPC on this machine and a relay, and pauses between attempts."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable
from typing import Any

from hocket.errors import LinkError
from hocket.links.relay.connection import Connection
from hocket.links.relay.pipes import Pipe

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds between two attempts; each pause is twice the one before."""


def forget(tasks: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
    """Leave a task that is done out of these."""
    tasks.discard(task)
    look(task)


def look(task: asyncio.Task[Any]) -> None:
    """Take note of how a task ended, whatever it was."""
    if not task.cancelled():
        task.exception()  # a way that broke is opened anew


class Pauses:
    """Ever longer ones, spread out so that those who were cut off together do not come back together; short again after
    something has lasted longer than the longest."""

    def __init__(self) -> None:
        self._seconds = FIRST_PAUSE
        self._over = time.monotonic()

    async def next(self) -> None:
        if time.monotonic() - self._over > LONGEST_PAUSE:
            self._seconds = FIRST_PAUSE
        await asyncio.sleep(self._seconds * random.uniform(0.5, 1.5))
        self._seconds = min(2 * self._seconds, LONGEST_PAUSE)
        self._over = time.monotonic()


async def carry_both_ways(connection: Connection, pipe: Pipe) -> None:
    """Between a connection on this machine and a relay, until either end hangs up."""

    async def out() -> None:
        while data := await connection.read():
            await pipe.send(data)

    async def back() -> None:
        while data := await pipe.receive():
            await connection.write(data)

    tasks = [asyncio.create_task(out()), asyncio.create_task(back())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        pipe.close()
        connection.close()


async def or_close(pipe: Pipe, waiting: Awaitable[bool]) -> bool:
    """Whether it is joined; where not, it is closed."""
    try:
        return await waiting
    except BaseException as error:
        pipe.close()
        if isinstance(error, LinkError):
            raise LinkError(f"the relay was lost: {error}") from None
        raise
