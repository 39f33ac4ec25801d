"""A journal's tables, and how a round is written over an older one.

A row is overwritten, never deleted and put back, which would write twice as many pages. A state that fills pages has a
table of its own and goes straight into the pages of the old one; in the row of the keys, where a small state is, SQLite
would copy it twice more.
"""

from __future__ import annotations

import sqlite3

SCHEMA = """
CREATE TABLE IF NOT EXISTS about (
    only INTEGER PRIMARY KEY CHECK (only = 0), format INTEGER NOT NULL, plan BLOB NOT NULL, run BLOB NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS positions (
    place INTEGER PRIMARY KEY, round INTEGER NOT NULL, digests BLOB NOT NULL, chains BLOB NOT NULL,
    heard BLOB NOT NULL, small BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS states (place INTEGER PRIMARY KEY, large BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS agreements (
    neighbour TEXT PRIMARY KEY, private BLOB, nonce BLOB NOT NULL, their_nonce BLOB, chain BLOB, once BLOB, ready BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS words (
    round INTEGER NOT NULL, exchange INTEGER NOT NULL, neighbour TEXT NOT NULL, word BLOB NOT NULL,
    PRIMARY KEY (round, exchange, neighbour)
) STRICT;
CREATE TABLE IF NOT EXISTS votes (
    voter TEXT NOT NULL, leaver TEXT NOT NULL, vote BLOB NOT NULL, PRIMARY KEY (voter, leaver)
) STRICT;
CREATE TABLE IF NOT EXISTS left (leaver TEXT PRIMARY KEY, round INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS processes (
    neighbour TEXT PRIMARY KEY, epoch INTEGER NOT NULL, instance TEXT NOT NULL
) STRICT;
"""

OVERWRITE = """
INSERT INTO positions VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (place) DO UPDATE
SET round = excluded.round, digests = excluded.digests, chains = excluded.chains, heard = excluded.heard,
    small = excluded.small
"""
RECALL = "SELECT coalesce(small, large), chains, heard FROM positions LEFT JOIN states USING (place) WHERE round = ?"


def write_large(write: sqlite3.Connection, place: int, state: bytes) -> None:
    """Over the old state, if it is as long; a longer or shorter one replaces it."""
    found = write.execute("SELECT length(large) FROM states WHERE place = ?", (place,)).fetchone()
    if found == (len(state),):
        with write.blobopen("states", "large", place) as blob:
            blob.write(state)
    else:
        write.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (place, state))
