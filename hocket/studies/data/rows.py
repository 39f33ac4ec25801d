"""A member's rows as a study understands them: which are kept, and everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float

from hocket.errors import BadStudy
from hocket.studies.data.table import Table
from hocket.studies.disclosure.promise import ALONE, Among
from hocket.studies.spec.column_names import not_there
from hocket.studies.spec.columns import Cells, understood
from hocket.studies.spec.study import Study


@dataclass(frozen=True)
class Rows:
    """One member's data in a study; they never leave its machine."""

    study: Study
    values: dict[str, Float[np.ndarray, " rows"]] = field(repr=False)
    """Every column the study uses, all rows of the table; not a number where a cell is missing."""
    chosen: Bool[np.ndarray, " rows"] = field(repr=False)
    """Where the study's conditions hold."""
    name: str = "the table"
    among: Among = ALONE
    """For how many members noise is shared out, where the study promises an ε."""
    remarks: tuple[str, ...] = field(default=(), repr=False)
    """What this member should know of its own rows when it reads the results."""

    def __repr__(self) -> str:
        """Their number and what their columns are called, and nobody's values."""
        return f"Rows({self.name!r}, rows={len(self.chosen)}, columns={[*self.values]})"

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
        return self.chosen if part is None else self._complete(part.columns)

    @property
    def described(self) -> Bool[np.ndarray, " rows"]:
        """Rows that are described: all that were chosen, or those that every other part uses."""
        part = self.study.describe
        if part is None or part.rows == "all":
            return self.chosen
        return self.modelled & self.surviving

    def filled(self) -> dict[str, Float[np.ndarray, " kept"]]:
        """The model's columns, with this member's own means for cells that are to be filled in."""
        columns = {name: self.column(name, self.modelled) for name in self.study.modelled}
        return {name: np.where(np.isnan(x), np.nanmean(x), x) for name, x in columns.items()}

    def column(self, name: str, kept: Bool[np.ndarray, " rows"]) -> Float[np.ndarray, " kept"]:
        """A column's values in some of the rows."""
        return self.values[name][kept]


def understand(study: Study, table: Table) -> Rows:
    """The rows, if nothing is wrong with their cells."""
    values, complaints = dict[str, np.ndarray](), list[str]()
    for name in study.used:
        cells = _cells(study, table, name)
        values[name] = cells.values
        complaints += cells.complaints
    chosen = np.ones(table.rows, dtype=bool)
    for condition in study.conditions:
        chosen &= condition.holds(values[condition.column]) & ~np.isnan(values[condition.column])
    rows = Rows(study, values, chosen, table.name)
    refuse(table.name, complaints)
    refuse(table.name, _emptiness(rows))
    return rows


def refuse(who: str, complaints: Iterable[str]) -> None:
    """Refuse a member's rows, if there is anything to complain of."""
    if lines := [f"{who}: {one}" for one in complaints]:
        raise BadStudy("\n".join(lines))


def _cells(study: Study, table: Table, name: str) -> Cells:
    column = study.column(name)
    source = study.source(name)
    if source not in table.columns:
        what = f"there is no column {source!r}" + (f" (for {name})" if source != name else "")
        near, how = not_there(source, table.columns)
        known = ", ".join(map(repr, [*table.columns][:20]))
        complaint = f"{what}{near}; rename it, or name it in [columns.{name}] from{how}; there are {known}"
        return Cells(np.full(table.rows, np.nan), (complaint,))
    if study.privacy is None or column.range is None or not column.numeric:
        return understood(name, column, table.columns[source], table.decimal)
    cells = understood(name, column.unbounded, table.columns[source], table.decimal)
    return replace(cells, values=np.clip(cells.values, *column.range))


def _emptiness(rows: Rows) -> Iterator[str]:
    """Columns without any value, and missing cells where the study allows none."""
    for name, values in rows.values.items():
        missing = int(np.isnan(values[rows.chosen]).sum())
        if missing and missing == int(rows.chosen.sum()):
            yield f"column {name} is missing in every row; this member cannot take part with it"
        elif missing and rows.study.column(name).missing == "refuse":
            yield f"column {name} is missing in {missing:,} rows, where the study allows none (missing = 'refuse')"
