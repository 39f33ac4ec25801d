"""The report of a member's part in a run, from its folder alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.federation.audit.joint_audit import Sequel
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.run_folder import RunFolder, write_json
from hocket.federation.state.served_plan import ServedPlan, record_of
from hocket.privacy.wording import judged
from tests.peers.plans import SHARING, drawn

STATUS = {
    "member": "clinic-c",
    "task": "digits",
    "round": 50,
    "rounds": 50,
    "finished": True,
    "dropped": [],
    "verdict": [],
    "measured": {"round": 50, "loss": 0.25, "bytes_sent": 6400},
}


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    folder = RunFolder(tmp_path / "runs" / "run")
    folder.make()
    write_plan(drawn(algorithm=SHARING, objectives="polynomial:1"), folder.plan)
    write_json(folder.path / "status.json", STATUS)
    lines = [
        {"time": 1.0, "round": k, "disagreement": 1 / k, "loss": 2 / k, "lag": {"clinic-b": 0.01}}
        for k in (1, 10, 50)
    ]
    folder.metrics.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"time": 2.0, "rou')
    return folder


def report_of(folder: RunFolder, *words: str) -> str:
    assert main(["report", str(folder.path), *words]) == 0
    return (folder.path / "report.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def test_it_says_how_the_run_stands_and_what_the_plan_exposes(folder):
    page = report_of(folder)
    assert "clinic-c has finished all 50 rounds; its neighbours are within 0.02 of its own state." in page
    assert "loss went from 2 to 0.04." in page
    assert "Theorem 1, on 1 condition that nobody has checked" in page
    assert "provided that the sum of the objectives is convex." in page
    assert "nothing but sums, to 2 colluders (Theorem 2)" in page  # as many as the plan was audited against
    assert "lag of clinic-b, seconds" in page
    assert "What this member measured against rounds" in page
    assert "BEGIN CERTIFICATE" not in page


@pytest.mark.parametrize(
    ("plan", "theorem", "privacy"),
    [
        (
            {"objectives": "any"},
            "provided that every step is along the exact gradient and the sum of the objectives is convex and "
            "gradients are bounded and Lipschitz where they are taken.",
            "nobody has said that objectives are separable polynomials of degree 1 or less",
        ),
        (
            {"objectives": "polynomial:1", "feasible": {"kind": "everywhere"}},
            "No theorem: X is Everywhere(), which is unbounded.",
            "nothing but sums, to 2 colluders (Theorem 2)",
        ),
        (
            {"objectives": "polynomial:1", "local_steps": 40},
            "40 local steps are taken, which no theorem covers",
            "Theorem 2 is about one step between two exchanges, not 40",
        ),
    ],
    ids=["nothing declared", "unbounded", "local steps"],
)
def test_a_theorem_is_claimed_only_for_what_was_signed(folder, plan, theorem, privacy):
    write_plan(drawn(algorithm=SHARING, **plan), folder.plan)
    page = report_of(folder)
    assert theorem in page
    assert privacy in page


def test_that_rounds_were_played_is_no_convergence(folder):
    """A federation whose coefficients were 5.2 standard errors off had a green tick."""
    assert "not known: its movement was not measured" in report_of(folder)
    moving = {"movement": 0.03, "movement_rounds": 5, "movement_ahead": 0.21}
    write_json(folder.path / "status.json", STATUS | {"measured": moving})
    page = report_of(folder)
    assert "still moving, by 3 % in the last 5 rounds" in page
    assert "as many rounds again would move it by about 21 % of its size" in page
    still = {"movement": 0.0003, "movement_rounds": 5, "movement_ahead": 0.0021}
    write_json(folder.path / "status.json", STATUS | {"measured": still})
    page = report_of(folder)
    assert "settled to 0.03 % in the last 5 rounds" in page
    assert "no proof that it is an optimum" in page
    for claimed in ("converged", "ran its"):
        assert claimed not in page


def test_another_coalition_may_be_asked_about(folder):
    assert "coalition clinic-a" in report_of(folder, "--coalition", "0")


def recorded(folder: RunFolder, earlier: EarlierRun) -> None:
    folder.home.accounts.begin("trial-7", earlier.served)


def test_it_carries_the_real_sequence_of_plans_on_the_same_data(folder):
    """A plain run of many rounds before this one told what this one hides, however often it is counted."""
    plain = {"name": "rss-nb", "delta": 1.0}
    persistent = plain | {"delta": 20.0, "persistent": 0.9}
    write_plan(drawn(algorithm=persistent, objectives="any"), folder.plan)
    before = drawn(algorithm=plain, objectives="any", rounds=400)
    earlier = EarlierRun(
        RecordedRun("", before.run_hash.hex(), "rss-nb", record=record_of(before)), ServedPlan.of(before)
    )
    alone = report_of(folder)
    assert "over 2 runs" not in alone
    recorded(folder, earlier)
    page = report_of(folder)
    joint = Sequel(drawn(algorithm=persistent, objectives="any"), (earlier,)).worst(2)
    how = judged(min(joint.sd[j] for j in joint.honest))
    assert f"a gradient {how}, over 2 runs on these data" in page
    assert "Earlier runs on" in page
    assert "from the earlier ones alone to" in page
    folder.home.accounts.begin("trial-7", RecordedRun("x", "lost", "rss-nb"))  # nobody knows what it told
    assert "nobody can say what was told" in report_of(folder)


def test_the_same_noise_functions_again_stay_covered(folder):
    plan = drawn(algorithm=SHARING, objectives="polynomial:1")
    earlier = EarlierRun(
        RecordedRun("", "00", "function-sharing", record=record_of(plan)), ServedPlan.of(plan)
    )
    recorded(folder, earlier)
    assert "nothing but sums, over 2 runs on these data under the same noise (Theorem 2)" in report_of(folder)
    other = drawn(algorithm=SHARING | {"bound": 3.0}, objectives="polynomial:1")
    earlier = EarlierRun(
        RecordedRun("", "00", "function-sharing", record=record_of(other)), ServedPlan.of(other)
    )
    folder.home.accounts.forget("00")
    recorded(folder, earlier)
    assert "No theorem covers this run together with the earlier ones" in report_of(folder)


def test_a_member_that_was_dropped_and_a_run_that_goes_on_are_told(folder):
    told = {"finished": False, "round": 7, "dropped": ["clinic-e"], "verdict": ["Agent 4 is gone."]}
    write_json(folder.path / "status.json", STATUS | told)
    page = report_of(folder)
    assert "clinic-c is in round 7 of 50" in page
    assert "not finished: round 7" in page
    assert "by everybody&#39;s vote: clinic-e." in page
    assert "Agent 4 is gone." in page


def test_a_run_that_has_measured_nothing_yet_has_a_report(folder):
    folder.metrics.unlink()
    write_json(folder.path / "status.json", STATUS | {"measured": {}})
    page = report_of(folder)
    assert 'href="#figures"' not in page


def test_a_home_names_its_runs(folder, capsys):
    home = folder.path.parent / "home" / "runs" / "0123"
    home.mkdir(parents=True)
    write_json(home / "status.json", STATUS)
    assert main(["report", str(Path(folder.path.parent, "home"))]) == 1
    assert f"name one of {home}" in capsys.readouterr().err
