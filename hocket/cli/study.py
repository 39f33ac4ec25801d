"""`hocket study`: a table at each member, one formula, and results as if all rows lay in one place."""

from __future__ import annotations

import shlex
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from hocket.cli.answer import Answer, aside
from hocket.cli.table_options import AS_IT_IS, TableOptions
from hocket.errors import BadStudy

if TYPE_CHECKING:
    from hocket.studies import Check, Results, Table

StudyFile = Annotated[Path, Parameter(help="The study, in TOML.")]

study = App(
    name="study",
    help="Statistics over the tables of several members, of which only sums are seen.",
    help_epilogue="Example: hocket study check study.toml --data clinic.csv",
)


@study.command(help_epilogue="Example: hocket study check study.toml --data clinic.csv")
def check(
    study: StudyFile,
    /,
    *,
    data: Annotated[Path, Parameter(help="This member's table: CSV or Parquet.")],
    reading: TableOptions = AS_IT_IS,
) -> Answer:
    """Hold this member's own table against a study: columns, types, levels, ranges, missing values, rows that are kept.

    Nothing leaves this machine. What is wrong is named, all of it at once.
    """
    from hocket.studies import check_table, read_study

    asked = read_study(study)
    found, _ = check_table(asked, reading.read(data))
    return Answer(asdict(found), _checked(found))


@study.command(help_epilogue="Example: hocket study rehearse study.toml --data a.csv b.csv c.csv")
def rehearse(
    study: StudyFile,
    /,
    *,
    data: Annotated[
        list[Path], Parameter(consume_multiple=True, help="A table for each member: CSV or Parquet.")
    ],
    out: Annotated[
        Path | None, Parameter(help="A new folder for the results; by default under runs/.")
    ] = None,
    colluders: Annotated[
        int, Parameter(help="Of a study with an epsilon: how many members may take their noise off again.")
    ] = 1,
    reading: TableOptions = AS_IT_IS,
) -> Answer:
    """Carry out a whole study on one machine, as members would, for a pilot on made-up or public tables.

    Sums are taken in fixed point as they are over links, so members get the same bits.
    """
    from hocket.config import new_folder
    from hocket.studies import read_study
    from hocket.studies import rehearse as carry_out
    from hocket.studies.results_page import write_page

    asked = read_study(study)
    names = member_names(data)
    tables: dict[str, Table] = {name: reading.read(path) for name, path in zip(names, data, strict=True)}
    folder = new_folder(study.stem, out)
    try:
        with aside().status("Rehearsing") as status:
            results = carry_out(
                asked,
                tables,
                lambda totals, numbers: status.update(f"Total {totals}, of {numbers:,} numbers"),
                colluders=colluders,
            )
    except BaseException:
        # Nothing was found that it could hold; runs/ goes too if it is empty.
        with suppress(OSError):
            folder.rmdir()
            if out is None:
                folder.parent.rmdir()
        raise
    results.save(folder)
    named = " ".join(shlex.quote(str(path)) for path in data)
    command = shlex.join(["hocket", "study", "rehearse", str(study), *reading.words()]) + f" --data {named}"
    page = write_page(results, folder, commands=[command])
    shown = {"folder": str(folder), "report": str(page)}
    return Answer(results.data | shown, [*_found(results), f"Results: {page}"])


@study.command(help_epilogue="Example: hocket study forget plan.toml")
def forget(
    plan: Annotated[Path, Parameter(help="The plan of the study, as this member signed it.")],
    /,
    *,
    home: Annotated[
        Path | None,
        Parameter(help="This member's folder; by default $HOCKET_HOME or ~/.hocket.", show_default=False),
    ] = None,
) -> Answer:
    """Take back that this member's rows served a study of which nothing was ever sent, as after a wrong export.

    Its journal must prove it; where a message of any sum may have been sent, the release stays remembered.
    """
    from hocket.federation.forget import forget_release
    from hocket.federation.home import Home
    from hocket.federation.plan_file import read_plan

    place = Home.at(home)
    agreed = read_plan(plan, place.own_code)
    found = forget_release(agreed, place)
    answer = {
        "plan": agreed.hash.hex(),
        "releases": [one.words for one in found.releases],
        "counted": found.counted,
    }
    return Answer(
        answer,
        [
            *(f"Forgotten: {one.words}." for one in found.releases),
            "Nothing of it was sent, as its journal proves. To take part with other rows, sign again with them: "
            f"hocket peer sign {shlex.quote(str(plan))} --data TABLE",
        ],
    )


def member_names(paths: list[Path]) -> list[str]:
    """What members of a rehearsal are called: by their files, and by their folders where files have one name.

    >>> member_names([Path("a/x.csv"), Path("b/x.csv"), Path("y.csv")])
    ['a/x', 'b/x', 'y']
    """
    stems = Counter(path.stem for path in paths)
    names = [path.stem if stems[path.stem] == 1 else f"{path.parent.name}/{path.stem}" for path in paths]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadStudy(f"{twice[0]} is named twice in --data; each member has its own table")
    return names


def _checked(found: Check) -> list[Any]:
    from hocket.report.tables import Table

    rows = tuple(
        (one.name, one.source, one.kind, f"{one.missing:,}", one.units, one.what) for one in found.columns
    )
    table = Table(("column", "in the file", "as", "missing", "units", "here"), rows, numeric=frozenset({3}))
    return [
        f"{found.table} fits the study: {found.kept:,} of {found.rows:,} rows are kept.",
        table,
        *(f"Note: {note.rstrip('.')}." for note in found.notes),
        *([f"Coefficients: {', '.join(found.parameters)}"] if found.parameters else []),
        f"Study {found.fingerprint}: all members must have this one.",
    ]


def _found(results: Results) -> list[Any]:
    from hocket.studies.equality import equalities
    from hocket.studies.results_tables import (
        coefficient_table,
        description_tables,
        evaluation_table,
        measure_table,
        survival_table,
    )

    words: list[Any] = []
    findings = results.findings
    if findings.fit is not None:
        words += [coefficient_table(findings.fit, {}), measure_table(findings.fit), *findings.fit.remarks]
    if findings.evaluation is not None:
        words.append(evaluation_table(findings.evaluation))
    if findings.survival is not None:
        words.append(survival_table(findings.survival))
    if findings.description is not None:
        words += description_tables(findings.description, results.study)
    if results.promise is None:
        unequal = [one for one in equalities(findings) if not one.equal]
        words += [f"Not as the pooled rows would give: {one.part}: {one.words}." for one in unequal]
    else:
        words += [results.promise.statement, *results.promise.assumptions]
    own = ", ".join(f"{name} {rows:,}" for name, rows in (results.rows_by_member or {}).items())
    words += results.own_remarks
    whose = f"; rows: {own}" if own else ""
    return [*words, f"{results.totals} totals of {results.numbers:,} numbers in all{whose}."]
