"""Deviations beside the words: votes to drop members, and the attendance of a run's numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hocket.federation.membership import roster, votes
from hocket.federation.membership.roster import NUMBER_BYTES, Roster, RosterEntry
from hocket.federation.membership.session import Session
from hocket.federation.membership.votes import Vote
from hocket.links.events import Event, Received
from hocket.links.wire import Kind, pack

from .hostile import Deviation, Hand, Script
from .hostile_scripts import AT, Flood, Silent, opened

FAMILIAR = {Kind.NONCE, Kind.KEY, Kind.READY, Kind.MESSAGE, Kind.VOTE, Kind.DONE, Kind.ROSTER, Kind.STATE_SUM}
MANY = 10_000

Act = Callable[[Hand], Iterable[bytes]]


class Once(Script):
    """Takes part as agreed, and says something more to all honest neighbours in one round."""

    def __init__(self, act: Act, *, at: int = AT):
        self.act, self.at, self.acted = act, at, False

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        if not self.acted and opened(message).round == self.at:
            self.acted = True
            await hand.shout(*self.act(hand))
        return [message]


class Swallows(Script):
    """Says and passes on nothing of some kinds, and hears nothing of them."""

    def __init__(self, *kinds: Kind):
        self.kinds = kinds

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        return [] if self._is_one(message) else [message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        return None if isinstance(event, Received) and self._is_one(event.message) else event

    def _is_one(self, message: bytes) -> bool:
        kind = opened(message).kind
        return kind in self.kinds or (not self.kinds and kind not in FAMILIAR)


class TwoFaced(Script):
    """Votes against one member to one neighbour, and against another to the next."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        if opened(message).round != AT or to not in hand.victims:
            return [message]
        others = [name for name in hand.victims if name != to]
        return [*(ballot(hand, leaver) for leaver in others[:1]), message]


def session_of(hand: Hand) -> Session:
    return hand.memory["session"]


def roll_of(hand: Hand) -> Roster:
    return session_of(hand).roster


def ballot(hand: Hand, leaver: str, *, voter: str = "", numbers: bytes | None = None) -> bytes:
    """A vote in this member's hand; made out to another voter if asked for."""
    found = roll_of(hand).numbers() if numbers is None else numbers
    signature = hand.member.identity.sign(votes._message(hand.plan, leaver, found), votes.PURPOSE)
    return pack(Vote(voter or hand.name, leaver, found, signature).frame(hand.plan))


def against_all(hand: Hand) -> list[bytes]:
    return [ballot(hand, name) for name in hand.stage.honest]


def against_everybody(hand: Hand) -> list[bytes]:
    return [ballot(hand, name) for name in hand.plan.names]


def against_self(hand: Hand) -> list[bytes]:
    return [ballot(hand, hand.name)]


def against_strangers(hand: Hand) -> list[bytes]:
    return [ballot(hand, name) for name in ("nobody", "", "../../ash", "ash\0", "é" * 20_000)]


def in_others_names(hand: Hand) -> list[bytes]:
    names = hand.plan.names
    return [ballot(hand, leaver, voter=voter) for voter in names for leaver in names if voter != hand.name]


def with_wrong_numbers(hand: Hand) -> list[bytes]:
    size = NUMBER_BYTES * len(hand.plan.names)
    wrong = (b"", bytes(size), bytes(size - 1), b"\xff" * size, bytes(60_000))
    return [ballot(hand, name, numbers=numbers) for name in hand.stage.honest for numbers in wrong]


def malformed(kind: Kind) -> Act:
    """Messages of a kind whose parts are not what they should be."""

    def act(hand: Hand) -> list[bytes]:
        shapes: list[tuple[Any, ...]] = [
            (),
            (b"",),
            (b"\xff\xfe", b"\xff", b"\xff", b"\xff"),
            (b"ash", b"birch", b"", b""),
            (b"ash", bytes(NUMBER_BYTES), b""),
            (np.zeros(3), np.zeros(2), np.zeros(1)),
            (np.zeros(3), b"birch", b"", b""),
            (b"x" * 60_000,) * 1,
            (b"",) * 16,
        ]
        return [hand.frame(kind, *parts, k=k) for parts in shapes for k in (0, AT, 2**32 - 1)]

    return act


def entry(hand: Hand, name: str, number: bytes) -> bytes:
    signature = hand.member.identity.sign(roster._message(hand.plan, name, number), roster.PURPOSE)
    return pack(roll_of(hand).frame(RosterEntry(name, number, signature)))


def forged_entries(hand: Hand) -> list[bytes]:
    return [entry(hand, name, b"x" * NUMBER_BYTES) for name in (*hand.stage.honest, "nobody", "")]


