"""How many joint rows each column of a model sets apart: counted before any sum is taken over them.

A column that is 0 but for a few rows makes every sum over it a sum over these rows; and two columns of yes and no that
differ in a few rows do so by the difference of their sums. So the first total of a model holds counts alone: of rows in
which a column of yes and no holds, and two together, the outcome among them; and of numbers, of rows in which they are
not 0, alone and with others, up to as many as are enough. What they refuse, nothing else is asked of. The counts
themselves are seen by members' programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product

import networkx as nx
import numpy as np
from jaxtyping import Bool, Float

from hocket.algorithm import Total
from hocket.errors import BadStudy, NotEstimable
from hocket.studies.disclosure import refuse_rare, refuse_saturated
from hocket.studies.study import DisclosureSection
from hocket.studies.symmetric import packed, pairs, products, unpacked
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

    @property
    def present(self) -> Float[np.ndarray, " columns"]:
        """In how many joint rows each is not 0."""
        return np.diag(self.together)


def joint_counts(
    X: Float[np.ndarray, "rows columns"],
    outcome: Float[np.ndarray, " rows"],
    names: Sequence[str],
    rules: DisclosureSection,
    *,
    own_intercepts: bool = False,
    weighed: int = 0,
) -> Analysis[JointCounts]:
    """One total of counts, and refusals by name; the outcome is held to the rules like any column.

    `weighed` says how often products of two columns are summed with weights of the rows, as in each step of a search.
    """
    Z, labels = np.column_stack([X, outcome]), (*names, OUTCOME)
    total = yield Total(
        {
            "rows": np.array([float(len(Z)), 1.0]),
            "not 0 together": packed(_together(Z, rules.smallest_cell)),
            "not 0 or 1": ((Z != 0) & (Z != 1)).any(axis=0).astype(np.float64),
        },
        names={"rows": ("rows", "members"), "not 0 together": pairs(labels), "not 0 or 1": labels},
    )
    rows, members = (round(float(one)) for one in total["rows"])
    found = JointCounts(rows, members, labels, unpacked(total["not 0 together"]), total["not 0 or 1"] == 0)
    if rows == 0:
        raise NotEstimable(
            "no member has any row left; look at missing values and conditions with study check"
        )
    parameters = len(names) + (members if own_intercepts else 0)
    refuse_saturated(rules, parameters=parameters, rows=rows)
    refuse_rare(rules, labels, found.present, rows, found.binary)
    refuse_near_twins(rules, found)
    refuse_few_left(rules, found)
    refuse_few_combined(rules, found)
    refuse_few_crossed(rules, found)
    if weighed:
        refuse_few_met(rules, found, weighed)
    return found


def _together(Z: Float[np.ndarray, "rows columns"], smallest: int) -> Float[np.ndarray, "columns columns"]:
    """Rows in which two columns are not 0 together.

    Of numbers no more is asked for than whether there are enough: where a single row has a 0, what it leaves of the
    other columns' counts is that row.
    """
    counts = products((Z != 0).astype(np.float64), np.ones(len(Z)))
    numbers = np.isin(Z, (0, 1), invert=True).any(axis=0, keepdims=True)
    return np.where(numbers | numbers.T, np.minimum(counts, smallest), counts)


def refuse_near_twins(rules: DisclosureSection, counts: JointCounts) -> None:
    """Two columns of yes and no that differ in a few rows, or agree in a few, show these by a difference of sums."""
    for i, j in combinations(np.flatnonzero(counts.binary).tolist(), 2):
        differ = counts.present[i] + counts.present[j] - 2 * counts.together[i, j]
        for count, how in ((differ, "differ"), (counts.rows - differ, "agree")):
            if 0 < count < rules.smallest_cell:
                least = rules.smallest_cell
                raise BadStudy(
                    f"{counts.names[i]} and {counts.names[j]} {how} in fewer than {least} joint rows, where "
                    f"[disclosure] smallest_cell = {least}: their difference is about these rows alone; leave one of "
                    "them out"
                )


def _levels_apart(counts: JointCounts) -> Iterator[list[int]]:
    """Columns of yes and no of which no two hold together, such as the levels of a factor."""
    yes = [i for i in np.flatnonzero(counts.binary).tolist() if counts.present[i] < counts.rows]
    apart: nx.Graph[int] = nx.Graph()
    apart.add_nodes_from(yes)
    apart.add_edges_from((i, j) for i, j in combinations(yes, 2) if counts.together[i, j] == 0)
    return islice(nx.find_cliques(apart), MOST_GROUPS)


def refuse_few_left(rules: DisclosureSection, counts: JointCounts) -> None:
    """Columns of yes and no of which no two hold together, such as the levels of a factor, may leave a few rows: those
    of the level that is left out. The whole less their sums is a sum over these."""
    for columns in _levels_apart(counts):
        left = counts.rows - counts.present[columns].sum()
        if 0 < left < rules.smallest_cell:
            names = ", ".join(counts.names[i] for i in sorted(columns))
            raise BadStudy(
                f"{names} leave fewer than {rules.smallest_cell} joint rows of which none holds, where [disclosure] "
                f"smallest_cell = {rules.smallest_cell}: the whole less their sums is about these rows alone; join the "
                "level that is left out with another, or take another reference"
            )


def refuse_few_met(rules: DisclosureSection, counts: JointCounts, steps: int) -> None:
    """Two columns that meet in a few rows, levels that are left out among them: the sum of their products is one of
    these rows' weights, at each step. A single row's weight tells its linear predictor, and steps tell all its numbers;
    of a few rows they do if there are as many steps as numbers in these rows."""
    numbers = max(int((~counts.binary[:-1]).sum()), 1)
    for what, count in _met(counts):
        if 0 < count < rules.smallest_cell and (count < 1.5 or count * numbers <= steps):
            raise BadStudy(
                f"in fewer than {rules.smallest_cell} joint rows {what}, where [disclosure] smallest_cell = "
                f"{rules.smallest_cell}: sums with weights of these rows alone would tell their numbers; join levels, "
                "leave one of them out, or take family = 'linear' without weights and robust errors"
            )


def _met(counts: JointCounts) -> Iterator[tuple[str, float]]:
    """In which ways columns of a model meet, and in how many rows."""
    names, present, together, outcome = counts.names, counts.present, counts.together, len(counts.names) - 1
    columns = [i for i in range(outcome) if present[i] < counts.rows]
    for i, j in combinations(columns, 2):
        yield f"both {names[i]} and {names[j]} differ from 0", together[i, j]
        if counts.binary[i] and counts.binary[j]:
            yield f"{names[i]} holds and {names[j]} does not", present[i] - together[i, j]
            yield f"{names[j]} holds and {names[i]} does not", present[j] - together[i, j]
            yield (
                f"none of {names[i]} and {names[j]} holds",
                counts.rows - present[i] - present[j] + together[i, j],
            )
    groups = [sorted({*some} - {outcome}) for some in islice(_levels_apart(counts), MOST_MET)]
    words = [f"none of {', '.join(names[i] for i in some)}" for some in groups]
    for (some, none), i in product(zip(groups, words, strict=True), columns):
        if i not in some and counts.binary[i]:
            yield f"{names[i]} holds and {none} does", present[i] - together[i, some].sum()
    for (some, none), (other, nor) in combinations(zip(groups, words, strict=True), 2):
        both = together[np.ix_(some, other)].sum()
        yield f"{none} and {nor} holds", counts.rows - present[some].sum() - present[other].sum() + both


def refuse_few_crossed(rules: DisclosureSection, counts: JointCounts) -> None:
    """Where all is yes or no, coefficients are shares: with how many rows a level has they tell, in the results
    themselves, how many of these have the outcome. Beside numbers they do not, and members' programs alone see it."""
    if not counts.binary.all():
        return
    cells = [*zip(counts.names, counts.present, counts.together[:, -1], strict=True)][:-1]
    outcome = len(counts.names) - 1
    for columns in _levels_apart(counts):
        if outcome not in columns:
            left = counts.rows - counts.present[columns].sum()
            both = counts.present[outcome] - counts.together[columns, outcome].sum()
            cells.append((f"what {', '.join(counts.names[i] for i in sorted(columns))} leave", left, both))
    for name, rows, both in cells:
        for count, having in ((both, "with"), (rows - both, "without")):
            if 0 < count < rules.smallest_cell:
                raise BadStudy(
                    f"{name} has fewer than {rules.smallest_cell} joint rows {having} the outcome, where [disclosure] "
                    f"smallest_cell = {rules.smallest_cell}: a model of yes and no alone tells how many; join levels, "
                    "or leave it out"
                )


