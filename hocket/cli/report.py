"""`hocket report`: the page of a run, written anew from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hocket.cli.answer import Answer, bar
from hocket.cli.audit import recorded_in
from hocket.cli.options import Coalition, Colluders, agents_in, command_line, flags
from hocket.errors import BadConfig

if TYPE_CHECKING:
    from hocket.config import Config
    from hocket.privacy import Audit
    from hocket.runs.run import Run


def report(folder: Path, /, *, colluders: Colluders = None, coalition: Coalition = None) -> Answer:
    """Write the report of a run into its folder: answers, figures, tables, and how to get the same again.

    The page is one HTML file that opens offline. A run of `hocket solve` or of a federation's member is audited anew,
    against any one member unless others are named.

    Args:
        folder: The folder of a run or of a federation's member.
    """
    from hocket.config.reader import CONFIG
    from hocket.federation.monitoring.member_report import write_member_report
    from hocket.federation.state.run_folder import RunFolder

    if folder.is_file():
        audit = command_line("hocket", "audit", "--plan", folder, "--html", "plan.html")
        raise BadConfig(
            f"{folder} is a file, and a report is of a folder that a run was written to; for a plan's file, {audit}"
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
        page = _of_a_run(folder, asked, configured=(folder / CONFIG).is_file())
    elif RunFolder(folder).plan.is_file() and (folder / "status.json").is_file():
        page = write_member_report(RunFolder(folder), **asked, watch=bar("Auditing"))
    else:
        raise BadConfig(_what_is_missing(folder))
    return Answer({"folder": str(folder), "report": str(page)}, [f"Report: {page}"])


def write_page(run: Run, folder: Path, config: Config, found: Audit | str) -> Path:
    """The page of a run of this configuration, with its audit, or why there is none."""
    from hocket.config import command
    from hocket.report.folder import write_report

    network, audit = config.network, ""  # there is no command where a command line cannot name the network
    edges = None if network.edges_file is None else config.base / network.edges_file
    if network.topology is not None or edges is not None:
        colluders = 1 if isinstance(found, str) else found.colluders
        asked = {"topology": network.topology, "edges": edges, "colluders": colluders}
        asked |= {"rounds": config.run.rounds, "html": folder / "audit.html"}
        audit = command_line("hocket", "audit", *flags(asked))
    return write_report(
        run,
        folder,
        configuration=config.text(),
        commands=[command(folder)],
        found=found,
        audit_command=audit,
    )


def _of_a_run(folder: Path, asked: dict[str, Any], *, configured: bool) -> Path:
    """The page of a solved run; of one that was saved from Python no code is there to be audited or run again."""
    from hocket.config import reopen_folder
    from hocket.report.exposure import audit_of
    from hocket.report.folder import write_report
    from hocket.runs.run import Run

    run = recorded_in(folder) if configured else Run.load(folder)
    found = audit_of(run, **asked, watch=bar("Auditing"))
    if isinstance(found, str) and asked:
        raise BadConfig(found)
    if configured:
        return write_page(run, folder, reopen_folder(folder), found)
    settings = json.dumps(run.settings, indent=2)
    return write_report(run, folder, configuration=settings, commands=[], found=found)


def _of_a_study(folder: Path, asked: dict[str, Any]) -> Answer | None:
    """Where the page of a study's results is: they wrote it themselves. None for other folders."""
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.state.home import Home
    from hocket.federation.state.run_folder import RunFolder
    from hocket.studies.results.results import PAGE, RESULTS

    plan, page = RunFolder(folder).plan, folder / PAGE
    if not (folder / RESULTS).is_file() or not page.is_file():
        if not plan.is_file():
            return None
        above = folder.resolve().parents
        if read_plan(plan, Home(above[min(1, len(above) - 1)]).own_code).study is None:
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


def _what_is_missing(folder: Path) -> str:
    from hocket.config import command
    from hocket.config.reader import CONFIG

    if (folder / CONFIG).is_file():
        return f"the run in {folder} is not finished: it has no run.json; go on with it ({command(folder)}) first"
    kept = ("*/run.json", "runs/*/status.json", "*/runs/*/status.json")
    parts = sorted(str(path.parent) for pattern in kept for path in folder.glob(pattern))
    if parts:
        return f"{folder} holds no run itself, but folders that do: name one of {', '.join(parts)}"
    return (
        f"{folder} is no folder of a run: it has neither run.json nor plan.toml; name one that "
        "`hocket solve` or `peer run` wrote"
    )
