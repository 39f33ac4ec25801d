"""A small database of secrets on disk: durable once written, gone once overwritten, and for one process only.

SQLite with a write-ahead log that is forced to the disk at every commit. `secure_delete` overwrites what is deleted;
the log, which would still hold it, begins anew every few commits and is overwritten from its beginning. It is not cut
off each time: a file that grows again costs a second write at every commit, and cutting leaves what it held on the
disk. What a disk keeps beneath its file system is beyond any program: put secrets on an encrypted one.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from hocket.errors import JournalError
from hocket.machine import private_file, private_folder

Result = TypeVar("Result")

GLANCE = 0.2
"""Seconds within which anybody who only looked whether a lock is held has let go of it again."""


PATIENCE = 60.0
"""Seconds that a lock is waited for which others hold for an instant, be it to count a run over large tables."""
STOP: ContextVar[Event | None] = ContextVar("stop", default=None)
"""Set by the one who started this thread once it is not to wait any more."""


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold a lock that nobody but this user can take, and wait for it if another process does; not for ever, and not
    once `STOP` is set."""
    file, stop = private_file(path), STOP.get() or Event()
    try:
        deadline = time.monotonic() + PATIENCE
        while not _taken(file):
            if time.monotonic() > deadline:
                raise JournalError(
                    f"another process has held {path} for {PATIENCE:.0f} s, so nothing was begun; see which one by: "
                    f"fuser -v {path}. End it if it hangs, and start again"
                )
            if stop.wait(GLANCE / 4):
                raise JournalError(f"stopped while another process held {path}; nothing was begun")
        yield
    finally:
        os.close(file)


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def in_thread(function: Callable[..., Result], *given: Any) -> Result:
    """What the function returns, in a thread of its own, which waits for no lock any more once this is cancelled."""
    stop = Event()
    mark = STOP.set(stop)
    try:
        return await asyncio.to_thread(function, *given)
    except asyncio.CancelledError:
        stop.set()
        raise
    finally:
        STOP.reset(mark)


class Lock:
    """Held from its creation to `release`, or to the end of the process, however that ends; its file says which.

    SQLite locks its database too, but by a kind of lock that a process loses as soon as it opens and closes the same
    file once more, be it to copy it.
    """

    def __init__(self, path: Path):
        self._file = private_file(path)
        if not self._wins():
            holder = os.read(self._file, 20).decode(errors="replace").strip()
            os.close(self._file)
            raise JournalError(
                f"{path.with_suffix('')} is in use by process {holder}; stop that first, two processes must never "
                "speak for one member"
            )
        try:
            os.truncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())
        except OSError:  # a full disk must not leave a lock behind that nobody holds
            os.close(self._file)
            raise

    def _wins(self) -> bool:
        deadline = time.monotonic() + GLANCE
        while not _taken(self._file):
            if time.monotonic() > deadline:
                return False
            time.sleep(GLANCE / 20)
        return True

    def release(self) -> None:
        """Let somebody else have it; the file stays, so that nobody ever locks another of the same name."""
        os.close(self._file)


def held(path: Path) -> bool:
    """Whether some process holds the lock now. Ask it rather than a process number, which may be another's by now."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


PAGE = 1 << 14
"""Bytes to a page: halves the time to write a state of half a megabyte, and costs nothing for one of eight bytes."""
FORGET = 32
"""Commits after which the log begins anew: what was overwritten is gone after twice as many."""
SETTINGS = (
    f"PRAGMA page_size = {PAGE}",
    "PRAGMA busy_timeout = 0",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA wal_autocheckpoint = 0",
)


class Database:
    """An open database; calls may come from any thread, one at a time."""

    def __init__(self, path: Path, schema: str, *, create: bool):
        self.path = path
        self._commits = 0
        self._log_length = 0
        if not create and not path.is_file():
            raise JournalError(f"there is no journal {path}; name the folder of a run that was begun")
        with self._explained():
            private_folder(path.parent)
            self._lock = Lock(path.with_name(path.name + ".lock"))
        try:
            self._connection = self._connect(schema)
        except BaseException:
            self._lock.release()
            raise

    def read(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that answer."""
        with self._explained():
            return self._connection.execute(question, values).fetchall()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """One transaction: all of it is on the disk afterwards, or none."""
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._commits += 1
            if self._commits % FORGET == 0:
                self._begin_log_anew()

    def close(self) -> None:
        """Empty the log and let go of the file."""
        with suppress(sqlite3.Error):
            _empty_log(self._connection)
        self._connection.close()
        self._lock.release()

    def _begin_log_anew(self) -> None:
        """Move the log's pages into the database; the next commits are written over them."""
        _, length, _ = self._connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        if length < self._log_length:  # beyond lie pages of an earlier log, and nothing would overwrite them
            _empty_log(self._connection)
        self._log_length = length

    def _connect(self, schema: str) -> sqlite3.Connection:
        with self._explained():
            # SQLite gives its log the permissions of the database, and calls one it may not write a disk I/O error.
            os.close(private_file(self.path))
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            try:
                for setting in SETTINGS:
                    connection.execute(setting).fetchall()
                connection.executescript(f"BEGIN EXCLUSIVE; {schema}; COMMIT")
                _empty_log(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    @contextmanager
    def _explained(self) -> Generator[None]:
        """What SQLite and the disk complain of, with a cure."""
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(self._cure(getattr(error, "sqlite_errorcode", 0) & 0xFF, error)) from error
        except UnicodeDecodeError as error:  # a text of its own that is none, be it in SQLite's complaint
            raise JournalError(self._cure(sqlite3.SQLITE_CORRUPT, error)) from error
        except OSError as error:
            raise JournalError(
                f"{self.path} cannot be opened: {error.strerror}; change that and start again"
            ) from error

    def _cure(self, code: int, error: Exception) -> str:
        what = str(self.path)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return f"{what} is open in another program; close that first"
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return f"{what} cannot be written ({error}): is the disk full? Nothing was lost; make room and start again"
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN):
            return f"{what} cannot be written: it, its folder or its disk is read-only; change that and start again"
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return (
                f"{what} is damaged ({error}). A run's journal must never be restored from a backup: begin a new run "
                "together. Kept noise of a dataset may be, from its newest copy"
            )
        return f"{what} failed: {error}"


def _empty_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