def another_number(hand: Hand) -> list[bytes]:
    return [entry(hand, hand.name, b"another number!!")]


def odd_numbers(hand: Hand) -> list[bytes]:
    return [entry(hand, hand.name, number) for number in (b"", bytes(15), bytes(16), bytes(60_000))]


def refused_vote(hand: Hand, number: int) -> bytes:
    return hand.frame(Kind.VOTE, b"ash", b"birch", number.to_bytes(8, "little"), b"")


def good_vote(hand: Hand, number: int) -> bytes:
    """Signed anew each time, so that no two are alike."""
    return ballot(hand, hand.victims[number % len(hand.victims)])


def new_number(hand: Hand, number: int) -> bytes:
    return entry(hand, hand.name, number.to_bytes(NUMBER_BYTES, "little"))


class Replays(Script):
    """Says control messages of an earlier run of the same plan again: whatever it heard and said there."""

    def __init__(self, *kinds: Kind):
        self.kinds = kinds

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        hand.stage.overheard.append(message)
        if opened(message).round == AT and not hand.memory.get("acted"):
            hand.memory["acted"] = True
            old = [one for one in hand.stage.earlier if opened(one).kind in self.kinds]
            await hand.shout(*old[:500])
        return [message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Received):
            hand.stage.overheard.append(event.message)
        return event


class Sulks(Silent):
    """Falls silent, and votes against everybody while the others vote on it."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        if opened(message).round == AT and not hand.memory.get("acted"):
            hand.memory["acted"] = True
            hand.start(self._vote(hand))
        return await super().says(hand, to, message)

    async def _vote(self, hand: Hand) -> None:
        for _ in range(20):
            await hand.shout(*against_all(hand))
            await asyncio.sleep(0.1)


def _votes(name: str, what: str, act: Act, **given: Any) -> Deviation:
    return Deviation(name, what, lambda: Once(act), **given)


CONTROL = (
    _votes("one against all", "one member votes all honest ones out", against_all),
    _votes("two against all", "two members vote all honest ones out", against_all, members=2),
    _votes("used later", "votes that wait for a restart", against_all, restart=("ash", 6)),
    _votes("two, used later", "two members' votes and a restart", against_all, members=2, restart=("ash", 6)),
    _votes("against everybody", "votes against all, itself included", against_everybody, members=2),
    _votes("against oneself", "votes against itself", against_self),
    _votes("against strangers", "votes against who is not in the plan", against_strangers),
    _votes("forged voters", "votes in others' names", in_others_names),
    _votes("wrong numbers", "votes for another attendance", with_wrong_numbers),
    _votes("malformed votes", "votes of the wrong form", malformed(Kind.VOTE)),
    Deviation("two-faced votes", "other votes to each neighbour", TwoFaced),
    Deviation("two: two-faced votes", "other votes to each neighbour", TwoFaced, members=2),
    Deviation("refused votes", "ten thousand votes that nobody signed", lambda: Flood(refused_vote, MANY)),
    Deviation("good votes", "a thousand votes, signed anew each", lambda: Flood(good_vote, MANY // 10)),
    _votes("forged attendance", "numbers in others' names", forged_entries),
    _votes("another number", "another number in the middle of the run", another_number),
    _votes("odd numbers", "numbers of odd lengths", odd_numbers),
    _votes("unplanned means", "means of which the plan says nothing", malformed(Kind.STATE_SUM)),
    _votes("malformed attendance", "entries of the wrong form", malformed(Kind.ROSTER)),
    Deviation(
        "attendance flood", "a thousand numbers, one after the other", lambda: Flood(new_number, MANY // 10)
    ),
    Deviation("swallows votes", "neither says nor hears votes", lambda: Swallows(Kind.VOTE)),
    Deviation("swallows rolls", "neither says nor hears numbers", lambda: Swallows(Kind.ROSTER)),
    Deviation(
        "voted out, sulking",
        "falls silent and votes against those who drop it",
        lambda: Sulks(AT),
        voted_out=True,
    ),
    Deviation("voted out", "falls silent, and is dropped", lambda: Silent(AT), voted_out=True),
    Deviation(
        "two voted out", "two fall silent, and are dropped", lambda: Silent(AT), members=2, voted_out=True
    ),
    Deviation(
        "two voted out, sulking", "two of them vote back", lambda: Sulks(AT), members=2, voted_out=True
    ),
    Deviation(
        "replayed control",
        "votes and numbers of an earlier run",
        lambda: Replays(Kind.VOTE, Kind.ROSTER),
        replays=True,
    ),
)
