"""Scripts of hostile members: what is put in place of words, and other ways to take part than the agreed one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hocket.links.events import Event, Joined, Received
from hocket.links.wire import Frame, Kind, Limits, pack, unpack
from hocket.secagg.group import FixedPoint, add, negate

from .hostile import Hand, Script
from .quadratic import DIMENSION

AT = 4
"""The round in which most of them happen."""
BATCH = 64
"""Messages of a flood between which others have their turn."""

Change = Callable[[Hand, str, Frame, bytes], Iterable[bytes]]


def opened(message: bytes) -> Frame:
    return unpack(message, Limits(len(message)))


def reworded(frame: Frame, change: Callable[[np.ndarray], Any]) -> Frame:
    """A word with other numbers: in place of its own, or added to those of a masked sum, where there are any."""
    first, *numbers = frame.parts
    if isinstance(first, np.ndarray):
        return frame._replace(parts=[change(np.array(first))])
    return frame._replace(
        parts=[first, *(_added(bytes(one), change(np.zeros(DIMENSION))) for one in numbers)]
    )


def _added(masked: bytes, lie: Any) -> Any:
    """A masked sum with something more in it; what is no summand goes out as it is."""
    usual = isinstance(lie, np.ndarray) and lie.shape == (DIMENSION,) and lie.dtype == np.float64
    if not usual or not (np.abs(lie) < 2.0**53).all():
        return lie
    words = np.frombuffer(masked, "<u8").reshape(2, -1).astype(np.uint64)
    return add(words, FixedPoint().encode(lie, members=1)).astype("<u8").tobytes()


def echoed(frame: Frame, sign: float) -> Frame:
    """Somebody's own word, or its negative; a sum's point stays what it is."""
    first, *numbers = frame.parts
    if isinstance(first, np.ndarray):
        return frame._replace(parts=[sign * np.array(first)])
    if sign > 0:
        return frame
    words = [np.frombuffer(bytes(one), "<u8").reshape(2, -1).astype(np.uint64) for one in numbers]
    return frame._replace(parts=[first, *(negate(one).astype("<u8").tobytes() for one in words)])


class OnWords(Script):
    """Says something else in place of its words: of one round, or of all from it on."""

    def __init__(self, change: Change, *, at: int = AT, always: bool = False):
        self.change, self.at, self.always = change, at, always

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        is_time = frame.round == self.at or (self.always and frame.round >= self.at)
        if frame.kind is Kind.MESSAGE and is_time and to in hand.victims:
            return self.change(hand, to, frame, message)
        return [message]


class Echo(Script):
    """Says the victim's own word, or its negative, back to it: an average that is the victim's own state."""

    def __init__(self, sign: float):
        self.sign = sign

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Received) and (frame := opened(event.message)).kind is Kind.MESSAGE:
            hand.memory[event.neighbour, frame.round] = frame
            if frame.round > 1:  # its own message for the round is held back until the victim has spoken
                await hand.channels.send(event.neighbour, pack(echoed(frame, self.sign)))
        return event

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        return [] if frame.kind is Kind.MESSAGE and frame.round > 1 and to in hand.victims else [message]


class Repeats(Script):
    """Says all its earlier words again in every round, changed or not."""

    def __init__(self, by: float):
        self.by = by

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind is not Kind.MESSAGE:
            return [message]
        earlier = hand.memory.setdefault(to, [])
        earlier.append(frame)
        changed = [reworded(one, lambda word: word + self.by) for one in earlier[:-1]]
        return [*map(pack, changed), message]


class Late(Script):
    """Says the words of two rounds in the wrong order where it can, and every message late."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        if opened(message).kind is Kind.MESSAGE:
            await asyncio.sleep(0.01)
        return [message]


class Flood(Script):
    """So many messages to one neighbour before its first message of some round."""

    def __init__(self, make: Callable[[Hand, int], bytes], count: int, *, at: int = 3):
        self.make, self.count, self.at, self.begun = make, count, at, False

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if not self.begun and (frame.round == self.at or self.at == 0):
            self.begun = True
            await self._flood(hand)
        return [message]

    async def _flood(self, hand: Hand) -> None:
        victim = hand.victims[0]
        for number in range(self.count):
            await hand.channels.send(victim, self.make(hand, number))
            if number % BATCH == 0:
                await asyncio.sleep(0)


class Silent(Script):
    """Is there, and says nothing from some round on."""

    def __init__(self, at: int):
        self.at = at

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        return [] if self.at == 0 or opened(message).round >= self.at else [message]


class Absent(Script):
    """Never takes part."""

    async def play(self, hand: Hand) -> Any:
        await asyncio.Event().wait()


class Flaps(Script):
    """Hangs up and comes back in every round, with all its earlier words again if asked to."""

    def __init__(self, *, replays: bool):
        self.replays = replays

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        board, frame = hand.stage.board, opened(message)
        earlier = hand.memory.setdefault(to, [])
        if frame.kind is Kind.MESSAGE and board is not None and frame.round > len(earlier):
            board.cut(hand.name, to)
            board.mend(hand.name, to)
            earlier.append(message)
            return earlier if self.replays else [message]
        return [message]


class Leaves(Script):
    """Takes part up to a round and then is gone, without a word."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        if opened(message).round == AT:
            raise ConnectionError("gone")
        return [message]


class TooEarly(Script):
    """Says words of the first rounds as soon as somebody joins, before anything was agreed."""

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Joined) and event.neighbour in hand.victims:
            for k in (1, 2):
                word = hand.frame(Kind.MESSAGE, np.full(DIMENSION, 9.0), k=k)
                await hand.channels.send(event.neighbour, word)
        return event


class Storm(Script):
    """Comes and goes hundreds of times in one round."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        board, frame = hand.stage.board, opened(message)
        if board is not None and frame.kind is Kind.MESSAGE and frame.round == AT and to == hand.victims[0]:
            for number in range(150):
                board.cut(hand.name, to)
                board.mend(hand.name, to)
                if number % BATCH == 0:
                    await asyncio.sleep(0)
        return [message]


class AtTheEnd(Script):
    """Says something else when all is done."""

    def __init__(self, change: Change):
        self.change = change

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        is_end = frame.kind is Kind.DONE and to in hand.victims
        return self.change(hand, to, frame, message) if is_end else [message]
