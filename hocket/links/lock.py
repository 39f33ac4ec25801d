"""One process at a time: a locked file that says which.

SQLite locks its database too, but by a kind of lock that a process loses as soon as it opens and closes the same file
once more, be it to copy it. This lock ends only with its owner.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from hocket.errors import JournalError

GLANCE = 0.2
"""Seconds within which whoever only looked whether a lock is held has let go of it again."""


class Lock:
    """Held from its creation to `release`, or to the end of the process, however that ends."""

    def __init__(self, path: Path):
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not self._taken():
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

    def _taken(self) -> bool:
        deadline = time.monotonic() + GLANCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(GLANCE / 20)

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
