"""Whether data are still those that a name stands for, and whether they share rows with others: salted digests.

Kept noise cancels in the difference of two runs, so if a record was added between them, the difference is that record.
A digest of all data changes with a single row; so beside it a home keeps one of each row, eight bytes. What is noticed
are rows that are equal in every number. A row that was rounded, scaled, or lacks a column is another one. Digests never
leave the member, and are salted by its home's secret: nobody who finds one can try out guesses of small data.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.errors import JournalError
from hocket.federation.state.accounts import EACH, MOST, NO_ROWS, Digests
from hocket.federation.state.home import Home
from hocket.federation.workloads.task import Task
from hocket.links.text import is_list, is_table

DATA, ROW = b"hocket/data/1\n", b"hocket/row/1"
TABLES = (".csv", ".tsv", ".txt")
"""Files that have a row on each line, and the names of columns on the first."""


def salted_digest(home: Home, task: Task | None) -> str:
    """The digest that a task gives of its data, under this home's secret; empty if it gives none."""
    given = getattr(task, "data_digest", None)
    digest = None if given is None else given()
    if digest is None:
        return ""
    key = home.accounts.secret
    return f"{mark_of(key)}:{hmac.new(key, DATA + digest, 'sha256').hexdigest()}"


def mark_of(secret: bytes) -> str:
    """What tells secrets apart: it stands before what is salted by one."""
    return hashlib.sha256(secret).hexdigest()[:8]


def check_same_data(dataset: str, digest: str, before: Iterable[str]) -> None:
    """Refuse data that are not those of earlier runs under the same name; empty digests say nothing."""
    others = [one for one in before if one and digest and one != digest]
    if not others:
        return
    if others[0].partition(":")[0] != digest.partition(":")[0]:
        raise JournalError(
            f"whether the data are those that {dataset!r} stood for cannot be told: the secret that salts their "
            "digests, in accounts.db of this member's home, is another one than before; restore it from a backup, or "
            "agree on a new dataset name"
        )
    raise JournalError(
        f"these are not the data that {dataset!r} stood for in earlier runs: the task's digest has changed. Noise that "
        "is kept for a dataset cancels in the difference of two runs, which would show what was changed between them, "
        "to a record. Run on the data as they were; or agree on a new dataset name, for which noise is drawn afresh: "
        "it counts as another dataset, and whatever records it shares with the old one have been told of twice"
    )


def unchecked(digest: str) -> list[str]:
    """What to say where a task gives no digest."""
    if digest:
        return []
    return [
        "The task gives no digest of its data (data_digest): nobody checks that they are those of earlier runs, and "
        "noise that is kept hides nothing of what changes between runs."
    ]


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
        return NO_ROWS
    key = home.accounts.secret
    found = (hashlib.blake2b(row, key=key, digest_size=EACH, person=ROW).digest() for row in _rows(given()))
    return np.unique(np.frombuffer(b"".join(found), dtype="<u8"))[:MOST]


def shared_with(home: Home, dataset: str, digests: Digests) -> SharedRows | None:
    """How many rows are also in another dataset of this home; None if there are none, or nobody can tell."""
    other = home.accounts.rows(dataset)
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
