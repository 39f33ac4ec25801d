"""Dropping members: by one's own vote alone, after one's own checks, and never into something unsafe unasked."""

from __future__ import annotations

import asyncio
import json
import os
from importlib import import_module
from typing import Any

import pytest

from hocket.cli.app import EXPOSED, main
from hocket.errors import UnsafeRemainder
from hocket.federation.audit.survivors import judge_survivors
from hocket.federation.membership.changes import MembershipChanges
from hocket.federation.membership.roster import NUMBER_BYTES, Roster
from hocket.federation.membership.votes import vote
from hocket.federation.monitoring.metrics import Log
from hocket.federation.plan.policy import NONE, Policy
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished
from hocket.federation.state.run_folder import read_json
from hocket.links.journals.journal import Journal
from hocket.links.wire import Frame, pack

from .federation_case import Federation
from .plans import drawn


def events(federation: Federation, name: str) -> list[str]:
    """What a member's log tells of."""
    return [json.loads(line)["event"] for line in federation.member(name).folder.log.read_text().splitlines()]


async def outcomes(federation: Federation, names: tuple[str, ...], **options: Any) -> list[Any]:
    async with asyncio.timeout(60):
        running = (take_part(federation.member(name, **options)) for name in names)
        return await asyncio.gather(*running, return_exceptions=True)


def test_an_unsafe_remainder_stops_the_run_and_wants_the_operators_word(tmp_path):
    """Three of RSS-LB are left, one may collude: anybody who is between the two others knows both exactly."""
    federation = Federation(
        tmp_path, members=4, topology="complete", algorithm={"name": "rss-lb", "delta": 1.0}
    )
    survivors = federation.names[:3]
    for name in survivors:
        (federation.member(name).folder.votes / "elm.vote").touch()
    stopped = asyncio.run(outcomes(federation, survivors))
    assert all(isinstance(one, UnsafeRemainder) for one in stopped)
    assert "elm would be dropped by everybody's vote, and what remains is not safe" in str(stopped[0])
    assert "--accept-unsafe" in str(stopped[0])
    folder = federation.member("ash").folder
    assert folder.status()["dropped"] == []
    assert read_json(folder.survivors)["safe"] is False
    assert "unsafe remainder" in events(federation, "ash")
    # Started again it stops again, before a word is said; with its operators' word it goes on.
    assert all(isinstance(one, UnsafeRemainder) for one in asyncio.run(outcomes(federation, survivors)))
    for name in survivors:
        federation.member(name).folder.accept(frozenset({"elm"}))
    assert all(isinstance(one, Finished) for one in asyncio.run(outcomes(federation, survivors)))
    assert folder.status()["dropped"] == ["elm"]
    (run,) = federation.home("ash").accounts.runs("targets")
    assert {*run.left} == {"elm"}  # for the account of later runs, whatever becomes of the folder


def test_votes_that_were_never_checked_count_for_nothing_after_a_restart(tmp_path):
    """All others have voted to drop birch and cedar, and ash has not: it neither drops them nor asks."""
    federation = Federation(tmp_path, members=4, topology="complete", rounds=10)
    ash = federation.member("ash")
    with Journal.open(ash.folder.journal, ash.plan.run_hash) as journal:
        mine = Roster(ash.plan, ash.identity, journal.run)
        for voter, leaver in [("elm", "birch"), ("elm", "cedar"), ("birch", "cedar"), ("cedar", "birch")]:
            theirs = Roster(ash.plan, federation.identities[voter], os.urandom(NUMBER_BYTES))
            theirs.take(mine.frame(mine.entries["ash"]), "ash")
            journal.ballots.add(voter, leaver, pack(vote(theirs, leaver).frame(ash.plan)))
    ends = asyncio.run(outcomes(federation, federation.names))
    assert all(isinstance(one, Finished) for one in ends)
    assert ash.folder.status()["dropped"] == []


