"""A member that is put back, beside a neighbour that lies about what it heard and speaks before its turn."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from hocket.federation.runtime.rollback import FORM
from hocket.links.events import Event, Received
from hocket.links.handshake import FromSystem
from hocket.links.journals.records import digest_of
from hocket.links.wire import Kind, pack

from .hostile import Deviation, Hand
from .hostile_oracles import said_twice
from .hostile_scripts import opened
from .hostile_stage import federation_of, play
from .rollback_case import OLDER, VICTIM, Exploits, RolledBack, whole_disk

LAST = 8


class Lies(Exploits):
    """Says that it has heard no more than the restored journal holds."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind is Kind.RECORD and to == VICTIM and ("heard", LAST - 1) in hand.memory:
            *mine, round_, _, _ = FORM.unpack(bytes(frame.parts[0]))
            if round_ >= LAST:
                less = FORM.pack(*mine, LAST - 1, 0, hand.memory["heard", LAST - 1])
                return [pack(frame._replace(parts=(less,)))]
        return await super().says(hand, to, message)

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Received) and event.neighbour == VICTIM:
            frame = opened(event.message)
            if frame.kind is Kind.MESSAGE:
                hand.memory.setdefault(("heard", frame.round), digest_of(event.message))
        return await super().hears(hand, event)


class Early(Lies):
    """Says its word of the next round before that of this one, so that the last one heard is not the one it changes."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind is not Kind.MESSAGE or to != VICTIM or frame.round not in (LAST - 1, LAST):
            return await super().says(hand, to, message)
        if frame.round == LAST or (VICTIM, LAST - 1) in hand.memory:
            return []
        hand.memory[VICTIM, LAST - 1] = hand.memory[VICTIM, LAST] = frame
        hand.memory["early"] = pack(frame._replace(round=LAST))
        return [hand.memory["early"], message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        event_ = await super().hears(hand, event)
        from_victim = isinstance(event_, Received) and event_.neighbour == VICTIM
        return None if self.again and from_victim else event_

    async def _answer(self, hand: Hand, received: Any) -> None:
        if received.kind is Kind.MESSAGE and received.round == LAST - 1:
            mine = hand.memory[VICTIM, LAST - 1]
            other = mine._replace(parts=[np.array(mine.parts[0]) + 0.25])
            await hand.channels.send(VICTIM, pack(other))
            await hand.channels.send(VICTIM, hand.memory["early"])


def words_said_twice(folder: Path, script: type[Exploits], *, disk: bool, cut: bool) -> list[str]:
    """What the victim said twice, put back by one round; with `cut` no honest neighbour hears its last message."""
    federation = federation_of(folder / "plan", "K4", "rss-nb", colluders=1, rounds=11)
    lying = Deviation("lies", "about what it heard", lambda: script(LAST, hides=False))
    stage = RolledBack(
        federation,
        lying,
        folder / "stage",
        secrets=FromSystem(),
        restored=OLDER[0],
        last=LAST,
        depth=1,
        disk=disk,
    )
    victim, board = stage.honest[VICTIM], stage.board
    assert board is not None
    usual = board.carry

    def carry(sender: str, receiver: str, message: bytes) -> None:
        frame = opened(message)
        last = sender == VICTIM and frame.kind is Kind.MESSAGE and frame.round == LAST and not victim.restarts
        if not (cut and last and receiver in ("birch", "cedar")):
            usual(sender, receiver, message)

    with whole_disk() if disk else nullcontext(), mock.patch.object(board, "carry", carry):
        play([stage])
    assert victim.restarts
    return list(said_twice(victim, by_receiver=False))


@pytest.mark.parametrize("script", [Lies, Early])
@pytest.mark.parametrize(("disk", "cut"), [(False, True), (False, False), (True, False)], ids=str)
def test_a_liar_gets_no_second_word(tmp_path, script, disk, cut):
    """Files that were copied tell by themselves; where the whole disk went back, an honest neighbour has to."""
    assert words_said_twice(tmp_path, script, disk=disk, cut=cut) == []
