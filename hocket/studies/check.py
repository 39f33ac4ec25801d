"""A member's own look at a study and its own table, before anybody is asked: what fits, what does not, what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import jax
import numpy as np
from jaxtyping import Bool

from hocket.algorithm import SecureSum
from hocket.errors import BadInput, BadStudy
from hocket.secagg.summands import encoded, flat
from hocket.studies.analysis import analyse, contributed, promise_of
from hocket.studies.data.design_matrix import coefficient_names
from hocket.studies.data.rows import Rows, refuse, understand
from hocket.studies.data.table import Table
from hocket.studies.disclosure.leverage import dominated
from hocket.studies.disclosure.patterns import exposure_words, rare_patterns
from hocket.studies.disclosure.promise import ALONE, HIDES, Among
from hocket.studies.disclosure.releases import refuse_isolated, rule_of
from hocket.studies.disclosure.row_sets import row_sets
from hocket.studies.disclosure.rules import few, few_rows
from hocket.studies.results.remarks import repeated_ids
from hocket.studies.spec.columns import understood
from hocket.studies.spec.formula import Factor, Survival
from hocket.studies.spec.study import Study

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
    what: str = field(default="", repr=False)
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
    notes: tuple[str, ...] = field(default=(), repr=False)


def check_table(study: Study, table: Table, among: Among = ALONE) -> tuple[Check, Rows]:
    """Refuses with everything that is wrong; what it returns is for this member's eyes.

    `among` says for how many members a study that promises an ε shares its noise out.
    """
    remarks = tuple(repeated_ids(study, table))
    rows = replace(
        understand(study, table), among=among, remarks=() if study.privacy is not None else remarks
    )
    kept = contributed(rows)
    # Each question is only asked where the ones before it have found nothing.
    refuse(table.name, _disallowed(rows))
    refuse(table.name, [*few_rows(study.disclosure, kept), *_few_of_a_level(rows)])
    refuse(table.name, _told_apart(rows))
    refuse(table.name, [*dominated(rows), *rare_patterns(rows)])
    refuse(table.name, _too_large(rows))
    notes = (*table.notes, *_flat(rows), *_clipped(rows, table), *exposure_words(study), *remarks)
    columns = tuple(_column(rows, name) for name in study.used)
    names = coefficient_names(study)
    return Check(table.name, table.rows, kept, columns, names, study.fingerprint, notes), rows


def _few_of_a_level(rows: Rows) -> Iterator[str]:
    """Levels of which this member has few rows: rows that others make up hide them from nobody but others."""
    least = rows.study.disclosure.smallest_own_cell
    for name in rows.study.used:
        column, values = rows.study.column(name), rows.values[name][rows.chosen]
        for place, level in enumerate(("no", "yes") if column.map is not None else column.coded):
            if few(count := int((values == place).sum()), least):
                yield (
                    f"column {name} is {level} in {count:,} rows, where [disclosure] smallest_own_cell = {least}; "
                    "leave the column out, or stay out of this study"
                )


def _told_apart(rows: Rows) -> Iterator[str]:
    """Parts of the study that take sums over almost the same rows."""
    if (promise := promise_of(rows)) is not None and promise.mu <= HIDES:
        return  # noise hides whatever sums differ by
    try:
        refuse_isolated(row_sets(rows), (), rule_of(rows.study.disclosure.fewest_different))
    except BadStudy as error:
        yield str(error)


def _too_large(rows: Rows) -> Iterator[str]:
    """Numbers that no sum over members would hold, by name: those of the first totals, where nothing is scaled yet.

    They are asked for as if as many members as there may be had this very table.
    """
    analysis, received = analyse(rows), None
    for _ in range(UNSCALED):
        try:
            with np.errstate(all="ignore"):
                total: SecureSum = analysis.send(received)
            if np.isnan(flat(total.values)).any():
                return
            encoded(total.values, bits=total.bits, members=MOST_MEMBERS, names=total.names)
        except (StopIteration, BadStudy, ArithmeticError, np.linalg.LinAlgError):
            return  # what joint rows cannot tell is for them to say
        except BadInput as error:
            yield str(error)
            return
        received = jax.tree.map(lambda own: MOST_MEMBERS * np.asarray(own), total.values)


def _flat(rows: Rows) -> Iterator[str]:
    for name in rows.study.modelled:
        values = rows.column(name, rows.modelled)
        if len(values) and np.nanmin(values) == np.nanmax(values):
            yield f"column {name} is the same in every row here; it must differ at some other member"


def _clipped(rows: Rows, table: Table) -> Iterator[str]:
    """With noise, cells beyond a range are moved to its end, as noise is made for the range."""
    study = rows.study
    for name in study.used if study.privacy is not None else ():
        column = study.column(name)
        if column.range is not None and column.numeric:
            (low, high), cells = column.range, table.columns[study.source(name)]
            raw = understood(name, column.unbounded, cells, table.decimal).values
            if moved := int(((raw < low) | (raw > high)).sum()):
                yield f"{moved:,} cells of {name} lie outside {low:g} to {high:g} and count as the nearer end"


def _column(rows: Rows, name: str) -> ColumnCheck:
    column, values = rows.study.column(name), rows.values[name]
    there = values[~np.isnan(values)]
    if column.coded:
        counts = [int((there == place).sum()) for place in range(len(column.coded))]
        kind = "levels"
        what = ", ".join(f"{level}: {count}" for level, count in zip(column.coded, counts, strict=True))
    elif column.map is not None:
        rule = column.map if isinstance(column.map, str) else f"one of {', '.join(map(str, column.map))}"
        kind, what = "yes or no", f"{rule}: {int(there.sum())}"
    else:
        kind = "numbers"
        what = f"{there.min():g} to {there.max():g}, mean {there.mean():.4g}" if len(there) else ""
    missing = len(values) - len(there)
    return ColumnCheck(name, rows.study.source(name), kind, missing, column.units, what)


KINDS = {
    "above 0": lambda x: x > 0,
    "0 or more": lambda x: x >= 0,
    "0 or 1": lambda x: np.isin(x, (0, 1)),
    "a share from 0 to 1": lambda x: (x >= 0) & (x <= 1),
    "whole and not below 0": lambda x: (x >= 0) & (x == np.round(x)),
}
UNDER = {"log": "above 0", "sqrt": "0 or more"}
OUTCOMES = {
    "binomial": ("0 or 1", "is explained as yes or no (say which count as 1: map)"),
    "poisson": ("whole and not below 0", "is a count"),
    "gamma": ("above 0", "is explained by a gamma model"),
}
Demands = Iterator[tuple[str, str, str]]
"""A column, what it must be (of `KINDS`), and why."""


def _disallowed(rows: Rows) -> Iterator[str]:
    """Columns with values that their part in the analysis does not allow."""
    part = rows.study.survival
    yield from _refused(rows, _of_model(rows.study), rows.modelled)
    yield from _refused(rows, iter(()) if part is None else _of_times(part.time, part.event), rows.surviving)


def _refused(rows: Rows, demands: Demands, kept: Bool[np.ndarray, " rows"]) -> Iterator[str]:
    for column, kind, why in demands:
        values = rows.values[column]
        wrong = ~KINDS[kind](values) & ~np.isnan(values) & kept
        if wrong.any():
            yield (
                f"column {column} {why} and must be {kind}, but {int(wrong.sum()):,} rows have others, such as "
                f"{values[wrong][0]:g}"
            )


def _of_times(time: str, event: str) -> Demands:
    yield time, "above 0", "is a time"
    yield event, "0 or 1", "is an event"


def _of_model(study: Study) -> Demands:
    formula, question = study.formula, study.question
    if question.weights:
        yield question.weights, "above 0", "is a weight"
    if formula is None:
        return
    left = (formula.response,) if isinstance(formula.response, Factor) else ()
    for factor in (*formula.factors, *left):
        if factor.function in UNDER:
            yield factor.column, UNDER[factor.function], f"is under {factor.function}()"
    if isinstance(formula.response, Survival):
        yield from _of_times(formula.response.time, formula.response.event)
    elif question.family in OUTCOMES:
        kind, why = OUTCOMES[question.family]
        if question.family == "binomial" and question.weights and study.evaluate is None:
            kind = "a share from 0 to 1"  # of which there is no right and wrong
        yield formula.response.column, kind, why
