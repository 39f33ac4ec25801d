"""A process that is lost ends all the others with its name; what was reached is taken up by any number of processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.engines.cluster import liveness, processes
from hocket.engines.cluster.liveness import ALARM, ALARMED, ALIVE, LEFT, PATIENCE, LivenessWatch
from hocket.engines.cluster.local_processes import run_together
from hocket.engines.cluster.processes import ADDRESS, COUNT, NUMBER
from hocket.errors import BadInput, ClusterError
from hocket.machine import LOOPBACK, held_ports
from hocket.runs.storage import read_arrays
from tests.cluster import long_run
from tests.cluster.groups import HERE, ROOT

SCRIPT = HERE / "long_run.py"


class Store:
    """The coordinator's memory, within reach."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self.answers = True

    def key_value_set(self, key: str, value: str, allow_overwrite: bool) -> None:
        self.words[key] = value

    def key_value_dir_get(self, folder: str) -> list[tuple[str, str]]:
        if not self.answers:
            raise RuntimeError("no connection")
        return [(key, word) for key, word in self.words.items() if key.startswith(folder)]


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> Any:
    store, ended = Store(), []
    store.words |= {f"{ALIVE}1": "1", f"{ALIVE}2": "1"}
    return LivenessWatch(store, 0, 3, ended=ended.append, clock=clock, sleep=clock.sleep), store, ended


def beat(store: Store, *numbers: int) -> None:
    for number in numbers:
        store.words[f"{ALIVE}{number}"] += "1"


def test_a_process_without_signs_of_life_is_named(watch, clock):
    guard, store, ended = watch
    guard._look()
    clock.sleep(PATIENCE + 1)
    beat(store, 1)
    guard._look()
    assert len(ended) == 1
    assert ended[0].startswith("process 2 of 3 is lost: no sign of life for 20 s")


def test_a_process_that_says_it_is_busy_is_waited_for(watch: Any, clock: Clock) -> None:
    guard, store, ended = watch
    other = LivenessWatch(store, 2, 3, clock=clock, sleep=clock.sleep)
    with other.busy():
        for _ in range(5):  # nothing of it can beat
            guard._look()
            clock.sleep(PATIENCE + 1)
            beat(store, 1)
        guard._look()
        assert not ended
    store.words[f"{ALIVE}2"] = "7"
    guard._look()
    assert not ended
    clock.sleep(PATIENCE + 1)
    beat(store, 1)
    guard._look()
    assert ended[0].startswith("process 2 of 3 is lost")


def test_an_alarm_shortens_the_wait(watch, clock):
    guard, store, ended = watch
    guard._look()
    clock.sleep((ALARMED + PATIENCE) / 2)
    beat(store, 2)
    guard._look()
    assert not ended
    store.words[f"{ALARM}2"] = "ValueError"
    guard._look()
    assert "process 1 of 3 is lost" in ended[0]


def test_who_leaves_is_missed_only_while_a_run_is_played(watch, clock):
    guard, store, ended = watch
    store.words[f"{ALIVE}1"] = LEFT
    guard._look()
    clock.sleep(PATIENCE + 1)
    beat(store, 2)
    guard._look()
    assert not ended
    with guard.over():
        guard._look()
    assert "process 1 of 3 left before the run was over" in ended[0]


def test_a_coordinator_that_no_longer_answers_is_named(watch, clock):
    guard, store, ended = watch
    store.answers = False
    clock.sleep(PATIENCE + 1)
    guard._look()
    assert "process 0, which coordinates the cluster, no longer answers" in ended[0]


def test_a_failed_collective_raises_the_alarm(watch):
    guard, store, ended = watch
    with pytest.raises(ValueError, match="Gloo"), guard.over():
        raise ValueError("UNKNOWN: Gloo collective permute failed: Connection closed by peer")
    assert f"{ALARM}0" in store.words
    assert not ended
    guard._listening = lambda: False
    with pytest.raises(ValueError, match="Gloo"), guard.over():
        raise ValueError("UNKNOWN: Gloo all-reduce failed: Connection reset by peer")
    assert ended[0].startswith("process 0, which coordinates the cluster, no longer answers")


def test_a_coordinator_that_still_takes_calls_while_it_dies_is_named(watch, clock):
    guard, *_ = watch
    assert guard._why_aborted() == liveness.ABORTED
    answers = iter([True, True, False])
    guard._listening = lambda: next(answers)
    assert guard._why_aborted() == liveness.GONE


