"""The command line: answers on standard output, everything else on standard error, and nothing lost."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hocket
from hocket.cli import main
from hocket.cli.app import app
from hocket.config import reopen_folder
from hocket.engines.solver import solve

PROBLEM = """
[problem]
kind = "paper-polynomials"
[network]
topology = "cycle:5"
[algorithm]
name = "rss-nb"
delta = 1.0
[run]
rounds = ROUNDS
start = [1.0, -0.5, 0.25, -0.75, 0.5]
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(hocket.__file__).parents[1])}
"""A process of its own runs the code under test, installed or not."""
FILES = {
    "config.toml",
    "run.json",
    "run.npz",
    "metrics.csv",
    "convergence.svg",
    "convergence.png",
    "report.html",
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_problem(folder, rounds=50, **changes):
    """A configuration file, with some of its text replaced."""
    text = PROBLEM.replace("ROUNDS", str(rounds))
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "problem.toml").write_text(text)


def states(folder):
    return np.load(folder / "run.npz")["x"]


def test_help_needs_nothing_heavy():
    code = "import sys, hocket.cli; print(*sys.modules)"
    python = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    loaded = set(python.stdout.split())
    assert loaded.isdisjoint(
        {"jax", "numpy", "matplotlib", "equinox", "networkx", "pydantic", "scipy", "jinja2"}
    )


