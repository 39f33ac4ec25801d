"""An hour in which a member or the relay is killed every twenty seconds: not a bit of the result changes.

`HOCKET_SOAK=300 pytest -m endurance tests/peers/test_soak.py -s` plays five minutes of it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

import psutil
import pytest

from .federation_case import Federation, play
from .relay_case import ROOT, names, start_relay, through
from .test_namespaces import move

SECONDS = float(os.environ.get("HOCKET_SOAK", "3600"))
EVERY = 20.0
"""Seconds between two kills, on average."""
PAUSE = 0.5
"""Seconds that every round takes at least, so that the run cannot be over before the last kill."""
MEMBERS = 8
GREW = 15
"""MB by which a process may be larger in the last quarter than in the second, by the median."""
RELAY = "the relay"


class Soak:
    """All processes of one stormy run, and what they hold."""

    def __init__(self, federation: Federation, name: str, seed: int):
        self.federation = federation
        self.name = name
        self.chance = random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.held: dict[str, list[tuple[float, float]]] = {}
        """By member, relay and forwarder: seconds since the beginning, and MB."""
        self.nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.peers.nursery", str(federation.folder)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.relay = start_relay(federation, name=name)
        self.members = {one: self._born(one, PAUSE) for one in federation.names}
        self.began = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def storm(self, seconds: float) -> None:
        """Kill one every so often; the first member is spared, so that its memory is seen over all that time."""
        _, *mortal = [*self.members, RELAY]
        due = 0.0
        while self.elapsed < seconds:
            due += self.chance.uniform(0.5, 1.5) * EVERY  # a slow start of the relay delays no later kill
            while self.elapsed < due:
                self._look()
                time.sleep(1.0)
            self.kill(self.chance.choice(mortal), pause=PAUSE)

    def kill(self, victim: str, *, pause: float) -> None:
        """SIGKILL, and a new process in its place."""
        self.kills[victim] += 1
        if victim == RELAY:
            self.relay.kill()
            self.relay.communicate()
            self.relay = start_relay(self.federation, name=self.name)
            return
        os.kill(self.members[victim], signal.SIGKILL)
        while psutil.pid_exists(self.members[victim]):
            time.sleep(0.01)
        self.members[victim] = self._born(victim, pause)

    def end(self) -> None:
        """Kill everybody once more, and play the rest of the run without pauses and without kills."""
        for victim in [RELAY, *self.members]:
            self.kill(victim, pause=0.0)
        while self._alive():
            time.sleep(1.0)

    def close(self) -> None:
        for number in self.members.values():
            if psutil.pid_exists(number):
                os.kill(number, signal.SIGKILL)
        for process in (self.relay, self.nursery):
            process.kill()
            process.communicate()

    def reached(self) -> int:
        """The round in which the last of them is."""
        folders = [self.federation.member(one).folder for one in self.members]
        return min(one.status()["round"] if one.begun else 0 for one in folders)

    def _born(self, name: str, pause: float) -> int:
        self.federation.consent(name, self.federation.plan)
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        self.nursery.stdin.write(f"{name} {pause}\n")
        self.nursery.stdin.flush()
        return int(self.nursery.stdout.readline())

    def _alive(self) -> set[str]:
        """Those who run; whoever does not must have finished."""
        alive = {name for name, number in self.members.items() if psutil.pid_exists(number)}
        for name in self.members.keys() - alive:
            said = (self.federation.folder / f"{name}.err").read_text()
            assert self.federation.member(name).folder.status()["finished"], f"{name} died: {said[-2000:]}"
        return alive

    def _look(self) -> None:
        assert len(self._alive()) == MEMBERS, "somebody has finished already"
        for name, number in [(RELAY, self.relay.pid), *self.members.items()]:
            itself = psutil.Process(number)
            self._note(name, itself)
            for child in itself.children():
                self._note(f"forwarder of {name}", child)

    def _note(self, what: str, process: psutil.Process) -> None:
        self.held.setdefault(what, []).append((self.elapsed, process.memory_info().rss / 1e6))


@pytest.mark.endurance
@pytest.mark.timeout(3 * SECONDS + 1200)
def test_an_hour_of_kills_changes_no_bit_and_memory_stays_flat(tmp_path: Path) -> None:
    federation = Federation(tmp_path, members=MEMBERS, rounds=int(SECONDS / PAUSE))
    direct = [card.address for card in federation.plan.cards]
    [name] = names("ws")
    through(federation, name)
    soak = Soak(federation, name, seed=0)
    try:
        soak.storm(SECONDS)
        kills, reached = dict(soak.kills), soak.reached()
        say(f"{SECONDS:g} s, {sum(kills.values())} kills: {kills}; in round {reached} of {federation.rounds}")
        assert reached > SECONDS / PAUSE / 20, "it hardly moved"
        soak.end()
        say(f"all rounds after {soak.elapsed:.0f} s")
    finally:
        soak.close()
    stormy = [part.tobytes() for one in federation.names for part in federation.ended(one)[:2]]
    grown = [grew(what, samples) for what, samples in soak.held.items()]
    for one in federation.names:
        federation.wipe(one)
    move(federation, direct)  # another plan, and the same run
    calm = play(map(federation.member, federation.names), within=SECONDS + 600)
    assert stormy == [part.tobytes() for end in calm for part in end[:2]]
    say(f"bit for bit what {MEMBERS} members come to in calm, over direct links")
    assert max(grown) < GREW


def grew(what: str, samples: list[tuple[float, float]]) -> float:
    """By how many MB one sort of process was larger in the last quarter than in the second."""
    second = [held for at, held in samples if SECONDS / 4 < at <= SECONDS / 2]
    last = [held for at, held in samples if at > 3 * SECONDS / 4]
    say(f"{what:24}{median(second):7.1f} MB, later {median(last):7.1f} MB, at most {max(last):7.1f} MB")
    return median(last) - median(second)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the evidence, shown with -s or -rP
