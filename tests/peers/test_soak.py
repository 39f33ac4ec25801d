"""A week in an hour: a member or a relay is killed every twenty seconds, one of two relays is hostile half of the time,
and strangers never stop. Not a bit of the result changes, and no process grows.

`HOCKET_SOAK=300 pytest -m endurance tests/peers/test_soak.py -s` plays five minutes of it. The short form is slow.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
import pytest
import trustme

from hocket.links.relay.forwarder import JOINED_AT_ONCE
from hocket.links.relay.server import RelayLimits
from hocket.machine import LOOPBACK

from .federation_case import Federation, play
from .hostile_relay import MEETING, PASSING
from .relay_case import ROOT, names, start_relay, through
from .test_namespaces import move

SECONDS = float(os.environ.get("HOCKET_SOAK", "3600"))
SHORT = 60.0
EVERY, TURN = 20.0, 30.0
"""Seconds between two kills, on average, and for which the second relay is honest or hostile; in a short form less."""
PAUSE = 0.5
"""Seconds that every round takes at least, so that the run cannot be over before the last kill."""
MEMBERS, LINKS = 8, 2
DEEDS = (*MEETING, *PASSING)
HOSTILE, HONEST = "the hostile relay", "the honest relay"
"""As they stand on the cards: the hostile one is asked first."""
GREW, MORE = 15.0, 16
"""MB and files by which a process may have more in the last quarter than in the second, by the median. The files of a
relay are those of its strangers, and vary."""
USUAL = 32
"""Files that any process has besides: libraries, a journal, pipes, what waits to be closed."""
MOST_FILES = {
    # Connections that nobody knows yet, and of each member as many as it may have.
    "relay": RelayLimits().strangers + MEMBERS * (4 * LINKS + RelayLimits().spare) + USUAL,
    # By each link and relay some that are joined, one that waits and one that is closed; each has an end in the member.
    "forwarder": 2 * LINKS * 2 * (JOINED_AT_ONCE + 2) + USUAL,
    "member": LINKS * 2 * (JOINED_AT_ONCE + 2) + USUAL,
}
MOST_MEMORY = {"relay": 200.0, "forwarder": 150.0, "member": 400.0}
"""MB: twice what they take in calm, where one that is bloated takes gigabytes."""


class Held(NamedTuple):
    """What a process holds at some time."""

    at: float
    memory: float
    files: int


class Soak:
    """All processes of one stormy run, and what they hold."""

    def __init__(self, federation: Federation, folder: Path, relays: list[str], seconds: float):
        self.federation = federation
        self.certificate = folder / "relay.pem"
        self.relay_names = dict(zip((HOSTILE, HONEST), relays, strict=True))
        self.seconds = seconds
        self.every, self.turn = min(EVERY, seconds / 10), min(TURN, seconds / 12)
        self.chance = random.Random(0)
        self.kills: Counter[str] = Counter()
        self.deeds: Counter[str] = Counter()
        self.deed, self._turns = "honest", self._all_turns()
        self.held: dict[str, list[Held]] = {}
        """By member, relay and forwarder."""
        # All others are in its group, which it kills when its standard input ends: nothing outlives this process.
        self.nursery = self._process("nursery", str(federation.folder), group=0)
        ports = [name.rpartition(":")[2] for name in relays]
        self.strangers = self._process("strangers", *ports, group=self.nursery.pid)
        self.relays = {one: self._relay(one) for one in self.relay_names}
        self.members = {one: self._born(one, PAUSE) for one in federation.names}
        self.began = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def storm(self) -> None:
        """Kill one every so often; the first member is spared, so that its memory is seen over all that time."""
        _, *mortal = [*self.members, *self.relays]
        due = 0.0
        while self.elapsed < self.seconds:
            due += self.chance.uniform(0.5, 1.5) * self.every  # a slow start of a relay delays no later kill
            while self.elapsed < due:
                self._look()
                self._wait()
            self.kill(self.chance.choice(mortal), pause=PAUSE)

    def kill(self, victim: str, *, pause: float) -> None:
        """SIGKILL, and a new process in its place."""
        self.kills[victim] += 1
        if victim in self.relays:
            self.relays[victim].kill()
            self.relays[victim].communicate()
            self.relays[victim] = self._relay(victim)
            return
        os.kill(self.members[victim], signal.SIGKILL)
        while psutil.pid_exists(self.members[victim]):
            time.sleep(0.01)
        self.members[victim] = self._born(victim, pause)

    def end(self) -> None:
        """Kill everybody once more, and play the rest of the run without pauses and without kills."""
        for victim in [*self.relays, *self.members]:
            self.kill(victim, pause=0.0)
        while self._alive():
            assert self.elapsed < 3 * self.seconds + 300, f"all are in round {self.reached()}"
            self._wait()

    def done_by_strangers(self) -> dict[str, int]:
        """How often strangers did what they do."""
        return json.loads(_answer(self.strangers, ""))

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.nursery.pid, signal.SIGKILL)
        for process in (*self.relays.values(), self.strangers, self.nursery):
            process.communicate()

    def reached(self) -> int:
        """The round in which the last of them is."""
        folders = [self.federation.member(one).folder for one in self.members]
        return min(one.status()["round"] if one.begun else 0 for one in folders)

    def _all_turns(self) -> Iterator[str]:
        while True:
            for deed in self.chance.sample(DEEDS, len(DEEDS)):
                yield deed
                yield "honest"

    def _wait(self) -> None:
        """A second, and what the hostile relay does next."""
        time.sleep(1.0)
        if self.elapsed > self.turn * (self.deeds.total() + 1):
            self.deed = next(self._turns)
            self.deeds[self.deed] += 1
            _tell(self.relays[HOSTILE], self.deed)

    def _relay(self, which: str) -> subprocess.Popen[str]:
        name, pem = self.relay_names[which], str(self.certificate)
        if which == HONEST:
            options = ("--cert", pem, "--key", pem)
            return start_relay(self.federation, *options, name=name, group=self.nursery.pid)
        plan = str(self.federation.plan_file)
        made = self._process("hostile_relay", plan, name, pem, group=self.nursery.pid)
        assert _answer(made, self.deed) == "ready"
        return made

    def _process(self, module: str, *given: str, group: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", f"tests.peers.{module}", *given],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=group,
        )

    def _born(self, name: str, pause: float) -> int:
        self.federation.consent(name, self.federation.plan)
        return int(_answer(self.nursery, f"{name} {pause}"))

    def _alive(self) -> set[str]:
        """Those who run; anybody who does not must have finished."""
        alive = {name for name, number in self.members.items() if psutil.pid_exists(number)}
        for name in self.members.keys() - alive:
            said = (self.federation.folder / f"{name}.err").read_text()
            assert self.federation.member(name).folder.status()["finished"], f"{name} died: {said[-2000:]}"
        for name, process in self.relays.items():
            assert process.poll() is None, f"{name} died"
        return alive

    def _look(self) -> None:
        assert len(self._alive()) == MEMBERS, "somebody has finished already"
        for name, relay in self.relays.items():
            self._note(name, psutil.Process(relay.pid))
        for name, number in self.members.items():
            itself = psutil.Process(number)
            self._note(f"member {name}", itself)
            for child in itself.children():
                self._note(f"forwarder of {name}", child)

    def _note(self, what: str, process: psutil.Process) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):  # a forwarder that ends
            memory, files = process.memory_info().rss / 1e6, process.num_fds()
            self.held.setdefault(what, []).append(Held(self.elapsed, memory, files))


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(SHORT, marks=[pytest.mark.slow, pytest.mark.timeout(1200)], id="minutes"),
        pytest.param(
            SECONDS, marks=[pytest.mark.endurance, pytest.mark.timeout(5 * SECONDS + 2400)], id="an hour"
        ),
    ],
)
def test_kills_strangers_and_a_hostile_relay_change_no_bit_and_nothing_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    authority.issue_cert(LOOPBACK).private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "relay.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    federation = Federation(tmp_path, members=MEMBERS, rounds=int(seconds / PAUSE))
    direct = [card.address for card in federation.plan.cards]
    relays = names("wss", 2)
    through(federation, *relays)
    soak = Soak(federation, tmp_path, relays, seconds)
    try:
        soak.storm()
        say(f"{seconds:g} s, {soak.kills.total()} kills: {dict(soak.kills)}")
        say(f"in round {soak.reached()} of {federation.rounds}")
        soak.end()
        say(f"all rounds after {soak.elapsed:.0f} s; the hostile relay did {dict(soak.deeds)}")
        done = soak.done_by_strangers()
        say(f"strangers: {done}")
    finally:
        soak.close()
    assert len(done) == 3 * len(relays), "a kind of stranger never came to a relay"
    stormy = [part.tobytes() for one in federation.names for part in federation.ended(one)[:2]]
    for one in federation.names:
        federation.wipe(one)
    move(federation, direct)  # another plan, and the same run
    calm = play(map(federation.member, federation.names), within=seconds + 600)
    assert stormy == [part.tobytes() for end in calm for part in end[:2]]
    say(f"bit for bit what {MEMBERS} members come to in calm, over direct links")
    too_much = [what for what, samples in soak.held.items() if is_too_much(what, samples, seconds)]
    assert not too_much


def is_too_much(what: str, samples: list[Held], seconds: float) -> bool:
    """Whether one process, and those that came in its place, grew or was ever too large."""
    [kind] = [one for one in MOST_FILES if one in what]
    second = [one for one in samples if seconds / 4 < one.at <= seconds / 2]
    last = [one for one in samples if one.at > 3 * seconds / 4]
    if not (second and last):  # it was killed just then
        return False
    (memory, more), (files, many) = (
        [median(one[place] for one in part) for part in (second, last)] for place in (1, 2)
    )
    peak, most = (max(one[place] for one in samples) for place in (1, 2))
    say(
        f"{what:22}{memory:6.1f} MB, later {more:6.1f}, at most {peak:6.1f}; "
        f"{files:4.0f} files, later {many:4.0f}, at most {most:4.0f} of {MOST_FILES[kind]}"
    )
    grew = more - memory > GREW or (kind != "relay" and many - files > MORE)
    return grew or peak > MOST_MEMORY[kind] or most > MOST_FILES[kind]


def _tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def _answer(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdout is not None
    _tell(process, line)
    return process.stdout.readline().strip()


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the evidence, shown with -s or -rP
