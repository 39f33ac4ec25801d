"""A member's rows as a study understands them: which are kept, and everything that is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from hocket.config.sections import nearest
from hocket.errors import BadStudy
from hocket.studies.columns import Cells, understood
from hocket.studies.study import Study
from hocket.studies.table import Table


@dataclass(frozen=True)
class Rows:
    """One member's data in a study; they never leave its machine."""

    study: Study
    values: dict[str, Float[np.ndarray, " rows"]]
    """Every column the study uses, all rows of the table; not a number where a cell is missing."""
    chosen: Bool[np.ndarray, " rows"]
    """Where the study's conditions hold."""
    name: str = "the table"

    @property
    def modelled(self) -> Bool[np.ndarray, " rows"]:
        """Rows that the model uses: chosen, and with no cell missing but such as are to be filled in."""
        return self._complete(self.study.modelled)

    def _complete(self, columns: tuple[str, ...]) -> Bool[np.ndarray, " rows"]:
        kept = self.chosen.copy()
        for column in columns:
            if self.study.column(column).missing != "mean":
                kept &= ~np.isnan(self.values[column])
        return kept

    @property
    def surviving(self) -> Bool[np.ndarray, " rows"]:
        """Rows that the survival curves use."""
        part = self.study.survival
        return (
            self.chosen
            if part is None
            else self._complete(tuple(filter(None, (part.time, part.event, part.by))))
        )

    def column(self, name: str, kept: Bool[np.ndarray, " rows"]) -> Float[np.ndarray, " kept"]:
        """A column's values in some of the rows."""
        return self.values[name][kept]


def understand(study: Study, table: Table) -> tuple[Rows, list[str]]:
    """The rows, and what is wrong with them; rows are only good for use if nothing is."""
    values, complaints = dict[str, np.ndarray](), list[str]()
    for name in study.used:
        cells = _cells(study, table, name)
        values[name] = cells.values
        complaints += cells.complaints
    chosen = np.ones(table.rows, dtype=bool)
    for condition in study.conditions:
        chosen &= condition.holds(values[condition.column]) & ~np.isnan(values[condition.column])
    rows = Rows(study, values, chosen, table.name)
    if not complaints:
        complaints = [*_emptiness(rows), *_meaning(rows)]
    return rows, [f"{table.name}: {one}" for one in complaints]


def understood_rows(study: Study, table: Table) -> Rows:
    """The rows, if nothing is wrong with them."""
    rows, complaints = understand(study, table)
    if complaints:
        raise BadStudy("\n".join(complaints))
    return rows


def _cells(study: Study, table: Table, name: str) -> Cells:
    column = study.column(name)
    source = column.source or name
    if source not in table.columns:
        known = [*table.columns]
        close = nearest(source, known) or nearest(source.lower(), {one.lower(): one for one in known})
        what = f"there is no column {source!r}" + (f" (for {name})" if source != name else "")
        complaint = f"{what}{close}; rename it, or name it in [columns.{name}] from; there are {', '.join(known[:20])}"
        return Cells(np.full(table.rows, np.nan), (complaint,))
    return understood(name, column, table.columns[source], table.decimal)


def _emptiness(rows: Rows) -> list[str]:
    """Columns without any value, and missing cells where the study allows none."""
    found: list[str] = []
    for name, values in rows.values.items():
        missing = int(np.isnan(values[rows.chosen]).sum())
        if missing and missing == int(rows.chosen.sum()):
            found.append(f"column {name} is missing in every row; this member cannot take part with it")
        elif missing and rows.study.column(name).missing == "refuse":
            found.append(
                f"column {name} is missing in {missing:,} rows, where the study allows none (missing = 'refuse')"
            )
    return found


def _meaning(rows: Rows) -> list[str]:
    """Values that a column's part in the analysis does not allow."""
    from hocket.studies.formula import Survival

    study, found = rows.study, list[str]()
    kept = rows.modelled

    def demand(name: str, ok: np.ndarray, what: str) -> None:
        wrong = ~ok & ~np.isnan(rows.values[name]) & kept
        if wrong.any():
            example = rows.values[name][wrong][0]
            found.append(
                f"column {name} {what}, but {int(wrong.sum()):,} rows have others, such as {example:g}"
            )

    formula = study.formula
    if formula is not None:
        for factor in dict.fromkeys(factor for term in formula.terms for factor in term):
            if factor.function in ("log", "sqrt"):
                values = rows.values[factor.column]
                demand(
                    factor.column,
                    values > 0 if factor.function == "log" else values >= 0,
                    f"is under {factor.function}() and must be above 0",
                )
        if isinstance(formula.response, Survival):
            demand(
                formula.response.time, rows.values[formula.response.time] > 0, "is a time and must be above 0"
            )
            demand(
                formula.response.event,
                np.isin(rows.values[formula.response.event], (0, 1)),
                "is an event and must be 0 or 1",
            )
        else:
            name, y = formula.response.column, rows.values[formula.response.column]
            if formula.response.function:
                demand(name, y > 0, f"is under {formula.response.function}() and must be above 0")
            if study.question.family == "binomial":
                demand(
                    name,
                    (y >= 0) & (y <= 1) if study.question.weights else np.isin(y, (0, 1)),
                    "is explained as yes or no and must be 0 or 1 (say which count as 1: map)",
                )
            if study.question.family == "poisson":
                demand(name, (y >= 0) & (y == np.round(y)), "is a count and must be whole and not below 0")
            if study.question.family == "gamma":
                demand(name, y > 0, "is explained by a gamma model and must be above 0")
    if study.question.weights:
        demand(
            study.question.weights, rows.values[study.question.weights] > 0, "is a weight and must be above 0"
        )
    if study.survival is not None:
        kept = rows.surviving
        demand(study.survival.time, rows.values[study.survival.time] > 0, "is a time and must be above 0")
        demand(
            study.survival.event,
            np.isin(rows.values[study.survival.event], (0, 1)),
            "is an event and must be 0 or 1",
        )
    return found
