"""A member's own look at a study and its own table, before anybody is asked: what fits, what does not, what is kept."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from hocket.algorithm import Total
from hocket.errors import BadInput, BadStudy
from hocket.noise.summands import encoded, flat
from hocket.studies.allowed_values import disallowed
from hocket.studies.analysis import analyse, contributed, parameters_of
from hocket.studies.columns import understood
from hocket.studies.disclosure import refuse_few_rows
from hocket.studies.promise import ALONE, Among
from hocket.studies.releases import refuse_isolated
from hocket.studies.row_sets import row_sets
from hocket.studies.rows import Rows, understand
from hocket.studies.study import Study
from hocket.studies.table import Table

UNSCALED = 3
"""Totals after which all columns are of one size."""
MOST_MEMBERS = 1024
"""Members for whom there must be room in a sum; how many there will be is not known yet."""


@dataclass(frozen=True)
class ColumnCheck:
    """One column of the study in this member's table."""

    name: str
    source: str
    kind: str
    missing: int
    units: str = ""
    what: str = ""
    """Its values in a few words; shown at home only."""


@dataclass(frozen=True)
class Check:
    """What this member would bring."""

    table: str
    rows: int
    kept: int
    columns: tuple[ColumnCheck, ...]
    parameters: tuple[str, ...]
    fingerprint: str
    """Of the study: the same at every member, or they have other versions."""
    notes: tuple[str, ...] = field(default=())


def check_table(study: Study, table: Table, among: Among = ALONE) -> tuple[Check, Rows]:
    """Refuses with everything that is wrong; what it returns is for this member's eyes.

    `among` says for how many members a study that promises an ε shares its noise out.
    """
    rows, complaints = understand(study, table)
    rows = replace(rows, among=among)
    complaints = complaints or [f"{table.name}: {one}" for one in disallowed(rows)]
    complaints = (
        complaints or [*_too_few(rows), *_few_of_a_level(rows)] or [*_told_apart(rows)] or [*_too_large(rows)]
    )
    if complaints:
        raise BadStudy("\n".join(complaints))
    columns = tuple(_column(rows, name) for name in study.used)
    notes = [*table.notes, *_flat(rows), *_clipped(rows, table)]
    return (
        Check(
            table.name,
            table.rows,
            contributed(rows),
            columns,
            parameters_of(study),
            study.fingerprint,
            tuple(notes),
        ),
        rows,
    )


def _too_few(rows: Rows) -> Generator[str]:
    try:
        refuse_few_rows(rows.study.disclosure, contributed(rows), rows.name)
    except BadStudy as error:
        yield str(error)


def _few_of_a_level(rows: Rows) -> Generator[str]:
    """Levels of which this member has few rows: rows that others make up hide them from nobody but others."""
    least = rows.study.disclosure.smallest_own_cell
    for name in rows.study.used:
        column, values = rows.study.column(name), rows.values[name][rows.chosen]
        levels = ("no", "yes") if column.map is not None else column.coded
        for place, level in enumerate(levels):
            if 0 < (count := int((values == place).sum())) < least:
                yield (
                    f"{rows.name}: column {name} is {level} in {count:,} rows, where [disclosure] smallest_own_cell = "
                    f"{least}; leave the column out, or stay out of this study"
                )


def _told_apart(rows: Rows) -> Generator[str]:
    """Parts of the study that take sums over almost the same rows."""
    if rows.study.privacy is not None:
        return  # noise hides whatever sums differ by
    try:
        refuse_isolated(rows.study.disclosure, row_sets(rows))
    except BadStudy as error:
        yield f"{rows.name}: {error}"


def _too_large(rows: Rows) -> Generator[str]:
    """Numbers that no sum over members would hold, by name: those of the first totals, where nothing is scaled yet.

    They are asked for as if as many members as there may be had this very table.
    """
    analysis, heard = analyse(rows), None
    for _ in range(UNSCALED):
        try:
            with np.errstate(all="ignore"):
                total: Total = analysis.send(heard)
            if np.isnan(flat(total.values)).any():
                return
            encoded(total.values, bits=total.bits, members=MOST_MEMBERS, names=total.names)
        except (StopIteration, BadStudy, ArithmeticError):  # what joint rows cannot tell is for them to say
            return
        except BadInput as error:
            yield f"{rows.name}: {error}"
            return
        heard = jax.tree.map(lambda own: MOST_MEMBERS * np.asarray(own), total.values)


def _flat(rows: Rows) -> Generator[str]:
    for name in rows.study.modelled:
        values = rows.column(name, rows.modelled)
        if len(values) and np.nanmin(values) == np.nanmax(values):
            yield f"column {name} is the same in every row here; it must differ at some other member"


def _clipped(rows: Rows, table: Table) -> Generator[str]:
    """With noise, cells beyond a range are moved to its end, as noise is made for the range."""
    for name in rows.study.used if rows.study.privacy is not None else ():
        column = rows.study.column(name)
        if column.range is not None and column.numeric:
            raw = understood(
                name, column.unbounded, table.columns[column.source or name], table.decimal
            ).values
            moved = int(((raw < column.range[0]) | (raw > column.range[1])).sum())
            if moved:
                low, high = column.range
                yield f"{moved:,} cells of {name} lie outside {low:g} to {high:g} and count as the nearer end"


def _column(rows: Rows, name: str) -> ColumnCheck:
    column, values = rows.study.column(name), rows.values[name]
    there = values[~np.isnan(values)]
    missing = len(values) - len(there)
    source = column.source or name
    if column.coded:
        counts = [int((there == place).sum()) for place in range(len(column.coded))]
        what = ", ".join(f"{level}: {count}" for level, count in zip(column.coded, counts, strict=True))
        return ColumnCheck(name, source, "levels", missing, column.units, what)
    if column.map is not None:
        rule = column.map if isinstance(column.map, str) else f"one of {', '.join(map(str, column.map))}"
        return ColumnCheck(name, source, "yes or no", missing, column.units, f"{rule}: {int(there.sum())}")
    what = f"{there.min():g} to {there.max():g}, mean {there.mean():.4g}" if len(there) else ""
    return ColumnCheck(name, source, "numbers", missing, column.units, what)
