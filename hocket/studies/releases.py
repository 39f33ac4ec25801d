"""What was released from a member's rows, kept at its home: so that no later analysis shows a few rows by difference.

Every set of rows over which sums were taken is remembered, by numbers that rows keep whatever file they stand in
(`known_rows`). A study is refused if its sums and earlier ones, in any combination, add up to a sum over a few rows; so
is one whose own parts do. What was released with noise that hides any row is only counted.
"""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from hocket.errors import BadStudy, JournalError
from hocket.files import json_value
from hocket.links.database import locked
from hocket.links.text import quoted
from hocket.machine import private_file, private_folder, replaced
from hocket.studies.isolation import isolated
from hocket.studies.known_rows import Fingerprints, KnownRows
from hocket.studies.promise import HIDES
from hocket.studies.row_sets import TWINS, YES, RowSet
from hocket.studies.study import FEWEST_DIFFERENT, DisclosureSection, Study
from hocket.studies.table import Table

FILE = "released.jsonl"
RULE = "fewest_different"
KEPT = ("fewest_rows", "smallest_cell")
"""Rules that no later study of the same rows may weaken: it would show what the first kept back."""
RULED = ("study", "title", "columns", "where", "mu", "run", RULE, *KEPT)
"""What is kept of a release beside its sets."""


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
    fewest_different: int = FEWEST_DIFFERENT
    """The rule that it was analysed under, which later studies of these rows are held against too."""
    fewest_rows: int = DisclosureSection().fewest_rows
    smallest_cell: int = DisclosureSection().smallest_cell

    @property
    def hidden(self) -> bool:
        """Whether noise hides what a difference of sums would show. An ε so large that it hides nothing is no noise."""
        return self.mu is not None and self.mu <= HIDES

    @property
    def line(self) -> str:
        """As it is kept."""
        sets = [
            {
                "what": one.what,
                "families": sorted(one.families),
                "rows": b64encode(zlib.compress(np.packbits(one.rows).tobytes())).decode(),
                "up_to": one.up_to,
            }
            for one in self.sets
        ]
        kept = {name: getattr(self, name) for name in RULED}
        return json.dumps(kept | {"sets": sets})

    @property
    def words(self) -> str:
        """What it told, for whoever is to sign another one."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        rows = max((int(one.rows.sum()) for one in self.sets), default=0)
        noise = "" if self.mu is None else f", with noise (μ = {self.mu:.3g})"
        return f"{quoted(self.title)}: {', '.join(self.columns)} in {rows:,} rows{where}{noise}"


def refuse_isolation(now: Release, earlier: Sequence[Release], least: int | None = None) -> None:
    """Refuse sets of rows from which, with earlier ones, a few can be told apart by differences of sums.

    The rules of this study, of every earlier one and of the member's own policy (`least`) all count.
    """
    if not now.hidden:
        before = [
            replace(one, what=f"{one.what} of {quoted(release.title)}")
            for release in earlier
            if not release.hidden
            for one in release.sets
        ]
        rules = {
            one.fewest_different: f"{quoted(one.title)} has {RULE} = {one.fewest_different}"
            for one in earlier
        }
        if least is not None:
            rules[least] = f"your policy has {RULE} = {least}"
        refuse_isolated(now.sets, before, rules | rule_of(now.fewest_different))
        _refuse_weaker(now, earlier)


def _refuse_weaker(now: Release, earlier: Sequence[Release]) -> None:
    """Refuse a rule below that of an earlier study of some of these rows."""
    shared = [one for one in earlier if _share_rows(now.sets, one.sets)]
    for name in KEPT:
        strictest = max(shared, key=lambda one: getattr(one, name), default=now)
        least, given = getattr(strictest, name), getattr(now, name)
        if given < least:
            raise BadStudy(
                f"the study says [disclosure] {name} = {given}, and some of these rows have served "
                f"{strictest.title!r}, which has {name} = {least}: results would show what that one kept back; have "
                f"it say {least} or more"
            )


def _share_rows(some: Sequence[RowSet], others: Sequence[RowSet]) -> bool:
    if not some or not others:
        return False
    table = _table([*some, *others])
    return bool((table[: len(some)].any(axis=0) & table[len(some) :].any(axis=0)).any())


def rule_of(fewest: int) -> dict[int, str]:
    """A study's own rule."""
    return {fewest: f"[disclosure] {RULE} = {fewest}"}


def refuse_isolated(now: Sequence[RowSet], before: Sequence[RowSet], rules: Mapping[int, str]) -> None:
    """The same, of sets, under each of the rules: numbers of rows, and who asks for them.

    A rule does not look at levels that have fewer rows than it asks for. So a larger number is not stricter in all, and
    no number takes the place of a smaller one: the default is held beside larger ones.
    """
    least = min(FEWEST_DIFFERENT, *rules)
    every = {least: f"{RULE} = {least} is held in any case", **rules}
    for fewest in sorted(every):
        mine, theirs = ([one for one in sets if one.held(fewest)] for sets in (now, before))
        _refuse_under(Rule(fewest, every[fewest]), mine, theirs)


class Rule(NamedTuple):
    """How many rows sets must differ by."""

    fewest: int
    words: str


def _refuse_under(rule: Rule, now: Sequence[RowSet], before: Sequence[RowSet]) -> None:
    """Refuse under one rule; family by family."""
    families = {family for one in now for family in one.families}
    for family in sorted(families, key=lambda name: (name == TWINS, name)):  # what says most comes first
        mine, theirs = ([one for one in sets if family in one.families] for sets in (now, before))
        if family == TWINS:
            _refuse_twins(mine, theirs, rule)
            continue
        # What the levels of one study leave of the whole is counted over all members' rows, see `joint_counts`.
        _refuse([*theirs, *mine], len(mine), rule, alone=not family.startswith(YES))


