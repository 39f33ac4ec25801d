"""What those who have not shown whose they are may cost: a part of the processor's time for all of them, and a few
bytes for each."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
import types
import weakref
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")

PART = 0.25
"""Of one processor, for all of them together."""
LONGEST_TURN = 0.1
"""Seconds that one of them waits at most for what the one before has cost, and those who left without a turn."""
READ_AT_ONCE = 1 << 9
"""Bytes of one of them in one turn: of TLS without data, a millisecond, in which nobody else is served."""
READ_AT_ALL = 1 << 14
"""Bytes of one of them: TLS with a chain of certificates, a head of HTTP, a call."""


class Crowd:
    """They take turns, one after the other, each as soon as the time that was spent on the others is paid for. Those of
    one address stand in a line of their own, of which the first stands in the line of all: who comes from elsewhere
    waits for one of them, however many they are."""

    def __init__(self) -> None:
        self._line = asyncio.Lock()
        self._lines: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._paid = 0.0
        """When that will be, by the monotonic clock."""

    @property
    def is_behind(self) -> bool:
        """Whether they have had more than their part."""
        return self._paid > time.monotonic()

    async def turn(self, address: str = "") -> None:
        """Wait until it is the turn of somebody at this address."""
        own = self._lines.setdefault(address, asyncio.Lock())
        async with own, self._line:
            while (wait := self._paid - time.monotonic()) > 0:
                await asyncio.sleep(wait)

    async def charged(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do this work, and charge the processor's time of each of its steps to the crowd."""
        return await self._step_by_step(work())

    @types.coroutine
    def _step_by_step(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        step: Callable[[Any], Any] = work.send
        given: Any = None
        while True:
            began = time.thread_time()
            try:
                waiting = step(given)
            except StopIteration as done:
                return done.value
            finally:
                spent = time.thread_time() - began
                now = time.monotonic()
                self._paid = min(max(self._paid, now) + spent / PART, now + LONGEST_TURN)
            try:
                step, given = work.send, (yield waiting)
            except BaseException as error:  # cancelled: the work is told, and may have something to close
                step, given = work.throw, error


def address_of(connection: socket.socket) -> str:
    """Where the other end is, as far as one machine or household has it; empty for a socket that is a file."""
    try:
        place = ipaddress.ip_address(connection.getpeername()[0])
    except (OSError, ValueError, IndexError):  # it has gone again, or has no such address
        return ""
    if isinstance(place, ipaddress.IPv6Address):
        mapped = place.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.IPv6Network((place, 64), strict=False))
    return str(place)