def test_two_leavers_who_together_cut_a_ring_are_not_dropped(tmp_path):
    """Each alone could be; together they leave two halves. Nothing lists either as gone, and it is said why."""
    federation = Federation(tmp_path, members=4, topology="cycle")
    ash = federation.member("ash")

    async def nobody(frame: Frame, source: str) -> None: ...

    with Journal.open(ash.folder.journal, ash.plan.run_hash) as journal:
        roster, log = Roster(ash.plan, ash.identity, journal.run), Log(ash.folder.log)
        membership = MembershipChanges(
            roster,
            journal.ballots,
            log,
            ash.folder,
            NONE,
            pass_on=nobody,
            drop=pytest.fail,
            round=lambda: 3,
        )
        for voter in ("ash", "cedar"):
            for leaver in ("birch", "elm"):
                theirs = Roster(ash.plan, federation.identities[voter], os.urandom(NUMBER_BYTES))
                journal.ballots.add(voter, leaver, pack(vote(theirs, leaver).frame(ash.plan)))
        asyncio.run(membership.settle())
        assert membership.gone == frozenset()
        assert "without birch, elm the others fall apart" in membership.refused
    assert events(federation, "ash") == ["drop refused"]


def test_who_is_voted_against_is_told(tmp_path):
    """Votes are looked for once a second, so that the run goes on until they are there."""
    federation = Federation(tmp_path, members=4, topology="complete", rounds=100_000)
    for name in ("birch", "cedar"):
        federation.vote(name, "ash")
    folder = federation.member("ash").folder

    async def until_told() -> dict[str, Any]:
        running = asyncio.create_task(outcomes(federation, federation.names))
        status: dict[str, Any] = {}
        while len(status.get("votes_against_me", ())) < 2 and not running.done():
            await asyncio.sleep(0.1)
            status = folder.status() if folder.begun else {}
        running.cancel()
        await asyncio.wait([running])
        return status

    status = asyncio.run(until_told())
    assert status["votes_against_me"] == ["birch", "cedar"]
    assert status["dropped"] == []


def test_the_exit_code_says_so(tmp_path, monkeypatch, capsys):
    def stop(*_: object, **__: object) -> None:
        raise UnsafeRemainder("what remains is not safe", round=3)

    monkeypatch.setattr(import_module("hocket.cli.peer.run"), "folder_of", stop)
    assert main(["peer", "run", "plan.toml", "--task", "mine.py:task"]) == EXPOSED == 3
    assert "what remains is not safe" in capsys.readouterr().err


def test_a_remainder_below_ones_own_floor_is_not_safe(tmp_path):
    plan = drawn(topology="complete", colluders=1)
    verdict = judge_survivors(plan, {"clinic-e": 10})
    least = min(verdict.sd.values())
    assert verdict.safe
    asked = judge_survivors(plan, {"clinic-e": 10}, policy=Policy(min_sd=2 * least))
    assert not asked.safe
    assert any("below your policy" in line and "where you ask for min_sd" in line for line in asked.words)


def test_two_who_can_only_leave_together_can_be_voted_on(tmp_path):
    """On a path the last two leave: without the third alone the fourth would be cut off."""
    federation = Federation(tmp_path, members=4, topology="path", rounds=10)
    for name in ("ash", "birch"):
        federation.vote(name, "cedar", "elm")
    ends = asyncio.run(outcomes(federation, ("ash", "birch")))
    assert all(isinstance(one, Finished) for one in ends)
    assert federation.member("ash").folder.status()["dropped"] == ["cedar", "elm"]


def test_what_remains_is_judged_in_the_round_in_which_somebody_leaves(tmp_path, monkeypatch):
    """The run went on while it was judged: the verdict was on round 3, and round 5 was recorded."""
    federation = Federation(tmp_path, members=4, topology="complete")
    ash, rounds, judged = federation.member("ash"), iter([3, 5, 5, 5]), list[int]()

    def judge(plan: Any, last: Any, **given: Any) -> Any:
        judged.append(last["elm"])
        return judge_survivors(plan, last, **given)

    async def nobody(frame: Frame, source: str) -> None: ...

    monkeypatch.setattr("hocket.federation.membership.changes.judge_survivors", judge)
    with Journal.open(ash.folder.journal, ash.plan.run_hash) as journal:
        roster, log = Roster(ash.plan, ash.identity, journal.run), Log(ash.folder.log)
        membership = MembershipChanges(
            roster,
            journal.ballots,
            log,
            ash.folder,
            NONE,
            pass_on=nobody,
            drop=lambda name: None,
            round=lambda: next(rounds),
        )
        for voter in ("ash", "birch", "cedar"):
            theirs = Roster(ash.plan, federation.identities[voter], os.urandom(NUMBER_BYTES))
            journal.ballots.add(voter, "elm", pack(vote(theirs, "elm").frame(ash.plan)))
        asyncio.run(membership.settle())
        assert judged == [3, 5]
        assert journal.ballots.left == {"elm": 5}
