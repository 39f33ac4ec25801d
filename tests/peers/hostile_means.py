"""Deviations in the means of the whole: what members tell of their states now and then, under masks and signed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hocket.federation.runtime import convergence as joint_means
from hocket.federation.runtime.convergence import JointMeans, told_after
from hocket.links.events import Event, Received
from hocket.links.wire import Frame, Kind, pack

from .hostile import SUMMED, Deviation, Hand, Script
from .hostile_control import MANY, Act, Once, Replays, Swallows, malformed, session_of
from .hostile_scripts import AT, Change, Flood, Silent, opened

LAST = 2**32 - 1
NUMBER = 16
"""Bytes of one masked number."""


def means_of(hand: Hand) -> JointMeans:
    """The means in which a hostile member takes part, as the agreed software has them."""
    means = session_of(hand).means
    assert means is not None
    return means


def signed(hand: Hand, k: int, told: bytes, *, name: str = "") -> bytes:
    """A word in this member's hand; made out to another member if asked for."""
    message = means_of(hand)._message(k, means_of(hand).roster.number, told)
    signature = hand.member.identity.sign(message, joint_means.PURPOSE)
    return hand.frame(Kind.STATE_SUM, (name or hand.name).encode(), told, signature, k=k)


def size(hand: Hand) -> int:
    return 2 * NUMBER * hand.plan.task.dimension


class OnMeans(Script):
    """Says something else in place of what it tells of its own states, or of what it passes on."""

    def __init__(self, change: Change, *, own: bool = True):
        self.change, self.own, self.done = change, own, 0

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind is not Kind.STATE_SUM or to not in hand.victims:
            return [message]
        mine = bytes(frame.parts[0]).decode() == hand.name
        return self.change(hand, to, frame, message) if mine is self.own else [message]


class Late(Script):
    """Keeps all messages of some rounds back, and says them in the reverse order in a later one."""

    def __init__(self, at: int):
        self.at = at

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame, kept = opened(message), hand.memory.setdefault(to, [])
        if frame.kind is Kind.STATE_SUM:
            kept.append(message)
            return []
        if frame.kind is not Kind.MESSAGE or frame.round < self.at:
            return [message]
        said, hand.memory[to] = kept[::-1], []
        return [message, *said]


