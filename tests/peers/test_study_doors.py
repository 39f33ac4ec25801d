"""Commands on a study's plan and run: what they answer, and what is said where they cannot."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.plan.plan_file import write_plan
from hocket.links.keys.identity import Identity
from hocket.machine import held_ports
from hocket.studies.results.results import PAGE

from .federation_case import Federation, play
from .study_case import NAMES, planned, tables
from .test_studies import members


@pytest.fixture(scope="module")
def identities() -> list[Identity]:
    return [Identity.create(name) for name in NAMES]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_study_s_plan_is_audited_as_whoever_signs_it_is_shown(identities, capsys):
    plan = planned(identities, range(7000, 7004))
    write_plan(plan, Path("plan.toml"))
    assert main(["audit", "--plan", "plan.toml", "--html", "plan.html"]) == 0
    said = capsys.readouterr().out
    for line in judge_plan(plan).words:
        assert line in said
    assert all(name in said for name in NAMES)
    assert plan.fingerprint in said
    page = html.unescape(Path("plan.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    assert "against any 1 colluder nothing is shown but sums over all honest members" in page
    assert "--plan plan.toml" in page
    assert main(["audit", "--plan", "plan.toml", "--colluders", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["covered"]
    assert "against any 2 colluders" in found["answer"]


def test_a_study_s_plan_that_exposes_somebody_is_audited_and_not_accepted(identities, capsys):
    write_plan(planned(identities, range(7000, 7004), topology="path"), Path("plan.toml"))
    assert main(["audit", "--plan", "plan.toml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("Refused: ash, dogwood can be surrounded by 1 colluder") == 1


def test_a_report_of_a_study_says_where_its_page_is(identities, tmp_path, capsys):
    write_plan(planned(identities, range(7000, 7004)), Path("plan.toml"))
    assert main(["report", "plan.toml"]) == 1
    assert "hocket audit --plan plan.toml --html plan.html" in capsys.readouterr().err
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports), identities)
        folder = some[0].folder
        folder.make()
        write_plan(some[0].plan, folder.plan)
        assert main(["report", str(folder.path)]) == 1
        assert "has no results yet, and its page comes with them; go on with hocket peer run" in " ".join(
            capsys.readouterr().err.split()
        )
        play(some)
    assert main(["report", str(folder.path)]) == 0
    assert f"Report: {folder.path / PAGE}" in capsys.readouterr().out
    assert main(["report", str(folder.path), "--colluders", "2"]) == 1
    assert "hocket audit --plan plan.toml" in capsys.readouterr().err


READERS = (
    *(("peer", command) for command in ("sign", "run", "check", "service", "accept")),
    ("study", "check"),
    ("study", "simulate"),
)


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_whatever_reads_a_table_takes_the_options_that_errors_advise(command, capsys):
    assert main([*command, "--help"]) == 0
    said = capsys.readouterr().out
    for option in ("--data", "--delimiter", "--encoding", "--decimal"):
        assert option in said


def test_a_table_is_signed_and_checked_as_its_options_say(identities, capsys):
    table = tables()["ash"]
    lines = [list(table.columns)]
    lines += [
        [str(cell).replace(".", ",") for cell in row] for row in zip(*table.columns.values(), strict=True)
    ]
    lines = [[*line, "ß"] for line in lines]
    Path("ash.csv").write_bytes("\n".join("|".join(line) for line in lines).encode("latin-1"))
    with held_ports(len(NAMES)) as ports:
        plan = planned(identities, ports)
    for one in identities[1:]:
        plan = plan.signed_by(one)
    identities[0].save(Path("home/identity"))
    write_plan(plan, Path("plan.toml"))
    mine = ["plan.toml", "--home", "home", "--data", "ash.csv"]
    how = ["--encoding", "latin-1", "--decimal", ",", "--delimiter", "|"]
    assert main(["peer", "sign", *mine, "--yes"]) == 1
    assert "--encoding latin-1" in capsys.readouterr().err
    assert main(["peer", "sign", *mine, "--yes", *how]) == 0
    capsys.readouterr()
    assert main(["peer", "check", *mine, *how, "--wait", "0.1"]) == 1
    said = capsys.readouterr().out
    assert "The table fits the study" in said
    assert "LOOK: column texture READS YOUR COLUMN 'mean texture'" in said
    assert main(["peer", "service", *mine, *how]) == 0
    assert "--encoding latin-1 --decimal ," in " ".join(capsys.readouterr().out.split()).replace('"', "")


def test_options_of_tables_are_refused_where_a_plan_follows_a_task(tmp_path, capsys):
    federation = Federation(tmp_path, members=2, topology="path")
    home = str(federation.home("ash").folder)
    how = ["--task", "mine.py:task", "--encoding", "latin-1", "--home", home]
    assert main(["peer", "run", str(federation.plan_file), *how]) == 1
    assert "--encoding is for reading a table, and this plan follows a task" in capsys.readouterr().err
