"""What a member's data have told: every run with its plan, digests of rows, releases of studies, and the one secret.

One database in the member's home. What runs on the same data tell adds up, and the run that hid least may decide; so
each is kept as its plan, and not as a number. A plan is begun once: a member that lost its journal needs a new plan,
which is audited as a run more. A run is approved and then recorded in one transaction: what is refused leaves nothing,
and what was recorded is recorded whole. Nothing in it leaves the member.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt64

from hocket.errors import BadConfig, JournalError
from hocket.files import json_value
from hocket.links.journals.database import PATIENCE, locked
from hocket.links.text import is_table
from hocket.machine import private_file, private_folder
from hocket.studies.disclosure.known_rows import VERSIONS
from hocket.studies.disclosure.releases import RELEASES

FILE = "accounts.db"
FORMAT = 1
SECRET = 32
"""Bytes of a home's secret."""
MOST = 100_000
"""Rows of a table that are kept, those with the smallest digests: of a larger one a sample, alike in every table."""
EACH = 8
"""Bytes of a row's digest: among 100,000 rows two are mistaken for each other once in a billion homes."""
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS about (only INTEGER PRIMARY KEY CHECK (only = 0), format INTEGER, secret BLOB) STRICT;
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, run TEXT UNIQUE NOT NULL, plan TEXT UNIQUE NOT NULL,
    algorithm TEXT NOT NULL, data TEXT NOT NULL, record TEXT NOT NULL, departed TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS rows (dataset TEXT PRIMARY KEY, digests BLOB NOT NULL) STRICT;
{RELEASES}
{VERSIONS}
"""
BEGUN = (
    "this plan was begun before, and the journal of that run is gone: run again, it would deal fresh noise on the same "
    "data, which nobody has agreed to. Draw up a new plan: it counts as a run more"
)
"""Why a plan does not begin twice."""
Digests = UInt64[np.ndarray, " rows"]
NO_ROWS: Digests = np.zeros(0, dtype=np.uint64)


class RecordedRun(NamedTuple):
    """One run that was begun on these data."""

    run: str
    """Tells runs apart, even of the same plan."""
    plan: str
    """The run's hash in the plan, see `FederationPlan.run_hash`."""
    algorithm: str
    data: str = ""
    """A digest of the data, salted by this home's secret; empty if the task gave none."""
    record: str = ""
    """The plan but for its members' cards, as JSON."""
    left: Mapping[str, int] = {}
    """Who was dropped from it, with the last round of each."""


