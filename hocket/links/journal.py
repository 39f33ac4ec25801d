"""What a member must not forget in the middle of a run, on disk before anybody hears of it.

A round is committed before its first word is sent: the state it begins with, the chain keys of its noise, and a digest
of its words. After a crash the same words are made again from these, byte for byte; other words for a round that was
already said are refused, since two words under the same noise would tell their difference without any noise at all.
Words are not written themselves, except those of later exchanges, which depend on what was heard: it would double what
goes to the disk.

The last two rounds are kept: a neighbour that missed the previous one's words may still ask for them, and none can be
further behind. A round is written over the one before the previous, keys and all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from cryptography.hazmat.primitives.poly1305 import Poly1305

from hocket.errors import JournalError
from hocket.links.database import PAGE, Database
from hocket.links.fingerprint import spoken
from hocket.links.handshake import Offer
from hocket.links.journal_tables import OVERWRITE, RECALL, SCHEMA, write_large
from hocket.links.wire import pack_parts, unpack_parts

FORMAT = 2
DIGEST_LABEL = b"hocket/journal/1 digest"
EVERYBODY = ""
"""In place of a neighbour's name: a word that all neighbours hear."""
KEPT_ROUNDS = 2


class Position(NamedTuple):
    """Where a run stands: the round that began last, and the state it began with."""

    round: int
    state: bytes
    chains: Mapping[str, bytes]
    """This round's chain keys by neighbour; under the member's own name those of noise it draws for itself."""


class Agreement(NamedTuple):
    """How far a handshake got."""

    offer: Offer | None
    """This end's secrets, until the neighbour has proved that it needs them no longer."""
    nonce: bytes
    their_nonce: bytes | None
    """The neighbour's, once keys were derived with it."""
    chain: bytes | None
    """Round 1's, until that round begins."""
    once: bytes | None
    ready: bytes | None

    @property
    def confirmed(self) -> bool:
        """Whether the neighbour has these keys in its journal too."""
        return self.offer is None


