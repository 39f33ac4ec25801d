"""`hocket peer run`, `check`, `status`, `stop` and `drop`, as operators use them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hocket.cli.peer import peer
from hocket.errors import BadConfig, BadPlan, UnsafePlan

from .federation_case import Federation

ROOT = Path(__file__).parents[2]
TASK = f"{Path(__file__).parent / 'quadratic_file.py'}:task"


def ask(federation: Federation, name: str, *words: str) -> Any:
    """A command's answer, as data."""
    command, *rest = words
    return peer(
        [command, str(federation.plan_file), *rest, "--home", str(federation.home(name).folder)],
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    ).data


def start(
    federation: Federation, name: str, command: str = "run", pause: float = 0.0
) -> subprocess.Popen[str]:
    federation.consent(name, federation.plan)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "QUADRATIC_MEMBER": str(federation.plan.agent(name)),
        "QUADRATIC_PAUSE": str(pause),
        "JAX_PLATFORMS": "cpu",
    }
    code = "import sys; from hocket.cli.peer import peer; print(peer(sys.argv[1:], result_action='return_value').data)"
    words = [command, str(federation.plan_file), "--task", TASK, "--home", str(federation.home(name).folder)]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def federation(tmp_path) -> Federation:
    return Federation(tmp_path, members=2, topology="path", rounds=400)


def wait_for_round(federation: Federation, name: str, k: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if ask(federation, name, "status")["round"] >= k:
                return
        except BadConfig:
            pass
        time.sleep(0.1)
    raise AssertionError(f"{name} did not reach round {k}")


@pytest.mark.slow
def test_run_status_stop_and_run_again(federation):
    running = {name: start(federation, name, pause=0.01) for name in federation.names}
    try:
        wait_for_round(federation, "ash", 5)
        assert ask(federation, "ash", "status")["running"]
        stopped = ask(federation, "ash", "stop")
        assert 5 <= stopped["round"] < 400
        _, errors = running["ash"].communicate(timeout=30)
        assert "go on with the same command" in errors
        assert not ask(federation, "ash", "status")["running"]
        with pytest.raises(BadConfig, match="ash is not running"):
            ask(federation, "ash", "stop")
        running["ash"] = start(federation, "ash")
        for process in running.values():
            out, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
            assert "published.npy" in out
        assert ask(federation, "ash", "status")["finished"]
    finally:
        for process in running.values():
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_check_reaches_who_is_there(federation):
    checking = {name: start(federation, name, "check") for name in federation.names}
    for process in checking.values():
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "'ready': True" in out
        assert "'repeatable': True" in out


def test_a_vote_lies_ready_for_the_running_process(tmp_path):
    federation = Federation(tmp_path, members=3, topology="complete")
    with pytest.raises(UnsafePlan, match="What remains is not safe: nothing was voted"):
        ask(federation, "ash", "drop", "cedar")
    assert not (federation.member("ash").folder.votes / "cedar.vote").exists()
    answer = ask(federation, "ash", "drop", "cedar", "--accept-unsafe")
    assert answer["leavers"] == ["cedar"]
    assert federation.member("ash").folder.accepted == {frozenset({"cedar"})}
    assert answer["verdict"]
    assert (federation.member("ash").folder.votes / "cedar.vote").is_file()


def test_nobody_can_drop_a_stranger(federation):
    with pytest.raises(BadPlan, match="oak is not in this plan"):
        ask(federation, "ash", "drop", "oak")


def test_status_of_a_run_that_was_never_begun(federation):
    with pytest.raises(BadConfig, match="begin it with hocket peer run"):
        ask(federation, "ash", "status")


@pytest.mark.parametrize(
    "task", ["nowhere.py:task", "task", f"{Path(__file__).parent / 'quadratic_file.py'}:wrong"]
)
def test_a_task_that_cannot_be_loaded_is_named(federation, task):
    with pytest.raises(BadConfig, match=r"task|wrong"):
        ask(federation, "ash", "check", "--task", task)


def test_sigterm_is_a_clean_stop(federation):
    process = start(federation, "ash")
    deadline = time.monotonic() + 60
    while not federation.member("ash").folder.path.joinpath("status.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert "stopped in round 0; go on with the same command" in errors