class Accounts:
    """The accounts of one home. Reading makes no file; calls within `writing` are one transaction."""

    def __init__(self, home: Path):
        self.path = home / FILE
        self._open: sqlite3.Connection | None = None

    @property
    def secret(self) -> bytes:
        """What salts every digest that this home keeps; made when it is first asked for."""
        if not self.read("SELECT secret FROM about"):
            with self.writing():
                pass
        ((secret,),) = self.read("SELECT secret FROM about")
        if not isinstance(secret, bytes) or len(secret) != SECRET:
            raise self._damaged("its secret is gone")
        return secret

    def runs(self, dataset: str) -> tuple[RecordedRun, ...]:
        """All runs that were begun on a dataset, in their order."""
        columns = "run, plan, algorithm, data, record, departed"
        rows = self.read(f"SELECT {columns} FROM runs WHERE dataset = ? ORDER BY number", (dataset,))
        return tuple(
            RecordedRun(run, plan, algorithm, data, record, self._departed(left))
            for run, plan, algorithm, data, record, left in rows
        )

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of all data that have served a run."""
        return tuple(name for (name,) in self.read("SELECT DISTINCT dataset FROM runs ORDER BY 1"))

    def begin(self, dataset: str, run: RecordedRun, approve: Callable[[], object] = lambda: None) -> int:
        """How many runs these data have served, this one included; it counts once, however often it resumes.

        `approve` is asked before a new run is recorded, in the same transaction; it raises if the run must not begin.
        """
        with self.writing() as write:
            before = self.runs(dataset)
            if any(run.run == one.run for one in before):
                return len(before)
            if any(run.plan == one.plan for one in before):
                raise JournalError(BEGUN)
            approve()
            row = (dataset, *run[:-1], json.dumps(dict(run.left)))
            write.execute("INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row)
            return len(before) + 1

    def leave(self, plan: str, left: Mapping[str, int]) -> None:
        """Record who has left a plan's run: leavers keep what they received, whatever becomes of the run's folder."""
        with self.writing() as write:
            write.execute("UPDATE runs SET departed = ? WHERE plan = ?", (json.dumps(dict(left)), plan))

    def left(self, plan: str) -> Mapping[str, int]:
        """Who has left a plan's run."""
        rows = self.read("SELECT departed FROM runs WHERE plan = ?", (plan,))
        return self._departed(rows[0][0]) if rows else {}

    def forget(self, plan: str) -> bool:
        """Take a run off the accounts; only for one of which nothing was ever sent. Whether there was one."""
        with self.writing() as write:
            return write.execute("DELETE FROM runs WHERE plan = ?", (plan,)).rowcount > 0

    def rows(self, dataset: str) -> Digests:
        """Digests of the rows that are remembered of a dataset, in their order."""
        kept = self.read("SELECT digests FROM rows WHERE dataset = ?", (dataset,))
        if not kept:
            return NO_ROWS
        if len(kept[0][0]) % EACH:
            raise self._damaged(f"the rows of {dataset} end within a digest")
        return np.frombuffer(kept[0][0], dtype="<u8").astype(np.uint64)

    def keep_rows(self, dataset: str, digests: Digests) -> None:
        """Remember the rows of a dataset, with those that were remembered before."""
        if len(digests):
            with self.writing() as write:
                every = np.unique(np.concatenate([digests, self.rows(dataset)]))[:MOST]
                write.execute(
                    "INSERT OR REPLACE INTO rows VALUES (?, ?)", (dataset, every.astype("<u8").tobytes())
                )

    def read(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that answer; none while there is no file."""
        if self._open is None and not self.path.exists():
            return []
        with self._explained():
            if self._open is not None:
                return self._open.execute(question, values).fetchall()
            with closing(self._connect()) as connection:
                return connection.execute(question, values).fetchall()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """One transaction: all of it is on the disk afterwards, or none; other processes wait."""
        if self._open is not None:
            yield self._open
            return
        with ExitStack() as holding:
            with self._explained():
                private_folder(self.path.parent)
                holding.enter_context(locked(self.path.with_name(f"{FILE}.lock")))
                os.close(private_file(self.path))
                connection = holding.enter_context(closing(self._connect()))
                about = (FORMAT, os.urandom(SECRET))
                connection.execute("INSERT OR IGNORE INTO about VALUES (0, ?, ?)", about)
                connection.execute("BEGIN IMMEDIATE")
            self._open = connection
            try:
                yield connection
                with self._explained():
                    connection.execute("COMMIT")
            finally:  # closed without a commit, nothing of it stays
                self._open = None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=PATIENCE)
        try:
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            connection.executescript(SCHEMA)
            rows = connection.execute("SELECT format FROM about").fetchall()
            if rows and rows[0][0] != FORMAT:
                raise JournalError(
                    f"{self.path} has format {rows[0][0]}, this version of hocket writes {FORMAT}; use the version "
                    "that wrote it"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _departed(self, text: str) -> Mapping[str, int]:
        try:
            found = json_value(text)
            if is_table(found):
                return {str(name): int(k) for name, k in found.items()}
        except (BadConfig, TypeError, ValueError, OverflowError):
            pass
        raise self._damaged("who left a run cannot be read")

    def _damaged(self, why: object) -> JournalError:
        return JournalError(
            f"{self.path} is damaged ({why}); restore its newest copy: without it nobody knows what these data have "
            "told"
        )

    @contextmanager
    def _explained(self) -> Generator[None]:
        """What SQLite and the disk complain of, with a fix."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
                raise self._damaged(error) from error
            raise JournalError(
                f"{self.path} cannot be read or written ({error}); runs must be counted, so change that and start again"
            ) from error
        except UnicodeDecodeError as error:
            raise self._damaged(error) from error
        except OSError as error:
            raise JournalError(
                f"{self.path} cannot be written: {error.strerror}; runs must be counted, so change that and start again"
            ) from error
