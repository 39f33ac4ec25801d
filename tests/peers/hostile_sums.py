"""Deviations in sums over all members: other sums to others, other points, numbers of another sum or of none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hocket.links.wire import Frame, pack

from .hostile import Deviation, Hand, Script
from .hostile_scripts import AT, Change, OnWords, opened, reworded

SUMS_ONLY = ("joint-average",)
NUMBER = 16
"""Bytes of one number of a masked sum."""


def other_sums(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    """Other numbers to each: what the root shows to its children, or a parent to its own."""
    return [pack(reworded(frame, lambda word: word + 0.01 * (1 + hand.victims.index(to))))]


def to_one_alone(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    """Another sum to one victim alone, the true one to all others."""
    return other_sums(hand, to, frame, message) if to == hand.victims[-1] else [message]


def numbers(change: Any) -> Change:
    """Other bytes in place of a sum's numbers, where there are any."""

    def changed(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
        point, *found = frame.parts
        return [pack(frame._replace(parts=[point, *(change(bytes(one)) for one in found)]))]

    return changed


def at_point(point: bytes) -> Change:
    return lambda hand, to, frame, message: [pack(frame._replace(parts=[point, *frame.parts[1:]]))]


def unasked(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    """Numbers in every message, whether they are due or not; elm has a link beside the tree in every topology."""
    point, *found = frame.parts
    return [pack(frame._replace(parts=[point, *(found or [bytes(3 * NUMBER)])]))]


def withheld(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    return [pack(frame._replace(parts=frame.parts[:1]))]


class Keeps(Script):
    """Keeps what it said in an earlier sum, and says it once more in a later one."""

    def __init__(self, *, whole: bool):
        self.whole = whole
        """With the earlier sum's point, or under the present one."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        kept = hand.memory.setdefault("kept", {})
        if len(frame.parts) == 2 and frame.round < AT:
            kept[to, frame.exchange] = list(frame.parts)
        if frame.round != AT or (old := kept.get((to, frame.exchange))) is None:
            return [message]
        return [pack(frame._replace(parts=old if self.whole else [frame.parts[0], old[1]]))]


class Returns(Script):
    """Passes a victim's own masked numbers on as its own: the sum then has them twice."""

    async def hears(self, hand: Hand, event: Any) -> Any:
        message = getattr(event, "message", b"")
        if message and len(parts := opened(message).parts) == 2 and not hasattr(parts[1], "dtype"):
            hand.memory["last"] = bytes(parts[1])
        return event

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame, last = opened(message), hand.memory.get("last")
        if frame.round < AT or len(frame.parts) != 2 or last is None:
            return [message]
        return [pack(frame._replace(parts=[frame.parts[0], last]))]


def _d(name: str, what: str, change: Change, **given: Any) -> Deviation:
    where = {key: given.pop(key) for key in ("at", "always") if key in given}
    return Deviation(name, what, lambda: OnWords(change, **where), algorithms=SUMS_ONLY, **given)


ROOT = ("ash",)
"""The first member is the root of the tree in all these places: all sums come from it."""
SUMS = (
    _d("other sums", "another sum to each", other_sums, coalition=ROOT, refused=True),
    _d(
        "other sums always",
        "another sum to each, always",
        other_sums,
        coalition=ROOT,
        always=True,
        refused=True,
    ),
    _d("one other sum", "another sum to one alone", to_one_alone, coalition=ROOT, refused=True),
    _d("another last sum", "another sum to one at the end", to_one_alone, coalition=ROOT, at=11),
    _d("passed on otherwise", "another sum passed on", other_sums),
    _d("two: passed on otherwise", "both pass on another sum", other_sums, members=2),
    _d("wrong point", "a point where nobody is", at_point(b"!" * 32), refused=True),
    _d("first point", "the point before the first sum", at_point(bytes(32)), refused=True),
    _d("short point", "a point of one byte", at_point(b"!"), refused=True),
    _d("no point", "no bytes for a point", at_point(b""), refused=True),
    _d("empty numbers", "no bytes for numbers", numbers(lambda one: b""), refused=True),
    _d("short numbers", "a number less", numbers(lambda one: one[:-NUMBER]), refused=True),
    _d("long numbers", "a number more", numbers(lambda one: one + bytes(NUMBER)), refused=True),
    _d("odd numbers", "a byte less", numbers(lambda one: one[:-1]), refused=True),
    _d("many numbers", "two kilobytes of them", numbers(lambda one: one * 43), refused=True),
    _d("unmasked", "zeros in place of masked numbers", numbers(lambda one: bytes(len(one))), refused=True),
    _d("complement", "all bits turned", numbers(lambda one: bytes(255 - b for b in one)), refused=True),
    _d("unasked", "numbers where none are due", unasked, refused=True, coalition=("elm",)),
    _d("withheld", "none where they are due", withheld, refused=True),
    _d("all at the root", "zeros from the root", numbers(lambda one: bytes(len(one))), coalition=ROOT),
    Deviation(
        "earlier sum",
        "numbers of an earlier sum",
        lambda: Keeps(whole=False),
        algorithms=SUMS_ONLY,
        refused=True,
    ),
    Deviation(
        "earlier word",
        "an earlier sum's word whole",
        lambda: Keeps(whole=True),
        algorithms=SUMS_ONLY,
        refused=True,
    ),
    Deviation(
        "returned sum", "numbers that it heard, as its own", Returns, algorithms=SUMS_ONLY, coalition=ROOT
    ),
)
