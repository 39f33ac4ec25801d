"""Runs on the same data are kept as plans, and audited together; kept noise is bound to the data and its links."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hocket.cli import main
from hocket.errors import BadInput, JournalError, UnsafePlan
from hocket.federation import GradientTask, digest_of
from hocket.federation.audit.plan_audit import audit_plan
from hocket.federation.plan.plan_file import plan_text
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.consent import check_consent, keep_consent
from hocket.federation.state.digests import check_same_data, salted_digest
from hocket.federation.state.earlier_runs import EarlierRun, earlier_runs
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.state.served_plan import ServedPlan, record_of
from hocket.privacy import joint_leakage
from tests.peers.federation_case import Federation, play
from tests.peers.plans import CARDS, IDENTITIES, SHARING, WIDE, drawn
from tests.peers.quadratic import DIMENSION

PLAIN = drawn(algorithm={"name": "rss-nb", "delta": 0.4}, rounds=1000, feasible=WIDE)
PERSISTENT = drawn(algorithm={"name": "rss-nb", "delta": 4.0, "persistent": 0.9}, rounds=100, feasible=WIDE)


def earlier(plan) -> EarlierRun:
    return EarlierRun(RecordedRun("r", plan.run_hash.hex(), plan.algorithm_section.name), ServedPlan.of(plan))


def begun(home: Home, plan, data: str = "") -> RecordedRun:
    served = RecordedRun(
        plan.run_hash.hex()[:8], plan.run_hash.hex(), plan.algorithm_section.name, data, record_of(plan)
    )
    home.accounts.begin(plan.task.dataset, served)
    return served


def test_a_run_is_kept_as_its_plan(tmp_path):
    home = Home(tmp_path)
    begun(home, PLAIN)
    (run,) = home.accounts.runs("trial-7")
    kept = json.loads(run.record)
    assert kept["algorithm"]["delta"] == 0.4
    assert kept["release"] == "mixed"
    assert "cards" not in kept
    (one,) = earlier_runs(home, PERSISTENT)
    assert one.plan.names == PLAIN.names
    found = joint_leakage([one.plan.run], coalition={0, 1})
    alone = audit_plan(PLAIN).sequel.known([0, 1])
    np.testing.assert_allclose(found.sd, alone.sd)
    assert earlier_runs(home, PLAIN) == ()  # its own run is not before it


def test_a_plain_run_before_one_with_persistent_noise_decides():
    """It was counted as a run of the plan with persistent noise: fifteen times what is true."""
    counted, together, plain = (
        audit_plan(PERSISTENT, runs=2).least,
        audit_plan(PERSISTENT, earlier=[earlier(PLAIN)]),
        audit_plan(PLAIN).least,
    )
    assert counted > 10 * together.least
    assert together.least == pytest.approx(plain, rel=0.05)
    assert together.worst.runs == 2
    assert any("rss-nb, 1,000 rounds among 5" in line for line in together.words)
    assert any("from this run alone to ±" in line for line in together.words)
    with pytest.raises(UnsafePlan, match=r"where 20 % of a gradient of size 1 is the least"):
        audit_plan(PERSISTENT, earlier=[earlier(PLAIN)], min_sd=0.2)


def test_whoever_is_no_longer_a_member_counts_as_a_colluder():
    fewer = drawn(CARDS[:4], topology="complete", algorithm=SHARING, colluders=1)
    ring = drawn(topology="cycle", algorithm=SHARING, colluders=1)
    found = audit_plan(fewer, earlier=[earlier(ring)], unsafe=True)
    assert found.sequel.strangers == ("clinic-e",)
    assert {*found.worst.coalition} < {0, 1, 2, 3}  # those who left have no number here
    assert any("clinic-e took part before and is not in this plan" in line for line in found.words)
    # With one more on the ring the former member surrounds somebody; that one by itself would not.
    assert found.least == 0
    by_itself = joint_leakage(found.sequel.runs, coalition=found.worst.coalition)
    assert by_itself.sd[[agent for agent in by_itself.honest if agent < 4]].min() > 0
    assert by_itself.sd[4] == 0  # the difference of the two sums is what the former member brought
    assert audit_plan(fewer).least > 0


def test_a_run_whose_plan_cannot_be_read_is_refused(tmp_path):
    home = Home(tmp_path)
    home.accounts.begin("trial-7", RecordedRun("old", PLAIN.run_hash.hex(), "rss-nb"))
    (lost,) = earlier_runs(home, PERSISTENT)
    assert lost.plan is None
    with pytest.raises(
        UnsafePlan, match=r"left no plan \([0-9a-f]{16}\): nobody can say .* Restore the newest copy"
    ):
        audit_plan(PERSISTENT, earlier=[lost])
    assert audit_plan(PERSISTENT, earlier=[lost], unsafe=True).least == 0.0


def test_members_who_were_dropped_from_an_earlier_run_count_as_colluders(tmp_path):
    home = Home(tmp_path)
    begun(home, PLAIN)
    home.accounts.leave(PLAIN.run_hash.hex(), {"clinic-e": 7})
    (found,) = earlier_runs(home, PERSISTENT)
    assert found.left == {"clinic-e": 7}
    assert 4 in audit_plan(PERSISTENT, earlier=[found], unsafe=True).worst.coalition


def test_what_was_signed_must_still_be_true_when_the_run_begins(tmp_path):
    """As many runs as were signed for, and one of them another: what is known has changed."""
    home = Home(tmp_path)
    begun(home, drawn(algorithm=SHARING))
    folder = RunFolder(home.run(PERSISTENT.run_hash))
    before = earlier_runs(home, PERSISTENT)
    keep_consent(PERSISTENT, folder, audit_plan(PERSISTENT, earlier=before))
    check_consent(PERSISTENT, home, folder)
    home.accounts.path.unlink()
    begun(home, PLAIN)
    with pytest.raises(UnsafePlan, match="signed the plan after other runs on the data trial-7"):
        check_consent(PERSISTENT, home, folder)
    kept = json.loads(folder.audit.read_text())
    folder.audit.write_text(json.dumps(kept | {"earlier": [PLAIN.run_hash.hex()]}))
    with pytest.raises(
        UnsafePlan, match=r"signed that the gradient known best would be ±.*; with the runs that"
    ):
        check_consent(PERSISTENT, home, folder)


def test_digests_tell_data_apart(tmp_path):
    numbers = np.arange(6.0)
    file = tmp_path / "data.csv"
    file.write_text("1,2")
    every = [
        (numbers,),
        (numbers.astype(np.float32),),
        (numbers.reshape(2, 3),),
        (numbers, numbers),
        ([numbers],),
        ("1,2",),
        (b"1,2",),
        (file,),
        ({"a": 1, "b": 2},),
        ({"a": 2, "b": 1},),
        (np.array(["x", "y"], dtype=object),),
    ]
    assert len({digest_of(*one) for one in every}) == len(every)
    before = digest_of(file)
    file.write_text("1,3")
    assert digest_of(file) != before
    assert digest_of({"b": 2, "a": 1}) == digest_of({"a": 1, "b": 2})
    with pytest.raises(BadInput, match="a digest of object cannot be made"):
        digest_of(object())


def test_what_is_kept_of_a_digest_is_salted_by_the_home(tmp_path):
    task = GradientTask(1, lambda x, k, h, rng: x, data=np.arange(3.0))
    one, other = (salted_digest(Home(tmp_path / name), task) for name in "ab")
    assert one != other
    assert digest_of(task.data).hex() not in one
    assert one == salted_digest(Home(tmp_path / "a"), task)
    assert Home(tmp_path / "a").accounts.path.stat().st_mode & 0o777 == 0o600
    assert salted_digest(Home(tmp_path), GradientTask(1, lambda x, k, h, rng: x)) == ""
    with pytest.raises(JournalError, match=r"in accounts\.db of this member's home, is another one"):
        check_same_data("trial-7", one, [other])


def task_with(records: np.ndarray) -> GradientTask:
    return GradientTask(DIMENSION, lambda x, k, h, rng: x - records.mean(0), data=records)


@pytest.mark.parametrize(
    "algorithm",
    [{"name": "rss-nb", "delta": 1.0, "persistent": 0.5}, SHARING, {"name": "rss-nb", "delta": 1.0}],
    ids=str,
)
def test_changed_data_are_refused_before_anything_is_said(tmp_path, algorithm):
    """One record more, and the difference of two runs under kept noise would be that record."""
    federation = Federation(tmp_path, rounds=3, algorithm=algorithm)
    cards = [federation.plan.card(name) for name in federation.names]
    records = {name: np.random.default_rng(7).normal(size=(5, DIMENSION)) for name in federation.names}
    play(federation.member(name, task=task_with(records[name])) for name in federation.names)
    again = federation.signed(federation.drawn(cards))
    more = task_with(np.vstack([records["ash"], np.ones(DIMENSION)]))
    changed = federation.member("ash", plan=again, task=more)
    with pytest.raises(JournalError, match=r"not the data that 'targets' stood for .* new dataset name"):
        asyncio.run(take_part(changed))
    assert len(changed.home.accounts.runs("targets")) == 1
    assert not changed.folder.journal.exists()
    federation.plan = again
    play(federation.member(name, task=task_with(records[name])) for name in federation.names)


def test_a_task_that_stops_telling_of_its_data_is_refused(tmp_path):
    """Else changed data would be run under kept noise by leaving their digest out."""
    federation = Federation(tmp_path, rounds=3, algorithm=SHARING)
    cards = [federation.plan.card(name) for name in federation.names]
    records = np.random.default_rng(7).normal(size=(5, DIMENSION))
    play(federation.member(name, task=task_with(records)) for name in federation.names)
    again = federation.signed(federation.drawn(cards))
    silent = dataclasses.replace(task_with(records), data=None)
    with pytest.raises(
        JournalError, match="in earlier runs the task gave a digest of them, and this one gives none"
    ):
        asyncio.run(take_part(federation.member("ash", plan=again, task=silent)))


def test_members_in_another_order_are_refused_kept_noise(tmp_path):
    """A link's noise belongs to its lower-numbered end: in another order it would come with the other sign."""
    federation = Federation(tmp_path, rounds=3)
    play(federation.member(name) for name in federation.names)
    turned = dataclasses.replace(federation.plan, cards=federation.plan.cards[::-1], signatures={})
    turned = federation.signed(turned)
    with pytest.raises(JournalError, match="together the two reveal what they hide"):
        asyncio.run(take_part(federation.member("ash", plan=turned)))


