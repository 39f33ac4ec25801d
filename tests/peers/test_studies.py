"""A study over links: the same bits as its rehearsal, no matter who is killed on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hocket.errors import BadStudy, UnsafePlan
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.monitoring.watching.snapshot import look
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.plan.policy import NONE
from hocket.federation.runtime.member import Member
from hocket.federation.state.accounts import Accounts
from hocket.federation.state.consent import keep_consent
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.verification.study_signatures import SIGNATURES, check_signatures
from hocket.federation.workloads.study import StudyTask
from hocket.files import toml_tables
from hocket.links.keys.identity import Identity
from hocket.machine import held_ports
from hocket.studies.simulate import simulate
from hocket.studies.spec.study import parse_study

from .federation_case import free_ports, play
from .study_case import NAMES, STUDY, planned, tables


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in NAMES]


def members(folder, plan, identities):
    for one in identities:
        plan = plan.signed_by(one)
    found, study = judge_plan(plan), parse_study(toml_tables(STUDY))
    made, dealt = [], tables(tuple(one.name for one in identities))
    for one in identities:
        home = Home(folder / one.name)
        keep_consent(plan, RunFolder(home.run(plan.run_hash)), found)
        made.append(Member(plan, one, StudyTask(study, dealt[one.name], one.name), home, linger=30.0))
    return made


@pytest.mark.parametrize("topology", ["complete", "cycle"])
def test_members_come_to_the_bits_of_the_rehearsal(tmp_path, identities, topology):
    expected = simulate(parse_study(toml_tables(STUDY)), tables())
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports, topology=topology), identities)
        play(some)
    for member in some:
        found = json.loads((member.folder.path / "results.json").read_text())
        assert found["rows_by_member"] == {member.name: tables()[member.name].rows}
        seen = look(member.plan, member.folder, member.name)
        assert (seen.state, seen.unit, seen.standing.kind) == ("finished", "sums", "converged")
        assert (seen.done, seen.of) == (found["totals"], None)
        signed, wrong = check_signatures(
            member.plan, json.loads((member.folder.path / SIGNATURES).read_text())
        )
        assert not wrong
        assert set(signed) == set(NAMES)  # passed along where two are no neighbours
        assert {**found, "rows_by_member": 0} == {
            **json.loads(json.dumps(expected.data)),
            "rows_by_member": 0,
        }


def survives(folder, identities, *, kills: int, seed: int = 0) -> None:
    """Members as processes, killed at random moments: each finds what the rehearsal found."""
    expected = simulate(parse_study(toml_tables(STUDY)), tables())
    some = members(folder, planned(identities, free_ports(len(NAMES))), identities)
    write_plan(some[0].plan, folder / "plan.toml")
    for member in some:
        member.identity.save(member.home.identity)
    rng = random.Random(seed)
    running = {name: start(folder, name) for name in NAMES}
    try:
        while any(process.poll() is None for process in running.values()):
            for name, process in running.items():
                assert process.poll() in (None, 0), (folder / f"{name}.err").read_text()
            begun = [
                one.name for one in some if one.folder.journal.exists() and running[one.name].poll() is None
            ]
            if kills and len(begun) == len(some):
                victim = rng.choice(begun)
                time.sleep(rng.uniform(0.0, 1.5))
                running[victim].send_signal(signal.SIGKILL)
                running[victim].wait()
                running[victim] = start(folder, victim)
                kills -= 1
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    assert kills == 0, f"the study was over before {kills} more members could be killed"
    for member in some:
        found = json.loads((member.folder.path / "results.json").read_text())
        assert {**found, "rows_by_member": 0} == {
            **json.loads(json.dumps(expected.data)),
            "rows_by_member": 0,
        }


def start(folder, name):
    """A member in a process of its own."""
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root, "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.peers.study_process", str(folder), name]
    with (folder / f"{name}.err").open("ab") as errors:
        return subprocess.Popen(command, env=environment, cwd=root, stderr=errors)


@pytest.mark.slow
def test_whoever_is_killed_in_the_middle_of_a_sum_leaves_no_trace(tmp_path, identities):
    survives(tmp_path, identities, kills=3)


@pytest.mark.endurance
def test_thirty_kills_in_the_middle_of_sums(tmp_path, identities):
    survives(tmp_path, identities, kills=30)


def test_a_study_s_plan_is_judged_by_its_links(identities):
    ports = range(7000, 7004)
    found = judge_plan(planned(identities, ports))
    assert found.covered
    assert found.answer.startswith("Theorem T: against any 1 colluder nothing is shown but sums")
    with pytest.raises(UnsafePlan, match="can be surrounded by 2 colluders"):
        judge_plan(planned(identities, ports, topology="cycle", colluders=2))
    with pytest.raises(UnsafePlan, match="can be surrounded by 3 colluders"):
        judge_plan(planned(identities, ports, colluders=3))


def test_a_table_that_does_not_fit_is_refused_by_name(identities):
    table = tables()["ash"]
    short = replace(
        table, columns={key: cells for key, cells in table.columns.items() if key != "mean radius"}
    )
    with pytest.raises(BadStudy, match="mean radius"):
        _ = StudyTask(parse_study(toml_tables(STUDY)), short, "ash").checked


def test_rows_that_differ_by_a_few_are_refused_a_second_time(identities, tmp_path):
    study, table = parse_study(toml_tables(STUDY)), tables()["ash"]
    StudyTask(study, table, "ash").begin(Accounts(tmp_path), NONE)
    StudyTask(study, table, "ash").begin(Accounts(tmp_path), NONE)  # the same rows: nothing new is shown
    changed = {key: list(cells) for key, cells in table.columns.items()}
    changed["mean radius"][3] += 1
    other = StudyTask(study, replace(table, columns=changed), "ash")
    with pytest.raises(BadStudy, match="a difference of results would show them"):
        other.check_releases(Accounts(tmp_path), NONE)
    with pytest.raises(BadStudy, match="a difference of results would show them"):
        other.begin(Accounts(tmp_path), NONE)
