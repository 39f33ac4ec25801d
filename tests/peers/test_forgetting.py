"""What is remembered of a study that never began: nothing if it was refused, and only until it is forgotten."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hocket.cli import main
from hocket.errors import BadPlan, BadStudy, JournalError, UnsafePlan
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.accounts import Accounts
from hocket.federation.state.consent import keep_consent
from hocket.federation.state.forget import forget_release
from hocket.federation.workloads.study import StudyTask
from hocket.files import toml_tables
from hocket.links.journals.journal import Journal
from hocket.links.keys.identity import Identity
from hocket.machine import held_ports
from hocket.studies.disclosure.releases import Releases
from hocket.studies.spec.study import parse_study
from tests.peers.plans import drawn

from .federation_case import free_ports, play
from .study_case import NAMES, STUDY, planned, tables
from .test_studies import members


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in NAMES]


@pytest.fixture
def ash(tmp_path, identities) -> Member:
    """A member whose neighbours are not there."""
    return members(tmp_path, planned(identities, free_ports(len(NAMES))), identities)[0]


def wrong(member: Member) -> Member:
    """With an export of which one cell is wrong."""
    columns = {name: list(cells) for name, cells in tables()["ash"].columns.items()}
    columns["mean radius"][3] += 1
    table = replace(tables()["ash"], columns=columns)
    return replace(member, task=StudyTask(parse_study(toml_tables(STUDY)), table, "ash"))


def run_alone(member: Member) -> None:
    """Until it waits for its neighbours, before the first sum."""

    async def alone() -> None:
        async with asyncio.timeout(2.0):
            await take_part(member)

    with suppress(TimeoutError):
        asyncio.run(alone())


def remembered(member: Member) -> tuple[int, int]:
    """Releases, and runs that are counted."""
    dataset = member.plan.task.dataset
    return len(Releases(member.home.accounts).all), len(member.home.accounts.runs(dataset))


def test_a_run_that_is_refused_is_not_remembered(ash):
    """It was remembered before anybody asked whether the plan had been signed here."""
    ash.folder.audit.unlink()
    with pytest.raises(UnsafePlan, match="sign it here"):
        asyncio.run(take_part(ash))
    assert remembered(ash) == (0, 0)


def test_one_that_its_policy_refuses_is_not_remembered(ash):
    ash.home.policy.write_text("[policy]\nfewest_rows = 1000\n")
    with pytest.raises(UnsafePlan, match=r"fewest_rows = 10 where you ask for fewest_rows = 1000"):
        asyncio.run(take_part(ash))
    assert remembered(ash) == (0, 0)


def test_a_wrong_export_that_never_left_does_not_lock_its_member_out(ash):
    run_alone(wrong(ash))
    assert remembered(ash) == (1, 1)
    with pytest.raises(BadStudy, match="tell 2 apart"):
        asyncio.run(take_part(ash))
    found = forget_release(ash.plan, ash.home)
    assert ([one.title for one in found.releases], found.counted) == (["Breast cancer in four clinics"], True)
    assert remembered(ash) == (0, 0)
    run_alone(ash)
    assert remembered(ash) == (1, 1)


def test_what_was_sent_is_never_forgotten(tmp_path, identities):
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports), identities)
        play(some)
    with pytest.raises(JournalError, match=r"stands at round \d+: sums of this study may have been sent"):
        forget_release(some[0].plan, some[0].home)
    assert remembered(some[0]) == (1, 1)


def test_a_first_round_on_the_disk_counts_as_sent(ash):
    """Killed between the disk and the wire: nobody can tell, so it counts."""
    run_alone(ash)
    with Journal.open(ash.folder.journal, ash.plan.run_hash) as journal:
        journal.commit_round(1, b"state", chains={}, messages={"birch": b"a sum"})
    with pytest.raises(JournalError, match="stands at round 1"):
        forget_release(ash.plan, ash.home)
    assert remembered(ash) == (1, 1)


def test_without_its_journal_nothing_is_forgotten(ash):
    run_alone(ash)
    ash.folder.journal.unlink()
    with pytest.raises(JournalError, match="nothing proves that nothing of this study was sent"):
        forget_release(ash.plan, ash.home)
    assert remembered(ash) == (1, 1)


def test_a_journal_that_was_put_back_proves_nothing(ash):
    """Its files as they were before round 1; what a process showed since says otherwise."""
    run_alone(ash)
    status = ash.folder.status() | {"round": 3}
    ash.folder.write_status(status)
    with pytest.raises(JournalError, match="stands at round 3"):
        forget_release(ash.plan, ash.home)


def test_while_a_process_runs_it_nothing_is_forgotten(ash):
    run_alone(ash)
    with (
        Journal.open(ash.folder.journal, ash.plan.run_hash),
        pytest.raises(JournalError, match="is in use by process"),
    ):
        forget_release(ash.plan, ash.home)
    assert remembered(ash) == (1, 1)


class Killed(BaseException):
    """As kill -9 leaves the disk."""


def killed(*_: Any, **__: Any) -> None:
    raise Killed


@pytest.mark.parametrize("at", ["keep_rows", "begin"])
def test_killed_on_the_way_nothing_of_a_run_is_recorded(ash, monkeypatch, at):
    """Approval, release and count are one transaction: there is no release of a run that was not counted."""
    with monkeypatch.context() as patch:
        patch.setattr(Accounts, at, killed)
        with pytest.raises(Killed):
            asyncio.run(take_part(ash))
    assert remembered(ash) == (0, 0)
    run_alone(ash)
    assert remembered(ash) == (1, 1)


def test_killed_while_it_is_forgotten_it_is_still_remembered(ash, monkeypatch):
    run_alone(ash)
    with monkeypatch.context() as patch:
        patch.setattr(Releases, "forget", killed)
        with pytest.raises(Killed):
            forget_release(ash.plan, ash.home)
    assert remembered(ash) == (1, 1)
    assert forget_release(ash.plan, ash.home).counted
    assert remembered(ash) == (0, 0)
    with pytest.raises(BadPlan, match="nothing to forget"):
        forget_release(ash.plan, ash.home)


def test_runs_that_follow_gradients_are_counted_for_good(ash):
    with pytest.raises(BadPlan, match="this plan follows gradients"):
        forget_release(drawn(), ash.home)


def test_the_command_says_what_it_forgot_and_what_to_do(ash, tmp_path, capsys):
    ash.identity.save(ash.home.identity)
    write_plan(ash.plan, tmp_path / "plan.toml")
    keep_consent(ash.plan, ash.folder, judge_plan(ash.plan))
    run_alone(wrong(ash))
    command = ["study", "forget", str(tmp_path / "plan.toml"), "--home", str(ash.home.folder)]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counted"] is True
    assert main(command) == 1
    assert "nothing to forget" in capsys.readouterr().err
