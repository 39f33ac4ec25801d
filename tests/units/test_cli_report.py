"""`hocket report` as it is typed: on runs, demonstrations and members, and on what is none of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hocket as hk
from hocket.cli import main
from tests.units.test_cli import write_problem


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys, *words):
    assert main(["report", *words]) == 1
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return shown.err


@pytest.mark.slow
def test_a_run_is_reported_and_audited_anew(tmp_path, capsys):
    write_problem(tmp_path)
    assert main(["solve", "problem.toml", "--out", "here"]) == 0
    page = Path("here/report.html")
    before = page.read_text(encoding="utf-8")
    assert "Worst of all 5 for gradients that stay the same is {0}" in before
    page.unlink()
    capsys.readouterr()
    assert main(["report", "here", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": "here", "report": "here/report.html"}
    assert page.read_text(encoding="utf-8") == before
    assert main(["report", "here", "--coalition", "1,4"]) == 0
    assert "Coalition {1, 4}" in page.read_text(encoding="utf-8")
    assert "hocket audit --topology cycle:5 --colluders 2 --rounds 50" in page.read_text(encoding="utf-8")


def test_a_run_saved_from_python_is_reported_without_an_audit(capsys):
    run = hk.solve(hk.paper_polynomials(), hk.Network.cycle(5), hk.RssNb(1.0), rounds=5)
    run.save("saved")
    assert main(["report", "saved"]) == 0
    page = Path("saved/report.html").read_text(encoding="utf-8")
    assert "not audited" in page
    assert "&#34;delta&#34;: 1.0" in page
    assert "The same again" not in page
    assert "audit it where it was run" in refused(capsys, "saved", "--colluders", "1")


def test_what_is_no_run_is_refused_with_a_cure(tmp_path, capsys):
    assert "there is no folder nowhere; name one" in refused(capsys, "nowhere")
    (tmp_path / "empty").mkdir()
    assert "neither run.json nor plan.toml" in refused(capsys, "empty")
    write_problem(tmp_path)
    assert main(["solve", "problem.toml", "--out", "here"]) == 0
    assert "leave one away" in refused(capsys, "here", "--colluders", "1", "--coalition", "2")
    assert "is no list of agents" in refused(capsys, "here", "--coalition", "x")
    assert "nothing to hide behind" in refused(capsys, "here", "--colluders", "4")
    Path("here/run.json").unlink()
    assert "not finished: it has no run.json; go on with it" in refused(capsys, "here")
