"""What is remembered of messages: by both ends of a link, and beside a journal, lest it go back in time.

    digest = BLAKE3(message)
    running digest of each direction: d ← BLAKE3(LABEL ‖ d ‖ round u32 ‖ exchange u32 ‖ digest), from zeros

Both ends of a link come to the same two running digests if each received what the other sent. A record goes to the disk
with the round that follows, so a crash and what is sent again after it leave no trace in them.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from hocket.errors import BadFrame
from hocket.links.wire import pack_named, unpack_named

LABEL = b"hocket/record/1"
DIGEST_BYTES = 32
NOTHING = bytes(DIGEST_BYTES)
FORM = struct.Struct("<II32s32s32s")
MOMENT = struct.Struct("<II")


class Record(NamedTuple):
    """One link, as one end remembers it."""

    round: int = 0
    exchange: int = 0
    digest: bytes = NOTHING
    """Of the last message received, in that exchange of that round."""
    said: bytes = NOTHING
    """The running digest of what this end sent."""
    received: bytes = NOTHING
    """The running digest of what it received."""

    def after(self, round: int, exchange: int, *, said: bytes | None, received: bytes | None) -> Record:
        """The record after one more exchange, given the digests of both messages; None for one that was silent."""
        moment = MOMENT.pack(round, exchange)
        last = self[:3] if received is None else (round, exchange, received)
        return Record(*last, _run_on(self.said, moment, said), _run_on(self.received, moment, received))


def digest_of(message: bytes) -> bytes:
    """What stands for a message where it is not kept itself."""
    return blake3(message).digest()


def pack_records(records: Mapping[str, Record]) -> bytes:
    """Records as a journal keeps them, by neighbour."""
    return pack_named({name: FORM.pack(*one) for name, one in records.items()})


def unpack_records(data: bytes) -> dict[str, Record]:
    """What `pack_records` packed."""
    try:
        return {name: Record(*FORM.unpack(one)) for name, one in unpack_named(data).items()}
    except struct.error:
        raise BadFrame("garbage: a record of another length") from None


def _run_on(running: bytes, moment: bytes, digest: bytes | None) -> bytes:
    return running if digest is None else blake3(LABEL + running + moment + digest).digest()


SLOT = 128
"""Bytes to a mark: never across two sectors, so that it is the old one or the new one."""
CHECK = 16
STAMP = struct.Struct("<QQ")
SEAL = struct.Struct("<QQQ")
HEARD = struct.Struct("<8sII32sII32s")


class Mark(NamedTuple):
    """The last message that a neighbour sent here."""

    round: int = 0
    exchange: int = 0
    digest: bytes = bytes(32)


class Marks:
    """Two small files beside a journal that find out whether it went back in time, and the last messages received.

    A journal that goes back would have its member send other messages under noise that was already used. What it holds
    cannot tell: all of it went back. But a file that was copied, restored or overwritten has another inode or another
    time of change, which no program can set. So whenever a round has begun, its number is written into one file, the
    stamp, and the inode and the time of change that this gave the stamp into the other, the marks. A log of SQLite that
    was deleted leaves a journal behind its stamp.

    Both are written into the page cache and not forced to the disk: that costs microseconds and outlives the process,
    killed or not. After a power cut one may be older than the other, which cannot be told from files that were
    restored: the operator is asked then. What no file can tell, neighbours may remember: federation/rollback.py.
    """

    def __init__(self, journal: Path):
        self._stamp = _Slots(journal.with_name(journal.name + ".stamp"))
        try:
            self._marks = _Slots(journal.with_name(journal.name + ".marks"))
        except BaseException:
            self._stamp.close()
            raise
        self._count = self._read_stamp()[0]
        self._is_mine = False

    def close(self) -> None:
        """Let go of the files; what this process has stamped then also outlives a power cut. What it has not, be it a
        copy that was refused or only read, it does not vouch for."""
        if self._is_mine:
            self._stamp.force()
            self._marks.force()
        self._stamp.close()
        self._marks.close()

    @property
    def round(self) -> int:
        """The round that began last, as far as is known here."""
        return self._read_stamp()[1]

    def stamp(self, round: int) -> None:
        """A round has begun: do this before its first message is sent."""
        self._count, self._is_mine = self._count + 1, True
        self._stamp.write(0, STAMP.pack(self._count, round))
        self._marks.write(0, SEAL.pack(self._count, *self._stamp.stat))
        if self._count == 1:  # later ones are written over these, so that there is always something whole
            self._stamp.force()
            self._marks.force()

    @property
    def are_moved(self) -> bool:
        """Whether these files are not where this member wrote them, or were written by somebody else."""
        count, _ = self._read_stamp()
        seal = self._marks.read(0, SEAL.size)
        if seal is None:
            return count > 1  # the first stamp may have no seal yet, if its process was killed in between
        sealed, *where = SEAL.unpack(seal)
        if sealed == count:
            return tuple(where) != self._stamp.stat
        # Killed between a stamp and its seal: the same file, which has changed once more.
        return sealed != count - 1 or where[0] != self._stamp.stat[0]

    def received(self, slot: int, name: str) -> tuple[Mark, Mark] | None:
        """The last two messages received from this neighbour, the later one first."""
        data = self._marks.read(1 + slot, HEARD.size)
        if data is None:
            return None
        who, *marks = HEARD.unpack(data)
        return (Mark(*marks[:3]), Mark(*marks[3:])) if who == _short(name) else None

    def hear(self, slot: int, name: str, last: Mark, before: Mark) -> None:
        """Put down the last two messages received: no more of a neighbour's wait to be read."""
        self._marks.write(1 + slot, HEARD.pack(_short(name), *last, *before))

    def _read_stamp(self) -> tuple[int, int]:
        data = self._stamp.read(0, STAMP.size)
        return (0, 0) if data is None else STAMP.unpack(data)


class _Slots:
    """A file of short records, each with a checksum."""

    def __init__(self, path: Path):
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def close(self) -> None:
        os.close(self._file)

    def force(self) -> None:
        """Have all of it on the disk."""
        os.fsync(self._file)

    @property
    def stat(self) -> tuple[int, int]:
        """What tells this file from a copy of it."""
        found = os.fstat(self._file)
        return found.st_ino, found.st_ctime_ns

    def read(self, slot: int, length: int) -> bytes | None:
        """None if there is nothing, or if it is damaged."""
        data = os.pread(self._file, length + CHECK, slot * SLOT)
        whole = len(data) == length + CHECK and blake3(data[:length]).digest(CHECK) == data[length:]
        return data[:length] if whole else None

    def write(self, slot: int, data: bytes) -> None:
        os.pwrite(self._file, data + blake3(data).digest(CHECK), slot * SLOT)


def _short(name: str) -> bytes:
    return blake3(name.encode()).digest(8)
