"""Every run on the same data is counted and consented to: none begins twice, and none as another number than signed."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from hocket.errors import JournalError, UnsafePlan
from hocket.federation.consent import check_consent, keep_consent
from hocket.federation.home import Home
from hocket.federation.ledger import Ledger, Served
from hocket.federation.participation import take_part
from hocket.federation.plan_audit import audit_plan
from hocket.federation.run_folder import RunFolder, write_json

from .federation_case import Federation, play
from .plans import drawn


def begin(path, number):
    return Ledger(path).begin(Served(f"run {number}", f"plan {number}", "rss-nb"))


def test_runs_that_begin_together_are_all_counted(tmp_path):
    """Of 120 simultaneous starts 88 were refused, and some were not counted."""
    path = tmp_path / "data.runs.jsonl"
    with ThreadPoolExecutor(16) as pool:  # each opens the lock for itself, as a process does
        counts = pool.map(partial(begin, path), range(120))
    assert sorted(counts) == list(range(1, 121))
    assert len(Ledger(path).runs) == 120


def test_a_plan_begins_once(tmp_path):
    """Its journal deleted, the same plan would deal fresh noise and call itself the first run."""
    federation = Federation(tmp_path, rounds=3)
    play(federation.member(name) for name in federation.names)
    shutil.rmtree(federation.home("ash").folder / "runs")
    with pytest.raises(JournalError, match="this plan was begun before, and the journal of that run is gone"):
        asyncio.run(take_part(federation.member("ash")))


def test_two_plans_that_say_the_same_are_two_runs(tmp_path):
    federation = Federation(tmp_path, rounds=3)
    cards = [federation.plan.card(name) for name in federation.names]
    again = federation.signed(federation.drawn(cards))
    assert again.run_hash != federation.plan.run_hash
    play(federation.member(name) for name in federation.names)
    federation.plan = again
    play(federation.member(name) for name in federation.names)
    assert len(Ledger(federation.home("ash").ledger("targets")).runs) == 2


def test_plans_signed_ahead_are_refused_when_they_would_be_another_run(tmp_path):
    """Three plans, each signed as run 1: the second to begin would be run 2."""
    federation = Federation(tmp_path, rounds=3)
    cards = [federation.plan.card(name) for name in federation.names]
    first, second = federation.plan, federation.signed(federation.drawn(cards))
    for plan in (first, second):
        for name in federation.names:
            federation.consent(name, plan)
            folder = RunFolder(federation.home(name).run(plan.run_hash))
            write_json(folder.audit, {"hash": plan.hash.hex(), "runs": 1})
    members = [federation.member(name, plan=first) for name in federation.names]
    play(members)
    late = federation.member("ash", plan=second)
    write_json(late.folder.audit, {"hash": second.hash.hex(), "runs": 1})
    with pytest.raises(
        UnsafePlan, match=r"signed the plan as run 1 on the data targets, and it would begin as run 2"
    ):
        asyncio.run(take_part(late))
    assert len(Ledger(late.home.ledger("targets")).runs) == 1  # what did not begin is not counted
    write_json(late.folder.audit, {"hash": second.hash.hex(), "runs": 2})
    check_consent(second, late.home, late.folder, Ledger(late.home.ledger("targets")).runs)


@pytest.mark.parametrize("content", [None, "", "{}", '{"hash": 1, "runs": "many"}'], ids=str)
def test_where_nothing_was_signed_nothing_begins(tmp_path, content):
    """A file that is gone or damaged is no consent, however harmless the plan."""
    federation = Federation(tmp_path)
    member = federation.member("ash")
    member.folder.audit.unlink()
    if content is not None:
        member.folder.audit.write_text(content)
    with pytest.raises(UnsafePlan, match="sign it here: hocket peer sign PLAN"):
        asyncio.run(take_part(member))
    assert Ledger(federation.home("ash").ledger("targets")).runs == ()


def test_a_floor_is_asked_when_a_run_begins(tmp_path):
    """As it is then, whatever it was when the plan was signed."""
    plan, home = drawn(), Home(tmp_path)
    folder = RunFolder(home.run(plan.run_hash))
    keep_consent(plan, folder, audit_plan(plan))
    check_consent(plan, home, folder, ())
    home.policy.write_text("[policy]\nmin_sd = 1e9\n")
    with pytest.raises(UnsafePlan, match="below your policy"):
        check_consent(plan, home, folder, ())


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"{}", b'{"run": 1', b"[" * 100_000, b'{"run": [], "plan": "", "algorithm": ""}']
)
def test_a_damaged_ledger_is_named(tmp_path, content):
    path = tmp_path / "data.runs.jsonl"
    path.write_bytes(content + b"\n")
    with pytest.raises(JournalError, match=r"data\.runs\.jsonl is damaged"):
        begin(path, 1)
