"""Whether data share records with others that this home knows by another name: a salted digest of every row.

A digest of all data changes with a single row, and then says nothing of the rest. So beside it a home keeps one of each
row, eight bytes under its own secret, in a file that nobody else may read; nothing of it is ever said. What is noticed
are rows that are equal in every number. A row that was rounded, scaled, or lacks a column is another one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt64

from hocket.errors import JournalError
from hocket.federation.data_digest import home_secret
from hocket.federation.home import Home
from hocket.federation.task import Task
from hocket.links.text import is_list, is_table
from hocket.machine import private_folder

MOST = 100_000
"""Rows of a table that are kept, those with the smallest digests: of a larger one a sample, alike in every table."""
EACH = 8
"""Bytes of a digest: among a hundred thousand rows two are mistaken for each other once in a billion homes."""
TABLES = (".csv", ".tsv", ".txt")
"""Files that have a row on each line, and the names of columns on the first."""
LABEL = b"hocket/row/1"

Digests = UInt64[np.ndarray, " rows"]
NONE: Digests = np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True)
class SharedRows:
    """Rows that a table has in common with those that a dataset stood for."""

    dataset: str
    shared: int
    of: int
    """How many of this table's rows were compared."""

    def __str__(self) -> str:
        return (
            f"{self.shared:,} of {self.of:,} rows are also in the data {self.dataset}: of those, what runs there told "
            "adds to what this one tells"
        )


def row_digests(home: Home, task: Task | None) -> Digests:
    """A salted digest of each row of a task's data, sorted; empty if it does not give them row by row."""
    given = getattr(task, "data_rows", None)
    if given is None:
        return NONE
    key = home_secret(home)
    found = (hashlib.blake2b(row, key=key, digest_size=EACH, person=LABEL).digest() for row in _rows(given()))
    return np.unique(np.frombuffer(b"".join(found), dtype="<u8"))[:MOST]


def keep_rows(home: Home, dataset: str, digests: Digests) -> None:
    """Remember the rows of a dataset, with those that were remembered before."""
    if not len(digests):
        return
    path = home.rows(dataset)
    every = np.unique(np.concatenate([digests, kept_rows(path)]))[:MOST]
    private_folder(path.parent)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.touch(mode=0o600)
    new.write_bytes(every.astype("<u8").tobytes())
    new.replace(path)


def kept_rows(path: Path) -> Digests:
    """The rows that are remembered of a dataset."""
    if not path.exists():
        return NONE
    kept = path.read_bytes()
    if len(kept) % EACH:
        raise JournalError(
            f"{path} is damaged: it ends within a digest; restore it from a backup, or move it away"
        )
    return np.frombuffer(kept, dtype="<u8").astype(np.uint64)


def shared_with(home: Home, dataset: str, digests: Digests) -> SharedRows | None:
    """How many rows are also in another dataset of this home; None if there are none, or nobody can tell."""
    other = kept_rows(home.rows(dataset))
    # Of two samples only what lies below both their ends can be compared.
    end = (
        min(one[-1] if len(one) == MOST else np.uint64(2**64 - 1) for one in (digests, other))
        if len(other)
        else 0
    )
    mine = digests[digests <= end]
    shared = len(np.intersect1d(mine, other, assume_unique=True))
    return SharedRows(dataset, shared, len(mine)) if shared else None


def _rows(data: Any) -> Iterator[bytes]:
    """The rows of arrays that have as many each, of lists of records, and of tables in text line by line; of nothing
    else. Lists of one length may be records or columns, and are taken for both."""
    if isinstance(data, Path):
        if data.suffix in TABLES:
            yield from data.read_bytes().splitlines()[1:]  # names of columns are no record
        return
    if is_list(data):
        for one in data:
            cells = list(one.values()) if is_table(one) else list(one) if is_list(one) else []
            if len(cells) > 1 and all(np.ndim(cell) == 0 for cell in cells):
                yield b"".join(_bytes(_plain(np.asarray([cell]))[0]) for cell in cells)
    parts = list(data.values()) if is_table(data) else list(data) if is_list(data) else [data]
    arrays = [np.asarray(part) for part in parts]
    if not arrays or any(one.ndim == 0 or len(one) != len(arrays[0]) for one in arrays):
        return
    plain = [_plain(one) for one in arrays]
    if sum(one.shape[1] for one in plain) < 2:  # a lone number is in many tables by chance
        return
    for place in range(len(arrays[0])):
        yield b"".join(_bytes(one[place]) for one in plain)


def _bytes(cells: np.ndarray) -> bytes:
    """A row's cells; texts each by itself, as an array pads them to its longest."""
    if np.issubdtype(cells.dtype, np.number):
        return cells.tobytes()
    return b"".join(text.encode() + b"\0" for text in cells.tolist())


def _plain(array: np.ndarray) -> np.ndarray:
    """Numbers as doubles, so that a row is the same in whichever type; all else as text."""
    flat = array.reshape(len(array), -1)
    if np.issubdtype(array.dtype, np.number) or array.dtype == bool:
        return np.ascontiguousarray(flat, dtype=np.float64) + 0.0  # no negative zero
    return np.ascontiguousarray(flat.astype(str))
