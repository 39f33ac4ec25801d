"""What was released from a member's rows, kept at its home: so that no later analysis shows a few rows by difference.

Every set of rows over which sums were taken is remembered, by numbers that rows keep whatever file they stand in
(`known_rows`). A study is refused if its sums and earlier ones, in any combination, add up to a sum over a few rows; so
is one whose own parts do. What was released with noise that hides any row is only counted.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from hocket.errors import BadStudy, JournalError
from hocket.studies.isolation import isolated
from hocket.studies.known_rows import Fingerprints, KnownRows
from hocket.studies.promise import ALONE, Among
from hocket.studies.row_sets import TWINS, YES, RowSet
from hocket.studies.study import DisclosureSection, Study
from hocket.studies.table import Table

FILE = "released.jsonl"


@dataclass(frozen=True, eq=False)
class Release:
    """One analysis of rows of this member."""

    study: str
    """The study's fingerprint."""
    title: str
    columns: tuple[str, ...]
    where: tuple[str, ...]
    sets: tuple[RowSet, ...]
    """Rows that were summed over, by the numbers that this home knows them by."""
    mu: float | None = None
    """What it was promised to tell of any one row (Gaussian differential privacy); None where there was no noise."""
    run: str = ""
    """The run in which: noise is drawn anew in another, so that the same study told again is told twice."""
    among: Among = ALONE
    """Among how many its noise was shared out, and against how many colluders μ is."""

    def mu_against(self, now: Among) -> float | None:
        """μ where as many collude as now, and all who take no part now: they take their noise off again."""
        colluders = now.colluders + self.among.strangers(now)
        if self.mu is None or colluders <= self.among.colluders:
            return self.mu
        left = self.among.members - colluders
        return self.mu * math.sqrt(self.among.honest / left) if left > 0 else math.inf

    @property
    def line(self) -> str:
        """As it is kept."""
        sets = [
            {
                "what": one.what,
                "families": sorted(one.families),
                "rows": b64encode(zlib.compress(np.packbits(one.rows).tobytes())).decode(),
            }
            for one in self.sets
        ]
        kept = {name: getattr(self, name) for name in ("study", "title", "columns", "where", "mu", "run")}
        among = [self.among.members, self.among.colluders, list(self.among.names)]
        return json.dumps(kept | {"among": among, "sets": sets})

    @property
    def words(self) -> str:
        """What it told, for whoever is to sign another one."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        rows = max((int(one.rows.sum()) for one in self.sets), default=0)
        noise = "" if self.mu is None else f", with noise (μ = {self.mu:.3g})"
        return f"{self.title!r}: {', '.join(self.columns)} in {rows:,} rows{where}{noise}"


def refuse_isolation(rules: DisclosureSection, now: Release, earlier: Iterable[Release]) -> None:
    """Refuse sets of rows from which, with earlier ones, a few can be told apart by differences of sums."""
    if now.mu is None:
        before = [
            replace(one, what=f"{one.what} of {release.title!r}")
            for release in earlier
            if release.mu is None
            for one in release.sets
        ]
        refuse_isolated(rules, now.sets, before)


def refuse_isolated(rules: DisclosureSection, now: Sequence[RowSet], before: Sequence[RowSet] = ()) -> None:
    """The same, of sets; family by family."""
    families = {family for one in now for family in one.families}
    for family in sorted(families, key=lambda name: (name == TWINS, name)):  # what says most comes first
        mine, theirs = ([one for one in sets if family in one.families] for sets in (now, before))
        if family == TWINS:
            _refuse_twins(mine, theirs, rules.fewest_different)
            continue
        # What the levels of one study leave of the whole is counted over all members' rows, see `joint_counts`.
        _refuse([*theirs, *mine], len(mine), rules.fewest_different, alone=not family.startswith(YES))


def _refuse_twins(now: Sequence[RowSet], before: Sequence[RowSet], fewest: int) -> None:
    """Two sets of two studies that differ in a few rows, whatever columns made them."""
    if not before:
        return
    whole = _table([*before, *now])
    for mine, rows in zip(now, whole[len(before) :], strict=True):
        differ = (whole[: len(before)] ^ rows).sum(axis=1)
        for place in np.flatnonzero((differ > 0) & (differ < fewest)).tolist():
            raise _apart([before[place].what, mine.what], int(differ[place]), fewest)


def _table(sets: Sequence[RowSet]) -> Bool[np.ndarray, "sets rows"]:
    width = max(len(one.rows) for one in sets)
    return np.array([np.pad(one.rows, (0, width - len(one.rows))) for one in sets])


def _apart(names: Sequence[str], rows: int, fewest: int) -> BadStudy:
    return BadStudy(
        f"the rows of {' and of '.join(names)} tell {rows} apart, where [disclosure] fewest_different = {fewest}: a "
        "difference of results would show them; use the same rows ([describe] rows = 'analysed', if it is the "
        "description), or rows that differ by more"
    )


def _refuse(sets: Sequence[RowSet], new: int, fewest: int, *, alone: bool) -> None:
    whole = _table(sets)
    kept: dict[bytes, int] = {}
    for place, row in enumerate(whole):  # the first of each: an earlier one, if there is one
        kept.setdefault(np.packbits(row).tobytes(), place)
    order = list(kept.values())
    mine = [place for place, one in enumerate(order) if one >= len(sets) - new]
    found = isolated(whole[order], mine, fewest, alone=alone)
    if found is None:
        return
    if not found.sets:
        raise BadStudy(
            f"these rows have served so many analyses that it cannot be ruled out that sums add up to fewer than "
            f"[disclosure] fewest_different = {fewest} rows; use rows that served in one of them"
        )
    raise _apart([sets[order[place]].what for place in found.sets], found.rows, fewest)


class Terms(NamedTuple):
    """On what terms rows are told of, as `Release` has them."""

    mu: float | None = None
    run: str = ""
    among: Among = ALONE


PLAIN = Terms()
"""Without noise."""


@dataclass(frozen=True)
class Releases:
    """The analyses that rows at this home have served."""

    home: Path

    def of(self, study: Study, table: Table, sets: Sequence[RowSet], terms: Terms = PLAIN) -> Release:
        """The release that an analysis of these rows would be."""
        return self._of(study, self._known.fingerprints(table), sets, terms)[0]

    @property
    def all(self) -> list[Release]:
        """What was released so far."""
        path = self.home / FILE
        if not path.exists():
            return []
        try:
            return [_read(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error):
            raise JournalError(
                f"{path} is damaged; restore it: without it, nobody knows which rows were analysed before"
            ) from None

    def begin(self, study: Study, table: Table, sets: Sequence[RowSet], terms: Terms = PLAIN) -> None:
        """Remember an analysis before its first number is said; refuses one that would show a few rows.

        A run that is taken up again is the same one; another run of the same study is another release.
        """
        with self._locked():
            found = self._known.fingerprints(table)
            now, numbers = self._of(study, found, sets, terms)
            earlier = self.all
            refuse_isolation(study.disclosure, now, earlier)
            if now.line in {one.line for one in earlier}:
                return
            self._known.remember(found, numbers)
            with open(
                os.open(self.home / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                "a",
                encoding="utf-8",
            ) as file:
                file.write(now.line + "\n")
                file.flush()
                os.fsync(file.fileno())

    def _of(
        self, study: Study, found: Fingerprints, sets: Sequence[RowSet], terms: Terms
    ) -> tuple[Release, np.ndarray]:
        numbers = self._known.numbers(found)
        question, width = study.question, int(numbers.max(initial=-1)) + 1

        def numbered(one: RowSet) -> RowSet:
            rows = np.zeros(8 * -(-width // 8), dtype=bool)
            rows[numbers[one.rows]] = True
            return RowSet(one.what, rows, one.families)

        made = tuple(map(numbered, sets))
        told = Release(study.fingerprint, question.title, study.used, question.where, made, *terms)
        return told, numbers

    @property
    def _known(self) -> KnownRows:
        return KnownRows(self.home)

    @contextmanager
    def _locked(self) -> Generator[None]:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / f"{FILE}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _unpacked(text: str) -> Bool[np.ndarray, " numbers"]:
    packed = zlib.decompress(b64decode(text, validate=True))
    return np.unpackbits(np.frombuffer(packed, np.uint8)).astype(bool)


def _read(line: str) -> Release:
    data = json.loads(line)
    members, colluders, *names = data.get("among", (1, 0))
    sets = tuple(
        RowSet(one["what"], _unpacked(one["rows"]), frozenset(map(str, one["families"])))
        for one in data["sets"]
    )
    return Release(
        data["study"],
        data["title"],
        tuple(map(str, data["columns"])),
        tuple(map(str, data["where"])),
        sets,
        None if data["mu"] is None else float(data["mu"]),
        data.get("run", ""),
        Among(int(members), int(colluders), tuple(*names)),
    )
