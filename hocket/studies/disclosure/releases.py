"""What was released from a member's rows, kept at its home: so that no later analysis shows a few rows by difference.

Every set of rows over which sums were taken is remembered, by numbers that rows keep whatever file they stand in
(`known_rows`). A study is refused if its sums and earlier ones, in any combination, add up to a sum over a few rows; so
is one whose own parts do. What was released with noise that hides any row is only counted.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from hocket.errors import BadStudy, JournalError
from hocket.files import json_value
from hocket.links.text import quoted
from hocket.studies.data.table import Table
from hocket.studies.disclosure.isolation import Isolated, isolated
from hocket.studies.disclosure.known_rows import KnownRows, Store
from hocket.studies.disclosure.promise import HIDES
from hocket.studies.disclosure.row_sets import TWINS, RowFamily, RowKind, RowSet
from hocket.studies.spec.study import FEWEST_DIFFERENT, DisclosureSection, Study

RELEASES = """
CREATE TABLE IF NOT EXISTS releases (
    number INTEGER PRIMARY KEY, run TEXT NOT NULL, line TEXT UNIQUE NOT NULL
) STRICT;
"""
"""Where releases are kept, the first of them first."""
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
                "families": sorted((family.kind.value, family.column) for family in one.families),
                "rows": b64encode(zlib.compress(np.packbits(one.rows).tobytes())).decode(),
                "up_to": one.up_to,
            }
            for one in self.sets
        ]
        kept = {name: getattr(self, name) for name in RULED}
        return json.dumps(kept | {"sets": sets})

    @property
    def words(self) -> str:
        """What it told, for a member who is to sign another one."""
        where = f", where {' and '.join(self.where)}" if self.where else ""
        rows = max((int(one.rows.sum()) for one in self.sets), default=0)
        noise = "" if self.mu is None else f", with noise (μ = {self.mu:.3g})"
        return f"{quoted(self.title)}: {', '.join(self.columns)} in {rows:,} rows{where}{noise}"


def refuse_isolation(now: Release, earlier: Sequence[Release], least: int | None = None) -> None:
    """Refuse sets of rows from which, with earlier ones, a few can be told apart by differences of sums.

    The rules of this study, of every earlier one and of the member's own policy (`least`) all count.
    """
    if now.hidden:
        return
    before = [
        replace(one, what=f"{one.what} of {quoted(release.title)}")
        for release in earlier
        if not release.hidden
        for one in release.sets
    ]
    rules = {
        one.fewest_different: f"{quoted(one.title)} has {RULE} = {one.fewest_different}" for one in earlier
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
    for fewest, rule in sorted({least: f"{RULE} = {least} is held in any case", **rules}.items()):
        families = {family for one in now if one.held(fewest) for family in one.families}
        # What says most comes first.
        for family in sorted(families, key=lambda one: (one == TWINS, one.kind.value, one.column)):
            mine, theirs = (
                [one for one in sets if one.held(fewest) and family in one.families] for sets in (now, before)
            )
            sets = [*theirs, *mine]
            new = range(len(theirs), len(sets))
            found = _twins(sets, new, fewest) if family == TWINS else _combined(sets, new, fewest, family)
            if found is None:
                continue
            if not found.sets:
                raise BadStudy(
                    "these rows have served so many analyses that it cannot be ruled out that sums add up to fewer "
                    f"than {fewest} rows, where {rule}; use rows that served in one of them"
                )
            raise BadStudy(
                f"the rows of {' and of '.join(sets[place].what for place in found.sets)} tell {found.rows} apart, "
                f"where {rule}: a difference of results would show them; use the same rows ([describe] rows = "
                "'analysed', if it is the description), or rows that differ by more"
            )


def _twins(sets: Sequence[RowSet], new: range, fewest: int) -> Isolated | None:
    """Two sets of two studies that differ in a few rows, whatever columns made them."""
    whole = _table(sets)
    for place in new if new.start else ():
        differ = (whole[: new.start] ^ whole[place]).sum(axis=1)
        for other in np.flatnonzero((differ > 0) & (differ < fewest)).tolist():
            return Isolated(int(differ[other]), (other, place))
    return None


def _combined(sets: Sequence[RowSet], new: range, fewest: int, family: RowFamily) -> Isolated | None:
    """Any combination of sums, each set of rows taken once: as an earlier study's, if it is one."""
    whole, kept = _table(sets), dict[bytes, int]()
    for place, row in enumerate(whole):
        kept.setdefault(np.packbits(row).tobytes(), place)
    order = list(kept.values())
    mine = [place for place, one in enumerate(order) if one in new]
    # What the levels of one study leave of the whole is counted over all members' rows, see `joint_counts`.
    found = isolated(whole[order], mine, fewest, alone=family.kind is not RowKind.YES)
    return None if found is None else Isolated(found.rows, tuple(order[place] for place in found.sets))


