"""A study at one member: its own table, what it gives to each sum, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Total
from hocket.studies.check import Check, check_table
from hocket.studies.releases import Release, Releases, refuse_near_repeats
from hocket.studies.results import Results, concluded
from hocket.studies.results_page import write_page
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
    objectives: str = "any"

    @property
    def dimension(self) -> int:
        """Numbers that one sum may have."""
        return NUMBERS

    @cached_property
    def checked(self) -> tuple[Check, Rows]:
        """This member's own look at its table; refuses with everything that is wrong."""
        return check_table(self.study, replace(self.table, name=self.name))

    def analysis(self) -> Generator[Total, Any, Results]:
        """What is asked of all members, sum by sum."""
        return concluded(self.checked[1])

    def start(self, seed: int) -> np.ndarray:
        """No sums yet."""
        return np.zeros(0)

    def gradient(self, x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        """A study follows no gradient."""
        raise AssertionError("a study asks for sums")

    def check_releases(self, home: Path) -> list[str]:
        """What these rows have served before, in words; refuses where a difference of two results would show a few."""
        releases = Releases(home)
        before = [one for one in releases.all if one.study != self.study.fingerprint]
        refuse_near_repeats(self.study.disclosure, self._release(releases), releases.all)
        return [
            f"Rows at this home have served {one.title!r} ({', '.join(one.columns)}) before."
            for one in before
        ]

    def begin(self, home: Path) -> None:
        """Remember which rows are about to be told of, before the first number is said."""
        releases = Releases(home)
        releases.begin(self.study.disclosure, self._release(releases))

    def write(
        self, results: Results, members: Sequence[str], folder: Path, *, left: Sequence[str] = ()
    ) -> None:
        """Write down what was found, beside how many rows were this member's own; `left` are who was dropped."""
        results.save(folder)
        gone = ", ".join(left)
        anew = f"{gone} was dropped on the way, and the study was begun anew without. {DIFFERENCE.format(left=gone)}."
        among = f"Carried out among {', '.join(members)}, each on its own machine, over links that they alone can read."
        commands = ["hocket peer run plan.toml --data TABLE"]
        write_page(results, folder, commands=commands, exposure=(among, *([anew] if left else [])))

    def _release(self, releases: Releases) -> Release:
        rows = self.checked[1]
        used = rows.modelled if self.study.formula is not None else rows.chosen
        return releases.of(self.study, self.table, used)
