"""Commands on a study's plan and run: what they answer, and what is said where they cannot."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.federation.plan_file import write_plan
from hocket.federation.plan_verdict import judge_plan
from hocket.links.identity import Identity
from hocket.machine import held_ports
from hocket.studies.results import PAGE

from .federation_case import play
from .study_case import NAMES, planned
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
