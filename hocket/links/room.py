"""Room for messages that wait: so many, and so many bytes; who brings more waits as well.

An honest neighbour never fills it. It can be at most one exchange ahead, so that two words wait for it, and when it
connects again these are said once more: four words at the most, all of one size. Beside them there are handshakes, the
roll and votes, some for each member of the plan, of which every one is a few kilobytes at the most.
"""

from __future__ import annotations

import asyncio

WORDS = 4
"""Messages of the largest size that ever came that may wait."""
SMALL_BYTES = 4 << 20
"""Bytes of other messages that may wait beside these."""
MOST_MESSAGES = 4096
"""However small: a thousand members' entries on the roll, several times over."""


class Room:
    """What waits in one place on one link."""

    def __init__(self) -> None:
        self.messages = self.bytes = 0
        """What waits now."""
        self._largest = 0
        self._closed = False
        self._changed = asyncio.Event()

    async def enter(self, size: int) -> None:
        """Wait until there is room for a message of so many bytes, and take it."""
        self._largest = max(self._largest, size)
        while not self._closed and not self._has_room(size):
            self._changed.clear()
            await self._changed.wait()
        self.messages += 1
        self.bytes += size

    def leave(self, size: int) -> None:
        """A message of so many bytes waits no longer."""
        self.messages -= 1
        self.bytes -= size
        self._changed.set()

    def close(self) -> None:
        """Nobody waits here any more: what they bring is lost with the stream."""
        self._closed = True
        self._changed.set()

    def __str__(self) -> str:
        return f"{self.messages:,} messages of {self.bytes:,} bytes"

    def _has_room(self, size: int) -> bool:
        return self.messages < MOST_MESSAGES and self.bytes + size <= WORDS * self._largest + SMALL_BYTES
