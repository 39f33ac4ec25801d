"""What was released from a member's rows, kept at its home: so that no later analysis shows a few rows by difference.

Rows are remembered as digests under a secret of this home, so the file tells nobody what they hold; a row that was
added, taken out or mended counts as different, wherever it stands in the table.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from hocket.errors import BadStudy, JournalError
from hocket.studies.study import DisclosureSection, Study
from hocket.studies.table import Table

DIGEST = 8
"""Bytes that stand for a row."""
FILE, SECRET = "released.jsonl", "released.key"


@dataclass(frozen=True)
class Release:
    """One analysis of rows of this member."""

    study: str
    """The study's fingerprint."""
    title: str
    columns: tuple[str, ...]
    where: tuple[str, ...]
    rows: tuple[bytes, ...]
    """A digest for each row that went into it, in order of the digests."""

    def differs(self, other: Release) -> int:
        """In how many rows two analyses differ."""
        mine, theirs = Counter(self.rows), Counter(other.rows)
        return ((mine - theirs) + (theirs - mine)).total()


def refuse_near_repeats(rules: DisclosureSection, now: Release, earlier: Iterable[Release]) -> None:
    """Refuse rows that differ from those of an earlier analysis by a few: the difference would show those."""
    for before in earlier:
        different = now.differs(before)
        if 0 < different < rules.fewest_different:
            raise BadStudy(
                f"these rows differ from those of {before.title!r} by {different}, where [disclosure] "
                f"fewest_different = {rules.fewest_different}: the difference of the two results would show "
                "them; use the same rows, or rows that differ by more"
            )


@dataclass(frozen=True)
class Releases:
    """The analyses that rows at this home have served."""

    home: Path

    def of(self, study: Study, table: Table, used: Bool[np.ndarray, " rows"]) -> Release:
        """The release that an analysis of these rows would be."""
        key = self._key()
        lines = zip(*(table.columns[name] for name in sorted(table.columns)), strict=True)
        digests = sorted(
            blake2b(json.dumps([str(cell) for cell in line]).encode(), key=key, digest_size=DIGEST).digest()
            for line, kept in zip(lines, used, strict=True)
            if kept
        )
        question = study.question
        return Release(study.fingerprint, question.title, study.used, question.where, tuple(digests))

    @property
    def all(self) -> list[Release]:
        """What was released so far."""
        path = self.home / FILE
        if not path.exists():
            return []
        try:
            return [_read(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        except (ValueError, KeyError, TypeError):
            raise JournalError(
                f"{path} is damaged; restore it: without it, nobody knows which rows were analysed before"
            ) from None

    def begin(self, rules: DisclosureSection, now: Release) -> None:
        """Remember an analysis before its first number is said; refuses one that would show a few rows."""
        with self._locked():
            earlier = self.all
            refuse_near_repeats(rules, now, earlier)
            if now in earlier:
                return
            with (self.home / FILE).open("a", encoding="utf-8") as file:
                file.write(_line(now) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def _key(self) -> bytes:
        path = self.home / SECRET
        self.home.mkdir(parents=True, exist_ok=True)
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
        except FileExistsError:
            pass
        key = path.read_bytes()
        if len(key) != 32:
            raise JournalError(f"{path} is damaged; restore it: rows analysed before are known by it")
        return key

    @contextmanager
    def _locked(self) -> Generator[None]:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / f"{FILE}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _line(release: Release) -> str:
    return json.dumps(
        {
            "study": release.study,
            "title": release.title,
            "columns": release.columns,
            "where": release.where,
            "rows": b64encode(b"".join(release.rows)).decode(),
        }
    )


def _read(line: str) -> Release:
    data = json.loads(line)
    rows = b64decode(data["rows"], validate=True)
    digests = tuple(rows[start : start + DIGEST] for start in range(0, len(rows), DIGEST))
    return Release(data["study"], data["title"], tuple(data["columns"]), tuple(data["where"]), digests)
