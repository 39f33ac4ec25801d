"""What is built can be installed and used, and the front door opens quickly."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from hocket.cli import main

ROOT = Path(__file__).parents[2]
HEAVY = {"jax", "equinox", "matplotlib", "numpy", "scipy", "networkx", "pydantic", "grpc", "cryptography"}


def run(*words: object, cwd: Path) -> str:
    """What a command prints; PYTHONPATH is left out, so that the checkout cannot stand in for what was installed."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_and_the_sdist_install_into_a_clean_environment(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    run(*pip, "install", "build", cwd=tmp_path)
    run(python, "-m", "build", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)  # the wheel from the sdist
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {"hocket/report/page.css", "hocket/report/sort.js"} <= packed
    assert not any(name.startswith(("tests/", "docs/")) for name in packed)
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("docs/start.md") for name in archive.getnames())

    run(*pip, "install", wheel, cwd=tmp_path)
    assert run(tmp_path / "env" / "bin" / "hocket", "--version", cwd=tmp_path).startswith("hocket ")
    assert "JAX" in run(python, "-m", "hocket", "--version", cwd=tmp_path)
    asked = ("audit", "--topology", "cycle:5", "--colluders", "1", "--rounds", "5", "--html", "audit.html")
    run(python, "-m", "hocket", *asked, cwd=tmp_path)
    assert (tmp_path / "audit.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    "words", [("-c", "import hocket"), ("-m", "hocket", "--help")], ids=["import hocket", "hocket --help"]
)
def test_nothing_heavy_is_loaded_at_the_door(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not HEAVY & loaded


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [name for name in ("audit", "solve", "peer", "--topology") if name not in script] == []
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)  # it parses