TASK = """
import numpy as np
from hocket.federation import GradientTask
task = GradientTask(4, lambda x, k, h, rng: x, data=np.arange({records}.0))
silent = GradientTask(4, lambda x, k, h, rng: x)
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """clinic-a's home, and no terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    home = Home(Path("home"))
    IDENTITIES[0].save(home.identity)
    Path("plan.toml").write_text(plan_text(PERSISTENT))
    Path("mine.py").write_text(TASK.format(records=3))
    Path("more.py").write_text(TASK.format(records=4))
    return home


def sign(*words: str) -> int:
    return main(["peer", "sign", "plan.toml", "--home", "home", "--yes", *words])


def test_signing_finds_what_running_would_refuse(desk: Home, capsys: pytest.CaptureFixture[str]) -> None:
    from hocket.cli.peer.common import load_task

    begun(desk, drawn(algorithm=SHARING), salted_digest(desk, load_task("mine.py:task")))
    assert sign("--task", "mine.py:task") == 0
    assert "was not checked" not in capsys.readouterr().out
    assert sign("--task", "mine.py:silent") == 0
    assert "nobody checks that they are those of earlier runs" in capsys.readouterr().out
    assert sign() == 0
    assert "was not checked: for that, sign with --task FILE.py:NAME as for run" in capsys.readouterr().out
    assert sign("--task", "more.py:task") == 1
    assert "these are not the data that 'trial-7' stood for" in capsys.readouterr().err


