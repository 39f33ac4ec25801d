"""Rows of a member's tables as its home knows them again: in any order, in another file, with other columns.

A row is known by its cells in columns that two versions of a table both have. A cell is kept as a digest under a secret
of this home, so that the files tell nobody what it holds.
"""

from __future__ import annotations

import os
import secrets
from collections import defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt64

from hocket.errors import JournalError
from hocket.files import UNREADABLE, arrays
from hocket.machine import private_folder
from hocket.studies.columns import MISSING, text_of
from hocket.studies.table import Table

FOLDER, SECRET = "released", "released.key"
YES_NO = {"true": "1", "false": "0"}
TELLS_APART = 0.5
"""The part of a table's rows that columns must tell apart, for others to be known by them."""


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """One version of a table: a digest for each cell."""

    names: tuple[str, ...]
    cells: UInt64[np.ndarray, "rows columns"] = field(repr=False)

    def keys(self, columns: list[str]) -> list[bytes]:
        """What each row is known by in some of the columns."""
        places = [self.names.index(name) for name in columns]
        return [row.tobytes() for row in np.ascontiguousarray(self.cells[:, places])]

    @property
    def digest(self) -> str:
        """Of the whole table, its order included."""
        return sha256(repr(self.names).encode() + self.cells.tobytes()).hexdigest()[:32]


@dataclass(frozen=True)
class KnownRows:
    """Numbers of rows, the same for the same row in every version of a table that this home has seen."""

    home: Path

    def fingerprints(self, table: Table) -> Fingerprints:
        """The cells of a table under this home's secret."""
        key, known = self._key(), dict[str, int]()

        def digest(cell: object) -> int:
            text = _as_known(cell, table.decimal)
            if text not in known:
                known[text] = int.from_bytes(
                    blake2b(text.encode(), key=key, digest_size=8).digest(), "little"
                )
            return known[text]

        names = tuple(sorted(table.columns))
        cells = np.array([[digest(cell) for cell in table.columns[name]] for name in names], dtype=np.uint64)
        return Fingerprints(names, np.ascontiguousarray(cells.reshape(len(names), table.rows).T))

    def numbers(self, found: Fingerprints) -> Int[np.ndarray, " rows"]:
        """A number for each row: the one that it had in an earlier version, or the next that is free."""
        newest_first = sorted((self.home / FOLDER).glob("*.npz"), key=lambda one: -one.stat().st_mtime_ns)
        versions = [_read(path) for path in newest_first]
        numbers = np.full(len(found.cells), -1)
        order = sorted(versions, key=lambda one: -len({*one[0].names} & {*found.names}))
        for before, had in order:
            _match(found, before, had, numbers)
        fresh = numbers < 0
        first = 1 + max((int(had.max(initial=-1)) for _, had in versions), default=-1)
        numbers[fresh] = np.arange(first, first + int(fresh.sum()))
        return numbers

    def remember(self, found: Fingerprints, numbers: Int[np.ndarray, " rows"]) -> None:
        """Keep a version of a table, so that its rows are known again."""
        path = self.home / FOLDER / f"{found.digest}.npz"
        if path.exists():
            return
        private_folder(path.parent)
        draft = path.with_suffix(".draft")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            np.savez_compressed(file, names=np.array(found.names), cells=found.cells, numbers=numbers)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def _key(self) -> bytes:
        path = self.home / SECRET
        private_folder(self.home)
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
        except FileExistsError:
            pass
        key = path.read_bytes()
        if len(key) != 32:
            raise JournalError(f"{path} is damaged; restore it: rows analysed before are known by it")
        return key


def _as_known(cell: object, decimal: str) -> str:
    """A cell in one way of the several in which files write the same one: a missing cell, a yes, a decimal comma.

    >>> [_as_known(cell, ",") for cell in (None, "NA", float("nan"), "1,5", "1.50", True, "TRUE")]
    ['', '', '', '1.5', '1.5', '1', '1']
    """
    text = "" if cell is None else str(cell).strip()
    if (small := text.lower()) in MISSING:
        return ""
    if small in YES_NO:
        return YES_NO[small]
    if decimal == "," and text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    return text_of(text)


def _match(
    found: Fingerprints,
    before: Fingerprints,
    had: Int[np.ndarray, " rows"],
    numbers: Int[np.ndarray, " known"],
) -> None:
    """Give rows that are not known yet the numbers of rows before that have the same cells; each number once."""
    shared = sorted({*found.names} & {*before.names})
    if not shared or (numbers >= 0).all():
        return
    keys, taken = before.keys(shared), set(numbers.tolist())
    if found.names != before.names and len({*keys}) < TELLS_APART * len(keys):
        return
    free = defaultdict[bytes, list[int]](list)
    for key, number in zip(reversed(keys), reversed(had.tolist()), strict=True):
        if number not in taken:
            free[key].append(number)
    for row, key in enumerate(found.keys(shared)):
        if numbers[row] < 0 and free.get(key):
            numbers[row] = free[key].pop()


def _read(path: Path) -> tuple[Fingerprints, Int[np.ndarray, " rows"]]:
    try:
        data = arrays(path)
        return Fingerprints(tuple(map(str, data["names"])), data["cells"]), data["numbers"]
    except (*UNREADABLE, KeyError):
        raise JournalError(
            f"{path} is damaged; restore it: without it, nobody knows which rows were analysed before"
        ) from None
