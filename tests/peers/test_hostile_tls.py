"""A handful of deviations over real links: what only a network can do, and some of the rest."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any
from unittest import mock

import pytest

from hocket.links import channel
from hocket.links.channel import GrpcChannels
from hocket.links.events import Event
from hocket.links.tls import grpc
from hocket.links.wire import Kind, pack

from .hostile import Deviation, Hand, Script
from .hostile_control import CONTROL, refused_vote
from .hostile_handshake import AGREEING, Agreeing
from .hostile_oracles import check
from .hostile_scripts import AT, BATCH, Flood, OnWords, opened
from .hostile_stage import Stage, federation_of, play
from .hostile_words import WORDS

PAUSE = 4.0
"""Seconds without progress after which a scene is over: a link that broke is opened again within a few."""


class NeverReads(Agreeing):
    """Asks for thousands of answers, and reads none."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        said = await super().says(hand, to, message)
        if opened(message).round == AT and not hand.memory.get("begun"):
            hand.memory["begun"] = True
            hand.start(self._ask(hand))
        return said

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if hand.memory.get("begun"):
            await asyncio.Event().wait()
        return await super().hears(hand, event)

    async def _ask(self, hand: Hand) -> None:
        victim = hand.victims[0]
        question = pack(hand.memory["mine", Kind.NONCE, victim])
        for number in range(8_000):
            await hand.channels.send(victim, question)
            if number % BATCH == 0:
                await asyncio.sleep(0)


def hangs_up() -> OnWords:
    """An empty message ends a stream: the link is opened again in every round."""
    return OnWords(lambda hand, to, frame, message: [b"", message], at=2, always=True)


def says_again() -> OnWords:
    """Hangs up, and says its word before and after."""
    return OnWords(lambda hand, to, frame, message: [message, b"", message], at=2, always=True)


ON_THE_WIRE = (
    Deviation("never reads", "thousands of questions, no answer is read", NeverReads),
    Deviation("hangs up", "the link ends in every round", hangs_up),
    Deviation("hangs up, again", "the link ends in every round, words are repeated", says_again),
    Deviation("flood", "thousands of votes that nobody signed", lambda: Flood(refused_vote, 5_000)),
)
CHOSEN = {
    "nan",
    "huge nothing",
    "oversized",
    "empty",
    "two words",
    "silent later",
    "leaves",
    "mirror",
    "two against all",
    "used later",
    "nonce flood",
    "low order: zero",
    "new nonce",
}
CASES = (*ON_THE_WIRE, *(one for one in (*WORDS, *CONTROL, *AGREEING) if one.name in CHOSEN))


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_no_deviation_does_harm_over_real_links(tmp_path, half):
    stages = []
    for place, one in enumerate(CASES[half::2]):
        federation = federation_of(tmp_path / f"{place}", "K4", "rss-nb", colluders=one.members, rounds=10)
        stages.append(Stage(federation, one, tmp_path / f"stage-{place}", tls=True, stall=PAUSE))
    check(play(stages))


class Refusing(GrpcChannels):
    """Elm's links: anybody who calls is refused, in words of elm's own choice."""

    code = grpc.StatusCode.ALREADY_EXISTS
    words = "another process speaks for you"

    async def answer(self, requests: Any, context: Any) -> None:
        if self.name != "elm":
            await super().answer(requests, context)
            return
        await context.abort(self.code, f"{self.words} {os.urandom(1_000).hex()}")


@pytest.mark.parametrize("code", ["ALREADY_EXISTS", "FAILED_PRECONDITION"])
def test_whoever_refuses_to_answer_is_named(tmp_path, code):
    """However it is put: a member that stops because of what a neighbour said says whose word that was."""
    federation = federation_of(tmp_path / "plan", "K4", "rss-nb", colluders=1, rounds=10)
    assert federation.plan.awaits("elm")  # it is called by somebody
    one = Deviation("refuses", "answers nobody who calls", Script)
    with (
        mock.patch.object(Refusing, "code", grpc.StatusCode[code]),
        mock.patch.object(channel, "GrpcChannels", Refusing),
    ):
        check(play([Stage(federation, one, tmp_path / "stage", tls=True, stall=1.5)]))
