"""A study at one member: its own table, what it gives to each sum, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Total
from hocket.federation.home import Home
from hocket.federation.policy import read_policy
from hocket.report import tables
from hocket.studies.analysis import promise_of
from hocket.studies.check import Check, check_table
from hocket.studies.promise import ALONE, Among
from hocket.studies.releases import Release, Releases, Terms, refuse_isolation
from hocket.studies.results import Results, concluded
from hocket.studies.results_page import write_page
from hocket.studies.row_sets import row_sets
from hocket.studies.rows import Rows
from hocket.studies.seen import DIFFERENCE
from hocket.studies.study import Study
from hocket.studies.table import Table

NUMBERS = 1 << 16
"""Numbers that a sum may have, for which links make room."""
MOST_TOTALS = 400
"""Sums after which a study is given up; a regression takes about ten."""


@dataclass(frozen=True)
class StudyTask:
    """What a member brings to a study in place of a task of its own: a table."""

    study: Study
    table: Table
    name: str
    """Whose it is, for errors."""
    among: Among = ALONE
    """How many take part, and how many of them may collude: for noise, where the study promises an ε."""
    objectives: str = "any"

    @property
    def dimension(self) -> int:
        """Numbers that one sum may have."""
        return NUMBERS

    @cached_property
    def checked(self) -> tuple[Check, Rows]:
        """This member's own look at its table; refuses with everything that is wrong."""
        return check_table(self.study, replace(self.table, name=self.name), self.among)

    def analysis(self) -> Generator[Total, Any, Results]:
        """What is asked of all members, sum by sum."""
        return concluded(self.checked[1])

    def start(self, seed: int) -> np.ndarray:
        """No sums yet."""
        return np.zeros(0)

    def gradient(self, x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        """A study follows no gradient."""
        raise AssertionError("a study asks for sums")

    def check_releases(self, home: Path, run: str = "") -> list[str]:
        """What these rows have served before this run, in words; refuses where differences would show a few."""
        releases = Releases(home)
        earlier = releases.all
        terms = Terms(self._mu, run)
        now = releases.of(self.study, self.table, row_sets(self.checked[1]), terms)
        refuse_isolation(now, earlier, read_policy(Home(home)).fewest_different)
        return [*told_before(one for one in earlier if (one.study, one.run) != (now.study, now.run))]

    def begin(self, home: Path, run: str = "") -> None:
        """Remember which rows are about to be told of, before the first number is said."""
        terms = Terms(self._mu, run)
        least = read_policy(Home(home)).fewest_different
        Releases(home).begin(self.study, self.table, row_sets(self.checked[1]), terms, least)

    @property
    def _mu(self) -> float | None:
        promise = promise_of(self.checked[1])
        return None if promise is None else promise.mu

    def write(
        self,
        results: Results,
        members: Sequence[str],
        folder: Path,
        *,
        left: Sequence[str] = (),
        signed: Sequence[tables.Table] = (),
    ) -> None:
        """Write down what was found, beside how many rows were this member's own; `left` are who was dropped, and
        `signed` tells who has signed."""
        results.save(folder)
        gone = ", ".join(left)
        anew = f"{gone} was dropped on the way, and the study was begun anew without. {DIFFERENCE.format(left=gone)}."
        among = f"Carried out among {', '.join(members)}, each on its own machine, over links that they alone can read."
        commands = ["hocket peer run plan.toml --data TABLE"]
        exposure = (among, *([anew] if left else []))
        write_page(results, folder, commands=commands, exposure=exposure, signed=signed)


def told_before(earlier: Iterable[Release]) -> Iterator[str]:
    """What rows at a home have told before, in words."""
    for one in earlier:
        yield f"Rows at this home have served before: {one.words}."
