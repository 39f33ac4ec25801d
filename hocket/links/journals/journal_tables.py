"""A journal's tables: rounds, agreements on noise, votes, and masked states.

A row is overwritten, never deleted and put back, which would write twice as many pages. A state that fills pages has
a table of its own and goes straight into the pages of the old one; in the row of the keys, where a small state is,
SQLite would copy it twice more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from hocket.errors import JournalError
from hocket.links.handshake import Offer
from hocket.links.journals.database import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS about (
    only INTEGER PRIMARY KEY CHECK (only = 0), format INTEGER NOT NULL, plan BLOB NOT NULL, run BLOB NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS writers (version TEXT PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS positions (
    place INTEGER PRIMARY KEY, round INTEGER NOT NULL, digests BLOB NOT NULL, chains BLOB NOT NULL,
    records BLOB NOT NULL, small BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS states (place INTEGER PRIMARY KEY, large BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS agreements (
    neighbour TEXT PRIMARY KEY, private BLOB, nonce BLOB NOT NULL, their_nonce BLOB, chain BLOB, once BLOB, ready BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS sent (
    round INTEGER NOT NULL, exchange INTEGER NOT NULL, neighbour TEXT NOT NULL, message BLOB NOT NULL,
    PRIMARY KEY (round, exchange, neighbour)
) STRICT;
CREATE TABLE IF NOT EXISTS received (
    round INTEGER NOT NULL, exchange INTEGER NOT NULL, neighbour TEXT NOT NULL, message BLOB NOT NULL,
    PRIMARY KEY (round, exchange, neighbour)
) STRICT;
CREATE TABLE IF NOT EXISTS votes (
    voter TEXT NOT NULL, leaver TEXT NOT NULL, vote BLOB NOT NULL, PRIMARY KEY (voter, leaver)
) STRICT;
CREATE TABLE IF NOT EXISTS state_sums (
    round INTEGER NOT NULL, member TEXT NOT NULL, masked BLOB NOT NULL, signature BLOB NOT NULL,
    PRIMARY KEY (round, member)
) STRICT;
CREATE TABLE IF NOT EXISTS left (leaver TEXT PRIMARY KEY, round INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS processes (
    neighbour TEXT PRIMARY KEY, epoch INTEGER NOT NULL, instance TEXT NOT NULL
) STRICT;
"""

OVERWRITE = """
INSERT INTO positions VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (place) DO UPDATE
SET round = excluded.round, digests = excluded.digests, chains = excluded.chains, records = excluded.records,
    small = excluded.small
"""
RECALL = "SELECT coalesce(small, large), chains, records FROM positions LEFT JOIN states USING (place) WHERE round = ?"


def write_large(write: sqlite3.Connection, place: int, state: bytes) -> None:
    """Over the old state, if it is as long; a longer or shorter one replaces it."""
    found = write.execute("SELECT length(large) FROM states WHERE place = ?", (place,)).fetchone()
    if found == (len(state),):
        with write.blobopen("states", "large", place) as blob:
            blob.write(state)
    else:
        write.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (place, state))


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


@dataclass(frozen=True)
class Agreements:
    """All agreements of one run, by neighbour."""

    database: Database

    def of(self, neighbour: str) -> Agreement | None:
        """How far the handshake with a neighbour got."""
        rows = self.database.read(
            "SELECT private, nonce, their_nonce, chain, once, ready FROM agreements WHERE neighbour = ?",
            (neighbour,),
        )
        if not rows:
            return None
        private, nonce, *derived = rows[0]
        return Agreement(None if private is None else Offer(private, nonce), nonce, *derived)

    def offer(self, neighbour: str, offer: Offer) -> None:
        """Keep this end's secrets before the neighbour learns of them; they are made once."""
        if self.of(neighbour) is not None:
            raise JournalError(f"an offer to {neighbour} was already made in this run; use that one")
        with self.database.writing() as write:
            write.execute(
                "INSERT INTO agreements (neighbour, private, nonce) VALUES (?, ?, ?)", (neighbour, *offer)
            )

    def keep(self, neighbour: str, their_nonce: bytes, *, chain: bytes, once: bytes, ready: bytes) -> None:
        """Keep what was derived, before READY says so."""
        reached = self.of(neighbour)
        if reached is None or reached.confirmed:
            raise JournalError(
                f"{neighbour} offers new noise keys in the middle of a run: it has lost its journal; begin a new run "
                "together"
            )
        with self.database.writing() as write:
            write.execute(
                "UPDATE agreements SET their_nonce = ?, chain = ?, once = ?, ready = ? WHERE neighbour = ?",
                (their_nonce, chain, once, ready, neighbour),
            )

    def confirm(self, neighbour: str) -> None:
        """The neighbour has the keys in its journal: erase the secret they were derived from."""
        with self.database.writing() as write:
            write.execute("UPDATE agreements SET private = NULL WHERE neighbour = ?", (neighbour,))


@dataclass(frozen=True)
class Ballots:
    """Votes are whatever members signed; those who left are whom this member has dropped, after its own checks."""

    database: Database

    def add(self, voter: str, leaver: str, vote: bytes) -> None:
        """Keep a signed vote to drop a member, in place of the same voter's earlier one if there is one."""
        with self.database.writing() as write:
            write.execute("INSERT OR REPLACE INTO votes VALUES (?, ?, ?)", (voter, leaver, vote))

    def votes(self, leaver: str) -> dict[str, bytes]:
        """The votes to drop a member, by voter."""
        return dict(self.database.read("SELECT voter, vote FROM votes WHERE leaver = ?", (leaver,)))

    def leave(self, leavers: Iterable[str], round: int) -> None:
        """These members are dropped, in this round; for good."""
        with self.database.writing() as write:
            rows = [(leaver, round) for leaver in leavers]
            write.executemany("INSERT OR IGNORE INTO left VALUES (?, ?)", rows)

    @property
    def left(self) -> dict[str, int]:
        """Who was dropped, and in which round."""
        return dict(self.database.read("SELECT leaver, round FROM left"))


@dataclass(frozen=True)
class StateSums:
    """Members' masked states, whose sum is that of all states; the first message of each stands."""

    database: Database

    def add(self, round: int, member: str, masked: bytes, signature: bytes) -> None:
        """Keep a member's after a round."""
        with self.database.writing() as write:
            write.execute(
                "INSERT OR IGNORE INTO state_sums VALUES (?, ?, ?, ?)", (round, member, masked, signature)
            )

    def after(self, round: int) -> dict[str, tuple[bytes, bytes]]:
        """What members sent after a round, and its signature, by member."""
        rows = self.database.read(
            "SELECT member, masked, signature FROM state_sums WHERE round = ?", (round,)
        )
        return {member: (masked, signature) for member, masked, signature in rows}
