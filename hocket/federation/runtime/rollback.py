"""Finding out, before a word is said, that a member's journal went back in time.

Anybody who restores a member's home from a backup has it send messages again under noise that it has used: a neighbour
who changes its own message in between sees two words under one noise, and their difference. No journal can tell by
itself that all of it is old. So neighbours keep the last message that they heard, and when two of them meet they say
how far they are:

    MARK    the process that speaks (epoch, instance), the last round that it said, the last message that it heard from
    you

A member that takes up a run waits for the mark of every neighbour before it speaks. If one of them has heard more than
the journal holds, or another message, the run is over for this member. A neighbour that is behind what was received
from it is not listened to, until it comes with a journal that is not.

What is left: words that no honest neighbour had heard when the machine was rolled back. Where files were copied, the
marks beside the journal tell (links/journals/records.py); where a whole disk or machine went back, nothing does.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hocket.errors import JournalError
from hocket.links.conversation import Moment, contradiction
from hocket.links.journals.journal import NEVER_BACK, Journal
from hocket.links.journals.records import Mark, Record
from hocket.links.wire import Frame, Kind

FORM = struct.Struct("<Q16sIIII32s")
LAST_EPOCH = (1 << 63) - 1
"""What a journal can hold; nobody starts so often."""


class LinkMemory(NamedTuple):
    """What one end of a link says that it remembers."""

    epoch: int
    instance: str
    said: Moment
    received: Moment
    digest: bytes
    """Of the last message that it heard from the other end."""

    @classmethod
    def read(cls, frame: Frame) -> LinkMemory | None:
        """None if the message is of another form."""
        parts = frame.plain(1)
        if parts is None or len(parts[0]) != FORM.size:
            return None
        epoch, instance, *moments, digest = FORM.unpack(parts[0])
        if epoch > LAST_EPOCH:
            return None
        said, received = Moment(*moments[:2]), Moment(*moments[2:])
        return cls(epoch, instance.decode("ascii", "replace"), said, received, digest)


@dataclass
class Memories:
    """One member's own memory, and the comparison with its neighbours'."""

    journal: Journal
    neighbours: Sequence[str]
    """All, in an order that never changes: each has its place among the marks."""
    epoch: int
    instance: str = field(default_factory=lambda: os.urandom(8).hex())
    compared: set[str] = field(default_factory=set[str])
    """Neighbours who remember nothing that this member has forgotten."""
    _received: dict[str, tuple[Mark, Mark]] = field(default_factory=dict[str, tuple[Mark, Mark]])
    """The last two messages received from each, in this process or an earlier one, the later one first."""

    def __post_init__(self) -> None:
        position = self.journal.position
        records: Mapping[str, Record] = {} if position is None else position.records
        for slot, name in enumerate(self.neighbours):
            record = records.get(name, Record())
            kept = Mark(record.round, record.exchange, record.digest)
            marked = self.journal.marks.received(slot, name) or (Mark(), Mark())
            last, before, *_ = [*sorted({kept, *marked}, reverse=True), Mark()]
            self._received[name] = last, before

    def frame(self, neighbour: str) -> Frame:
        """What a neighbour should hear first when it connects."""
        received, _ = self._received[neighbour]
        mine = FORM.pack(self.epoch, self.instance.encode(), *self.journal.last_sent, *received)
        return Frame(Kind.RECORD, self.journal.plan, parts=(mine,))

    def note(self, neighbour: str, moment: Moment, digest: bytes) -> None:
        """Put down a word as it arrives; one that contradicts what was received before a crash is refused."""
        last, before = self._received[neighbour]
        for known in (last, before):
            if moment == known[:2] and digest != known.digest:
                raise contradiction(neighbour, moment)
        new = Mark(*moment, digest)
        if new not in (last, before) and moment > before[:2]:
            self._received[neighbour] = last, before = max(last, new), min(last, new)
            self.journal.marks.hear(self.neighbours.index(neighbour), neighbour, last, before)

    def compare(self, neighbour: str, theirs: LinkMemory) -> str | None:
        """Refuse to go on if this member has forgotten something; returns why the neighbour has, if it has."""
        self._check_mine(neighbour, theirs)
        fault = self._fault(neighbour, theirs)
        if fault is None:
            self.journal.meet(neighbour, theirs.epoch, theirs.instance)
            self.compared.add(neighbour)
        return fault

    def _check_mine(self, neighbour: str, theirs: LinkMemory) -> None:
        said, received = Moment(*self.journal.last_sent), theirs.received
        if received > said:
            raise JournalError(
                f"{neighbour} has this member's message of round {received.round}, and the journal here stands at "
                f"round {said.round}: this home was restored from a backup, or {neighbour} lies. {NEVER_BACK}"
            )
        mine = self.journal.digest_sent(*received, neighbour)
        if mine is not None and mine != theirs.digest:
            raise JournalError(
                f"{neighbour} has another message of this member for round {received.round} than its journal holds: "
                f"this home was restored from a backup, or runs twice, or {neighbour} lies. {NEVER_BACK}"
            )

    def _fault(self, neighbour: str, theirs: LinkMemory) -> str | None:
        epoch, instance = self.journal.process_of(neighbour)
        if theirs.epoch < epoch or (theirs.epoch == epoch and theirs.instance != instance):
            return (
                f"{neighbour} speaks from a copy of its home: it was started {theirs.epoch} times, and this member has "
                f"met it after {epoch}; stop that copy, and run the one that was run last"
            )
        last, _ = self._received[neighbour]
        if theirs.said < last[:2]:
            return (
                f"{neighbour} was restored from a backup: it stands at round {theirs.said.round}, and its word of "
                f"round {last.round} was heard here; it must not go on, so drop it or begin a new plan together"
            )
        return None
