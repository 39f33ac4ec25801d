"""One member's exchanges: on the disk before they are said, and after a crash said again as they were.

The first messages of a round go to the journal with the state that it begins with and the keys of its noise; those of
later exchanges with what was received in the one before. What both ends of a link said is put down by its digests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hocket.links.conversation import Conversation, Moment
from hocket.links.journals.journal import EVERYBODY, Journal, Position
from hocket.links.journals.records import Record
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
        """Put a round on the disk, with the first messages of it; returns their digests."""
        state = self._packed(k, 0, parts)
        return self.journal.commit_round(k, state, chains=chains, messages=words, records=self.records)

    async def first(
        self,
        k: int,
        parts: Sequence[Part],
        words: Mapping[str, bytes],
        chains: Mapping[str, bytes],
        due: Collection[str] | None,
        meanwhile: Callable[[], None] | None,
    ) -> Mapping[str, Frame]:
        """The first exchange of a round."""
        return await self._carried(Moment(k), words, self.begin(k, parts, words, chains), due, meanwhile)

    async def later(
        self, k: int, exchange: int, words: Mapping[str, bytes], due: Collection[str] | None
    ) -> Mapping[str, Frame]:
        """Another exchange of the same round."""
        talk = self.conversation
        said = self.journal.commit_messages(k, exchange, words, talk.messages(), before=talk.now.exchange)
        return await self._carried(Moment(k, exchange), words, said, due, None)

    def parts_of(self, position: Position) -> list[Any]:
        """What a round began with."""
        return list(unpack(position.state, Limits(len(position.state)), plan=self.conversation.plan).parts)

    def last_words(self, k: int, first: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """What was said last in a round that began with these words."""
        last = self.for_each(first)
        for words in self.journal.later_messages(k):
            last |= self.for_each(words)
        return last

    async def speak_up(self) -> None:
        """Anybody who connected before this member had its words ready hears them now."""
        for name in sorted(self.conversation.connected):
            await self.conversation.send_again(name)

    def for_each(self, words: Mapping[str, bytes]) -> dict[str, bytes]:
        """What each neighbour is to hear, if anything."""
        named = [name for name in self.conversation.neighbours if name in words or EVERYBODY in words]
        return {name: words.get(name) or words[EVERYBODY] for name in named}

    async def _carried(
        self,
        moment: Moment,
        words: Mapping[str, bytes],
        said: Mapping[str, bytes],
        due: Collection[str] | None,
        meanwhile: Callable[[], None] | None,
    ) -> Mapping[str, Frame]:
        """One exchange that is on the disk; what was received in one that a crash came after is there too."""
        before = self.journal.received(*moment) if moment.round == self.taken_up else {}
        if before:
            frames = self.conversation.relive(moment, self.for_each(words), before)
        else:
            frames = await self.conversation.exchange(
                moment, self.for_each(words), due=due, meanwhile=meanwhile
            )
        self._remember(moment, said)
        return frames

    def _remember(self, moment: Moment, said: Mapping[str, bytes]) -> None:
        """Put down what both ends of every link said, by its digests; it goes to the disk with the next round."""
        received = self.conversation.digests()
        for name in self.conversation.neighbours:
            mine = said.get(name, said.get(EVERYBODY))
            record = self.records.get(name, Record()).after(*moment, said=mine, received=received.get(name))
            if record != Record():
                self.records[name] = record

    def _packed(self, k: int, exchange: int, parts: Sequence[Part]) -> bytes:
        return pack(Frame(Kind.MESSAGE, self.conversation.plan, k, exchange, parts))
