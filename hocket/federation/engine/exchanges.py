"""One member's exchanges: on the disk before they are said, and after a crash said again as they were.

The first words of a round go to the journal with the state that it begins with and the keys of its noise; those of
later exchanges with what was heard in the one before. What both ends of a link said is put down by its digests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hocket.links.conversation import Conversation, Moment
from hocket.links.journal import EVERYBODY, Journal, Position
from hocket.links.records import NOTHING, Record
from hocket.links.wire import Frame, Kind, Limits, Part, pack, unpack


@dataclass
class Exchanges:
    """A talk with neighbours that a journal is kept of."""

    names: Sequence[str]
    """All members, by number."""
    conversation: Conversation
    journal: Journal
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    """What was said and heard so far, by neighbour, up to the round in the journal."""
    taken_up: int = 0
    """The round in which this process found the run."""

    def take_up(self) -> Position | None:
        """Where the journal stands; None before round 1."""
        position = self.journal.position
        self.taken_up = self.journal.round
        self.records = {} if position is None else dict(position.records)
        return position

    def framed(self, k: int, exchange: int, arrays: Mapping[int | None, Sequence[Part]]) -> dict[str, bytes]:
        """What goes out, as it travels: by neighbour, or to everybody."""
        return {
            EVERYBODY if other is None else self.names[other]: self._packed(k, exchange, parts)
            for other, parts in arrays.items()
        }

    def begin(
        self, k: int, parts: Sequence[Part], words: Mapping[str, bytes], chains: Mapping[str, bytes]
    ) -> Mapping[str, bytes]:
        """Put a round on the disk, with the first words of it; returns their digests."""
        state = self._packed(k, 0, parts)
        return self.journal.commit_round(k, state, chains=chains, words=words, records=self.records)

    async def first(
        self,
        k: int,
        parts: Sequence[Part],
        words: Mapping[str, bytes],
        chains: Mapping[str, bytes],
        meanwhile: Callable[[], None] | None,
    ) -> Mapping[str, Frame]:
        """The first exchange of a round."""
        return await self._carried(Moment(k), words, self.begin(k, parts, words, chains), meanwhile)

    async def later(self, k: int, exchange: int, words: Mapping[str, bytes]) -> Mapping[str, Frame]:
        """Another exchange of the same round."""
        said = self.journal.commit_words(k, exchange, words, self.conversation.messages())
        return await self._carried(Moment(k, exchange), words, said, None)

    def parts_of(self, position: Position) -> list[Any]:
        """What a round began with."""
        return list(unpack(position.state, Limits(len(position.state)), plan=self.conversation.plan).parts)

    def last_words(self, k: int, first: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """What was said last in a round that began with these words."""
        last, exchange = self.for_each(first) if first else {}, 1
        while said := self._said(k, exchange):
            last, exchange = said, exchange + 1
        return last

    async def speak_up(self) -> None:
        """Whoever connected before this member had its words ready hears them now."""
        for name in sorted(self.conversation.connected):
            await self.conversation.say_again(name)

    def for_each(self, words: Mapping[str, bytes]) -> dict[str, bytes]:
        """What each neighbour is to hear."""
        return {name: words.get(name, words.get(EVERYBODY, b"")) for name in self.conversation.neighbours}

    async def _carried(
        self,
        moment: Moment,
        words: Mapping[str, bytes],
        said: Mapping[str, bytes],
        meanwhile: Callable[[], None] | None,
    ) -> Mapping[str, Frame]:
        """One exchange that is on the disk; what was heard in one that a crash came after is there too."""
        before = self.journal.heard(*moment) if moment.round == self.taken_up else {}
        if before:
            frames = self.conversation.relive(moment, self.for_each(words), before)
        else:
            frames = await self.conversation.exchange(moment, self.for_each(words), meanwhile=meanwhile)
        self._remember(moment, said)
        return frames

    def _remember(self, moment: Moment, said: Mapping[str, bytes]) -> None:
        """Put down what both ends of every link said, by its digests; it goes to the disk with the next round."""
        for name, heard in self.conversation.digests().items():
            if name in self.conversation.neighbours:
                before, mine = self.records.get(name, Record()), said.get(name, said.get(EVERYBODY, NOTHING))
                self.records[name] = before.after(*moment, said=mine, heard=heard)

    def _said(self, k: int, exchange: int) -> dict[str, bytes]:
        found = {name: self.journal.said(k, exchange, name) for name in self.conversation.neighbours}
        return {name: word for name, word in found.items() if word is not None}

    def _packed(self, k: int, exchange: int, parts: Sequence[Part]) -> bytes:
        return pack(Frame(Kind.WORD, self.conversation.plan, k, exchange, parts))
