"""A study from which somebody is dropped: it stops, or those who stay begin anew and come to their own pooled fit."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import BadInput, RunStopped, UnsafeRemainder
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.audit.survivors import judge_survivors
from hocket.federation.membership.restart import remaining_plan
from hocket.federation.membership.session import Session
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Played
from hocket.federation.verification.result_files import check_files
from hocket.federation.verification.study_signatures import SIGNATURES, check_results, check_signatures
from hocket.files import toml_tables
from hocket.links.keys.identity import Identity
from hocket.machine import held_ports
from hocket.studies.simulate import simulate
from hocket.studies.spec.study import parse_study

from .federation_case import free_ports
from .study_case import NAMES, STUDY, planned, tables
from .test_studies import members, start

LEAVER = "dogwood"
STAY = tuple(name for name in NAMES if name != LEAVER)


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in NAMES]


def votes(some: list[Member], *leavers: str) -> None:
    """The operators of those who stay vote."""
    for member in some:
        if member.name not in leavers:
            member.folder.make()
            for leaver in leavers:
                (member.folder.votes / f"{leaver}.vote").touch()


async def left_in_round(some: list[Member], leaver: str, k: int) -> list[Any]:
    """All take part; in round k one is gone, and the others' operators drop it."""
    gone = asyncio.Event()

    def watch(played: Played, session: Session) -> None:
        if played.k == k:
            gone.set()

    async def leaves(member: Member) -> None:
        running = asyncio.create_task(take_part(member, watch=watch))
        waiting = asyncio.create_task(gone.wait())
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        votes(some, leaver)

    async with asyncio.timeout(60):
        ends = [leaves(one) if one.name == leaver else take_part(one) for one in some]
        return await asyncio.gather(*ends, return_exceptions=True)


def found_by(member: Member) -> dict[str, Any]:
    return {**json.loads((member.folder.path / "results.json").read_text()), "rows_by_member": 0}


def expected_of(names: tuple[str, ...]) -> dict[str, Any]:
    pooled = simulate(parse_study(toml_tables(STUDY)), {name: tables()[name] for name in names})
    return {**json.loads(json.dumps(pooled.data)), "rows_by_member": 0}


def events(member: Member) -> list[str]:
    return [json.loads(line)["event"] for line in member.folder.log.read_text().splitlines()]


@pytest.mark.parametrize("k", [1, 4])
def test_those_who_stay_come_to_their_own_pooled_fit(tmp_path, identities, k):
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports, on_drop="restart"), identities)
        ends = asyncio.run(left_in_round(some, LEAVER, k))
    assert [one for one in ends if isinstance(one, BaseException)] == []
    for member in some[:3]:
        assert found_by(member) == expected_of(STAY)
        assert "begun anew" in events(member)
        signatures = json.loads((member.folder.path / SIGNATURES).read_text())
        assert signatures["left"] == [LEAVER]
        assert [*check_signatures(member.plan, signatures)[0]] == sorted(STAY)
        assert check_results(member.plan, member.folder.path, [LEAVER]) == sorted(STAY)
        with pytest.raises(BadInput, match="names other members who left"):
            check_results(member.plan, member.folder.path)
        checked = check_files(member.plan, member.folder.path)
        assert checked is not None
        assert (checked.member, checked.absent) == (member.name, ())
        page = (member.folder.path / "results.html").read_text()
        assert "dogwood was dropped on the way, and the study was begun anew without" in page
        assert "sums over all members, with and without who left" in page
    assert found_by(some[0]) != expected_of(NAMES)


def test_two_who_leave_one_after_the_other(tmp_path):
    """Five begin; the fifth leaves, and when four have begun anew, the fourth."""
    names = (*NAMES, "elder")
    some = list[Member]()

    async def leaves(member: Member, before: int) -> None:
        gone = asyncio.Event()

        def watch(played: Played, session: Session) -> None:
            if played.k == 2 and len(session.gone) == before:
                gone.set()

        running = asyncio.create_task(take_part(member, watch=watch))
        waiting = asyncio.create_task(gone.wait())
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        votes([one for one in some if one.name not in names[5 - before - 1 :]], member.name)

    async def everybody() -> None:
        async with asyncio.timeout(60):
            stay = [take_part(one) for one in some[:3]]
            await asyncio.gather(*stay, leaves(some[4], 0), leaves(some[3], 1))

    five = [Identity.create(name) for name in names]
    with held_ports(len(names)) as ports:
        some += members(tmp_path, planned(five, ports, on_drop="restart"), five)
        asyncio.run(everybody())
    dealt = tables(names)
    pooled = simulate(parse_study(toml_tables(STUDY)), {name: dealt[name] for name in names[:3]})
    expected = {**json.loads(json.dumps(pooled.data)), "rows_by_member": 0}
    assert all(found_by(member) == expected for member in some[:3])
    assert events(some[0]).count("begun anew") == 2
    assert len(list(some[0].folder.path.glob("journal*.db"))) == 3