def refuse_few_combined(rules: DisclosureSection, counts: JointCounts) -> None:
    """Three or four columns of yes and no, all rows among them, that cancel by signs but for a few rows.

    With flags a, b, … and signs s, Σ (s₁a + s₂b + …)² over all rows is a sum of joint counts, and at least the number
    of rows in which the combination is not 0. Sums over it are combinations of sums over the columns.
    """
    yes = [i for i in np.flatnonzero(counts.binary).tolist() if counts.present[i] < counts.rows]
    present = counts.present[yes]
    G = np.block(
        [
            [np.full((1, 1), float(counts.rows)), present],
            [present[:, None], counts.together[np.ix_(yes, yes)]],
        ]
    )
    names = ("all rows", *(counts.names[i] for i in yes))
    for size, widest in WIDEST.items():
        if size <= len(names) <= widest:
            _refuse_combined(rules, G, names, size)


def _refuse_combined(
    rules: DisclosureSection, G: Float[np.ndarray, "k k"], names: Sequence[str], size: int
) -> None:
    places = np.array([*combinations(range(len(names)), size)])
    own = G[places, places].sum(axis=1)
    for signs in product((1, -1), repeat=size - 1):
        signed = (1, *signs)
        count = own.copy()
        for i, j in combinations(range(size), 2):
            count += 2 * signed[i] * signed[j] * G[places[:, i], places[:, j]]
        few = np.flatnonzero((count > 0.5) & (count < rules.smallest_cell - 0.5))
        if len(few):
            parts = zip(signed, (names[place] for place in places[few[0]]), strict=True)
            words = " ".join(f"{'+' if sign > 0 else '-'} {name}" for sign, name in parts).removeprefix("+ ")
            least = rules.smallest_cell
            raise BadStudy(
                f"{words} is 0 but for fewer than {least} joint rows, where [disclosure] smallest_cell = {least}: the "
                "same combination of sums is about these rows alone; leave one of these columns out"
            )
