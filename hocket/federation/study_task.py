"""A study at one member: its own table, what it gives to each sum, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Total
from hocket.federation.digest import digest_of
from hocket.studies.analysis import Findings, analyse
from hocket.studies.check import Check, check_table
from hocket.studies.results import Results
from hocket.studies.rows import Rows
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

    def analysis(self) -> Generator[Total, Any, Findings]:
        """What is asked of all members, sum by sum."""
        return analyse(self.checked[1])

    def start(self, seed: int) -> np.ndarray:
        """No sums yet."""
        return np.zeros(0)

    def gradient(self, x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        """A study follows no gradient."""
        raise AssertionError("a study asks for sums")

    def data_digest(self) -> bytes:
        """Of the columns that the study uses: whether they are those of earlier runs."""
        used = sorted({self.study.column(name).source or name for name in self.study.used})
        cells = {name: [str(cell) for cell in self.table.columns.get(name, ())] for name in used}
        return digest_of({name: np.array(column, dtype=np.str_) for name, column in cells.items()})

    def conclude(
        self, findings: Findings, totals: int, sums: np.ndarray, members: int, folder: Path
    ) -> Results:
        """Write down what was found, beside how many rows were this member's own."""
        own = {self.name: self.checked[0].kept}
        results = Results(self.study, findings, totals, int(sums.size), own, members)
        results.save(folder)
        return results