class Journal:
    """One member's journal of one run of one plan."""

    def __init__(self, database: Database, plan: bytes):
        self._database = database
        self.plan = plan
        self.run: bytes = self._about()
        """Tells this run from others of the same plan."""
        self.round: int = database.read("SELECT coalesce(max(round), 0) FROM positions")[0][0]
        """The round that began last; 0 before round 1."""
        self._digest_key = hashlib.sha256(DIGEST_LABEL + self.run).digest()

    @classmethod
    def open(cls, path: Path, plan: bytes, *, create: bool = True) -> Journal:
        """Open or begin the journal of a plan, given its hash; a journal of another plan is refused."""
        database = Database(path, SCHEMA, create=create)
        try:
            return cls(database, plan)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Let another process have it."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def position(self) -> Position | None:
        """Where the run stands; None before round 1."""
        return self._position(self.round)

    @property
    def previous(self) -> Position | None:
        """The round before, whose words a neighbour may have missed; None if it is not needed any more."""
        return self._position(self.round - 1)

    def forget_previous(self) -> None:
        """Nobody can ask for the previous round's words any more: overwrite what they are made of."""
        with self._database.writing() as write:
            write.execute("DELETE FROM positions WHERE round < ?", (self.round,))
            write.execute("DELETE FROM states WHERE place NOT IN (SELECT place FROM positions)")

    def commit_round(
        self, round: int, state: bytes, *, chains: Mapping[str, bytes], words: Mapping[str, bytes]
    ) -> None:
        """Put a new round on the disk: do this before its first word is sent, and send nothing if it fails.

        `words` maps a neighbour, or EVERYBODY, to what it will hear in the round's first exchange. To commit the round
        that a crash interrupted once more does no harm, if the words are the same.
        """
        if round == self.round:
            self.check_said(round, words)
            return
        if round != self.round + 1:
            raise JournalError(
                f"round {round} cannot be begun: the journal {self._database.path} stands at round {self.round}, and "
                "rounds are said once and in order"
            )
        with self._database.writing() as write:
            place, is_small = round % KEPT_ROUNDS, len(state) < PAGE
            row = (place, round, self._digest(words), _packed(chains), state if is_small else None)
            write.execute(OVERWRITE, row)
            if not is_small:
                write_large(write, place, state)
            if round == 1:
                write.execute("UPDATE agreements SET chain = NULL")
        self.round = round

    def check_said(self, round: int, words: Mapping[str, bytes]) -> None:
        """Refuse other words than those with which one of the last two rounds began."""
        rows = self._database.read("SELECT digest FROM positions WHERE round = ?", (round,))
        if not rows or rows[0][0] != self._digest(words):
            raise JournalError(_another_word(round, 0))

    def commit_words(self, round: int, exchange: int, words: Mapping[str, bytes]) -> None:
        """Put the words of a later exchange of the current round on the disk, before any of them is sent."""
        if round != self.round:
            raise JournalError(
                f"exchange {exchange} of round {round} cannot be said: the journal stands at round {self.round}"
            )
        before = self._words(round, exchange)
        if before and before != dict(words):
            raise JournalError(_another_word(round, exchange))
        if before:
            return
        with self._database.writing() as write:
            write.execute("DELETE FROM words WHERE round <= ?", (round - KEPT_ROUNDS,))
            rows = [(round, exchange, *word) for word in words.items()]
            write.executemany("INSERT INTO words VALUES (?, ?, ?, ?)", rows)

    def said(self, round: int, exchange: int, neighbour: str) -> bytes | None:
        """What this neighbour was to hear in a later exchange of one of the last two rounds."""
        words = self._words(round, exchange)
        return words.get(neighbour, words.get(EVERYBODY))

    def agreement(self, neighbour: str) -> Agreement | None:
        """How far the handshake with a neighbour got."""
        rows = self._database.read(
            "SELECT private, nonce, their_nonce, chain, once, ready FROM agreements WHERE neighbour = ?",
            (neighbour,),
        )
        if not rows:
            return None
        private, nonce, *derived = rows[0]
        return Agreement(None if private is None else Offer(private, nonce), nonce, *derived)

    def keep_offer(self, neighbour: str, offer: Offer) -> None:
        """Keep this end's secrets before the neighbour hears of them; they are made once."""
        if self.agreement(neighbour) is not None:
            raise JournalError(f"an offer to {neighbour} was already made in this run; use that one")
        with self._database.writing() as write:
            write.execute(
                "INSERT INTO agreements (neighbour, private, nonce) VALUES (?, ?, ?)", (neighbour, *offer)
            )

    def keep_keys(
        self, neighbour: str, their_nonce: bytes, *, chain: bytes, once: bytes, ready: bytes
    ) -> None:
        """Keep what was derived, before READY says so."""
        reached = self.agreement(neighbour)
        if reached is None or reached.confirmed:
            raise JournalError(
                f"{neighbour} offers new noise keys in the middle of a run: it has lost its journal; begin a new run "
                "together"
            )
        with self._database.writing() as write:
            write.execute(
                "UPDATE agreements SET their_nonce = ?, chain = ?, once = ?, ready = ? WHERE neighbour = ?",
                (their_nonce, chain, once, ready, neighbour),
            )

    def confirm(self, neighbour: str) -> None:
        """The neighbour has the keys in its journal: erase the secret they were derived from."""
        with self._database.writing() as write:
            write.execute("UPDATE agreements SET private = NULL WHERE neighbour = ?", (neighbour,))

    def add_vote(self, voter: str, leaver: str, vote: bytes) -> None:
        """Keep a signed vote to drop a member, in place of the same voter's earlier one if there is one."""
        with self._database.writing() as write:
            write.execute("INSERT OR REPLACE INTO votes VALUES (?, ?, ?)", (voter, leaver, vote))

    def votes(self, leaver: str) -> dict[str, bytes]:
        """The votes to drop a member, by voter."""
        return dict(self._database.read("SELECT voter, vote FROM votes WHERE leaver = ?", (leaver,)))

    def _about(self) -> bytes:
        rows = self._database.read("SELECT format, plan, run FROM about")
        if not rows:
            run = os.urandom(16)
            with self._database.writing() as write:
                write.execute("INSERT INTO about VALUES (0, ?, ?, ?)", (FORMAT, self.plan, run))
            return run
        version, plan, run = rows[0]
        if version != FORMAT:
            raise JournalError(
                f"the journal {self._database.path} has format {version}, this version of hocket writes {FORMAT}; "
                "go on with the version that began the run"
            )
        if plan != self.plan:
            raise JournalError(
                f"the journal {self._database.path} belongs to another plan: {spoken(plan)} and not "
                f"{spoken(self.plan)}; go on with that plan, or name another folder for this one"
            )
        return run

    def _words(self, round: int, exchange: int) -> dict[str, bytes]:
        question = "SELECT neighbour, word FROM words WHERE round = ? AND exchange = ?"
        return dict(self._database.read(question, (round, exchange)))

    def _digest(self, words: Mapping[str, bytes]) -> bytes:
        """Poly1305 under the run's own key: several times as fast as a hash, and nobody forges his own journal."""
        digest = Poly1305(self._digest_key)
        for name in sorted(words):
            digest.update(f"{name}\n{len(words[name])}\n".encode())
            digest.update(words[name])
        return digest.finalize()

    def _position(self, round: int) -> Position | None:
        rows = self._database.read(RECALL, (round,))
        return Position(round, rows[0][0], _unpacked(rows[0][1])) if rows else None


def _packed(chains: Mapping[str, bytes]) -> bytes:
    return pack_parts([part for name, chain in chains.items() for part in (name.encode(), chain)])


def _unpacked(chains: bytes) -> dict[str, bytes]:
    parts = [bytes(part) for part in unpack_parts(chains)]
    return {name.decode(): chain for name, chain in zip(parts[::2], parts[1::2], strict=True)}


def _another_word(round: int, exchange: int) -> str:
    return (
        f"another word for exchange {exchange} of round {round}, which may already have been sent. Two words under the "
        "same noise reveal their difference; go on with the software, task and data with which the run was begun"
    )
