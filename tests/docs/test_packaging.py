"""What is built can be installed and used, and the front door opens quickly."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import hocket as hk
from hocket.cli import main

ROOT = Path(__file__).parents[2]
HEAVY = {"jax", "equinox", "matplotlib", "numpy", "scipy", "networkx", "pydantic", "grpc", "cryptography"}


USER = """\
import hocket as hk

network = hk.Network.cycle(5)
problem = hk.polynomials([[0.0, 0.0, 1.0]] * 5, box=(-1, 1))
run = hk.solve(problem, network, hk.RssNb(delta=1.0), rounds=10, seed=0)
gap: float = run.gap
wrong: str = run.gap
"""
CERTIFIED = """\
import dataclasses
from typing import Any

import hocket as hk

def certificate(algorithm):
    return hk.certify(hk.Network.cycle(5), algorithm, colluders=1, sensitivity=0.1, rounds=50)

def bare(agent, state, k):
    received = yield hk.Broadcast(state)
    return agent.descend(agent.mix(state, received), k)

class Mine(hk.CertifiedRssNb):
    round: Any

honest = hk.CertifiedRssNb(1.0, 0.5)
found = certificate(honest)
assert found.holds and found.epsilon(1e-6) < 100, found.reason
numbers = {one.name: getattr(honest, one.name) for one in dataclasses.fields(honest)}
assert "Mine is not one of hocket's classes" in certificate(Mine(**numbers, round=bare)).reason
object.__setattr__(honest, "round", bare)
assert "round of this very CertifiedRssNb was put" in certificate(honest).reason
hk.CertifiedRssNb.round = bare
assert "round of CertifiedRssNb was put in from elsewhere" in certificate(hk.CertifiedRssNb(1.0, 0.5)).reason
"""
"""Reads classes as Python makes them, which differs from version to version."""
QUIET = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def run(*words: object, cwd: Path, code: int = 0, **more: str) -> str:
    """What a command prints.

    PYTHONPATH is left out, so that the checkout cannot stand in for what was installed, and the tests' settings of XLA,
    which another version may not know.
    """
    clean = {
        name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "XLA_FLAGS"}
    } | more
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def built(folder: Path) -> Path:
    """The wheel, made from the sdist."""
    venv.create(folder / "builder", with_pip=True)
    python = folder / "builder" / "bin" / "python"
    run(python, *QUIET, "install", "build", cwd=folder)
    run(python, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.mark.slow
def test_the_wheel_and_the_sdist_install_into_a_clean_environment(tmp_path: Path) -> None:
    wheel = built(tmp_path)
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = {str(one.relative_to(ROOT)) for one in (ROOT / "hocket").rglob("*.*") if one.suffix != ".pyc"}
    assert files <= packed
    assert {"hocket/py.typed", "hocket/__init__.pyi"} <= files
    others = {name.split("/")[0] for name in packed} - {"hocket"}
    assert [name.endswith(".dist-info") for name in others] == [True]
    assert any(name.endswith("licenses/LICENSE") for name in packed)
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert all(
        any(name.endswith(end) for name in names) for end in ("docs/start.md", "Containerfile", "LICENSE")
    )

    venv.create(tmp_path / "env", with_pip=True)
    python, hocket = (tmp_path / "env" / "bin" / name for name in ("python", "hocket"))
    run(python, *QUIET, "install", wheel, cwd=tmp_path)
    assert run(hocket, "--version", cwd=tmp_path).startswith("hocket ")
    assert "JAX" in run(python, "-m", "hocket", "--version", cwd=tmp_path)
    run(hocket, "demo", "--out", "demo", cwd=tmp_path)
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert f"Written by hocket {hk.__version__}." in page
    asked = ("audit", "--topology", "cycle:5", "--colluders", "1", "--rounds", "5", "--html", "audit.html")
    run(hocket, *asked, cwd=tmp_path)
    assert (tmp_path / "audit.html").stat().st_size > 10_000
    run(hocket, "reproduce", "claims", cwd=tmp_path, code=1)  # they are in a clone
    check_types(tmp_path / "types", python)


def check_types(folder: Path, python: Path) -> None:
    """Anybody who checks strictly sees hocket's types: a mistake is found, and nothing else is complained of."""
    if importlib.util.find_spec("pyright") is None:  # `make check` installs it
        return
    folder.mkdir()
    (folder / "study.py").write_text(USER)
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    checker = (sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", python, "study.py")
    found = json.loads(run(*checker, cwd=folder, code=1))["generalDiagnostics"]
    assert [(one["range"]["start"]["line"], one["rule"]) for one in found] == [(6, "reportAssignmentType")]


@pytest.mark.endurance
@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_that_is_named_runs_it(version: str, tmp_path: Path) -> None:
    """Those that this machine has; `pytest -ra` says which were missing."""
    python = found_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not on this machine")
    run(python, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    run(python, *QUIET, "install", built(tmp_path), cwd=tmp_path)
    assert f"Python {version}." in run(python, "-m", "hocket", "--version", cwd=tmp_path)
    run(python, "-m", "hocket", "demo", "--out", "demo", cwd=tmp_path)
    run(python, "-c", CERTIFIED, cwd=tmp_path)


def found_python(version: str) -> str | None:
    """An interpreter of this version, on the PATH or among pyenv's."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for one in (*map(str, kept), f"python{version}"):
        # A name on the PATH may be a launcher for a version that is not installed.
        if (place := shutil.which(one)) and not subprocess.run([place, "-c", ""], check=False).returncode:
            return place
    return None


def steps_of(containerfile: str) -> list[tuple[str, str]]:
    """Its instructions, each with the words after it."""
    lines = (line.strip() for line in containerfile.splitlines())
    pairs = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return [(word, rest) for word, _, rest in pairs]


def test_the_container_has_a_python_that_hocket_runs_on() -> None:
    (image,) = [rest for word, rest in steps_of((ROOT / "Containerfile").read_text()) if word == "FROM"]
    assert re.fullmatch(r"python:3\.\d+-slim", image)
    assert image.split(":")[1].removesuffix("-slim") in VERSIONS


@pytest.mark.slow
def test_the_steps_of_the_container_work(tmp_path: Path) -> None:
    """Played in a folder that stands for the root of its files, by the Python at hand."""
    there, path = tmp_path, f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def inside(text: str) -> str:
        return re.sub(r"(?<![\w.])/(opt|build|work)\b", rf"{tmp_path}/\1", text)

    entry: list[str] = []
    for word, rest in steps_of((ROOT / "Containerfile").read_text()):
        match word:
            case "WORKDIR":
                there = Path(inside(rest))
                there.mkdir(parents=True, exist_ok=True)
            case "COPY":
                *names, target = rest.split()
                for name in names:
                    place = ROOT / name
                    copy = shutil.copytree if place.is_dir() else shutil.copy
                    copy(place, there / target if place.is_dir() else there / target / name)
            case "RUN":
                run("sh", "-euc", inside(rest), cwd=there, PATH=path)
            case "ENV":
                name, _, value = rest.partition("=")
                assert name == "PATH"
                path = inside(value).replace("$PATH", path)
            case "ENTRYPOINT" | "CMD":
                entry += json.loads(rest)
            case _:
                assert word in ("FROM", "USER"), f"nobody has said here what {word} does"
    shutil.rmtree(tmp_path / "build")  # what is used must have been installed
    assert "hocket" in run("sh", "-c", shlex.join(entry), cwd=there, PATH=path)
    run("hocket", "audit", "--topology", "cycle:5", "--colluders", "1", "--rounds", "5", cwd=there, PATH=path)


def test_the_stub_names_what_the_package_loads() -> None:
    tree = ast.parse((ROOT / "hocket/__init__.pyi").read_text(encoding="utf-8"))
    imported = {
        (one.name, node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for one in node.names
        if one.asname == one.name  # else it would not be passed on
    }
    homes = {(name, f"hocket.{home}") for name, home in hk._HOME.items()}
    assert imported == homes | {(part, "hocket") for part in hk._PARTS}


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
