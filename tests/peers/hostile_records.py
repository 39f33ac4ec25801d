"""Deviations in what members tell each other when they meet: how far they are, and what they have heard.

These are written for any kind of message beside the familiar ones, so that whatever is added has its turn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from hocket.links.events import Event, Received
from hocket.links.wire import Frame, Kind, pack

from .hostile import Deviation, Hand, Script
from .hostile_control import FAMILIAR, Once, Swallows, malformed
from .hostile_scripts import AT, Flood, opened

Answer = Callable[[Hand, str, Frame], Iterable[bytes]]


class Records(Script):
    """Says something else in place of every record, and remembers all that were said and heard."""

    def __init__(self, answer: Answer, *, again: bool = False):
        self.answer, self.again = answer, again

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind not in FAMILIAR:
            hand.memory.setdefault(("mine", to), []).append(frame)
            return self.answer(hand, to, frame) if to in hand.victims else [message]
        if self.again and frame.kind is Kind.MESSAGE and frame.round == AT and ("mine", to) in hand.memory:
            return [*self.answer(hand, to, hand.memory["mine", to][-1]), message]
        return [message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Received) and (frame := opened(event.message)).kind not in FAMILIAR:
            hand.memory.setdefault(("theirs", event.neighbour), []).append(frame)
        return event


def parts(change: Callable[[bytes], bytes]) -> Answer:
    """The same record with other bytes."""
    return lambda hand, to, frame: [pack(frame._replace(parts=[change(bytes(part)) for part in frame.parts]))]


def moved(by: int) -> Answer:
    """A record in which every small number is another: rounds, exchanges, counts of starts."""

    def change(part: bytes) -> bytes:
        numbers = [int.from_bytes(part[at : at + 4], "little") for at in range(0, len(part), 4)]
        return b"".join(
            (max(0, number + by) if number < 1_000 else number).to_bytes(4, "little") for number in numbers
        )[: len(part)]

    return parts(change)


def first_again(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [pack(hand.memory["mine", to][0])]


def of_another_link(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    others = [hand.memory.get(("mine", other), [frame])[-1] for other in hand.victims if other != to]
    return [pack(one) for one in others[:1]]


def reflected(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [pack(one) for one in hand.memory.get(("theirs", to), [])[-1:]]


def doubled(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [pack(frame)] * 2


def new_kinds(hand: Hand) -> list[bytes]:
    """Badly formed messages of all kinds but the familiar ones."""
    return [message for kind in Kind if kind not in FAMILIAR for message in malformed(kind)(hand)]


LIES: dict[str, Answer] = {
    "one later": moved(1),
    "much later": moved(100),
    "one earlier": moved(-1),
    "nothing": parts(lambda part: bytes(len(part))),
    "everything": parts(lambda part: b"\xff" * len(part)),
    "noise": parts(lambda part: os.urandom(len(part))),
    "shorter": parts(lambda part: part[:-1]),
    "another link": of_another_link,
    "reflected": reflected,
    "first again": first_again,
    "twice": doubled,
}


def _lie(name: str, again: bool) -> Callable[[], Script]:
    return lambda: Records(LIES[name], again=again)


class Floods(Records):
    """A record that is as it should be, thousands of times."""

    def __init__(self) -> None:
        super().__init__(lambda hand, to, frame: [pack(frame)])
        self.flood = Flood(lambda hand, number: pack(hand.memory["mine", hand.victims[0]][-1]), 3_000)

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        if ("mine", hand.victims[0]) in hand.memory:
            await self.flood.says(hand, to, message)
        return await super().says(hand, to, message)


RECORDS = (
    Deviation("record flood", "the same record, thousands of times", Floods),
    *(Deviation(f"record: {name}", "when they meet, and in round 4", _lie(name, True)) for name in LIES),
    *(
        Deviation(
            f"record: {name}, restart", "to one who starts again", _lie(name, False), restart=("ash", 6)
        )
        for name in LIES
    ),
    Deviation("swallows records", "neither says nor hears how far others are", Swallows),
    Deviation("swallows records, restart", "the same to one who starts again", Swallows, restart=("ash", 6)),
    Deviation("malformed records", "records of the wrong form", lambda: Once(new_kinds)),
    Deviation(
        "restart", "one starts again beside somebody who does nothing wrong", Script, restart=("ash", 6)
    ),
    Deviation(
        "two: record: one earlier, restart", "two of them", _lie("one earlier", False), 2, restart=("ash", 6)
    ),
)
