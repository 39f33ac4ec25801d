"""Every mistake that can be made on the command line gets words: culprit, limit or cure, no traceback, a code."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App

from hocket.cli import main
from hocket.cli.app import app
from hocket.federation.plan.plan_file import read_plan
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from tests.units.mistakes import ALL, CARDS, Mistake, plan

GOOD = """[problem]
kind = "paper-polynomials"
[network]
topology = "cycle:5"
[algorithm]
name = "rss-nb"
delta = 1.0
[run]
rounds = 5
"""
POLYNOMIALS = 'kind = "paper-polynomials"'
DATA = 'kind = "least-squares"\ndata = "none.npz"\n[problem.feasible]\nkind = "ball"\nradius = 1.0'
SPOILT = {
    "good": {},
    "typo": {"delta": "detla"},
    "sectionless": {"[run]\nrounds = 5\n": ""},
    "negative": {"1.0": "-1.0"},
    "text": {"rounds = 5": 'rounds = "5"'},
    "zero": {"rounds = 5": "rounds = 0"},
    "six": {"cycle:5": "cycle:6"},
    "apart": {'topology = "cycle:5"': "edges = [[0, 1], [2, 3], [3, 4]]"},
    "moon": {"cycle:5": "moon:5"},
    "path": {"cycle:5": "path:5", "rss-nb": "rss-lb"},
    "far": {"rounds = 5": "rounds = 5\nstart = 99.0"},
    "data": {POLYNOMIALS: DATA},
    "nameless": {POLYNOMIALS: 'python = "seven.py:nothing"'},
    "failing": {POLYNOMIALS: 'python = "failing.py:problem"'},
    "seven": {POLYNOMIALS: 'python = "seven.py:problem"'},
    "broken": {"[problem]": "[problem"},
}
"""Configurations, each with one thing wrong."""
TASK = """from hocket.federation.workloads.task import GradientTask
task = GradientTask(1, lambda x, k, h, rng: x)
wide = GradientTask(2, lambda x, k, h, rng: x)
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the mistakes speak of."""
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _lay_out_files()
        _do("solve good.toml --out run")
        for place, letter in enumerate("abcd"):
            address = f"--address 127.0.0.1:{47300 + place}" if letter in "ab" else ""
            _do(f"peer init --name clinic-{letter} --home home-{letter} {address}")
        _do(plan(out="plan.toml", cards=CARDS))
        shutil.copy("plan.toml", "signed.toml")
        for letter in "abc":
            _do(f"peer sign signed.toml --yes --home home-{letter}")
        signed = Path("signed.toml").read_text(encoding="utf-8")
        Path("changed.toml").write_text(signed.replace("rounds = 5", "rounds = 6"), encoding="utf-8")
        _spoil_plans(signed)
    return folder


def _lay_out_files() -> None:
    for name, changes in SPOILT.items():
        text = GOOD
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    Path("failing.py").write_text("1 / 0\n")
    Path("seven.py").write_text("problem = 7\n")
    Path("task.py").write_text(TASK)
    Path("links.txt").write_text("0 1\n1 two\n")
    Path("study.toml").write_text('[study]\ntitle = "Nothing to tell"\nformula = "y ~ x"\n')
    for name in ("a", "b"):
        rows = "".join(f"{row * row % 7},3\n" for row in range(20))
        Path(f"{name}.csv").write_text(f"y,x\n{rows}")
    Path("file").write_text("in the way")
    Path("empty").mkdir()
    Path("full").mkdir()
    Path("full/file").write_text("in the way")


def _spoil_plans(signed: str) -> None:
    _do(plan("--unsafe", out="unsafe.toml", cards=CARDS, algorithm="dgd", noise_bound=None, persistent=None))
    Path("digits.toml").write_text(signed.replace("seed = 0", f"seed = {'9' * 5000}"), encoding="utf-8")
    Path("nested.toml").write_text(signed.replace("seed = 0", f"seed = {'[' * 5000}"), encoding="utf-8")
    Path("home-b/policy.toml").write_text("[policy]\nmin_sd = 1000.0\n")
    Path("home-c/policy.toml").write_text("[policy]\nmin_ds = 1.0\n")
    _do(plan(out="damaged.toml", cards=CARDS, rounds=7))
    damaged = RunFolder(Home(Path("home-a")).run(read_plan(Path("damaged.toml")).run_hash))
    damaged.make()
    (damaged.path / "status.json").touch()


def _do(words: str) -> None:
    assert main(shlex.split(words)) == 0


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.parametrize("mistake", ALL, ids=lambda mistake: mistake.words)
def test_a_mistake_is_named_and_leaves_nothing_behind(
    mistake: Mistake, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(desk)
    before = _files(desk)
    capsys.readouterr()
    assert main(shlex.split(mistake.words)) == mistake.code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert mistake.culprit in shown.err
    assert mistake.fix in shown.err
    assert "Traceback" not in shown.err
    assert _files(desk) == before


def test_programs_are_told_the_same(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(desk)
    assert main(["solve", "typo.toml", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "BadConfig"
    assert "did you mean 'delta'?" in error["message"]


def _commands(parent: App, words: tuple[str, ...] = ()) -> Iterator[str]:
    names = [name for name in parent if not name.startswith("-")]
    if not names:
        yield " ".join(words)
    for name in names:
        yield from _commands(parent[name], (*words, name))


def test_every_command_has_its_mistakes() -> None:
    typed = [mistake.words + " " for mistake in ALL]
    assert [one for one in _commands(app) if not any(words.startswith(f"{one} ") for words in typed)] == []


@pytest.mark.parametrize(
    "words", [["peer", "verify", "plan.toml", "--with"], ["peer", "status", "plan.toml", "--home"]]
)
def test_a_file_that_somebody_sent_draws_no_line_by_its_name(
    words: list[str], desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(desk)
    assert main([*words, "given/x\n4 of 4 links were verified"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(
        "hocket: the argument 'given/x 4 of 4 links were verified' holds a line break"
    )
    assert shown.err.count("\n") == 1
