"""A member's own look at a study and its own table, before anybody is asked: what fits, what does not, what is kept."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool

from hocket.algorithm import Total
from hocket.errors import BadInput, BadStudy
from hocket.noise.summands import encoded, flat
from hocket.studies.analysis import analyse, contributed, parameters_of, promise_of
from hocket.studies.columns import understood
from hocket.studies.disclosure import refuse_few_rows, refuse_site
from hocket.studies.formula import Factor, Formula, Survival
from hocket.studies.leverage import dominated
from hocket.studies.newton import MOST_STEPS
from hocket.studies.patterns import exposure_words, rare_patterns
from hocket.studies.promise import ALONE, HIDES, Among
from hocket.studies.releases import refuse_isolated, rule_of
from hocket.studies.remarks import repeated_ids
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
    rows, complaints = understand(study, table)
    remarks = () if study.privacy is not None else tuple(repeated_ids(study, table))
    rows = replace(rows, among=among, remarks=remarks)
    complaints = complaints or [f"{table.name}: {one}" for one in disallowed(rows)]
    if study.question.site and among.members > 1:
        refuse_site(among.members)
    complaints = (
        complaints
        or [*_too_few(rows), *_few_of_a_level(rows)]
        or [*_told_apart(rows)]
        or [f"{table.name}: {one}" for one in (*dominated(rows), *rare_patterns(rows))]
        or [*_too_large(rows)]
    )
    if complaints:
        raise BadStudy("\n".join(complaints))
    columns = tuple(_column(rows, name) for name in study.used)
    notes = [
        *table.notes,
        *_flat(rows),
        *_clipped(rows, table),
        *exposure_words(study, MOST_STEPS),
        *repeated_ids(study, table),
    ]
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
    if (promise := promise_of(rows)) is not None and promise.mu <= HIDES:
        return  # noise hides whatever sums differ by
    try:
        refuse_isolated(row_sets(rows), (), rule_of(rows.study.disclosure.fewest_different))
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
        except (StopIteration, BadStudy, ArithmeticError, np.linalg.LinAlgError):
            return  # what joint rows cannot tell is for them to say
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


class Demand(NamedTuple):
    """What a column must be."""

    column: str
    kind: str
    why: str


KINDS = {
    "above 0": lambda x: x > 0,
    "0 or more": lambda x: x >= 0,
    "0 or 1": lambda x: np.isin(x, (0, 1)),
    "a share from 0 to 1": lambda x: (x >= 0) & (x <= 1),
    "whole and not below 0": lambda x: (x >= 0) & (x == np.round(x)),
}


def disallowed(rows: Rows) -> list[str]:
    """Columns with values that their part in the analysis does not allow."""
    found = [*_refused(rows, _of_model(rows.study), rows.modelled)]
    found += _refused(rows, _of_curves(rows.study), rows.surviving)
    return found or [*_endless(rows)]


def _endless(rows: Rows) -> Iterator[str]:
    """An outcome of which a member's own intercept would have no end."""
    study, formula = rows.study, rows.study.formula
    edges = {"binomial": (0.0, 1.0), "poisson": (0.0,)}.get(study.question.family, ())
    if not study.question.site or formula is None or not isinstance(formula.response, Factor):
        return
    values = np.unique(rows.column(formula.response.column, rows.modelled))
    if len(values) == 1 and values[0] in edges:
        yield (
            f"column {formula.response.column} is {values[0]:g} in every row here, so that with site = true this "
            "member's own intercept would be infinite, and its rows would tell nothing else; leave site out, or stay "
            "out of this study"
        )


def _refused(rows: Rows, demands: Iterator[Demand], kept: Bool[np.ndarray, " rows"]) -> Iterator[str]:
    for column, kind, why in demands:
        values = rows.values[column]
        wrong = ~KINDS[kind](values) & ~np.isnan(values) & kept
        if wrong.any():
            yield (
                f"column {column} {why} and must be {kind}, but {int(wrong.sum()):,} rows have others, such as "
                f"{values[wrong][0]:g}"
            )


def _of_curves(study: Study) -> Iterator[Demand]:
    if study.survival is not None:
        yield Demand(study.survival.time, "above 0", "is a time")
        yield Demand(study.survival.event, "0 or 1", "is an event")


def _of_model(study: Study) -> Iterator[Demand]:
    if study.question.weights:
        yield Demand(study.question.weights, "above 0", "is a weight")
    if study.formula is None:
        return
    factors = dict.fromkeys(factor for term in study.formula.terms for factor in term)
    yield from _of_functions([*factors])
    yield from _of_response(study, study.formula)


def _of_functions(factors: list[Factor]) -> Iterator[Demand]:
    needs = {"log": "above 0", "sqrt": "0 or more"}
    for factor in factors:
        if factor.function in needs:
            yield Demand(factor.column, needs[factor.function], f"is under {factor.function}()")


def _of_response(study: Study, formula: Formula) -> Iterator[Demand]:
    if isinstance(formula.response, Survival):
        yield Demand(formula.response.time, "above 0", "is a time")
        yield Demand(formula.response.event, "0 or 1", "is an event")
        return
    yield from _of_functions([formula.response])
    shares = study.question.weights and study.evaluate is None  # of a share there is no right and wrong
    share = "a share from 0 to 1" if shares else "0 or 1"
    needs = {
        "binomial": (share, "is explained as yes or no (say which count as 1: map)"),
        "poisson": ("whole and not below 0", "is a count"),
        "gamma": ("above 0", "is explained by a gamma model"),
    }
    if study.question.family in needs:
        yield Demand(formula.response.column, *needs[study.question.family])
