"""The five commands on machines of their own: separate network namespaces, joined by a bridge, with partitions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.federation.plan.cards import Card

from .federation_case import Federation, free_ports, play
from .namespaces import Channel, Machines, machines, why_not
from .quadratic import target

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

ROOT = Path(__file__).parents[2]
NAMES = [f"clinic-{letter}" for letter in "abcde"]
TASK = f"{Path(__file__).parent / 'quadratic_file.py'}:task"
PORT = 7000
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}


class Clinics:
    """Five operators, each at a machine of its own; files go between them by hand."""

    def __init__(self, lan: Machines, folder: Path):
        self.lan = lan
        self.folder = folder
        for name in NAMES:
            (folder / name).mkdir()

    def begin(self, place: int, *words: object) -> subprocess.Popen[str]:
        """One operator types a command."""
        command = [sys.executable, "-m", "hocket", "peer", *map(str, words), "--json"]
        environment = ENVIRONMENT | {
            "QUADRATIC_MEMBER": str(place),
            "QUADRATIC_PAUSE": "0.05",
            "HOCKET_HOME": str(self.folder / NAMES[place] / "home"),
        }
        return self.lan.start(place, command, cwd=self.folder / NAMES[place], env=environment)

    def all_begin(self, *words: object) -> list[subprocess.Popen[str]]:
        return [self.begin(place, *words) for place in range(len(NAMES))]

    def plan_file(self, place: int) -> Path:
        return self.folder / NAMES[place] / "plan.toml"


def answers(*processes: subprocess.Popen[str], within: float = 120) -> list[dict[str, Any]]:
    """What commands say in the end."""
    found = []
    for process in processes:
        said, errors = process.communicate(timeout=within)
        assert process.returncode == 0, errors
        found.append(json.loads(said))
    return found


def waited_for(clinics: Clinics, place: int, name: str) -> None:
    """Until one member says for whom it waits."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        [status] = answers(clinics.begin(place, "status", "plan.toml"))
        if name in status["waiting_for"]:
            return
    raise AssertionError(f"{NAMES[place]} never said that it waits for {name}")


@pytest.mark.slow
def test_five_commands_on_five_machines_and_a_partition_that_heals(tmp_path):
    with machines(NAMES) as lan:
        clinics = Clinics(lan, tmp_path)
        answers(
            *(
                clinics.begin(place, "init", "--name", name, "--address", f"{address}:{PORT}")
                for place, (name, address) in enumerate(zip(NAMES, lan.addresses, strict=True))
            )
        )
        cards = [tmp_path / name / f"{name}.toml" for name in NAMES]
        # Little noise is enough here: what is looked at is who reaches whom.
        choices = (
            "--topology harary:k=3 --colluders 2 --algorithm rss-nb --noise-bound 0.1 --persistent 0.5 --rounds 200 "
            "--min-sd 0"
        )
        planned = clinics.begin(
            0, "plan", *cards, *choices.split(), "--task", TASK, "--dataset", "trial-7", "-o", "plan.toml"
        )
        [plan] = answers(planned)
        for place in range(1, len(NAMES)):
            clinics.plan_file(place).write_bytes(clinics.plan_file(0).read_bytes())
        answers(*clinics.all_begin("sign", "plan.toml", "--yes"))
        copies = [clinics.plan_file(place) for place in range(1, len(NAMES))]
        [signed] = answers(clinics.begin(0, "sign", "plan.toml", *copies, "--yes"))
        assert signed["unsigned"] == []
        assert signed["hash"] == plan["hash"]
        for place in range(1, len(NAMES)):
            clinics.plan_file(place).write_bytes(clinics.plan_file(0).read_bytes())
        checked = answers(*clinics.all_begin("check", "plan.toml", "--task", TASK, "--wait", 60))
        assert all(one["ready"] and one["repeatable"] for one in checked)

        running = clinics.all_begin("run", "plan.toml", "--task", TASK)
        try:
            time.sleep(8)
            lan.cut_off(4)
            waited_for(clinics, 0, NAMES[4])
            lan.heal(4)
            ended = answers(*running, within=300)
        finally:
            for process in running:
                process.kill()
                process.communicate()
    mean = np.mean([target(j) for j in range(5)], axis=0)
    for one, name in zip(ended, NAMES, strict=True):
        np.testing.assert_allclose(np.load(tmp_path / name / one["published"]), mean, atol=0.2)


