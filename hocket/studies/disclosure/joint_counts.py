"""How many joint rows each column of a model sets apart: counted before any sum is taken over them.

A column that is 0 but for a few rows makes every sum over it a sum over these rows; and two columns of yes and no that
differ in a few rows do so by the difference of their sums. So the first total of a model holds counts alone: of rows in
which a column of yes and no holds, and two together, the outcome among them; and of numbers, of rows in which they are
not 0, alone and with others, up to as many as are enough. What they refuse, nothing else is asked of. The counts
themselves are seen by members' programs.

Each rule is a family of counts, all of which must be 0 or at least `smallest_cell`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import NamedTuple

import networkx as nx
import numpy as np
from jaxtyping import Bool, Float

from hocket.algorithm import SecureSum
from hocket.errors import BadStudy, NotEstimable
from hocket.studies.disclosure.rules import few, refuse_saturated
from hocket.studies.models.symmetric import packed, pairs, products, unpacked
from hocket.studies.spec.study import DisclosureSection
from hocket.studies.together import Analysis

OUTCOME = "the outcome"
WIDEST = {3: 200, 4: 80}
"""Up to how many columns of yes and no they are looked at in threes and in fours: 10⁷ combinations."""
MOST_MET = 300
"""Groups of columns that are held against each other, two at a time."""
MOST_GROUPS = 10_000
"""Groups of columns that are looked at: one for each factor, and few more."""


@dataclass(frozen=True)
class JointCounts:
    """Counts over all members, of a model's columns and then its outcome."""

    rows: int
    members: int
    names: tuple[str, ...]
    together: Float[np.ndarray, "columns columns"]
    """Rows in which two columns are not 0; each column's own on the diagonal."""
    binary: Bool[np.ndarray, " columns"]
    """Which are only 0 and 1."""
    weighed: int
    """How often products of two columns are summed with weights of the rows, as in each step of a search."""

    @property
    def present(self) -> Float[np.ndarray, " columns"]:
        """In how many joint rows each is not 0."""
        return np.diag(self.together)

    @property
    def flags(self) -> list[int]:
        """Columns of yes and no that do not hold in all rows."""
        return [i for i in np.flatnonzero(self.binary).tolist() if self.present[i] < self.rows]

    def listed(self, columns: Sequence[int]) -> str:
        """Their names."""
        return ", ".join(self.names[i] for i in sorted(columns))

    def groups(self) -> Iterator[list[int]]:
        """Columns of yes and no of which no two hold together, such as the levels of a factor."""
        apart: nx.Graph[int] = nx.Graph()
        apart.add_nodes_from(self.flags)
        apart.add_edges_from((i, j) for i, j in combinations(self.flags, 2) if self.together[i, j] == 0)
        return islice(nx.find_cliques(apart), MOST_GROUPS)

    def left_by(self, columns: Sequence[int]) -> float:
        """Rows in which none of a group holds."""
        return self.rows - self.present[columns].sum()


def joint_counts(
    X: Float[np.ndarray, "rows columns"],
    outcome: Float[np.ndarray, " rows"],
    names: Sequence[str],
    rules: DisclosureSection,
    *,
    weighed: int = 0,
) -> Analysis[JointCounts]:
    """One total of counts, and refusals by name; the outcome is held to the rules like any column."""
    Z, labels, least = np.column_stack([X, outcome]), (*names, OUTCOME), rules.smallest_cell
    total = yield SecureSum(
        {
            "rows": np.array([float(len(Z)), 1.0]),
            "not 0 together": packed(_together(Z, least)),
            "not 0 or 1": ((Z != 0) & (Z != 1)).any(axis=0).astype(np.float64),
        },
        names={"rows": ("rows", "members"), "not 0 together": pairs(labels), "not 0 or 1": labels},
    )
    rows, members = (round(float(one)) for one in total["rows"])
    together, binary = unpacked(total["not 0 together"]), total["not 0 or 1"] == 0
    found = JointCounts(rows, members, labels, together, binary, weighed)
    if rows == 0:
        raise NotEstimable(
            "no member has any row left; look at missing values and conditions with study check"
        )
    refuse_saturated(rules, parameters=len(names), rows=rows)
    for rule in RULES:
        for count, *texts in rule.counts(found, least):
            if few(count, least):
                cell = f"[disclosure] smallest_cell = {least}"
                raise BadStudy(rule.words.format(*texts, least=least, cell=cell))
    return found


