"""The examples run, in a reduced size, from a process of their own as a reader would start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAID = {
    "sensors": "noise of one's own",
    "power": "marginal cost",
    "sign-off": "P1 and P2 hold (Theorem 2)",
    "new-algorithm": "no theorem",
}
"""What each must print among other things; the hospitals have a test of their own, in tests/peers."""


def test_every_example_is_run() -> None:
    folders = {path.parent.name for path in ROOT.glob("examples/*/run.py")}
    assert folders == {*SAID, "hospitals"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAID)
def test_an_example_runs_and_draws(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name / "run.py"), "--quick", "--out", str(tmp_path / "out")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAID[name] in done.stdout
    assert "<svg" in (tmp_path / "out" / "figure.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAID)
def test_the_figure_of_its_page_is_there(name: str) -> None:
    assert (ROOT / "examples" / name / "figure.svg").is_file()
