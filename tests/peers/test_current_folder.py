"""No process of hocket's takes code from the folder in which a command was typed: others may leave files there."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hocket.cli import main
from hocket.config.files import load_name
from hocket.demo.members.demonstration import start
from hocket.engines.cluster.local_processes import run_together
from hocket.errors import BadConfig, LinkError
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.state.home import Home
from hocket.links.relay import forwarding
from hocket.links.relay.forwarder import Orders
from hocket.links.relay.forwarding import Forwarding
from hocket.machine import running
from tests.peers.plans import IDENTITIES, drawn

ROOT = Path(__file__).parents[2]
LOOT = """
import os
with open(os.path.join(os.path.dirname(__file__), "loot"), "w") as file:
    file.write("run as " + str(os.getpid()))
raise SystemExit
"""
"""What somebody else leaves in a shared folder under the names of modules that everything imports."""
TASK = f"{Path(__file__).parent / 'quadratic_file.py'}:task"


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with somebody else's modules in it; the command is typed there."""
    folder = tmp_path / "shared"
    folder.mkdir()
    for name in ("random", "json", "asyncio", "cryptography", "numpy", "hocket"):
        (folder / f"{name}.py").write_text(LOOT)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return folder


def orders() -> Orders:
    return Orders(IDENTITIES[0], "ab" * 32, (), (), {})


def test_the_process_that_is_given_the_key_takes_no_code_from_there(shared):
    async def scene() -> None:
        made = await Forwarding.start(orders())
        await made.close()

    asyncio.run(scene())
    assert not (shared / "loot").exists()


def test_a_member_of_the_demonstration_and_a_cluster_take_none(shared, tmp_path):
    process = start(tmp_path, "nobody")
    assert process.wait(60) != 0  # there is no such member
    assert "there is no file" in (tmp_path / "nobody.err").read_text()
    script = tmp_path / "script.py"
    script.write_text("print('here')")
    assert run_together(["hocket.engines.cluster", str(script)], 1).output == "here\n"
    assert not (shared / "loot").exists()


def test_a_unit_and_its_loop_take_none(shared, tmp_path):
    write_plan(drawn(), tmp_path / "plan.toml")
    IDENTITIES[1].save(Home(tmp_path / "home").identity)
    words = ["--task", TASK, "--home", str(tmp_path / "home"), "-o", str(tmp_path / "unit")]
    assert main(["peer", "service", str(tmp_path / "plan.toml"), *words]) == 0
    line = next(one for one in (tmp_path / "unit").read_text().splitlines() if one.startswith("ExecStart="))
    command = shlex.split(line.removeprefix("ExecStart="))
    assert command[:2] == [sys.executable, "-P"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "QUADRATIC_MEMBER" in done.stderr  # it came as far as the task, which asks for this
    assert not (shared / "loot").exists()


def test_what_is_typed_as_a_module_looks_for_nothing_else_there(shared):
    """`python -m hocket` begins with the folder on its path: hocket takes it off before it imports anything else."""
    (shared / "hocket.py").unlink()
    command = [sys.executable, "-m", "hocket", "--help"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (shared / "loot").exists()


def test_a_relative_folder_in_the_environment_is_passed_on_to_nobody(shared, monkeypatch):
    (shared / "hocket.py").unlink()
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}::.")
    program = (
        "import os, sys; import hocket.cli.app as a; a.main(); print(os.environ['PYTHONPATH'], sys.path)"
    )
    for name in ("random", "json", "asyncio"):  # Python itself may look for these before hocket is there
        (shared / f"{name}.py").unlink()
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, "completion", "bash"],
        check=False,
        capture_output=True,
        text=True,
    )
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"{ROOT} ["), done.stderr
    assert str(shared) not in last
    assert not (shared / "loot").exists()


def test_an_installed_package_needs_no_environment(monkeypatch):
    """Where hocket lies among the interpreter's own packages, processes without a user's code are isolated."""
    monkeypatch.setattr("site.getsitepackages", lambda: [str(ROOT)])
    assert running("hocket.x", "a", isolated=True) == [sys.executable, "-I", "-m", "hocket.x", "a"]
    assert running("hocket.x") == [sys.executable, "-P", "-m", "hocket.x"]
    monkeypatch.setattr("site.getsitepackages", list)
    assert running("hocket.x", isolated=True) == [sys.executable, "-P", "-m", "hocket.x"]


def test_what_lies_beside_a_task_takes_no_other_modules_place(tmp_path):
    """A task that is asked for by name may import its helpers; they are looked for last."""
    (tmp_path / "colorsys.py").write_text(
        "false = True"
    )  # of the standard library, and imported by nothing here
    (tmp_path / "helper.py").write_text("answer = 42")
    (tmp_path / "mine.py").write_text(
        "import colorsys, helper\ntask = hasattr(colorsys, 'false'), helper.answer"
    )
    assert load_name(tmp_path / "mine.py", "task") == (False, 42)


def test_helpers_are_not_taken_from_where_everybody_may_write(tmp_path):
    (tmp_path / "helper_of_all.py").write_text("answer = 42")
    (tmp_path / "mine.py").write_text("import helper_of_all\ntask = 1")
    tmp_path.chmod(0o1777)
    with pytest.raises(BadConfig, match=r"everybody on this machine may write there.*chmod o-w"):
        load_name(tmp_path / "mine.py", "task")
    tmp_path.chmod(0o755)
    assert load_name(tmp_path / "mine.py", "task") == 1


def test_what_a_forwarder_says_as_it_fails_is_logged(monkeypatch):
    said: list[dict[str, Any]] = []
    failing = [sys.executable, "-c", "import sys; sys.exit('no module named websockets\\x1b[2J')"]
    monkeypatch.setattr(forwarding, "running", lambda *words, **more: failing)

    async def scene() -> None:
        await Forwarding.start(orders(), lambda event, **about: said.append({"event": event, **about}))

    with pytest.raises(LinkError, match=r"did not start: no module named websockets\\x1b"):
        asyncio.run(scene())
    assert said[0]["event"] == "forwarder"
    assert "no module named websockets" in said[0]["words"]