def _together(Z: Float[np.ndarray, "rows columns"], smallest: int) -> Float[np.ndarray, "columns columns"]:
    """Rows in which two columns are not 0 together.

    Of numbers no more is asked for than whether there are enough: where a single row has a 0, what it leaves of the
    other columns' counts is that row.
    """
    counts = products((Z != 0).astype(np.float64), np.ones(len(Z)))
    numbers = np.isin(Z, (0, 1), invert=True).any(axis=0, keepdims=True)
    return np.where(numbers | numbers.T, np.minimum(counts, smallest), counts)


Counted = Iterator[tuple[float, *tuple[str, ...]]]
"""Counts, each with what the words of its rule name."""


def _levels(counts: JointCounts, least: int) -> Counted:
    """A level of a few rows would show them: sums of other columns over that level are sums over these rows."""
    for name, count, only in zip(counts.names, counts.present, counts.binary, strict=True):
        yield (min(count, counts.rows - count) if only and count < counts.rows else count), name


def _twins(counts: JointCounts, least: int) -> Counted:
    """Two columns of yes and no that differ in a few rows, or agree in a few, show these by a difference of sums."""
    for i, j in combinations(np.flatnonzero(counts.binary).tolist(), 2):
        differ = counts.present[i] + counts.present[j] - 2 * counts.together[i, j]
        yield differ, counts.names[i], counts.names[j], "differ"
        yield counts.rows - differ, counts.names[i], counts.names[j], "agree"


def _left_out(counts: JointCounts, least: int) -> Counted:
    """Columns of yes and no of which no two hold together, such as the levels of a factor, may leave a few rows: those
    of the level that is left out. The whole less their sums is a sum over these."""
    for columns in counts.groups():
        yield counts.left_by(columns), counts.listed(columns)


def _combined(counts: JointCounts, least: int) -> Counted:
    """Three or four columns of yes and no, all rows among them, that cancel by signs but for a few rows.

    With flags a, b, … and signs s, Σ (s₁a + s₂b + …)² over all rows is a sum of joint counts, and at least the number
    of rows in which the combination is not 0. Sums over it are combinations of sums over the columns.
    """
    yes, present = counts.flags, counts.present[counts.flags]
    whole = np.full((1, 1), float(counts.rows))
    G = np.block([[whole, present], [present[:, None], counts.together[np.ix_(yes, yes)]]])
    names = ("all rows", *(counts.names[i] for i in yes))
    for size, widest in WIDEST.items():
        if not size <= len(names) <= widest:
            continue
        places = np.array([*combinations(range(len(names)), size)])
        own = G[places, places].sum(axis=1)
        for signs in product((1, -1), repeat=size - 1):
            signed, count = (1, *signs), own.copy()
            for i, j in combinations(range(size), 2):
                count += 2 * signed[i] * signed[j] * G[places[:, i], places[:, j]]
            for place in np.flatnonzero((count > 0.5) & (count < least - 0.5))[:1]:
                parts = zip(signed, (names[i] for i in places[place]), strict=True)
                words = " ".join(f"{'+' if sign > 0 else '-'} {name}" for sign, name in parts)
                yield count[place], words.removeprefix("+ ")


