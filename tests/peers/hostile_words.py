"""Deviations in words: what is said in the exchanges, to whom, when and how often."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from hocket.links.wire import HEADER, Frame, Kind, pack

from .hostile import Deviation, Hand
from .hostile_scripts import (
    AT,
    Absent,
    AtTheEnd,
    Change,
    Echo,
    Flaps,
    Flood,
    Late,
    Leaves,
    OnWords,
    Repeats,
    Silent,
    Storm,
    TooEarly,
    reworded,
)
from .quadratic import DIMENSION

LAST = 2**32 - 1


def value(change: Callable[[np.ndarray, Hand, str], Any]) -> Change:
    """Another array in place of the word."""
    return lambda hand, to, frame, message: [pack(reworded(frame, lambda word: change(word, hand, to)))]


def framed(**changes: Any) -> Change:
    """The word under another header, beside itself or not."""
    return lambda hand, to, frame, message: [pack(frame._replace(**changes))]


def moved(by: int) -> Change:
    return lambda hand, to, frame, message: [pack(frame._replace(round=frame.round + by))]


def raw(change: Callable[[bytes], bytes]) -> Change:
    return lambda hand, to, frame, message: [change(message)]


def byte(place: int, number: int) -> Change:
    """The word with one byte of its header changed."""
    return raw(lambda message: message[:place] + bytes([number]) + message[place + 1 :])


def shaped(*shape: int, code: int = 2) -> Change:
    """A part that announces a shape, and has no data."""

    def change(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
        body = struct.pack("<BB2x", code, len(shape)) + b"".join(struct.pack("<I", one) for one in shape)
        head = list(HEADER.unpack(message[: HEADER.size]))
        head[-2:] = [1, len(body)]
        return [HEADER.pack(*head) + body]

    return change


def beside(*others: Change) -> Change:
    """The word as it is, and then others."""
    return lambda hand, to, frame, message: [
        message,
        *(one for other in others for one in other(hand, to, frame, message)),
    ]


def before(other: Change) -> Change:
    return lambda hand, to, frame, message: [*other(hand, to, frame, message), message]


def done(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    return [hand.frame(Kind.DONE, k=frame.round)]


def value_of_done(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    return [pack(frame._replace(parts=[np.zeros(DIMENSION)]))]


def corner(word: np.ndarray, hand: Hand, to: str) -> np.ndarray:
    return np.full_like(word, 10.0)


def swing(word: np.ndarray, hand: Hand, to: str) -> np.ndarray:
    hand.memory["turns"] = hand.memory.get("turns", 0) + 1
    return np.full_like(word, 10.0 if hand.memory["turns"] % 2 else -10.0)


def edge(word: np.ndarray, hand: Hand, to: str) -> np.ndarray:
    """As far outside the box as noise can carry a word in this round."""
    algorithm, step = hand.plan.algorithm, float(hand.plan.step(AT))
    reach = step * float(getattr(algorithm, "delta", 0.0))
    return np.array([10.0 + 0.999 * reach, *word[1:]])


def apart(word: np.ndarray, hand: Hand, to: str) -> np.ndarray:
    """Another word to each neighbour."""
    return word + 0.1 * (1 + hand.victims.index(to))


def _filled(number: float) -> Change:
    return value(lambda word, hand, to: np.full_like(word, number))


def _d(name: str, what: str, change: Change, *, refused: bool = False, **where: Any) -> Deviation:
    return Deviation(name, what, lambda: OnWords(change, **where), refused=refused)


def _two(first: Deviation) -> Deviation:
    return first._replace(name=f"two: {first.name}", members=2)


WRONG_WORDS = (
    _d("nan", "not a number", _filled(np.nan), refused=True),
    _d("inf", "infinity", _filled(np.inf), refused=True),
    _d("1e200", "a word whose norm overflows", _filled(1e200), refused=True),
    _d("1e308", "a word whose distance overflows", _filled(1e308), refused=True),
    _d("-1e308", "the same on the other side", _filled(-1e308), refused=True),
    _d("far out", "100 outside the box", _filled(110.0), refused=True),
    _d("denormal", "the smallest numbers there are", _filled(5e-324)),
    _d("edge", "just inside what noise can reach", value(edge)),
    _d("float32", "another type", value(lambda word, hand, to: word.astype(np.float32)), refused=True),
    _d("longer", "one number more", value(lambda word, hand, to: np.append(word, 0.0)), refused=True),
    _d("column", "another shape", value(lambda word, hand, to: word[:, None]), refused=True),
    _d("scalar", "no axes", value(lambda word, hand, to: np.array(1.0))),
    _d("bytes", "bytes where numbers belong", value(lambda word, hand, to: b"12345678"), refused=True),
    _d(
        "two parts",
        "an array more",
        lambda h, t, f, m: [pack(f._replace(parts=[f.parts[0]] * 2))],
        refused=True,
    ),
    _d("no parts", "no array", framed(parts=[]), refused=True),
    _d("many parts", "255 parts", framed(parts=[b""] * 255)),
    _d("huge nothing", "no numbers in a huge shape", shaped(0, LAST, LAST), refused=True),
    _d("huge nothings", "no numbers in eight huge axes", shaped(0, *[LAST] * 7), refused=True),
    _d("huge", "a shape without its numbers", shaped(LAST, LAST)),
    _d("nine axes", "more axes than are read", shaped(*[1] * 9)),
    _d("odd type", "an unknown type", shaped(3, code=9)),
    _d("empty", "no bytes at all", raw(lambda message: b"")),
    _d("other plan", "another plan's hash", framed(plan=bytes(32))),
    _d("other protocol", "a protocol to come", byte(4, 99)),
    _d("unknown kind", "a kind that there is not", byte(5, 200)),
    _d("garbage", "bytes that mean nothing", raw(lambda message: bytes(range(256)))),
    _d("truncated", "a byte less", raw(lambda message: message[:-1])),
    _d("overlong", "a byte more", raw(lambda message: message + b"!")),
    _d("oversized", "more than a message may hold", raw(lambda message: message + bytes(1 << 18))),
    _d("round 0", "a word before the first", moved(-AT)),
    _d("two ahead", "a word of the round after next", beside(moved(2))),
    _d("last round", "a word of the last round there can be", framed(round=LAST)),
    _d("next round twice", "two words of the next round", beside(moved(1), value(corner), moved(1))),
    _d("exchange 1", "a word of an exchange that there is not", framed(exchange=1)),
    _d("exchange 255", "a word of the last exchange that there can be", beside(framed(exchange=255))),
    _d("two words", "another message for the same round", beside(value(corner))),
    _d("two words first", "another message for the same round, first", before(value(corner))),
    _d("same twice", "the same word again", beside(lambda h, t, f, m: [m, m])),
    _d("apart", "another message to each", value(apart), always=True),
    _d("corner", "always a corner of the box", value(corner), at=1, always=True),
    _d("swing", "one corner, then the other", value(swing), at=2, always=True),
    _d("done early", "done in round 3", done, at=3),
    _d("done beside", "done and a word in round 3", beside(done), at=3),
    _d("done next", "done for the next round", beside(lambda h, t, f, m: [h.frame(Kind.DONE, k=AT + 1)])),
    _d("words after done", "goes on after it was done", before(done), at=3, always=True),
    _d("done with a word", "done, with numbers in it", framed(kind=Kind.DONE)),
)
OTHERWISE = (
    Deviation("echo", "the victim's own word back to it", lambda: Echo(1.0)),
    Deviation("mirror", "the negative of the victim's word", lambda: Echo(-1.0)),
    Deviation("repeats", "all earlier words again in every round", lambda: Repeats(0.0)),
    Deviation("repeats otherwise", "all earlier words again, changed", lambda: Repeats(0.5)),
    Deviation("late", "every message late", Late),
    Deviation("absent", "never comes", Absent),
    Deviation("silent", "is there and says nothing", lambda: Silent(0)),
    Deviation("silent later", "says nothing from round 4 on", lambda: Silent(AT)),
    Deviation("leaves", "is gone in round 4", Leaves),
    Deviation("flaps", "hangs up in every round", lambda: Flaps(replays=False)),
    Deviation("flaps with replays", "hangs up, and says all again", lambda: Flaps(replays=True)),
    Deviation("storm", "comes and goes hundreds of times", Storm),
    Deviation("never done", "does not say that it is done", lambda: AtTheEnd(lambda h, t, f, m: [])),
    Deviation("done twice", "says twice that it is done", lambda: AtTheEnd(beside(lambda h, t, f, m: [m]))),
    Deviation(
        "done otherwise", "is done with numbers, then without", lambda: AtTheEnd(before(value_of_done))
    ),
    Deviation("word for done", "a word where the end belongs", lambda: AtTheEnd(framed(kind=Kind.MESSAGE))),
    Deviation("too early", "words before anything is agreed", TooEarly),
    Deviation(
        "word flood",
        "the same early word, thousands of times",
        lambda: Flood(lambda hand, n: hand.frame(Kind.MESSAGE, np.zeros(DIMENSION), k=1), 10_000),
    ),
)
TOGETHER = tuple(
    _two(one)
    for one in (*WRONG_WORDS, *OTHERWISE)
    if one.name
    in {"apart", "corner", "edge", "mirror", "two words", "silent later", "flaps with replays", "echo"}
)
WORDS = (*WRONG_WORDS, *OTHERWISE, *TOGETHER)
