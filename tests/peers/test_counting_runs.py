"""Every run on the same data is counted and consented to: none begins twice, and none as another number than signed."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from hocket.errors import JournalError, UnsafePlan
from hocket.federation.audit.plan_audit import audit_plan
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.consent import check_consent, keep_consent
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder, read_json, write_json

from .federation_case import Federation, play
from .plans import drawn


def signed_as(folder, plan, runs, *earlier):
    consent = {"hash": plan.hash.hex(), "runs": runs, "earlier": [*earlier], "least": None}
    write_json(folder.audit, consent)


def begin(home, number):
    return home.accounts.begin("data", RecordedRun(f"run {number}", f"plan {number}", "rss-nb"))


def test_runs_that_begin_together_are_all_counted(tmp_path):
    """Of 120 simultaneous starts 88 were refused, and some were not counted."""
    home = Home(tmp_path)
    with ThreadPoolExecutor(16) as pool:  # each opens the lock for itself, as a process does
        counts = pool.map(partial(begin, home), range(120))
    assert sorted(counts) == list(range(1, 121))
    assert len(home.accounts.runs("data")) == 120


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
    assert len(federation.home("ash").accounts.runs("targets")) == 2


def test_plans_signed_ahead_are_refused_when_they_would_be_another_run(tmp_path):
    """Three plans, each signed as run 1: the second to begin would be run 2."""
    federation = Federation(tmp_path, rounds=3)
    cards = [federation.plan.card(name) for name in federation.names]
    first, second = federation.plan, federation.signed(federation.drawn(cards))
    for plan in (first, second):
        for name in federation.names:
            federation.consent(name, plan)
            folder = RunFolder(federation.home(name).run(plan.run_hash))
            signed_as(folder, plan, 1)
    members = [federation.member(name, plan=first) for name in federation.names]
    play(members)
    late = federation.member("ash", plan=second)
    signed_as(late.folder, second, 1)
    with pytest.raises(
        UnsafePlan, match=r"signed the plan as run 1 on the data targets, and it would begin as run 2"
    ):
        asyncio.run(take_part(late))
    assert len(late.home.accounts.runs("targets")) == 1  # what did not begin is not counted
    signed_as(late.folder, second, 2, first.run_hash.hex())
    check_consent(second, late.home, late.folder)


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
    assert federation.home("ash").accounts.runs("targets") == ()


def test_a_floor_is_asked_when_a_run_begins(tmp_path):
    """As it is then, whatever it was when the plan was signed."""
    plan, home = drawn(), Home(tmp_path)
    folder = RunFolder(home.run(plan.run_hash))
    keep_consent(plan, folder, audit_plan(plan))
    check_consent(plan, home, folder)
    home.policy.write_text("[policy]\nmin_sd = 1e9\n")
    with pytest.raises(UnsafePlan, match="below your policy"):
        check_consent(plan, home, folder)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{}", b"[" * 100_000], ids=len)
def test_damaged_accounts_are_named(tmp_path, content):
    home = Home(tmp_path)
    home.accounts.path.write_bytes(content + b"\n")
    with pytest.raises(JournalError, match=r"accounts\.db is damaged"):
        begin(home, 1)


@pytest.mark.parametrize("key", ["hash", "runs", "earlier", "least"])
def test_a_consent_with_a_field_missing_is_none(tmp_path, key):
    """Where the runs that were known, or how well a gradient would be known, were missing, they were not asked for."""
    plan, home = drawn(), Home(tmp_path)
    folder = RunFolder(home.run(plan.run_hash))
    keep_consent(plan, folder, audit_plan(plan))
    kept = read_json(folder.audit)
    write_json(folder.audit, {name: value for name, value in kept.items() if name != key})
    with pytest.raises(UnsafePlan, match="sign it here: hocket peer sign PLAN"):
        check_consent(plan, home, folder)