def _crossed(counts: JointCounts, least: int) -> Counted:
    """Where all is yes or no, coefficients are shares: with how many rows a level has they tell, in the results
    themselves, how many of these have the outcome. Beside numbers they do not, and members' programs alone see it."""
    if not counts.binary.all():
        return
    cells = [*zip(counts.names, counts.present, counts.together[:, -1], strict=True)][:-1]
    outcome = len(counts.names) - 1
    for columns in counts.groups():
        if outcome not in columns:
            both = counts.present[outcome] - counts.together[columns, outcome].sum()
            cells.append((f"what {counts.listed(columns)} leave", counts.left_by(columns), both))
    for name, rows, both in cells:
        yield both, name, "with"
        yield rows - both, name, "without"


def _met(counts: JointCounts, least: int) -> Counted:
    """Two columns that meet in a few rows, levels that are left out among them: the sum of their products is one of
    these rows' weights, at each step. A single row's weight tells its linear predictor, and steps tell all its numbers;
    of a few rows they do if there are as many steps as numbers in these rows."""
    numbers = max(int((~counts.binary[:-1]).sum()), 1)
    for what, count in _meetings(counts) if counts.weighed else ():
        if count < 1.5 or count * numbers <= counts.weighed:
            yield count, what


def _meetings(counts: JointCounts) -> Iterator[tuple[str, float]]:
    """In which ways columns of a model meet, and in how many rows."""
    names, present, together, outcome = counts.names, counts.present, counts.together, len(counts.names) - 1
    columns = [i for i in range(outcome) if present[i] < counts.rows]
    for i, j in combinations(columns, 2):
        yield f"both {names[i]} and {names[j]} differ from 0", together[i, j]
        if counts.binary[i] and counts.binary[j]:
            yield f"{names[i]} holds and {names[j]} does not", present[i] - together[i, j]
            yield f"{names[j]} holds and {names[i]} does not", present[j] - together[i, j]
            neither = counts.rows - present[i] - present[j] + together[i, j]
            yield f"none of {names[i]} and {names[j]} holds", neither
    groups = [sorted({*some} - {outcome}) for some in islice(counts.groups(), MOST_MET)]
    words = [f"none of {counts.listed(some)}" for some in groups]
    for (some, none), i in product(zip(groups, words, strict=True), columns):
        if i not in some and counts.binary[i]:
            yield f"{names[i]} holds and {none} does", present[i] - together[i, some].sum()
    for (some, none), (other, nor) in combinations(zip(groups, words, strict=True), 2):
        both = together[np.ix_(some, other)].sum()
        yield f"{none} and {nor} holds", counts.rows - present[some].sum() - present[other].sum() + both


class CountRule(NamedTuple):
    """Counts that must be 0 or enough, and what is said where one is not."""

    counts: Callable[[JointCounts, int], Counted]
    words: str


RULES = (
    CountRule(
        _levels,
        "{0} sets fewer than {least} joint rows apart, where {cell}; join its level with another, or leave it out",
    ),
    CountRule(
        _twins,
        "{0} and {1} {2} in fewer than {least} joint rows, where {cell}: their difference is about these rows alone; "
        "leave one of them out",
    ),
    CountRule(
        _left_out,
        "{0} leave fewer than {least} joint rows of which none holds, where {cell}: the whole less their sums is about "
        "these rows alone; join the level that is left out with another, or take another reference",
    ),
    CountRule(
        _combined,
        "{0} is 0 but for fewer than {least} joint rows, where {cell}: the same combination of sums is about these "
        "rows alone; leave one of these columns out",
    ),
    CountRule(
        _crossed,
        "{0} has fewer than {least} joint rows {1} the outcome, where {cell}: a model of yes and no alone tells how "
        "many; join levels, or leave it out",
    ),
    CountRule(
        _met,
        "in fewer than {least} joint rows {0}, where {cell}: sums with weights of these rows alone would tell their "
        "numbers; join levels, leave one of them out, or take family = 'linear' without weights and robust errors",
    ),
)
