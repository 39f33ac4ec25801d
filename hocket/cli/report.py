"""`hocket report`: the page of a run, written anew from its folder."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer, bar
from hocket.cli.audit import agents_in, recorded_in
from hocket.errors import BadConfig

if TYPE_CHECKING:
    from hocket.config import Config
    from hocket.privacy import Audit
    from hocket.runs.run import Run


def report(
    folder: Annotated[
        Path, Parameter(help="The folder of a run, a demonstration, an experiment or a federation's member.")
    ],
    /,
    *,
    colluders: Annotated[
        int | None, Parameter(help="Audit it against any so many members; 1 by default.", show_default=False)
    ] = None,
    coalition: Annotated[str | None, Parameter(help="Audit it against these members: 1,4.")] = None,
) -> Answer:
    """Write the report of a run into its folder: answers, figures, tables, and how to get the same again.

    The page is one HTML file that opens offline. A run of `hocket solve` or of a federation's member is audited anew;
    the page of a demonstration or an experiment is written from what it found.
    """
    from hocket.config.reader import CONFIG
    from hocket.federation.member_report import write_member_report
    from hocket.federation.run_folder import RunFolder

    if folder.is_file():
        raise BadConfig(
            f"{folder} is a file, and a report is of a folder that a run was written to; for a plan's file, "
            f"hocket audit --plan {shlex.quote(str(folder))} --html plan.html"
        )
    if not folder.is_dir():
        raise BadConfig(f"there is no folder {folder}; name one that a run was written to")
    asked: dict[str, Any] = {} if colluders is None else {"colluders": colluders}
    asked |= {} if coalition is None else {"coalition": agents_in(coalition)}
    if len(asked) > 1:
        raise BadConfig("an audit is against --colluders, a number, or --coalition, by name; leave one away")
    if (study := _of_a_study(folder, asked)) is not None:
        return study
    if (folder / "run.json").is_file():
        page = _of_a_run(folder, asked) if (folder / CONFIG).is_file() else _of_a_saved_run(folder, asked)
    elif RunFolder(folder).plan.is_file() and (folder / "status.json").is_file():
        page = write_member_report(RunFolder(folder), **asked, watch=bar("Auditing"))
    elif (folder / "report.json").is_file() and not (folder / CONFIG).is_file():
        page = _of_an_experiment(folder, asked)
    else:
        raise BadConfig(_what_is_missing(folder))
    return Answer({"folder": str(folder), "report": str(page)}, [f"Report: {page}"])


def write_page(run: Run, folder: Path, config: Config, found: Audit | str) -> Path:
    """The page of a run of this configuration, with its audit, or why there is none."""
    from hocket.config import command
    from hocket.report.folder import write_report

    return write_report(
        run,
        folder,
        configuration=config.text(),
        commands=[command(folder)],
        found=found,
        audit_command=_audit_command(folder, config, 1 if isinstance(found, str) else found.colluders),
    )


def _audit_command(folder: Path, config: Config, colluders: int) -> str:
    """What to type for the audit page of a run's network; empty where a command line cannot name it."""
    network = config.network
    if network.topology is not None:
        named = ["--topology", network.topology]
    elif network.edges_file is not None:
        named = ["--edges", str(config.base / network.edges_file)]
    else:
        return ""
    against = ["--colluders", str(colluders), "--rounds", str(config.run.rounds)]
    return shlex.join(["hocket", "audit", *named, *against, "--html", str(folder / "audit.html")])


def _of_a_run(folder: Path, asked: dict[str, Any]) -> Path:
    from hocket.config import reopen_folder
    from hocket.report.exposure import audit_of

    run, config = recorded_in(folder), reopen_folder(folder)
    found = audit_of(run, **asked, watch=bar("Auditing"))
    if isinstance(found, str) and asked:
        raise BadConfig(found)
    return write_page(run, folder, config, found)


def _of_a_saved_run(folder: Path, asked: dict[str, Any]) -> Path:
    """A run that was saved from Python: its code is not there to be audited or run again."""
    from hocket.report.exposure import audit_of
    from hocket.report.folder import write_report
    from hocket.runs.run import Run

    run = Run.load(folder)
    found = audit_of(run, **asked)
    if asked:
        raise BadConfig(str(found))
    return write_report(
        run, folder, configuration=json.dumps(run.settings, indent=2), commands=[], found=found
    )


def _of_a_study(folder: Path, asked: dict[str, Any]) -> Answer | None:
    """Where the page of a study's results is: they wrote it themselves. None for other folders."""
    from hocket.federation.home import Home
    from hocket.federation.plan_file import read_plan
    from hocket.federation.run_folder import RunFolder
    from hocket.studies.results import PAGE, RESULTS

    plan, page = RunFolder(folder).plan, folder / PAGE
    finished = (folder / RESULTS).is_file() and page.is_file()
    if not finished:
        if not plan.is_file():
            return None
        above = folder.resolve().parents
        own = Home(above[min(1, len(above) - 1)]).own_code
        if read_plan(plan, own).study is None:
            return None
        raise BadConfig(
            f"the study in {folder} has no results yet, and its page comes with them; go on with hocket peer run"
        )
    if asked:
        raise BadConfig(
            f"{page} is the page of a study's results; for what a coalition can learn from a study, hocket audit "
            "--plan plan.toml"
        )
    return Answer(
        {"folder": str(folder), "report": str(page)},
        [f"Report: {page}, which came with the results; nothing was written anew."],
    )


def _of_an_experiment(folder: Path, asked: dict[str, Any]) -> Path:
    from hocket.report.folder import PAGE
    from hocket.report.page import Page

    if asked:
        raise BadConfig(
            f"{folder} holds an experiment, whose page says what it found; --colluders and --coalition are for runs"
        )
    return Page.load(folder / PAGE).save(folder / PAGE)


def _what_is_missing(folder: Path) -> str:
    from hocket.config import command
    from hocket.config.reader import CONFIG

    if (folder / CONFIG).is_file():
        return f"the run in {folder} is not finished: it has no run.json; go on with it ({command(folder)}) first"
    kept = ("*/report.json", "runs/*/status.json", "*/runs/*/status.json")
    parts = sorted(str(path.parent) for pattern in kept for path in folder.glob(pattern))
    if parts:
        return f"{folder} holds no run itself, but folders that do: name one of {', '.join(parts)}"
    return (
        f"{folder} is no folder of a run: it has neither run.json nor plan.toml nor report.json; name one that "
        "`hocket solve`, `demo`, `reproduce` or `peer run` wrote"
    )
