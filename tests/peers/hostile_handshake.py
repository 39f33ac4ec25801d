"""Deviations while noise is agreed on, and with what was said then, later."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable

from hocket.links.events import Event, Joined, Received
from hocket.links.handshake import NOTHING_KEPT, PURPOSE
from hocket.links.keys.noise_keys import KEY_BYTES
from hocket.links.wire import Frame, Kind, pack

from .hostile import PAIRED, Deviation, Hand, Script
from .hostile_control import Once, Swallows, malformed
from .hostile_scripts import AT, Flood, opened

PRIME = 2**255 - 19
LOW_ORDER = {
    "zero": bytes(KEY_BYTES),
    "one": (1).to_bytes(KEY_BYTES, "little"),
    "order 8": bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    "minus one": (PRIME - 1).to_bytes(KEY_BYTES, "little"),
    "prime": PRIME.to_bytes(KEY_BYTES, "little"),
}
"""Points of X25519 with which everybody comes to the same secret: none."""
HANDSHAKE = (Kind.NONCE, Kind.KEY, Kind.READY)

Answer = Callable[[Hand, str, Frame], Iterable[bytes]]


class Agreeing(Script):
    """Remembers both ends' nonces, keys and proofs, and says something else in place of one kind."""

    def __init__(self, kind: Kind | None = None, answer: Answer | None = None):
        self.kind, self.answer = kind, answer

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind in HANDSHAKE:
            hand.memory["mine", frame.kind, to] = frame
            hand.stage.overheard.append(message)
        if frame.kind is self.kind and to in hand.victims and self.answer is not None:
            return self.answer(hand, to, frame)
        return [message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Received) and (frame := opened(event.message)).kind in HANDSHAKE:
            hand.memory["theirs", frame.kind, event.neighbour] = frame
        return event


class AtOnce(Agreeing):
    """Says something as soon as somebody joins."""

    def __init__(self, *acts: Callable[[Hand], bytes]):
        super().__init__()
        self.acts = acts

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Joined) and event.neighbour in hand.victims:
            for act in self.acts:
                await hand.channels.send(event.neighbour, act(hand))
        return await super().hears(hand, event)


class Later(Agreeing):
    """Says a message of a handshake in the middle of the run."""

    def __init__(self, act: Answer):
        super().__init__()
        self.act = act

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        said = await super().says(hand, to, message)
        frame = opened(message)
        if frame.kind is Kind.MESSAGE and frame.round == AT and to in hand.victims:
            return [*self.act(hand, to, frame), *said]
        return said


def signed_key(hand: Hand, to: str, public: bytes, kept: bytes = NOTHING_KEPT) -> bytes:
    """A KEY with any public key, signed as it should be for this link and these nonces."""
    me, other = hand.plan.agent(hand.name), hand.plan.agent(to)
    mine = bytes(hand.memory["mine", Kind.NONCE, to].parts[0])
    theirs = bytes(hand.memory["theirs", Kind.NONCE, to].parts[0])
    nonces = (mine, theirs) if me < other else (theirs, mine)
    whose = struct.pack("<III", min(me, other), max(me, other), me)
    message = b"".join([hand.plan.run_hash, whose, *nonces, public, kept])
    return hand.frame(Kind.KEY, public, kept, hand.member.identity.sign(message, PURPOSE))


def low_order(point: bytes) -> Answer:
    return lambda hand, to, frame: [signed_key(hand, to, point)]


