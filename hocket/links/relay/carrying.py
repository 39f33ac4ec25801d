"""Bytes both ways between gRPC on this machine and a relay, and pauses between attempts."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

from hocket.errors import HocketError
from hocket.links.relay.connection import Connection
from hocket.links.relay.pipe import Pipe

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds between two attempts; each pause is twice the one before."""


BROKEN = (OSError, TimeoutError, EOFError, HocketError)
"""How a connection ends that broke: it is opened anew, and nobody else needs to know."""


def look(task: asyncio.Task[Any]) -> None:
    """Take note of how a task for one connection ended; anything but a broken one is an error of ours, and logged."""
    if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, BROKEN):
        about = {"message": "a connection was given up", "exception": error, "task": task}
        task.get_loop().call_exception_handler(about)


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