@pytest.mark.timeout(2400)
@pytest.mark.parametrize(
    ("members", "rounds", "partition"),
    [
        pytest.param(3, 100, 5.0, marks=pytest.mark.slow, id="small"),
        pytest.param(10, 1000, 30.0, marks=pytest.mark.endurance, id="whole"),
    ],
)
def test_bad_weather_changes_nothing(tmp_path, record_property, members, rounds, partition):
    """20 ms of delay, 2 % of packets lost, and a partition: bit for bit what members in calm come to, memory flat."""
    federation = Federation(tmp_path, members=members, rounds=rounds)
    with machines(list(federation.names), Channel(delay=0.02, loss=0.02)) as lan:
        move(federation, [f"{address}:{PORT}" for address in lan.addresses])
        running = {
            name: lan.start(
                place,
                [sys.executable, "-m", "tests.peers.member_process", str(tmp_path), name],
                cwd=ROOT,
                env=ENVIRONMENT,
            )
            for place, name in enumerate(federation.names)
        }
        try:
            before = wait_for_rounds(federation, rounds // 10, running)
            for place in range(members // 2):
                lan.cut_off(place)
            time.sleep(partition)
            for place in range(members // 2):
                lan.heal(place)
            after = wait_for_rounds(federation, rounds - rounds // 20, running)
            for process in running.values():
                _, errors = process.communicate(timeout=600)
                assert process.returncode == 0, errors
        finally:
            for process in running.values():
                process.kill()
                process.communicate()
        lost = (
            ""
            if lan.switch is None
            else f"{lan.switch.lost:,} of {lan.switch.lost + lan.switch.passed:,} lost"
        )
        channel = f"netem: {lan.netem}; frames {lost} by a switch of our own" if lan.netem else "netem"
    growth = {name: after[name] - before[name] for name in after}
    record_property("channel", channel)
    record_property("memory", f"{before} MB, later {after} MB")
    print(f"{channel}\nmemory in MB: {before}, later {after}")  # noqa: T201 - the evidence, shown with -rP
    assert max(growth.values()) < 20, f"members grew by {growth} MB"

    stormy = [federation.ended(name).x.tobytes() for name in federation.names]
    move(federation, [f"127.0.0.1:{port}" for port in free_ports(members)])  # another plan, and the same run
    for name in federation.names:
        federation.wipe(name)
    calm = play((federation.member(name) for name in federation.names), within=900)
    assert stormy == [end.x.tobytes() for end in calm]


def move(federation: Federation, addresses: list[str]) -> None:
    """New addresses for everybody, and a plan with them that all have signed."""
    cards = [
        Card.of(federation.identities[name], address)
        for name, address in zip(federation.names, addresses, strict=True)
    ]
    federation.renew(cards)


def wait_for_rounds(
    federation: Federation, k: int, running: dict[str, subprocess.Popen[str]], within: float = 900
) -> dict[str, int]:
    """Until everybody is in round k. Gives back what each process held in MB when it was last looked at and ran."""
    deadline = time.monotonic() + within
    folders = [federation.member(name).folder for name in federation.names]
    held: dict[str, int] = {}
    while time.monotonic() < deadline:
        held |= memory(running)
        if all((one.path / "status.json").exists() and one.status()["round"] >= k for one in folders):
            assert held.keys() == running.keys()
            return held
        time.sleep(0.5)
    rounds = [one.status()["round"] for one in folders if (one.path / "status.json").exists()]
    raise AssertionError(f"after {within:g} s members are in rounds {rounds}, not in {k}")


def memory(running: dict[str, subprocess.Popen[str]]) -> dict[str, int]:
    """What each process holds, in MB. `ip netns exec` becomes the program, so it is the process itself.

    One that has played its last round meanwhile, before others have, holds nothing any more and is left out.
    """
    found = {}
    for name, process in running.items():
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        for line in lines:
            if line.startswith("VmRSS"):
                found[name] = int(line.split()[1]) // 1024
    return found