@pytest.mark.parametrize("command", [None, *(name for name in app if not name.startswith("-"))])
def test_every_help_has_an_example(command, capsys):
    assert main([command, "--help"] if command else ["--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Example: hocket {command or ''}" in shown
    assert "--json" in shown


def test_version(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"hocket \S+, Python \S+, JAX \S+ on \S+: .+\n", capsys.readouterr().out)
    assert main(["--version", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"hocket", "python", "jax", "device"}


@pytest.mark.parametrize(
    ("words", "code", "kind", "message"),
    [
        (["slove"], 2, "Usage", 'Did you mean "solve"?'),
        (["solve"], 2, "Usage", "requires an argument"),
        (["demo", "--uot", "x"], 2, "Usage", "Did you mean --out?"),
        (["solve", "missing.toml"], 1, "BadConfig", "there is no file missing.toml"),
        (["solve", "."], 1, "BadConfig", "it has no config.toml"),
        (["solve", ".", "--out", "x"], 1, "BadConfig", "leave --out away"),
        (["solve", "problem.toml"], 1, "BadConfig", "did you mean 'delta'?"),
    ],
    ids=str,
)
def test_errors_are_words_and_codes(tmp_path, capsys, words, code, kind, message):
    write_problem(tmp_path, delta="detla")
    assert main(words) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert main([*words, "--json"]) == code
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == kind
    assert message in error["message"]
    assert not (tmp_path / "runs").exists()


def test_solve_writes_a_folder_that_reproduces_itself(tmp_path, capsys):
    write_problem(tmp_path)
    assert main(["solve", "problem.toml"]) == 0
    shown = capsys.readouterr()
    for word in ("out of rounds after 50", "gap", "disagreement", "realised noise", "Theorem 1"):
        assert word in shown.out
    assert "Report: runs/problem-1/report.html" in shown.out
    assert shown.err == "Solving problem.toml in runs/problem-1\n"
    folder = tmp_path / "runs" / "problem-1"
    assert {path.name for path in folder.iterdir()} == FILES
    first = states(folder)

    (tmp_path / "problem.toml").unlink()
    assert main(["solve", "runs/problem-1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["same_bits"] is True
    assert answer["outcome"]["ending"] == "out of rounds"
    assert answer["mean"] == pytest.approx(first.mean(axis=0))
    np.testing.assert_array_equal(states(folder), first)
    assert {path.name for path in folder.iterdir()} == FILES


def test_what_a_users_file_prints_stays_out_of_the_json(tmp_path, capsys):
    write_problem(tmp_path, **{'kind = "paper-polynomials"': 'python = "mine.py:problem"'})
    (tmp_path / "mine.py").write_text(
        "import hocket as hk\nprint('hello')\nproblem = hk.paper_polynomials()\n"
    )
    assert main(["solve", "problem.toml", "--json", "--out", "here"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["folder"] == "here"
    assert "hello" in shown.err


LOSS = """
import hocket as hk
import jax.numpy as jnp
# The objective of agent 2 has no value below -0.1, where the others pull it.
problem = hk.Problem(
    lambda x, bad: ((x + 1) ** 2).sum() + bad * jnp.sqrt(x[0] + 0.1),
    jnp.array([0.0, 0.0, 1.0, 0.0, 0.0]),
    feasible=hk.Box(-1.0, 1.0),
    dim=1,
    optimum=0.0,
)
"""


def test_a_run_that_breaks_leaves_what_it_reached(tmp_path, capsys):
    own = {'kind = "paper-polynomials"': 'python = "mine.py:problem"', "[1.0, -0.5, 0.25, -0.75, 0.5]": "1.0"}
    write_problem(tmp_path, **own)
    (tmp_path / "mine.py").write_text(LOSS)
    assert main(["solve", "problem.toml", "--out", "here"]) == 1
    error = capsys.readouterr().err
    assert re.search(r"diverged at round \d+: agent \d's (state|objective) is not finite", error)
    assert {path.name for path in (tmp_path / "here").iterdir()} == FILES | {"checkpoint.npz"}
    assert json.loads((tmp_path / "here" / "run.json").read_text())["outcome"]["ending"] == "diverged"


def interrupt_when_it_shows_progress(arguments):
    """Press Ctrl-C once the bar is on the screen; returns the exit code and what went to each stream."""
    screen, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hocket", *arguments],
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        env=ENVIRONMENT,
    )
    os.close(terminal)
    shown, deadline, pressed = b"", time.monotonic() + 90, False
    try:
        while time.monotonic() < deadline:
            if not select.select([screen], [], [], 1)[0]:
                continue
            try:
                shown += os.read(screen, 1 << 16)
            except OSError:  # the terminal is closed: the process has ended
                break
            if b"disagreement" in shown and not pressed:
                process.send_signal(signal.SIGINT)
                pressed = True
        assert process.poll() is not None or time.monotonic() < deadline, f"{pressed = }: {shown.decode()}"
        out, _ = process.communicate(timeout=30)
    finally:
        with process:  # waits, and closes its pipes
            process.kill()
        os.close(screen)
    return process.returncode, out, shown.decode()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of its own")
def test_ctrl_c_keeps_the_run_and_says_how_to_go_on(tmp_path, capsys):
    write_problem(tmp_path, rounds=1 << 29)
    code, out, shown = interrupt_when_it_shows_progress(["solve", "problem.toml", "--out", "here", "--json"])
    assert code == 130, shown
    error = json.loads(out)["error"]
    assert error["kind"] == "Interrupted"
    assert "go on with: hocket solve here" in error["message"]
    assert "Traceback" not in shown
    reached = int(re.search(r"after round (\d+)", error["message"])[1])
    assert (tmp_path / "here" / "checkpoint.npz").exists()

    # The rest would take hours: ask for a little more than was reached.
    rounds, path = reached + 1000, tmp_path / "here" / "config.toml"
    path.write_text(path.read_text().replace(str(1 << 29), str(rounds)))
    assert main(["solve", "here"]) == 0
    assert f"out of rounds after {rounds}" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "here").iterdir()} == FILES
    np.testing.assert_array_equal(
        states(tmp_path / "here"), solve(**reopen_folder(tmp_path / "here").build()).x
    )


@pytest.mark.slow
def test_demo(tmp_path, capsys, monkeypatch):
    from hocket.demo import demonstration as demo

    monkeypatch.setattr(demo, "demonstrate", partial(demo.demonstrate, 300, 3))
    assert main(["demo", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [result["algorithm"] for result in answer["results"]] == ["DGD", "RSS-NB", "RSS-LB", "FS"]
    assert {result["theorem"] for result in answer["results"]} == {"Theorem 1"}
    assert answer["conclusion"].startswith("All four find the same optimum")
    assert answer["report"] == "runs/demo-1/report.html"
    assert answer["clinics"]["rows"] == 569
    assert answer["clinics"]["farthest"] < 1e-10  # by totals and pooled, the same regression
    folder = tmp_path / "runs" / "demo-1"
    configurations = {"dgd.toml", "rss-nb.toml", "rss-lb.toml", "function-sharing.toml"}
    figures = {"convergence.svg", "convergence.png"}
    assert {path.name for path in folder.iterdir()} == configurations | figures | {
        "report.html",
    }

    # A configuration of the demonstration runs by itself, to the first of its seeds.
    assert main(["solve", "runs/demo-1/rss-nb.toml", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["settings"]["rounds"] == 300


@pytest.mark.slow
def test_the_demo_in_full(capsys):
    began = time.monotonic()
    assert main(["demo"]) == 0
    assert time.monotonic() - began < 60
    shown = capsys.readouterr().out
    first = [line.split()[0] for line in shown.splitlines() if line.strip()]
    assert [word for word in first if word in ("DGD", "RSS-NB", "RSS-LB", "FS")] == [
        "DGD",
        "RSS-NB",
        "RSS-LB",
        "FS",
    ]
    assert first.index("Intercept") < first.index("DGD")
    assert shown.splitlines()[-1].startswith("All four find the same optimum")
