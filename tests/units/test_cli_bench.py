"""`hocket bench`: a comparison from a file, in a folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hocket.bench.bench_file import parse_bench
from hocket.cli import main
from hocket.errors import BadConfig
from hocket.steps import Constant

FILE = """
[bench]
rounds = 30
seeds = 2
goal = 1e-3
start = [1.0, -0.5, 0.25, -0.75, 0.5]
title = "Two on a ring"

[problems.paper]
kind = "paper-polynomials"

[networks]
ring = "cycle:5"
complete = { topology = "complete:5", weights = "metropolis" }

[algorithms]
dgd = "dgd"
quiet = { name = "dgd", step = { constant = 0.01 } }
"""


def test_a_folder_with_results_figure_and_page(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(FILE)
    assert main(["bench", "two.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    folder = Path(told["folder"])
    assert folder == Path("runs/two-1")
    assert {path.name for path in folder.iterdir()} == {
        "bench.toml",
        "results.csv",
        "figure.svg",
        "figure.png",
        "report.html",
    }
    assert (told["runs"], told["programs"], told["diverged"]) == (8, 1, 0)
    assert {one["algorithm"] for one in told["ranking"]} == {"dgd", "quiet"}
    with open(folder / "results.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["network"] for row in rows} == {"ring", "complete"}
    page = (folder / "report.html").read_text()
    assert "Two on a ring" in page
    assert "hocket bench runs/two-1/bench.toml" in page
    assert (folder / "bench.toml").read_text() == FILE


def test_steps_stand_beside_algorithms(tmp_path):
    asked = parse_bench(FILE, base=tmp_path)
    assert asked.steps == {"quiet": Constant(0.01)}
    assert list(asked.networks) == ["ring", "complete"]
    other = FILE.replace("rounds = 30", "budget = { bytes = 1e4 }")
    assert parse_bench(other, base=tmp_path).budget == {"bytes": 1e4}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[bench]", "[benches]", r"no section \[benches\] \(did you mean 'bench'\?\)"),
        ("rounds = 30", "", r"\[bench\] needs rounds = 1000, or budget"),
        ("rounds = 30", "rounds = 30\nbudget = { bytes = 5.0 }", "one of the two"),
        ("rounds = 30", "budget = { joules = 5.0 }", r"\[bench.budget\] has no key 'joules'"),
        ('ring = "cycle:5"', 'ring = "circle:5"', r"\[networks.ring\]: .*circle"),
        ('dgd = "dgd"', 'dgd = "ddd"', r"\[algorithms.dgd\]: .*'ddd'"),
        ('[problems.paper]\nkind = "paper-polynomials"', "", r"the section \[problems\] is missing"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, words):
    with pytest.raises(BadConfig, match=words):
        parse_bench(FILE.replace(old, new), base=tmp_path)


def test_help_has_an_example(capsys):
    assert main(["bench", "--help"]) == 0
    assert "Example: hocket bench bench.toml" in capsys.readouterr().out
    assert main(["simulate", "--help"]) == 0
    assert "Example: hocket simulate plan.toml" in capsys.readouterr().out


def test_a_file_that_is_not_there(capsys):
    assert main(["bench", "nowhere.toml"]) == 1
    assert "there is no file nowhere.toml" in capsys.readouterr().err


def test_algorithms_of_ones_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import hocket as hk\n\n\nclass Mine(hk.Dgd):\n    key = ''\n    gain: float = 1.0\n"
    )
    file = parse_bench(FILE.replace('"dgd"\n', '{ name = "mine.py:Mine", gain = 0.5 }\n', 1), base=tmp_path)
    assert type(file.algorithms["dgd"]).__name__ == "Mine"


def test_a_file_may_ask_for_the_gap_of_all_agents():
    asked = parse_bench(FILE.replace("seeds = 2", 'seeds = 2\nmeasure = "exact"'), base=Path())
    assert asked.bench.measure == "exact"
    assert parse_bench(FILE, base=Path()).bench.measure == "sample"
    with pytest.raises(BadConfig, match=r"sample.*exact"):
        parse_bench(FILE.replace("seeds = 2", 'measure = "all"'), base=Path())
