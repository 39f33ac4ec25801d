"""What a member makes of what it hears: false, late, early, twice, or nothing at all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Setting
from hocket.errors import BadFrame, Diverged, LinkError
from hocket.federation.runtime.payload import check_message, check_own
from hocket.federation.runtime.role import MemberRole
from hocket.links.conversation import Conversation, Moment
from hocket.links.events import Received
from hocket.links.wire import Frame, Kind, Limits, pack

from .switchboard import Switchboard

PLAN = bytes(32)


class Nobody:
    """Listens to nothing."""

    async def joined(self, neighbour: str, version: str) -> None: ...

    async def lost(self, neighbour: str, reason: str) -> None: ...

    async def received(self, neighbour: str, frame: Frame) -> None: ...


def word(k: int, value: float = 1.0, plan: bytes = PLAN, exchange: int = 0) -> bytes:
    return pack(Frame(Kind.MESSAGE, plan, k, exchange, [np.array([value])]))


def hear(*messages: bytes, at: int = 3) -> tuple[Conversation, Any]:
    """Ash in round `at`, hearing these messages from birch."""

    async def scene() -> tuple[Conversation, Any]:
        board = Switchboard([("ash", "birch")])
        ash, birch = board.plug_in("ash"), board.plug_in("birch")
        talk = Conversation(ash, ["birch"], plan=PLAN, limits=Limits.for_messages(100), listener=Nobody())
        for message in messages:
            await birch.send("ash", message)
        async with asyncio.timeout(5):
            return talk, await talk.exchange(Moment(at), {"birch": word(at)})

    return asyncio.run(scene())


def test_a_word_of_this_round_is_heard():
    assert hear(word(3, 2.0))[1]["birch"].parts[0] == 2.0


def test_words_of_past_rounds_are_passed_over():
    talk, received = hear(word(1, 7.0), word(2, 8.0), word(3, 2.0))
    assert received["birch"].parts[0] == 2.0
    assert talk.repeats == 2


def test_a_word_said_twice_is_heard_once():
    async def scene() -> Conversation:
        board = Switchboard([("ash", "birch"), ("ash", "cedar")])
        ash, birch, cedar = (board.plug_in(name) for name in ("ash", "birch", "cedar"))
        talk = Conversation(
            ash, ["birch", "cedar"], plan=PLAN, limits=Limits.for_messages(100), listener=Nobody()
        )
        for sender, message in [(birch, word(3)), (birch, word(3)), (cedar, word(3))]:
            await sender.send("ash", message)
        await talk.exchange(Moment(3), dict.fromkeys(["birch", "cedar"], word(3)))
        return talk

    assert asyncio.run(scene()).repeats == 1


def test_the_next_word_may_come_early():
    assert hear(word(4, 9.0), word(3, 2.0))[1]["birch"].parts[0] == 2.0


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([word(5)], "birch spoke for round 5 while this member is in round 3"),
        ([word(4294967295)], "more than 2 messages ahead"),
        ([word(4, exchange=one) for one in (0, 1, 2)], "more than 2 messages ahead"),
        ([word(4, 1.0), word(4, 2.0)], "birch said two different things in round 4"),
    ],
    ids=["future", "far future", "three ahead", "two words"],
)
def test_what_cannot_have_been_said_is_refused(messages, said):
    with pytest.raises(LinkError, match=said):
        hear(*messages)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (word(3)[:-1], "truncated"),
        (word(3) + b"!", "overlong"),
        (bytes(1 << 18), "oversized"),
        (b"\x00" * 80, "garbage"),
        (word(3, plan=b"\x01" * 32), "another plan"),
    ],
    ids=["truncated", "overlong", "oversized", "garbage", "other plan"],
)
def test_bytes_that_are_no_message_are_refused_by_name(message, said):
    with pytest.raises(BadFrame, match=f"birch sent a message that cannot be read: {said}"):
        hear(message)


def test_an_exchange_waits_for_those_alone_who_speak_in_it():
    """And of what was said over a link the last two messages are said again, however many exchanges were silent."""

    async def scene() -> list[bytes]:
        board = Switchboard([("ash", "birch"), ("ash", "cedar")])
        ash, birch, cedar = (board.plug_in(name) for name in ("ash", "birch", "cedar"))
        talk = Conversation(
            ash, ["birch", "cedar"], plan=PLAN, limits=Limits.for_messages(100), listener=Nobody()
        )
        for k in (1, 2, 3, 4):
            await birch.send("ash", word(k))
            said = {"birch": word(k)} | ({"cedar": word(k)} if k < 3 else {})
            assert [*await talk.exchange(Moment(k), said, due=["birch"])] == ["birch"]
            assert talk.missing == []
        board.unplug("cedar")
        cedar = board.plug_in("cedar")
        await talk.send_again("cedar")
        return [
            event.message
            for event in [await cedar.receive() for _ in range(3)]
            if isinstance(event, Received)
        ]

    assert asyncio.run(scene()) == [word(1), word(2)]


def test_what_was_missed_is_said_again():
    """The last two exchanges, when a neighbour comes back; more it cannot have missed."""

    async def scene() -> list[bytes]:
        board = Switchboard([("ash", "birch")])
        ash, birch = board.plug_in("ash"), board.plug_in("birch")
        talk = Conversation(ash, ["birch"], plan=PLAN, limits=Limits.for_messages(100), listener=Nobody())
        for k in (1, 2, 3):
            await birch.send("ash", word(k))
            await talk.exchange(Moment(k), {"birch": word(k)})
        board.unplug("birch")
        again = board.plug_in("birch")
        await again.send("ash", word(4))
        await talk.exchange(Moment(4), {"birch": word(4)})
        events = [board.queues["birch"].get_nowait() for _ in range(board.queues["birch"].qsize())]
        return [event.message for event in events if isinstance(event, Received)]

    # Round 4's as it is first said, and the last two once more when birch has joined.
    assert asyncio.run(scene()) == [word(4), word(3), word(4)]


def role(algorithm: Any = None, feasible: Any = None) -> MemberRole:
    plan = Setting(hk.Network.cycle(3), 2, hk.Power(1.0, 1, 1), 10)
    return MemberRole(0, plan, algorithm or hk.Dgd(), feasible or hk.Box(-1.0, 1.0), np.dtype(np.float64))


LIKE = [np.zeros(2)]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros(2, np.float32), "float32"),
        (b"bytes", "bytes"),
        (np.array([0.0, np.nan]), "not finite"),
        (np.array([0.0, np.inf]), "not finite"),
        (np.array([0.0, 1.5]), "outside the feasible set"),
    ],
    ids=["dimension", "dtype", "bytes", "nan", "infinity", "far out"],
)
def test_words_that_cannot_be_true_are_refused_by_name(part, said):
    with pytest.raises(LinkError, match=said) as caught:
        check_message(role(), "birch", [part], LIKE, 2)
    assert "birch" in str(caught.value)


def test_noise_may_carry_a_word_outside_but_no_farther_than_its_bound():
    noisy, k = role(hk.RssNb(delta=0.9)), 2  # α_2 Δ = 0.3
    check_message(noisy, "birch", [np.array([0.0, 1.29])], LIKE, k)
    with pytest.raises(LinkError, match=r"where noise carries it 0\.3"):
        check_message(noisy, "birch", [np.array([0.0, 1.31])], LIKE, k)


def test_without_a_feasible_set_only_finite_words_can_be_asked_for():
    check_message(role(feasible=hk.Everywhere()), "birch", [np.array([1e9, 0.0])], LIKE, 2)


@pytest.mark.parametrize("feasible", [hk.Box(-1.0, 1.0), hk.Ball(1.0), hk.Everywhere()], ids=str)
@pytest.mark.parametrize("size", [1e10, 1e160, 1e200, 1.7e308])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_word_is_so_far_out_that_its_distance_cannot_be_told(feasible, size, dtype):
    """In [−1, 1] a word of 100 was refused and one of 1e200 believed: infinity is not more than infinity."""
    far = replace(role(feasible=feasible), reach=1e9)
    word = np.array([0.0, min(size, float(np.finfo(dtype).max))], dtype)
    with pytest.raises(LinkError, match="birch said a number of size"):
        check_message(far, "birch", [word], [np.zeros(2, dtype)], 2)
    with pytest.raises(Diverged, match="own word in round 2"):
        check_own(far, [[word]], 2)


@pytest.mark.parametrize("size", [1.5, 1e3, 1e9, 1e25])
def test_within_reach_the_distance_from_the_set_still_counts(size):
    far = replace(role(), reach=1e30)
    with pytest.raises(LinkError, match="outside the feasible set"):
        check_message(far, "birch", [np.array([0.0, size])], LIKE, 2)
    with pytest.raises(LinkError, match="outside the feasible set"):
        check_message(far, "birch", [np.array([0.0, size], np.float32)], [np.zeros(2, np.float32)], 2)


def test_a_word_has_as_many_arrays_as_the_algorithm_says():
    with pytest.raises(LinkError, match="birch said 2 arrays"):
        check_message(role(), "birch", [*LIKE, *LIKE], LIKE, 2)


def test_two_who_crashed_in_one_sum_tell_each_other_what_both_have_forgotten():
    """Ash is in the second exchange of a round, birch still in the first, both were killed and connected before either
    had its words ready: the first message is not on birch's disk, and nobody else will say it."""

    def said(exchange: int) -> bytes:
        return pack(Frame(Kind.MESSAGE, PLAN, 3, exchange, [b"word"]))

    async def scene() -> None:
        board = Switchboard([("ash", "birch")])
        channels = {name: board.plug_in(name) for name in ("ash", "birch")}
        ash, birch = (
            Conversation(
                channels[name], [other], plan=PLAN, limits=Limits.for_messages(100), listener=Nobody()
            )
            for name, other in (("ash", "birch"), ("birch", "ash"))
        )
        for one in (ash, birch):  # they are connected, and have nothing to say yet
            await one.attend()
            one.now = Moment(3)
        ash.relive(Moment(3), {"birch": said(0)}, {"birch": said(0)})

        async def birch_plays() -> None:
            await birch.exchange(Moment(3), {"ash": said(0)})
            await birch.exchange(Moment(3, 1), {"ash": said(1)})

        async with asyncio.timeout(5):
            await asyncio.gather(ash.exchange(Moment(3, 1), {"birch": said(1)}), birch_plays())

    asyncio.run(scene())
