"""What a member must not forget in the middle of a run, on disk before any neighbour learns of it.

A round is committed before its first message is sent: the state it begins with, the chain keys of its noise, and a
digest of its messages. After a crash the same messages are made again from these, byte for byte; other messages for a
round that was already sent are refused, since two under the same noise would show their difference without any noise
at all. Messages are not written themselves, which would double what goes to the disk, except those of later exchanges,
which depend on what was received, and together with it.

The last two rounds are kept: a neighbour that missed the previous one's messages may still ask for them, and none can
be further behind. A round is written over the one before the previous, keys and all.

A journal never goes back. Marks beside it tell whether its files are the ones that this member wrote last (records.py),
and neighbours keep the last message that they received, which they compare when they meet again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from hocket import __version__
from hocket.errors import JournalError
from hocket.links.journals.database import PAGE, Database
from hocket.links.journals.journal_tables import (
    OVERWRITE,
    RECALL,
    SCHEMA,
    Agreements,
    Ballots,
    StateSums,
    write_large,
)
from hocket.links.journals.records import Marks, Record, digest_of, pack_records, unpack_records
from hocket.links.text import spelled
from hocket.links.wire import pack_named, unpack_named

FORMAT = 5
EVERYBODY = ""
"""In place of a neighbour's name: a message to all neighbours."""
KEPT_ROUNDS = 2
NEVER_BACK = (
    "A journal must never go back: this member would send other messages under noise that it has used, and their "
    "difference shows what the noise hid. The run is over for this member; begin a new plan together, or let the "
    "others drop it"
)


class Position(NamedTuple):
    """Where a run stands: the round that began last, and the state it began with."""

    round: int
    state: bytes
    chains: Mapping[str, bytes]
    """This round's chain keys by neighbour; under the member's own name those of noise it draws for itself."""
    records: Mapping[str, Record] = {}
    """What was sent and received before this round, by neighbour."""