def test_signing_says_by_how_much_other_links_show_more(
    desk: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    from hocket.links.keys.lasting_noise import LastingKey, LastingNoise

    before = drawn(topology="complete", algorithm={"name": "rss-nb", "delta": 4.0, "persistent": 0.9})
    begun(desk, before)
    lasting = LastingNoise.open(desk.lasting_noise("trial-7"), "trial-7")
    lasting.keep({name: LastingKey(bytes(32), "terms") for name in before.neighbours("clinic-a")})
    lasting.close()
    assert sign() == 1
    said = capsys.readouterr().err
    assert "noise was kept on the links with clinic-b, clinic-c, clinic-d, clinic-e" in said
    assert "from this run alone to ±" in said
    assert "from the earlier ones alone" in said


def test_a_theorem_is_not_answered_over_runs_that_it_does_not_cover():
    """It was, with p1 and safe, after a run by whose form every gradient is known exactly."""
    weak = drawn(
        topology="complete",
        algorithm={"name": "rss-nb", "delta": 60.0, "persistent": 0.9},
        objectives="polynomial:4",
        feasible=WIDE,
        colluders=1,
    )
    strong = drawn(
        topology="complete",
        algorithm={"name": "function-sharing", "degree": 4, "bound": 1.0},
        objectives="polynomial:4",
        feasible=WIDE,
        colluders=1,
    )
    alone = audit_plan(strong)
    again = audit_plan(strong, earlier=[earlier(strong)])
    after = audit_plan(strong, earlier=[earlier(weak)], unsafe=True)
    assert alone.covered
    assert again.covered  # noise functions are kept
    assert not after.covered
    assert after.answer.startswith(
        ("No theorem covers this run together", "Refused by its own limits. No theorem")
    )
    assert after.least == 0