def test_what_remains_unsafe_stops_the_study_whatever_its_plan_says(tmp_path, identities):
    """On a ring of four, no matter who is left in the middle would know both others."""
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports, topology="cycle", on_drop="restart"), identities)
        ends = asyncio.run(left_in_round(some, LEAVER, 2))
    assert all(isinstance(one, UnsafeRemainder) for one in ends[:3])
    assert "what remains is not safe" in str(ends[0])


def survives(folder: Path, identities: list[Identity], *, kills: int, seed: int = 0) -> None:
    """Members as processes: one is killed for good and dropped, the others again and again, before and after."""
    plan = planned(identities, free_ports(len(NAMES)), on_drop="restart")
    some = members(folder, plan, identities)
    write_plan(some[0].plan, folder / "plan.toml")
    for member in some:
        member.identity.save(member.home.identity)
    rng = random.Random(seed)
    running = {name: start(folder, name) for name in NAMES}
    dropped, began = False, time.monotonic()
    try:
        while any(running[name].poll() is None for name in STAY):
            for name in STAY:
                assert running[name].poll() in (None, 0), (folder / f"{name}.err").read_text()
            begun = all(one.folder.journal.exists() for one in some)
            if begun and not dropped:
                time.sleep(rng.uniform(0.5, 2.5))
                running[LEAVER].kill()
                votes(some, LEAVER)
                dropped = True
            alive = [name for name in STAY if running[name].poll() is None]
            if dropped and kills and len(alive) == len(STAY):
                time.sleep(rng.uniform(0.0, 1.5))
                victim = rng.choice(alive)
                running[victim].send_signal(signal.SIGKILL)
                running[victim].wait()
                running[victim] = start(folder, victim)
                kills -= 1
            assert time.monotonic() - began < 300
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    assert kills == 0, f"the study was over before {kills} more members could be killed"
    assert all(found_by(member) == expected_of(STAY) for member in some[:3])


@pytest.mark.slow
def test_whoever_is_killed_around_a_drop_leaves_no_trace(tmp_path, identities):
    survives(tmp_path, identities, kills=4)


@pytest.mark.endurance
def test_thirty_kills_around_a_drop(tmp_path, identities):
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        survives(tmp_path / str(seed), identities, kills=10, seed=seed)


def test_without_a_word_in_the_plan_the_study_stops_now_and_when_started_again(tmp_path, identities):
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports), identities)
        ends = asyncio.run(left_in_round(some, LEAVER, 2))
        again = asyncio.run(_all_of(some[:3]))
    for one in (*ends[:3], *again):
        assert isinstance(one, RunStopped)
        assert "dogwood was dropped, and no sum over all members can be taken without it" in str(one)
        assert "--on-drop restart" in str(one)
    assert not (some[0].folder.path / "results.json").exists()


async def _all_of(some: list[Member]) -> list[Any]:
    async with asyncio.timeout(60):
        return await asyncio.gather(*map(take_part, some), return_exceptions=True)


def test_whoever_signs_is_told_what_the_difference_of_two_sums_shows(identities):
    ports = range(7000, 7004)
    stops, goes_on = (
        " ".join(judge_plan(planned(identities, ports, on_drop=rule)).words) for rule in ("stop", "restart")
    )
    assert "If a member is dropped, the study stops" in stops
    assert "those who stay begin the study anew without it, with new masks" in goes_on
    for words in (stops, goes_on):
        assert "shows, by the difference of the two sums, what" in words


def test_what_remains_is_judged_by_its_links(identities):
    plan = planned(identities, range(7000, 7004), on_drop="restart")
    verdict = judge_survivors(plan, {LEAVER: 3})
    assert verdict.safe
    assert any(line.startswith("Theorem T") for line in verdict.words)
    assert any("what dogwood gave" in line for line in verdict.words)
    ring = planned(identities, range(7000, 7004), topology="cycle", on_drop="restart")
    unsafe = judge_survivors(ring, {LEAVER: 3})
    assert not unsafe.safe  # a path of three, whose middle is between the two others
    assert any("would cut" in line or "can be surrounded" in line for line in unsafe.words)


def test_an_attempt_is_bound_to_who_is_left(identities):
    plan = planned(identities, range(7000, 7004), on_drop="restart")
    plans = [plan, *(remaining_plan(plan, {name}) for name in NAMES)]
    assert len({one.run_hash for one in plans}) == len(plans)
    assert remaining_plan(plan, {LEAVER}).names == STAY
    assert remaining_plan(plan, ()) is plan
