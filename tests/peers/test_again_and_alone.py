"""`hocket peer run` where all was done before, and `hocket peer check` where somebody is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.cli.app import FAILED
from hocket.federation.state.run_folder import RunFolder

from .federation_case import Federation, play

TASK = f"{Path(__file__).parent / 'quadratic_file.py'}:task"


@pytest.fixture
def federation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Federation:
    monkeypatch.setenv("QUADRATIC_MEMBER", "0")
    return Federation(tmp_path, members=3, rounds=5)


def words(federation: Federation, command: str, *more: str) -> list[str]:
    home = str(federation.home("ash").folder)
    return ["peer", command, str(federation.plan_file), "--task", TASK, "--home", home, *more]


def test_a_run_that_was_finished_says_so_at_once(federation, capsys, monkeypatch):
    play(federation.member(name, linger=0.1) for name in federation.names)
    # Nobody is there any more, and the one that is asked again opens no links.
    monkeypatch.setattr("hocket.federation.runtime.member.Member.open_channels", None)
    assert main(words(federation, "run")) == 0
    said = capsys.readouterr()
    assert (
        "This run was finished before: nothing was sent. If a neighbour still needs this member" in said.out
    )
    assert "add --linger 600" in said.out
    folder = federation.member("ash").folder
    assert f"Published: {folder.path / 'published.npy'}" in said.out
    assert main(words(federation, "run", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["published"].endswith("published.npy")
    monkeypatch.setattr(RunFolder, "running", True)
    assert main(words(federation, "run")) == 0
    assert "Another process of this member still stays for slower neighbours" in capsys.readouterr().out


def test_a_run_that_was_finished_stays_if_it_is_told_to(federation, capsys, monkeypatch):
    play(federation.member(name, linger=20.0) for name in federation.names)
    assert main(words(federation, "run", "--linger", "0.1")) == 0
    assert "finished before" not in capsys.readouterr().out


def test_a_check_that_reaches_nobody_fails_and_says_who_is_missing(federation, capsys):
    federation.consent("ash", federation.plan)
    assert main(words(federation, "check", "--wait", "0.1")) == FAILED
    said = " ".join(capsys.readouterr().out.split())
    assert "Not ready: nobody reached. Missing: birch, cedar. Have them check or run at the same time" in said
    assert main(words(federation, "check", "--wait", "0.1", "--json")) == FAILED
    found = json.loads(capsys.readouterr().out)
    assert (found["ready"], found["not_reached"]) == (False, ["birch", "cedar"])