def _refuse_twins(now: Sequence[RowSet], before: Sequence[RowSet], rule: Rule) -> None:
    """Two sets of two studies that differ in a few rows, whatever columns made them."""
    if not before:
        return
    whole = _table([*before, *now])
    for mine, rows in zip(now, whole[len(before) :], strict=True):
        differ = (whole[: len(before)] ^ rows).sum(axis=1)
        for place in np.flatnonzero((differ > 0) & (differ < rule.fewest)).tolist():
            raise _apart([before[place].what, mine.what], int(differ[place]), rule)


def _table(sets: Sequence[RowSet]) -> Bool[np.ndarray, "sets rows"]:
    width = max(len(one.rows) for one in sets)
    return np.array([np.pad(one.rows, (0, width - len(one.rows))) for one in sets])


def _apart(names: Sequence[str], rows: int, rule: Rule) -> BadStudy:
    return BadStudy(
        f"the rows of {' and of '.join(names)} tell {rows} apart, where {rule.words}: a "
        "difference of results would show them; use the same rows ([describe] rows = 'analysed', if it is the "
        "description), or rows that differ by more"
    )


def _refuse(sets: Sequence[RowSet], new: int, rule: Rule, *, alone: bool) -> None:
    whole = _table(sets)
    kept: dict[bytes, int] = {}
    for place, row in enumerate(whole):  # the first of each: an earlier one, if there is one
        kept.setdefault(np.packbits(row).tobytes(), place)
    order = list(kept.values())
    mine = [place for place, one in enumerate(order) if one >= len(sets) - new]
    found = isolated(whole[order], mine, rule.fewest, alone=alone)
    if found is None:
        return
    if not found.sets:
        raise BadStudy(
            f"these rows have served so many analyses that it cannot be ruled out that sums add up to fewer than "
            f"{rule.fewest} rows, where {rule.words}; use rows that served in one of them"
        )
    raise _apart([sets[order[place]].what for place in found.sets], found.rows, rule)


class Terms(NamedTuple):
    """On what terms rows are told of, as `Release` has them."""

    mu: float | None = None
    run: str = ""


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

    def begin(
        self,
        study: Study,
        table: Table,
        sets: Sequence[RowSet],
        terms: Terms = PLAIN,
        least: int | None = None,
    ) -> None:
        """Remember an analysis before its first number is said; refuses one that would show a few rows.

        A run that is taken up again is the same one; another run of the same study is another release.
        """
        with self._locked():
            found = self._known.fingerprints(table)
            now, numbers = self._of(study, found, sets, terms)
            earlier = self.all
            refuse_isolation(now, earlier, least)
            if now.line in {one.line for one in earlier}:
                return
            self._known.remember(found, numbers)
            with open(
                private_file(self.home / FILE, os.O_WRONLY | os.O_APPEND),
                "a",
                encoding="utf-8",
            ) as file:
                file.write(now.line + "\n")
                file.flush()
                os.fsync(file.fileno())

    def forget(self, run: str) -> list[Release]:
        """Take a run's releases off the list; only for one of which nothing was ever sent. What they were."""
        with self._locked():
            every = self.all
            gone = [one for one in every if one.run == run]
            if gone:
                lines = (self.home / FILE).read_text(encoding="utf-8").splitlines()
                kept = [line for line in lines if line and _read(line).run != run]
                with replaced(self.home / FILE, mode=0o600) as file:
                    file.write("".join(f"{line}\n" for line in kept).encode())
            return gone

    def _of(
        self, study: Study, found: Fingerprints, sets: Sequence[RowSet], terms: Terms
    ) -> tuple[Release, np.ndarray]:
        numbers = self._known.numbers(found)
        question, width = study.question, int(numbers.max(initial=-1)) + 1

        def numbered(one: RowSet) -> RowSet:
            rows = np.zeros(8 * -(-width // 8), dtype=bool)
            rows[numbers[one.rows]] = True
            return replace(one, rows=rows)

        made = tuple(map(numbered, sets))
        told = Release(study.fingerprint, question.title, study.used, question.where, made, *terms)
        rules = {name: getattr(study.disclosure, name) for name in (RULE, *KEPT)}
        return replace(told, **rules), numbers

    @property
    def _known(self) -> KnownRows:
        return KnownRows(self.home)

    @contextmanager
    def _locked(self) -> Generator[None]:
        with ExitStack() as holding:
            path = self.home / f"{FILE}.lock"
            try:
                private_folder(self.home)
                holding.enter_context(locked(path))
            except OSError as error:
                raise JournalError(
                    f"{path} cannot be locked: {error.strerror}; analyses must be remembered, so change that and start "
                    "again"
                ) from error
            yield


def _unpacked(text: str) -> Bool[np.ndarray, " numbers"]:
    packed = zlib.decompress(b64decode(text, validate=True))
    return np.unpackbits(np.frombuffer(packed, np.uint8)).astype(bool)


def _read(line: str) -> Release:
    data = json_value(line)
    sets = tuple(
        RowSet(
            one["what"],
            _unpacked(one["rows"]),
            frozenset(map(str, one["families"])),
            _whole(one.get("up_to")),
        )
        for one in data["sets"]
    )
    return Release(
        data["study"],
        str(data["title"]),
        tuple(map(str, data["columns"])),
        tuple(map(str, data["where"])),
        sets,
        None if data["mu"] is None else float(data["mu"]),
        data.get("run", ""),
        **{name: least for name in (RULE, *KEPT) if (least := _whole(data.get(name)))},
    )


def _whole(value: object) -> int | None:
    return None if value is None else int(str(value))
