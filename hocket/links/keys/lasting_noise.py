"""Noise that outlives a run: what persistent noise and noise functions are drawn from, for as long as the data are the
same.

Were it drawn afresh for another run on the same data, runs could be averaged like rounds. Were it scaled differently,
two runs would tell the scaled noise from what it hides. So it is kept by neighbour, with the terms it was dealt on,
and other terms are refused. It has no forward secrecy: who gets this file can subtract it from past messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from hocket.errors import JournalError
from hocket.links.journals.database import Database
from hocket.links.text import normal_name

SCHEMA = """
CREATE TABLE IF NOT EXISTS about (only INTEGER PRIMARY KEY CHECK (only = 0), dataset TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS data (only INTEGER PRIMARY KEY CHECK (only = 0), digest TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS sums (
    only INTEGER PRIMARY KEY CHECK (only = 0), terms TEXT NOT NULL, total TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS kept (neighbour TEXT PRIMARY KEY, once BLOB NOT NULL, terms TEXT NOT NULL) STRICT;
"""


class OtherLinks(JournalError):
    """Noise that is kept belongs to other links than a plan has."""


class LastingKey(NamedTuple):
    """What is kept for one neighbour."""

    once: bytes
    terms: str
    """How the noise is drawn from the key: kind, width, type and scale."""


class LastingNoise:
    """The noise that one member keeps for one dataset."""

    def __init__(self, database: Database, dataset: str):
        self._database = database
        self.dataset = dataset
        rows = database.read("SELECT dataset FROM about")
        if not rows:
            with database.writing() as write:
                write.execute("INSERT INTO about VALUES (0, ?)", (dataset,))
        elif dataset not in (rows[0][0], normal_name(rows[0][0])):  # the file of an older home may be renamed
            raise JournalError(
                f"{database.path} keeps noise for the dataset {rows[0][0]!r}, not {dataset!r}; name another file"
            )

    @classmethod
    def open(cls, path: Path, dataset: str) -> LastingNoise:
        """Open what is kept for a dataset, or begin it."""
        database = Database(path, SCHEMA, create=True)
        try:
            return cls(database, dataset)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Let another process have them."""
        self._database.close()

    @property
    def digest(self) -> str:
        """The digest of the data that this noise hides; empty if none was given."""
        rows = self._database.read("SELECT digest FROM data")
        return rows[0][0] if rows else ""

    def bind(self, digest: str) -> None:
        """This noise is for these data and no others; the first digest that is given counts."""
        if digest and not self.digest:
            with self._database.writing() as write:
                write.execute("INSERT INTO data VALUES (0, ?)", (digest,))

    def kept(self, neighbour: str) -> LastingKey | None:
        """What is kept for a neighbour."""
        rows = self._database.read("SELECT once, terms FROM kept WHERE neighbour = ?", (neighbour,))
        return LastingKey(*rows[0]) if rows else None

    def keep(self, keys: Mapping[str, LastingKey]) -> None:
        """Keep keys for good, all or none. Do it when all neighbours are ready, before any message depends on it."""
        for name, new in keys.items():
            before = self.kept(name)
            if before is not None and before != new:
                self.check_terms(name, new.terms)
                raise JournalError(
                    f"other noise than before would be dealt with {name} for the dataset {self.dataset!r}; restore the "
                    "file of kept noise from a backup, or agree on a new dataset name"
                )
        fresh = [(name, *new) for name, new in keys.items() if self.kept(name) is None]
        if fresh:
            with self._database.writing() as write:
                write.executemany("INSERT INTO kept VALUES (?, ?, ?)", fresh)

    def stored_sum(self, terms: str) -> tuple[int, ...] | None:
        """The coefficients of the objective under all its noise, in units of a grid; None if no sum was made yet."""
        rows = self._database.read("SELECT terms, total FROM sums")
        if not rows:
            return None
        before, total = rows[0]
        if before != terms:
            raise JournalError(
                f"for the dataset {self.dataset!r} an objective was hidden as {before}, and this plan would hide it as "
                f"{terms}: together the two reveal what they hide. Plan the same noise, grid and links as before, or "
                "agree on a new dataset name and count the runs so far as leaked"
            )
        return tuple(map(int, total.split()))

    def store_sum(self, terms: str, total: Iterable[int]) -> None:
        """Keep the sum for good. Do it before any message depends on it."""
        with self._database.writing() as write:
            write.execute("INSERT INTO sums VALUES (0, ?, ?)", (terms, " ".join(map(str, total))))

    def check_links(self, neighbours: Collection[str]) -> None:
        """Refuse to deal kept noise on other links than before: on new ones it would be drawn afresh."""
        before = {name for (name,) in self._database.read("SELECT neighbour FROM kept")}
        if before and before != {*neighbours}:
            raise OtherLinks(
                f"for the dataset {self.dataset!r} noise was kept on the links with {_listed(before)}, and this plan "
                f"links with {_listed(neighbours)}: where links differ, the two runs together show what noise hid. "
                "Plan the same links as before, or agree on a new dataset name and count the runs so far as leaked"
            )

    def check_terms(self, neighbour: str, terms: str) -> None:
        """Refuse to deal kept noise on other terms than before."""
        before = self.kept(neighbour)
        if before is not None and before.terms != terms:
            raise JournalError(
                f"for the dataset {self.dataset!r} noise was dealt with {neighbour} as {before.terms}, and this plan "
                f"would deal it as {terms}: together the two reveal what they hide. Plan the same algorithm, noise, "
                "steps and links as before, or agree on a new dataset name and count the runs so far as leaked"
            )


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "nobody"
