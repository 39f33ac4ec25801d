"""Rows of a member's tables as its home knows them again: in any order, in another file, with other columns.

A row is known by its cells in columns that two versions of a table both have. A cell is kept as a digest under a secret
of this home, so that the files tell nobody what it holds.
"""

from __future__ import annotations

import hmac
import json
import zlib
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Any, Protocol

import numpy as np
from jaxtyping import Int, UInt64

from hocket.errors import BadConfig, JournalError
from hocket.files import json_value
from hocket.studies.data.table import Table
from hocket.studies.spec.columns import MISSING, text_of

VERSIONS = """
CREATE TABLE IF NOT EXISTS versions (
    number INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, names TEXT NOT NULL, cells BLOB NOT NULL,
    numbers BLOB NOT NULL
) STRICT;
"""
"""Where versions of tables are kept, the oldest first."""
LABEL = b"hocket/known-rows/1"
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


class Store(Protocol):
    """The database of a home in which releases are kept, with its secret; see `hocket.federation.state.accounts`."""

    @property
    def secret(self) -> bytes:
        """What salts every digest."""
        ...

    def read(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that answer."""
        ...

    def writing(self) -> AbstractContextManager[Any]:
        """One transaction."""
        ...


@dataclass(frozen=True)
class KnownRows:
    """Numbers of rows, the same for the same row in every version of a table that this home has seen."""

    store: Store

    def fingerprints(self, table: Table) -> Fingerprints:
        """The cells of a table under this home's secret."""
        key, known = hmac.digest(self.store.secret, LABEL, "sha256"), dict[str, int]()

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
        newest_first = self.store.read("SELECT names, cells, numbers FROM versions ORDER BY number DESC")
        versions = [_read(*row) for row in newest_first]
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
        cells, given = (zlib.compress(one.astype("<u8").tobytes()) for one in (found.cells, numbers))
        with self.store.writing() as write:
            row = (found.digest, json.dumps(found.names), cells, given)
            write.execute("INSERT OR IGNORE INTO versions VALUES (NULL, ?, ?, ?, ?)", row)


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


def _read(names: str, cells: bytes, numbers: bytes) -> tuple[Fingerprints, Int[np.ndarray, " rows"]]:
    try:
        columns, rows = tuple(map(str, json_value(names))), np.frombuffer(zlib.decompress(numbers), "<i8")
        known = np.frombuffer(zlib.decompress(cells), "<u8").reshape(len(rows), len(columns))
        return Fingerprints(columns, known), rows
    except (BadConfig, TypeError, ValueError, zlib.error):
        raise JournalError(
            "this home's accounts are damaged; restore them: without them, nobody knows which rows were analysed before"
        ) from None