def _table(sets: Sequence[RowSet]) -> Bool[np.ndarray, "sets rows"]:
    width = max(len(one.rows) for one in sets)
    return np.array([np.pad(one.rows, (0, width - len(one.rows))) for one in sets])


@dataclass(frozen=True)
class Releases:
    """The analyses that rows at this home have served."""

    store: Store

    def of(
        self, study: Study, table: Table, sets: Sequence[RowSet], mu: float | None = None, run: str = ""
    ) -> Release:
        """The release that an analysis of these rows would be."""
        known = KnownRows(self.store)
        return _numbered(study, known.numbers(known.fingerprints(table)), sets, mu, run)

    @property
    def all(self) -> list[Release]:
        """What was released so far."""
        try:
            return [_read(line) for (line,) in self.store.read("SELECT line FROM releases ORDER BY number")]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error):
            raise JournalError(
                "this home's accounts are damaged; restore them: without them, nobody knows which rows were analysed "
                "before"
            ) from None

    def begin(
        self,
        study: Study,
        table: Table,
        sets: Sequence[RowSet],
        mu: float | None = None,
        run: str = "",
        least: int | None = None,
    ) -> None:
        """Remember an analysis before its first number is sent; refuses one that would show a few rows.

        A run that is taken up again is the same one; another run of the same study is another release.
        """
        with self.store.writing() as write:
            known = KnownRows(self.store)
            found = known.fingerprints(table)
            numbers = known.numbers(found)
            now = _numbered(study, numbers, sets, mu, run)
            refuse_isolation(now, self.all, least)
            known.remember(found, numbers)
            write.execute("INSERT OR IGNORE INTO releases VALUES (NULL, ?, ?)", (now.run, now.line))

    def forget(self, run: str) -> list[Release]:
        """Take a run's releases off the list; only for one of which nothing was ever sent. What they were."""
        with self.store.writing() as write:
            gone = [one for one in self.all if one.run == run]
            write.execute("DELETE FROM releases WHERE run = ?", (run,))
            return gone


def _numbered(
    study: Study, numbers: Int[np.ndarray, " rows"], sets: Sequence[RowSet], mu: float | None, run: str
) -> Release:
    """A release whose sets are of numbers that this home knows its rows by."""
    width, question = int(numbers.max(initial=-1)) + 1, study.question
    made: list[RowSet] = []
    for one in sets:
        rows = np.zeros(8 * -(-width // 8), dtype=bool)
        rows[numbers[one.rows]] = True
        made.append(replace(one, rows=rows))
    rules = {name: getattr(study.disclosure, name) for name in (RULE, *KEPT)}
    return Release(
        study.fingerprint, question.title, study.used, question.where, tuple(made), mu, run, **rules
    )


def _read(line: str) -> Release:
    data = json_value(line)
    return Release(
        data["study"],
        str(data["title"]),
        tuple(map(str, data["columns"])),
        tuple(map(str, data["where"])),
        tuple(_row_set(one) for one in data["sets"]),
        None if data["mu"] is None else float(data["mu"]),
        data.get("run", ""),
        **{name: least for name in (RULE, *KEPT) if (least := _whole(data.get(name)))},
    )


def _row_set(one: Mapping[str, Any]) -> RowSet:
    packed = zlib.decompress(b64decode(one["rows"], validate=True))
    rows = np.unpackbits(np.frombuffer(packed, np.uint8)).astype(bool)
    families = frozenset(RowFamily(RowKind(kind), str(column)) for kind, column in one["families"])
    return RowSet(one["what"], rows, families, _whole(one.get("up_to")))


def _whole(value: object) -> int | None:
    return None if value is None else int(str(value))
