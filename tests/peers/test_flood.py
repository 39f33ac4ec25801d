"""Strangers who open connections without end, while members with few files run: nobody can tell from the result."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from hocket.errors import HocketError

from .federation_case import Federation

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")


class Cost(NamedTuple):
    """The most that a member took."""

    files: int = 0
    megabytes: int = 0


def measured(process: subprocess.Popen[bytes], before: Cost) -> Cost:
    """What a member has taken so far; what it had before, if it has ended meanwhile."""
    folder = Path(f"/proc/{process.pid}")
    try:
        files = len(os.listdir(folder / "fd"))
        [peak] = [line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM")]
    except (OSError, ValueError):
        return before
    return Cost(max(before.files, files), int(peak.split()[1]) >> 10)


def limited(process: subprocess.Popen[bytes], files: int) -> subprocess.Popen[bytes]:
    """The same process, which may not open more files than these."""
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (files, files))
    return process


def play(
    federation: Federation, *, files: int, strangers: int = 0, at_once: int = 0, within: float = 600
) -> tuple[list[bytes], dict[str, Cost]]:
    """All members in processes with so few files, beside so many strangers; their final states and what they took."""
    running = {name: limited(federation.start(name, pause=0.002), files) for name in federation.names}
    costs = dict.fromkeys(running, Cost())
    crowd = None
    deadline = time.monotonic() + within
    try:
        while any(process.poll() is None for process in running.values()):
            assert time.monotonic() < deadline, "the members are still running"
            for name, process in running.items():
                costs[name] = measured(process, costs[name])
                assert process.poll() in (None, 0), (federation.folder / f"{name}.err").read_text()
            if strangers and crowd is None and all(round_of(federation, name) > 5 for name in running):
                crowd = start_crowd(federation, strangers, at_once)
            time.sleep(0.05)
        assert not strangers or (crowd is not None and crowd.poll() == 0), "not all strangers had come yet"
    finally:
        for process in (*running.values(), *([] if crowd is None else [crowd])):
            process.kill()
            process.wait()
    return [part.tobytes() for name in federation.names for part in federation.ended(name)[:2]], costs


def round_of(federation: Federation, name: str) -> int:
    try:
        return federation.member(name).folder.status()["round"]
    except HocketError:  # it has not said anything yet
        return 0


def start_crowd(federation: Federation, strangers: int, at_once: int) -> subprocess.Popen[bytes]:
    addresses = [federation.plan.card(name).address or "" for name in federation.names]
    listening = [address.rpartition(":")[2] for address in addresses if is_open(address)]
    command = [sys.executable, "-m", "tests.peers.flood_process", str(strangers), str(at_once), *listening]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2])


def is_open(address: str) -> bool:
    """Whether anybody listens there; a member that dials all its links does not."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def compare(federation: Federation, *, files: int, strangers: int, at_once: int) -> dict[str, Cost]:
    """A run beside a crowd, and the same plan and secrets once more in calm."""
    crowded, costs = play(federation, files=files, strangers=strangers, at_once=at_once)
    for name in federation.names:
        federation.wipe(name)
    calm, usual = play(federation, files=files)
    assert crowded == calm
    for name, cost in costs.items():
        assert cost.files < files
        print(f"{name}: {cost} beside {strangers:,} strangers, {usual[name]} in calm")  # noqa: T201
    return costs


@pytest.mark.slow
def test_a_crowd_does_not_use_up_the_files_of_a_member_that_has_few(tmp_path):
    compare(
        Federation(tmp_path, members=2, rounds=800, topology="path"), files=256, strangers=300, at_once=300
    )


@pytest.mark.endurance
@pytest.mark.timeout(1500)
def test_ten_thousand_strangers_at_five_members(tmp_path, capsys):
    with capsys.disabled():
        compare(Federation(tmp_path, members=5, rounds=5000), files=1024, strangers=10_000, at_once=6_000)