def test_a_coordinator_out_of_reach_is_named_by_its_address(monkeypatch):
    with held_ports(1) as [port]:
        address = f"{LOOPBACK}:{port}"
        with pytest.raises(ClusterError, match=rf"process 0 at {address}, cannot be reached after 0.5 s"):
            processes._reach(address, 0.5)
    with pytest.raises(BadInput, match="write HOST:PORT"):
        processes._reach("nowhere", 0.5)


def test_how_a_process_was_started_is_read_from_its_environment():
    started = {ADDRESS: "host:1", COUNT: "3", NUMBER: "2"}
    assert processes._called(started) == processes.ClusterPlace("host:1", 3, 2)
    assert processes._called({}) is None
    assert processes._called({"SLURM_STEP_NUM_TASKS": "1"}) is None
    assert processes._called({"SLURM_STEP_NUM_TASKS": "8"}) == processes.ClusterPlace()
    with pytest.raises(BadInput, match="JAX_PROCESS_ID is not a whole number"):
        processes._called({ADDRESS: "host:1", COUNT: "3"})
    with pytest.raises(BadInput, match="processes are numbered from 0"):
        processes._called(started | {NUMBER: "3"})


def kill_when_kept(folder: Path, number: int, how: int = signal.SIGKILL) -> None:
    """A signal to one process, once a checkpoint is written."""
    deadline = time.monotonic() + 200
    while not (folder / "checkpoint.npz").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(int((folder / f"process-{number}").read_text()), how)


@pytest.mark.slow
def test_a_killed_run_is_taken_up_by_another_number_of_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    killer = threading.Thread(target=kill_when_kept, args=(tmp_path, 2))
    killer.start()
    command = ["hocket.engines.cluster", str(SCRIPT), str(tmp_path), "slowly"]
    with pytest.raises(ClusterError, match=r"process 2 of 4 is lost: it ended by signal 9 \(SIGKILL\)"):
        run_together(command, 4)
    killer.join()
    assert not (tmp_path / "x.npy").exists()
    ended = run_together(["hocket.engines.cluster", str(SCRIPT), str(tmp_path), "at once"], 2)
    assert ended.well
    assert 1 < int(ended.output) < long_run.ROUNDS  # it did go on from somewhere
    run = long_run.play("simulator")
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), run.x, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_watch_that_is_in_the_middle_of_a_call_does_not_spoil_the_end(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ended = run_together(["hocket.engines.cluster", str(HERE / "busy_watch.py")], 2)
    assert ended.codes == (0, 0)


@contextmanager
def three(folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """As on many machines: nobody but the processes themselves can tell how the others are."""
    with held_ports(1) as [port]:
        called = {ADDRESS: f"{LOOPBACK}:{port}", COUNT: "3"}
        environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"} | called
        command = [sys.executable, "-m", "hocket.engines.cluster", str(SCRIPT), str(folder), "slowly"]
        group = [
            subprocess.Popen(command, env=environment | {NUMBER: str(number)}, stderr=subprocess.PIPE)
            for number in range(3)
        ]
        try:
            yield group
        finally:
            for process in group:
                process.kill()
                process.communicate()


def last_words(group: Sequence[subprocess.Popen[bytes]]) -> list[str]:
    """The last line that each says, after all have ended with an error."""
    said = [process.communicate(timeout=90)[1].decode() for process in group]
    assert all(process.returncode for process in group)
    return [words.splitlines()[-1] for words in said]


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
def test_without_anybody_watching_processes_end_each_other(tmp_path, lost):
    with three(tmp_path) as group:
        kill_when_kept(tmp_path, lost)
        words = last_words([group[number] for number in range(3) if number != lost])
    name = {0: "process 0, which coordinates the cluster, no longer", 1: "process 1 of 3 is lost"}[lost]
    assert all(name in word for word in words), words


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "how"), [(1, signal.SIGTERM), (0, signal.SIGINT)])
def test_asked_once_all_stop_after_the_same_round(tmp_path, asked, how):
    with three(tmp_path) as group:
        kill_when_kept(tmp_path, asked, how)
        words = last_words(group)
    (word,) = set(words)
    reached = int(
        re.search(r"Interrupted: interrupted after round (\d+) of 3000; what was reached is in", word)[1]
    )
    assert int(read_arrays(tmp_path / "checkpoint.npz")["carry/0"]) == reached + 1
