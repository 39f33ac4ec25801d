"""Links inside one process: the same events, no network.

For tests of engines and of members' code; `cut` and `mend` play a broken line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from hocket.links.events import NOBODY, Event, Joined, Lost, Received


class Switchboard:
    """Connects members by name along the given pairs."""

    def __init__(self, pairs: Iterable[tuple[str, str]]):
        self.pairs = {frozenset(pair) for pair in pairs}
        self.queues: dict[str, asyncio.Queue[Event]] = {}
        self.down: set[frozenset[str]] = set()
        self.carried = 0
        """Bytes handed over so far."""

    def plug_in(self, name: str) -> MemoryChannels:
        """This member's channels; anybody who is plugged in already hears of it, and is heard of."""
        self.queues[name] = asyncio.Queue()
        for other in self._neighbours(name):
            self._announce(name, other)
        return MemoryChannels(self, name)

    def unplug(self, name: str) -> None:
        """Take a member away, with all that it had not read."""
        self.queues.pop(name, None)
        for other in self._neighbours(name):
            self.queues[other].put_nowait(Lost(name, "unplugged"))

    def cut(self, one: str, other: str) -> None:
        """Let nothing through between two members."""
        self.down.add(frozenset((one, other)))
        for name, lost in ((one, other), (other, one)):
            if name in self.queues:
                self.queues[name].put_nowait(Lost(lost, "cut"))

    def mend(self, one: str, other: str) -> None:
        """Connect them again."""
        self.down.discard(frozenset((one, other)))
        self._announce(one, other)

    def carry(self, sender: str, receiver: str, message: bytes) -> None:
        """Hand a message over, if both are there and the line is up."""
        pair = frozenset((sender, receiver))
        if pair in self.pairs and pair not in self.down and receiver in self.queues:
            self.carried += len(message)
            self.queues[receiver].put_nowait(Received(sender, message))

    def _neighbours(self, name: str) -> list[str]:
        others = {other for pair in self.pairs if name in pair for other in pair - {name}}
        return sorted(other for other in others if other in self.queues)

    def _announce(self, one: str, other: str) -> None:
        if frozenset((one, other)) in self.down:
            return
        for name, joined in ((one, other), (other, one)):
            if name in self.queues:
                self.queues[name].put_nowait(Joined(joined))


class MemoryChannels:
    """One member's end of a switchboard."""

    def __init__(self, board: Switchboard, name: str):
        self.board = board
        self.name = name

    async def send(self, neighbour: str, message: bytes) -> None:
        self.board.carry(self.name, neighbour, message)

    async def receive(self) -> Event:
        return await self.board.queues[self.name].get()

    def nudge(self) -> None:
        self.board.queues[self.name].put_nowait(NOBODY)

    async def close(self) -> None:
        self.board.unplug(self.name)
