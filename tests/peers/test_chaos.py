"""Members that are killed at any moment leave no trace in the result."""

from __future__ import annotations

import random
import signal
import time

import pytest

from .federation_case import Federation


def play(federation: Federation, *, kills: int, seed: int = 0) -> list[bytes]:
    """Run all members in processes, kill so many of them at random moments, and return their final states."""
    rng = random.Random(seed)
    running = {name: federation.start(name, pause=0.002) for name in federation.names}
    try:
        while any(process.poll() is None for process in running.values()):
            for name, process in running.items():
                assert process.poll() in (None, 0), (federation.folder / f"{name}.err").read_text()
            alive = [name for name, process in running.items() if process.poll() is None]
            if kills and len(alive) == len(running):
                victim = rng.choice(alive)
                running[victim].send_signal(signal.SIGKILL)
                running[victim].wait()
                running[victim] = federation.start(victim, pause=0.002)
                kills -= 1
                time.sleep(
                    rng.uniform(0.0, 2.0)
                )  # short: a fast machine must not end the run before the last kill
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    assert kills == 0, f"the run was over before {kills} more members could be killed"
    return [part.tobytes() for name in federation.names for part in federation.ended(name)[:2]]


def compare(federation: Federation, *, kills: int) -> None:
    """A stormy run, and the same plan and secrets once more in calm."""
    stormy = play(federation, kills=kills)
    for name in federation.names:
        federation.wipe(name)
    assert stormy == play(federation, kills=0)


@pytest.mark.slow
def test_a_killed_member_leaves_no_trace(tmp_path):
    compare(Federation(tmp_path, members=2, rounds=500, topology="path"), kills=2)


@pytest.mark.endurance
def test_thirty_kills_over_five_members(tmp_path):
    compare(Federation(tmp_path, members=5, rounds=3000), kills=30)