class Journal(AbstractContextManager["Journal", None]):
    """One member's journal of one run of one plan."""

    def __init__(self, database: Database, plan: bytes):
        self._database = database
        self.plan = plan
        self.round: int = database.read("SELECT coalesce(max(round), 0) FROM positions")[0][0]
        """The round that began last; 0 before round 1."""
        self.run: bytes = self._about()
        """Tells this run from others of the same plan."""
        self.agreements = Agreements(database)
        self.ballots = Ballots(database)
        self.state_sums = StateSums(database)
        self.marks = Marks(database.path)
        """Beside the database: what finds out that it went back."""

    @classmethod
    def open(cls, path: Path, plan: bytes, *, create: bool = True, vouched: bool = False) -> Journal:
        """Open or begin the journal of a plan, given its hash; a journal of another plan is refused.

        So is one whose files were copied or restored since they were written, unless an operator has vouched that they
        are the newest, and that no copy has spoken since. A journal that is behind its own stamp nobody can vouch for.
        """
        database = Database(path, SCHEMA, create=create)
        try:
            journal = cls(database, plan)
        except BaseException:
            database.close()
            raise
        try:
            journal._check_place(vouched=vouched)
        except BaseException:
            journal.close()
            raise
        return journal

    def close(self) -> None:
        """Let another process have it."""
        self.marks.close()
        self._database.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def position(self) -> Position | None:
        """Where the run stands; None before round 1."""
        return self._position(self.round)

    @property
    def previous(self) -> Position | None:
        """The round before, whose messages a neighbour may have missed; None if it is not needed any more."""
        return self._position(self.round - 1)

    def begin_epoch(self) -> int:
        """How often a process has taken this run up, this time included: a copy of the journal counts for itself."""
        with self._database.writing() as write:
            write.execute("UPDATE about SET epoch = epoch + 1")
            write.execute("INSERT OR IGNORE INTO writers VALUES (?)", (__version__,))
        return self._database.read("SELECT epoch FROM about")[0][0]

    def process_of(self, neighbour: str) -> tuple[int, str]:
        """The newest epoch of a neighbour that was met, and which process it was."""
        rows = self._database.read("SELECT epoch, instance FROM processes WHERE neighbour = ?", (neighbour,))
        return rows[0] if rows else (0, "")

    def meet(self, neighbour: str, epoch: int, instance: str) -> None:
        """Remember a neighbour's process for good."""
        if self.process_of(neighbour) != (epoch, instance):
            with self._database.writing() as write:
                write.execute(
                    "INSERT OR REPLACE INTO processes VALUES (?, ?, ?)", (neighbour, epoch, instance)
                )

    def forget_previous(self) -> None:
        """Nobody can ask for the previous round's messages any more: overwrite what they are made of."""
        with self._database.writing() as write:
            write.execute("DELETE FROM positions WHERE round < ?", (self.round,))
            write.execute("DELETE FROM states WHERE place NOT IN (SELECT place FROM positions)")

    def commit_round(
        self,
        round: int,
        state: bytes,
        *,
        chains: Mapping[str, bytes],
        messages: Mapping[str, bytes],
        records: Mapping[str, Record] | None = None,
    ) -> Mapping[str, bytes]:
        """Put a new round on the disk: do this before its first message is sent, and send nothing if it fails.

        `messages` maps a neighbour, or EVERYBODY, to what it is sent in the round's first exchange; `records` are of
        what was received before it. To commit the round that a crash interrupted once more does no harm, if the
        messages are the same. Returns their digests.
        """
        digests = _digested(messages)
        if round == self.round:
            self._check_sent(round, digests)
            if self.marks.round < round:  # killed between the two
                self.marks.stamp(round)
            return digests
        if round != self.round + 1:
            raise JournalError(
                f"round {round} cannot be begun: the journal {self._database.path} stands at round {self.round}, and "
                "rounds are sent once and in order"
            )
        with self._database.writing() as write:
            place, is_small = round % KEPT_ROUNDS, len(state) < PAGE
            small = state if is_small else None
            row = (place, round, pack_named(digests), pack_named(chains), pack_records(records or {}), small)
            write.execute(OVERWRITE, row)
            if not is_small:
                write_large(write, place, state)
            if round == 1:
                write.execute("UPDATE agreements SET chain = NULL")
        self.round = round
        self.marks.stamp(round)
        return digests

    def check_sent(self, round: int, messages: Mapping[str, bytes]) -> None:
        """Refuse other messages than those with which one of the last two rounds began."""
        self._check_sent(round, _digested(messages))

    @property
    def last_sent(self) -> tuple[int, int]:
        """The round and exchange of the last messages that may have been sent."""
        rows = self._database.read(
            "SELECT coalesce(max(exchange), 0) FROM sent WHERE round = ?", (self.round,)
        )
        return self.round, rows[0][0]

    def digest_sent(self, round: int, exchange: int, neighbour: str) -> bytes | None:
        """The digest of what a neighbour was to receive, in one of the last two rounds."""
        if exchange:
            message = self.sent(round, exchange, neighbour)
            return None if message is None else digest_of(message)
        return _for(neighbour, self._digests(round) or {})

    def commit_messages(
        self,
        round: int,
        exchange: int,
        messages: Mapping[str, bytes],
        received: Mapping[str, bytes],
        *,
        before: int | None = None,
    ) -> Mapping[str, bytes]:
        """Put the messages of a later exchange of the current round on the disk, before any of them is sent.

        `received` is what came in the exchange `before` it, the last one unless some were silent: neighbours who have
        gone on will not send it again. Returns the messages' digests.
        """
        if round != self.round:
            raise JournalError(
                f"exchange {exchange} of round {round} cannot be sent: the journal stands at round {self.round}"
            )
        sent, at = self._messages("sent", round, exchange), exchange - 1 if before is None else before
        if sent and sent != dict(messages):
            raise JournalError(_another_message(round, exchange))
        if not sent:
            with self._database.writing() as write:
                for table, then, some in (("sent", exchange, messages), ("received", at, received)):
                    write.execute(f"DELETE FROM {table} WHERE round <= ?", (round - KEPT_ROUNDS,))
                    rows = [(round, then, *one) for one in some.items()]
                    # What was received may be there from before a crash, if nothing was to be sent then.
                    write.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?, ?)", rows)
        return _digested(messages)

    def sent(self, round: int, exchange: int, neighbour: str) -> bytes | None:
        """What this neighbour was to receive in a later exchange of one of the last two rounds."""
        return _for(neighbour, self._messages("sent", round, exchange))

    def later_messages(self, round: int) -> list[dict[str, bytes]]:
        """What was sent after the first exchange of one of the last two rounds, one exchange after the other."""
        rows = self._database.read("SELECT DISTINCT exchange FROM sent WHERE round = ? ORDER BY 1", (round,))
        return [self._messages("sent", round, exchange) for (exchange,) in rows]

    def received(self, round: int, exchange: int) -> dict[str, bytes]:
        """What was received in an exchange of the current round that is over; empty if it may not be."""
        return self._messages("received", round, exchange)

    def _about(self) -> bytes:
        rows = self._database.read("SELECT format, plan, run FROM about")
        if not rows:
            run = os.urandom(16)
            with self._database.writing() as write:
                write.execute("INSERT INTO about VALUES (0, ?, ?, ?, 0)", (FORMAT, self.plan, run))
            return run
        version, plan, run = rows[0]
        if version != FORMAT:
            raise JournalError(
                f"the journal {self._database.path} has format {version}, this version of hocket writes {FORMAT}; "
                "go on with the version that began the run"
            )
        if plan != self.plan:
            raise JournalError(
                f"the journal {self._database.path} belongs to another plan: {spelled(plan)} and not "
                f"{spelled(self.plan)}; go on with that plan, or name another folder for this one"
            )
        return run

    def _messages(self, table: str, round: int, exchange: int) -> dict[str, bytes]:
        question = f"SELECT neighbour, message FROM {table} WHERE round = ? AND exchange = ?"
        return dict(self._database.read(question, (round, exchange)))

    def _check_sent(self, round: int, digests: Mapping[str, bytes]) -> None:
        if self._digests(round) != digests:
            raise JournalError(_another_message(round, 0))

    def _digests(self, round: int) -> dict[str, bytes] | None:
        rows = self._database.read("SELECT digests FROM positions WHERE round = ?", (round,))
        return unpack_named(rows[0][0]) if rows else None

    def _check_place(self, *, vouched: bool) -> None:
        """Refuse a journal that is not what this member left, see records.py."""
        path, begun = self._database.path, self.marks.round
        if self.round < begun:
            raise JournalError(
                f"{path} stands at round {self.round}, and this member has begun round {begun}: the journal or its log "
                f"({path.name}-wal) was deleted, or restored from a backup. {NEVER_BACK}"
            )
        if self.marks.are_moved and not vouched:
            raise JournalError(
                f"{path} was copied or restored from a backup since this member last wrote it, or the machine lost "
                f"power. {NEVER_BACK}. If you have moved this home after its process had stopped, or if power was "
                "lost, and you are certain that these files are the newest and that no copy of them has spoken since, "
                "say so with: hocket peer run --vouch"
            )

    def _position(self, round: int) -> Position | None:
        rows = self._database.read(RECALL, (round,))
        if not rows:
            return None
        state, chains, records = rows[0]
        return Position(round, state, unpack_named(chains), unpack_records(records))


def _digested(messages: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: digest_of(message) for name, message in messages.items()}


def _for(neighbour: str, some: Mapping[str, bytes]) -> bytes | None:
    """The neighbour's own, or the one for everybody."""
    return some.get(neighbour, some.get(EVERYBODY))


def _another_message(round: int, exchange: int) -> str:
    return (
        f"another message for exchange {exchange} of round {round}, which may already have been sent. Two messages "
        "under the same noise reveal their difference; go on with the software, task and data with which the run was "
        "begun"
    )
