"""What a member, or anybody who solved something, finds on its disk again: journals, accounts and saved runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

import hocket as hk
from hocket.federation.monitoring.metrics import measurements
from hocket.federation.state.accounts import Accounts, RecordedRun
from hocket.federation.state.run_folder import read_json
from hocket.federation.state.served_plan import ServedPlan, record_of
from hocket.links.handshake import FromSystem
from hocket.links.journals.journal import Journal
from hocket.links.journals.records import Record
from hocket.runs.storage import load_run
from hocket.studies.data.table import Table
from hocket.studies.disclosure.known_rows import KnownRows
from hocket.studies.disclosure.releases import Release, Releases
from hocket.studies.disclosure.row_sets import TWINS, RowSet
from tests.fuzz.mutations import changed_bytes, changed_text, changed_tree, pick
from tests.peers.journal_case import begin
from tests.peers.plans import IDENTITIES, drawn

PLAN = drawn().signed_by(IDENTITIES[0])
TABLE = Table.of({"x": [1, 2], "y": ["a", None]})


@dataclass
class Databases:
    """A member's database: cells changed as SQLite would write them, or bytes changed."""

    folder: Path
    whole: bytes

    def __call__(self, draw: Random) -> bytes:
        if draw.random() < 0.5:
            return changed_bytes(self.whole, draw)
        path = self.folder / "changed.db"
        path.write_bytes(self.whole)
        with closing(sqlite3.connect(path)) as database, database:
            tables = [
                name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            ]
            for _ in range(draw.randrange(1, 3)):
                table = pick(draw, sorted(tables))
                columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
                column = pick(draw, columns)
                for row, value in database.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                    new = _other(value, draw)
                    database.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?", (new, row))
        database.close()
        return path.read_bytes()


def journal(folder: Path) -> Databases:
    """Of a run in its fourth round."""
    path = folder / "whole.db"
    with Journal.open(path, PLAN.run_hash) as journal:
        journal.agreements.offer("anna", FromSystem().offer(0, 1))
        journal.agreements.keep("anna", bytes(32), chain=bytes(32), once=bytes(32), ready=bytes(32))
        for k in (1, 2, 3):
            begin(journal, k)
        records = {"anna": Record(3)}
        journal.commit_round(4, b"x", chains={}, messages={"anna": b"w"}, records=records)
        journal.commit_messages(4, 1, {"anna": b"second"}, {"anna": b"heard"})
        journal.meet("anna", 3, "0" * 16)
    return Databases(folder, path.read_bytes())


def accounts(folder: Path) -> Databases:
    """Of a home with two runs and a release."""
    made = Accounts(folder / "whole")
    made.begin("trial-7", RecordedRun("r", PLAN.run_hash.hex(), "rss-nb", "d", record_of(PLAN), {"anna": 3}))
    made.begin("other", RecordedRun("s", "t", "rss-nb"))
    made.keep_rows("trial-7", np.arange(3, dtype=np.uint64))
    known, rows = KnownRows(made), RowSet("the model", np.arange(16) % 2 == 0, frozenset({TWINS}))
    known.remember(known.fingerprints(TABLE), np.arange(2))
    with made.writing() as write:
        line = Release("f" * 64, "T", ("x",), ("x > 1",), (rows,), 0.5, "r").line
        write.execute("INSERT INTO releases VALUES (NULL, 'r', ?)", (line,))
    return Databases(folder, made.path.read_bytes())


def _other(value: Any, draw: Random) -> Any:
    """A cell of the same kind, which is all that SQLite lets into a strict table."""
    if isinstance(value, bytes):
        return changed_bytes(value, draw)
    if isinstance(value, str):
        return changed_text(value, draw)
    return value if value is None else draw.choice((value + 1, -value, 2**62, draw.randrange(-9, 9)))


def journal_reader(folder: Path) -> Callable[[bytes], object]:
    path = folder / "journal.db"

    def read(data: bytes) -> None:
        for old in folder.glob("journal.db*"):
            old.unlink()
        path.write_bytes(data)
        with Journal.open(path, PLAN.run_hash, vouched=True) as journal:
            for position in (journal.position, journal.previous):
                assert position is None or isinstance(position.state, bytes)
            _ = journal.agreements.of("anna"), journal.ballots.votes("anna"), journal.ballots.left
            _ = journal.process_of("anna"), journal.begin_epoch(), journal.last_sent
            for k in (3, 4):
                _ = journal.digest_sent(k, 0, "anna"), journal.received(k, 0), journal.sent(k, 1, "anna")
            begin(journal, journal.round + 1)

    return read


def accounts_reader(folder: Path) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        accounts = Accounts(folder)
        accounts.path.write_bytes(data)
        for name in accounts.datasets:
            _ = accounts.rows(name), accounts.left(PLAN.run_hash.hex())
            for run in accounts.runs(name):
                _ = run.record and ServedPlan.read(run.record)
        for release in Releases(accounts).all:
            _ = release.words, release.line
        found = KnownRows(accounts).fingerprints(TABLE)
        KnownRows(accounts).numbers(found)
        accounts.begin("trial-7", RecordedRun("new", "new", "rss-nb"))

    return read


def releases() -> list[Any]:
    rows = RowSet("the model", np.arange(16) % 2 == 0, frozenset({TWINS}))
    return [json.loads(Release("f" * 64, "T", ("x",), ("x > 1",), (rows,), 0.5, "r").line)]


def released(data: bytes) -> None:
    """Lines of a database, which holds text."""
    store: Any = SimpleNamespace(
        read=lambda question: [(line,) for line in data.decode("utf-8", "replace").splitlines() if line]
    )
    for release in Releases(store).all:
        _ = release.words, release.line


def shown(path: Path) -> None:
    measurements(path)
    read_json(path)


def runs(folder: Path) -> tuple[Callable[[Random], bytes], Callable[[bytes], object]]:
    """A saved run: its words and its numbers, one after the other, of which one is changed."""
    problem = hk.polynomials([[0, 0, 1], [0, -2, 1], [0, 1, 1]], box=(-30, 30))
    played = hk.solve(problem, hk.Network.cycle(3), hk.Dgd(), step=Fraction(1, 8), rounds=2, engine="exact")
    place = played.save(folder / "run")
    words, numbers = (place / "run.json").read_bytes(), (place / "run.npz").read_bytes()
    tables = json.loads(words)

    def make(draw: Random) -> bytes:
        if draw.random() < 0.5:
            return words + b"\0" + changed_bytes(numbers, draw)
        return json.dumps(changed_tree(tables, draw)).encode() + b"\0" + numbers

    def read(data: bytes) -> None:
        said, _, stored = data.partition(b"\0")
        (place / "run.json").write_bytes(said)
        (place / "run.npz").write_bytes(stored)
        load_run(place)

    return make, read