def wrong_proof(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [signed_key(hand, to, bytes(frame.parts[0]), kept=b"k" * KEY_BYTES)]


def reflected(kind: Kind) -> Answer:
    """What the victim said itself, back to it; or nothing, if it has not spoken."""

    def answer(hand: Hand, to: str, frame: Frame) -> list[bytes]:
        found = hand.memory.get(("theirs", kind, to))
        return [] if found is None else [pack(found)]

    return answer


def own_public(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    """The victim's public key under this member's signature."""
    found = hand.memory.get(("theirs", Kind.KEY, to))
    return [pack(frame)] if found is None else [signed_key(hand, to, bytes(found.parts[0]))]


def of_another_link(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    others = [hand.memory.get(("mine", Kind.KEY, other)) for other in hand.victims if other != to]
    return [pack(found) for found in others if found is not None] or [pack(frame)]


def of_a_colluder(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    """What the other colluder says to this victim."""
    hands = [other for name, other in hand.stage.hostile.items() if name != hand.name]
    found = [other.memory.get(("mine", frame.kind, to)) for other in hands]
    return [pack(one) for one in found if one is not None] or [pack(frame)]


def of_another_run(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    found = [message for message in hand.stage.earlier if opened(message).kind is frame.kind]
    return found[:3] or [pack(frame)]


def random_parts(*lengths: int) -> Answer:
    return lambda hand, to, frame: [hand.frame(frame.kind, *(os.urandom(length) for length in lengths))]


def first_others(count: int) -> Answer:
    """Other nonces first, and then the right one."""
    return lambda hand, to, frame: [
        *(hand.frame(Kind.NONCE, os.urandom(KEY_BYTES)) for _ in range(count)),
        pack(frame),
    ]


def twice(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [pack(frame), pack(frame)]


def new_nonce(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [hand.frame(Kind.NONCE, os.urandom(KEY_BYTES))]


def new_key(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    """Once more the same nonce, and another key, signed as it should be."""
    return [pack(hand.memory["mine", Kind.NONCE, to]), signed_key(hand, to, b"\x09" + bytes(KEY_BYTES - 1))]


def new_ready(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [hand.frame(Kind.READY, os.urandom(KEY_BYTES))]


def all_again(hand: Hand, to: str, frame: Frame) -> list[bytes]:
    return [pack(hand.memory["mine", kind, to]) for kind in HANDSHAKE if ("mine", kind, to) in hand.memory]


class OldHandshake(Agreeing):
    """Says all that was said in the handshakes of an earlier run, as soon as somebody joins and later again."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        said = await super().says(hand, to, message)
        is_time = opened(message).kind is Kind.NONCE or opened(message).round == AT
        return [*hand.stage.earlier, *said] if is_time and to in hand.victims else said


class NonceFlood(Agreeing):
    """The same nonce again and again, in the middle of the run: each is answered."""

    def __init__(self) -> None:
        super().__init__()
        self.flood = Flood(lambda hand, n: pack(hand.memory["mine", Kind.NONCE, hand.victims[0]]), 5_000)

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        said = await super().says(hand, to, message)
        return [*(await self.flood.says(hand, to, message))] if opened(message).kind is Kind.MESSAGE else said


def _in_place(name: str, what: str, kind: Kind, answer: Answer, members: int = 1) -> Deviation:
    return Deviation(name, what, lambda: Agreeing(kind, answer), members, PAIRED)


def _later(name: str, what: str, act: Answer) -> Deviation:
    return Deviation(name, what, lambda: Later(act), 1, PAIRED)


def _in_all(name: str, what: str, script: Callable[[], Script]) -> Deviation:
    return Deviation(name, what, script)


AGREEING = (
    *(
        _in_place(f"low order: {name}", "a key that leaves no secret", Kind.KEY, low_order(point))
        for name, point in LOW_ORDER.items()
    ),
    _in_place("wrong kept noise", "a false proof of what was kept", Kind.KEY, wrong_proof),
    _in_place("another link's key", "the key it gave to another neighbour", Kind.KEY, of_another_link),
    _in_place("swapped keys", "two colluders' keys, exchanged", Kind.KEY, of_a_colluder, 2),
    _in_place("swapped nonces", "two colluders' nonces, exchanged", Kind.NONCE, of_a_colluder, 2),
    _in_place("swapped proofs", "two colluders' proofs, exchanged", Kind.READY, of_a_colluder, 2),
    _in_place("old key", "a key of an earlier run", Kind.KEY, of_another_run)._replace(replays=True),
    _in_place("old proof", "a proof of an earlier run", Kind.READY, of_another_run)._replace(replays=True),
    _in_place("reflected nonce", "the victim's own nonce", Kind.NONCE, reflected(Kind.NONCE)),
    _in_place("reflected key", "the victim's own key", Kind.KEY, reflected(Kind.KEY)),
    _in_place("reflected proof", "the victim's own proof", Kind.READY, reflected(Kind.READY)),
    _in_place("the victim's key", "the victim's public key, signed by this member", Kind.KEY, own_public),
    _in_place("short nonce", "a nonce of 31 bytes", Kind.NONCE, random_parts(KEY_BYTES - 1)),
    _in_place("no nonce", "a nonce of no bytes", Kind.NONCE, random_parts(0)),
    _in_place("long nonce", "a nonce of 60,000 bytes", Kind.NONCE, random_parts(60_000)),
    _in_place("two nonces", "two nonces in one message", Kind.NONCE, random_parts(KEY_BYTES, KEY_BYTES)),
    _in_place("other nonces first", "twenty nonces before the right one", Kind.NONCE, first_others(20)),
    _in_place("random key", "a key that nobody signed", Kind.KEY, random_parts(32, 32, 64)),
    _in_place("wrong proof", "a false proof of the keys", Kind.READY, random_parts(KEY_BYTES)),
    _in_place("never ready", "no proof at all", Kind.READY, lambda hand, to, frame: []),
    _in_place("no key", "no key at all", Kind.KEY, lambda hand, to, frame: []),
    _in_place("key twice", "every key twice", Kind.KEY, twice),
    Deviation(
        "proof first",
        "a proof before any key",
        lambda: AtOnce(lambda h: h.frame(Kind.READY, bytes(32))),
        1,
        PAIRED,
    ),
    Deviation(
        "key first",
        "a key before any nonce",
        lambda: AtOnce(lambda h: h.frame(Kind.KEY, *[bytes(32)] * 3)),
        1,
        PAIRED,
    ),
    _later("new nonce", "another nonce in the middle of the run", new_nonce),
    _later("new key", "another key in the middle of the run", new_key),
    _later("new proof", "a false proof in the middle of the run", new_ready),
    _later("all again", "the whole handshake in the middle of the run", all_again),
    Deviation("nonce flood", "thousands of nonces, each of which is answered", NonceFlood, 1, PAIRED),
    _in_all("no handshake", "neither says nor hears a handshake", lambda: Swallows(*HANDSHAKE)),
    Deviation(
        "old handshake",
        "a whole handshake of an earlier run",
        lambda: OldHandshake(),
        1,
        PAIRED,
        replays=True,
    ),
    _in_all("malformed nonces", "nonces of the wrong form", lambda: Once(malformed(Kind.NONCE))),
    _in_all("malformed keys", "keys of the wrong form", lambda: Once(malformed(Kind.KEY))),
    _in_all("malformed proofs", "proofs of the wrong form", lambda: Once(malformed(Kind.READY))),
)
