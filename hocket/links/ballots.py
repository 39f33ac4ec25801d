"""Who voted to drop whom, and who was dropped: the part of a journal that outlasts rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from sqlite3 import Connection
from typing import Any


class Ballots:
    """Votes are whatever members signed; those who left are whom this member has dropped, after its own checks."""

    def __init__(
        self,
        read: Callable[..., list[tuple[Any, ...]]],
        writing: Callable[[], AbstractContextManager[Connection]],
    ):
        self._read = read
        self._writing = writing

    def add(self, voter: str, leaver: str, vote: bytes) -> None:
        """Keep a signed vote to drop a member, in place of the same voter's earlier one if there is one."""
        with self._writing() as write:
            write.execute("INSERT OR REPLACE INTO votes VALUES (?, ?, ?)", (voter, leaver, vote))

    def votes(self, leaver: str) -> dict[str, bytes]:
        """The votes to drop a member, by voter."""
        return dict(self._read("SELECT voter, vote FROM votes WHERE leaver = ?", (leaver,)))

    def leave(self, leavers: Iterable[str], round: int) -> None:
        """These members are dropped, in this round; for good."""
        with self._writing() as write:
            rows = [(leaver, round) for leaver in leavers]
            write.executemany("INSERT OR IGNORE INTO left VALUES (?, ?)", rows)

    @property
    def left(self) -> dict[str, int]:
        """Who was dropped, and in which round."""
        return dict(self._read("SELECT leaver, round FROM left"))
