"""`hocket study`: a table at each member, one formula, and results as if all rows lay in one place."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from hocket.cli.answer import Answer, aside
from hocket.cli.options import AS_IT_IS, PARAMETER, HomeFolder, Out, TableOptions, add, command_line
from hocket.errors import BadStudy

if TYPE_CHECKING:
    from hocket.studies import Check, Results, Table

StudyFile = Annotated[Path, Parameter(help="The study, in TOML.")]


def check(study: StudyFile, /, *, data: Path, reading: TableOptions = AS_IT_IS) -> Answer:
    """Check this member's own table against a study: columns, types, levels, ranges, missing values, rows kept.

    Nothing leaves this machine. All that is wrong is named at once.

    Args:
        data: This member's table: CSV or Parquet.
    """
    from hocket.studies import check_table, read_study

    found, _ = check_table(read_study(study), reading.read(data))
    return Answer(asdict(found), _checked(found))


def simulate(
    study: StudyFile,
    /,
    *,
    data: Annotated[list[Path], Parameter(consume_multiple=True)],
    out: Out = None,
    colluders: int = 1,
    reading: TableOptions = AS_IT_IS,
) -> Answer:
    """Carry out a whole study on one machine, as members would, for a pilot on made-up or public tables.

    Sums are taken in fixed point as they are over links, so members get the same bits.

    Args:
        data: A table for each member: CSV or Parquet.
        colluders: Of a study with an epsilon: how many members may subtract their own noise.
    """
    from hocket.config import new_folder
    from hocket.studies import read_study
    from hocket.studies import simulate as carry_out
    from hocket.studies.results.page import write_page

    asked = read_study(study)
    names = member_names(data)
    tables: dict[str, Table] = {name: reading.read(path) for name, path in zip(names, data, strict=True)}
    folder = new_folder(study.stem, out)
    try:
        with aside().status("Simulating") as status:
            results = carry_out(
                asked,
                tables,
                lambda totals, numbers: status.update(f"Secure sum {totals}, of {numbers:,} numbers"),
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
    command = command_line("hocket", "study", "simulate", study, *reading.flags(), "--data", *data)
    page = write_page(results, folder, commands=[command])
    shown = {"folder": str(folder), "report": str(page)}
    return Answer(results.data | shown, [*_found(results), f"Results: {page}"])


def forget(plan: Path, /, *, home: HomeFolder = None) -> Answer:
    """Take back that this member's rows served a study in which nothing was ever sent, as after a wrong export.

    Its journal must prove it; where a message of any sum may have been sent, the release stays remembered.

    Args:
        plan: The plan of the study, as this member signed it.
    """
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.state.forget import forget_release
    from hocket.federation.state.home import Home

    place = Home.at(home)
    agreed = read_plan(plan, place.own_code)
    found = forget_release(agreed, place)
    releases = [one.words for one in found.releases]
    again = command_line("hocket", "peer", "sign", plan, "--data", "TABLE")
    return Answer(
        {"plan": agreed.hash.hex(), "releases": releases, "counted": found.counted},
        [
            *(f"Forgotten: {one}." for one in releases),
            f"Nothing of it was sent, as its journal proves. To take part with other rows, sign with them: {again}",
        ],
    )


def member_names(paths: list[Path]) -> list[str]:
    """What members of a simulation are called: by their files, and by their folders where files have one name.

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
    from hocket.studies.results.equality import equalities
    from hocket.studies.results.tables import (
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
    return [*words, f"{results.totals} secure sums of {results.numbers:,} numbers in all{whose}."]


study = App(
    name="study",
    help="Statistics over the tables of several members, computed by secure sums.",
    help_epilogue="Example: hocket study check study.toml --data clinic.csv",
    default_parameter=PARAMETER,
)
add(study, check, "study check study.toml --data clinic.csv")
add(study, simulate, "study simulate study.toml --data a.csv b.csv c.csv")
add(study, forget, "study forget plan.toml")