class Repeats(Script):
    """Says all messages that it has told or heard again with every message of a round."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        known = hand.memory.setdefault("known", [])
        if opened(message).kind is Kind.STATE_SUM:
            known.append(message)
        return [message, *known] if opened(message).kind is Kind.MESSAGE else [message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Received) and opened(event.message).kind is Kind.STATE_SUM:
            hand.memory.setdefault("known", []).append(event.message)
        return event


def told(change: Callable[[bytes], bytes]) -> Change:
    """Other numbers, signed by anybody who tells them."""
    return lambda hand, to, frame, message: [signed(hand, frame.round, change(bytes(frame.parts[1])))]


def touched(change: Callable[[list[bytes]], list[bytes]]) -> Change:
    """Other bytes under the same signature."""
    return lambda hand, to, frame, message: [
        pack(frame._replace(parts=change([bytes(part) for part in frame.parts])))
    ]


def apart(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    """Another word to each, all of them signed."""
    return [signed(hand, frame.round, bytes([1 + hand.victims.index(to)]) * size(hand))]


def twice(hand: Hand, to: str, frame: Frame, message: bytes) -> list[bytes]:
    """Two words for one round to the same neighbour."""
    return [message, signed(hand, frame.round, b"\x07" * size(hand)), message]


def header(**changes: Any) -> Change:
    return lambda hand, to, frame, message: [pack(frame._replace(**changes)), message]


def raw(change: Callable[[bytes], bytes]) -> Change:
    return lambda hand, to, frame, message: [change(message)]


def in_others_names(hand: Hand) -> list[bytes]:
    rounds = told_after(hand.plan)
    return [signed(hand, k, bytes(size(hand)), name=name) for name in hand.stage.honest for k in rounds]


def of_strangers(hand: Hand) -> list[bytes]:
    names = ("nobody", "../../ash", "ash\0", "é" * 20_000)
    return [signed(hand, AT, bytes(size(hand)), name=name) for name in names]


def of_no_round(hand: Hand) -> list[bytes]:
    rounds = {0, LAST, hand.plan.run.rounds + 1, *range(1, 11)} - {*told_after(hand.plan)}
    return [signed(hand, k, bytes(size(hand))) for k in sorted(rounds)]


def of_all_rounds(hand: Hand) -> list[bytes]:
    return [signed(hand, k, b"\x01" * size(hand)) for k in told_after(hand.plan)]


def of_odd_sizes(hand: Hand) -> list[bytes]:
    rounds, whole = told_after(hand.plan), size(hand)
    sizes = (0, 1, whole - 1, whole - NUMBER, whole + 1, whole + NUMBER, 60_000)
    return [signed(hand, k, bytes(count)) for k in rounds for count in sizes]


def refused(hand: Hand, number: int) -> bytes:
    return hand.frame(Kind.STATE_SUM, b"ash", number.to_bytes(8, "little") * (size(hand) // 8), b"", k=AT)


def others(hand: Hand, number: int) -> bytes:
    """Signed anew each time, so that no two are alike."""
    return signed(hand, told_after(hand.plan)[-1], number.to_bytes(8, "little") * (size(hand) // 8))


def _on(name: str, what: str, change: Change, **given: Any) -> Deviation:
    own = given.pop("own", True)
    return Deviation(name, what, lambda: OnMeans(change, own=own), algorithms=SUMMED, means=5, **given)


def _once(name: str, what: str, act: Act, **given: Any) -> Deviation:
    at = given.pop("at", AT)
    return Deviation(name, what, lambda: Once(act, at=at), algorithms=SUMMED, means=5, **given)


def _script(name: str, what: str, script: Callable[[], Script], **given: Any) -> Deviation:
    return Deviation(name, what, script, algorithms=SUMMED, means=5, **given)


def _flipped(parts: list[bytes]) -> list[bytes]:
    return [parts[0], bytes([parts[1][0] ^ 1]) + parts[1][1:], parts[2]]


MEANS = (
    _script("means as agreed", "tells its states as all do", Script),
    _on("mean: unmasked", "zeros in place of masked numbers", told(lambda one: bytes(len(one)))),
    _on("mean: all bits", "the largest numbers there are", told(lambda one: b"\xff" * len(one))),
    _on("mean: complement", "all bits turned", told(lambda one: bytes(255 - byte for byte in one))),
    _on("mean: short", "a number less", told(lambda one: one[:-NUMBER])),
    _on("mean: long", "a number more", told(lambda one: one + bytes(NUMBER))),
    _on("mean: odd", "a byte less", told(lambda one: one[:-1])),
    _on("mean: apart", "another message to each", apart),
    _on("mean: apart, restart", "another message to each, and a restart", apart, restart=("ash", 6)),
    _on("two: mean: apart", "two of them, another message to each", apart, members=2),
    _on("mean: two words", "another message for the same round", twice),
    _on("mean: a bit", "numbers that were changed after they were signed", touched(_flipped)),
    _on("mean: unsigned", "no signature", touched(lambda parts: [*parts[:2], b""])),
    _on("mean: no parts", "nothing at all", touched(lambda parts: [])),
    _on("mean: next round", "its word, for the next round as well", header(round=AT + 1)),
    _on("mean: last round", "its word, for the last round there can be", header(round=LAST)),
    _on("mean: exchange 255", "its word, in an exchange that there is not", header(exchange=255)),
    _on("mean: other plan", "another plan's hash", header(plan=bytes(32))),
    _on("mean: oversized", "more than a message may hold", raw(lambda message: message + bytes(1 << 18))),
    _on("mean: truncated", "a byte less of the message", raw(lambda message: message[:-1])),
    _on("passed on: a bit", "others' numbers changed on the way", touched(_flipped), own=False),
    _on(
        "passed on: renamed",
        "others' words as its own",
        lambda h, t, f, m: [pack(f._replace(parts=[h.name.encode(), *f.parts[1:]]))],
        own=False,
    ),
    _on("passed on: signed", "others' words with its own signature", lambda h, t, f, m: [
        signed(h, f.round, bytes(f.parts[1]), name=bytes(f.parts[0]).decode(errors="replace"))
    ], own=False),
    _on("passed on: nothing", "others' words kept back", lambda h, t, f, m: [], own=False),
    _once("means in others' names", "words of honest members, not signed by them", in_others_names, at=1),
    _once("means of strangers", "words of who is not in the plan", of_strangers),
    _once("means of no round", "words for rounds in which none are due", of_no_round),
    _once("means of all rounds", "words for all rounds to come, before they are due", of_all_rounds, at=1),
    _once("means of odd sizes", "signed words of odd lengths", of_odd_sizes, at=1),
    _once("malformed means", "words of the wrong form", malformed(Kind.STATE_SUM)),
    _once("malformed means, restart", "and a restart", malformed(Kind.STATE_SUM), restart=("ash", 6)),
    _script("means late", "all messages kept back, then in the wrong order", lambda: Late(6)),
    _script("means after the end", "all messages with its last one", lambda: Late(10)),
    _script("means late, restart", "the same to one who starts again", lambda: Late(6), restart=("ash", 6)),
    _script("means repeated", "all messages again in every round", Repeats),
    _script("means repeated, restart", "the same to one who starts again", Repeats, restart=("ash", 6)),
    _script("refused means", "ten thousand that nobody signed", lambda: Flood(refused, MANY)),
    _script("good means", "a thousand for one round, signed anew each", lambda: Flood(others, MANY // 10)),
    _script("swallows means", "neither says nor hears any", lambda: Swallows(Kind.STATE_SUM)),
    _script("two: swallow means", "two of them", lambda: Swallows(Kind.STATE_SUM), members=2),
    _script("means, then voted out", "falls silent, and is dropped", lambda: Silent(AT), voted_out=True),
    _script(
        "replayed means",
        "words of an earlier run of the same plan",
        lambda: Replays(Kind.STATE_SUM),
        replays=True,
    ),
)  # fmt: skip
