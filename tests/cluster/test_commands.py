"""`hocket cluster run` and `hocket solve --engine cluster`."""

from __future__ import annotations

import json

import pytest

from hocket.cli import main
from tests.cluster.groups import ROOT

RING = """
[problem]
kind = "polynomials"
coefficients = [[1, -2, 1], [4, -4, 1], [9, -6, 1], [16, -8, 1], [25, -10, 1]]

[problem.feasible]
kind = "box"
low = -20
high = 20

[network]
topology = "cycle:5"

[algorithm]
name = "rss-nb"
delta = 1.0

[run]
rounds = 100
"""


@pytest.fixture
def ring(tmp_path):
    path = tmp_path / "ring.toml"
    path.write_text(RING, encoding="utf-8")
    return path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["cluster", "run", *words, "--json"]) == 1
    return json.loads(capsys.readouterr().out)["error"]["message"]


def test_a_wrong_command_is_refused_before_anything_is_started(capsys, ring, tmp_path):
    assert "start at least one" in refused(capsys, "--processes", "0", str(ring))
    assert "there is no" in refused(capsys, "--processes", "2", str(tmp_path / "missing.toml"))


def test_one_process_is_a_cluster_too(capsys, ring, tmp_path):
    assert main(["solve", str(ring), "--engine", "cluster", "--out", str(tmp_path / "one"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["settings"]["cluster"]["shards"] == 1
    assert answer["settings"]["cluster"]["bytes_moved"] == 0
    ring.write_text(RING + 'keep = "path"\n', encoding="utf-8")
    assert main(["solve", str(ring), "--engine", "cluster"]) == 1
    assert "a cluster keeps measurements only" in capsys.readouterr().err


@pytest.mark.slow
def test_two_processes_solve_a_configuration_and_repeat_it_from_its_folder(
    capsys, ring, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    folder = tmp_path / "two"
    assert main(["cluster", "run", "--processes", "2", str(ring), "--out", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["processes"] == 2
    assert answer["settings"]["cluster"]["crossing"] == 2
    assert (folder / "report.html").exists()
    assert not (folder / "checkpoint.npz").exists()
    assert main(["cluster", "run", "--processes", "2", str(folder)]) == 0
    assert "bit for bit" in capsys.readouterr().out
    # What process 0 refuses, all refuse, and it is said once.
    assert main(["cluster", "run", "--processes", "2", str(ring), "--out", str(folder)]) == 1
    assert capsys.readouterr().err.count("is not empty") == 1
    assert main(["cluster", "run", "--processes", "6", str(folder)]) == 1
    assert "there are 6 processes for 5 agents" in capsys.readouterr().err
