"""Converged, still moving, diverging: one wording for status, report, run and watch, and none for rounds played."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hocket.cli import main
from hocket.config.sections import read_step
from hocket.federation.monitoring.convergence import diagnosis_of, standing
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.convergence import Movement
from hocket.federation.state.run_folder import RunFolder, write_json
from hocket.federation.workloads.task import GradientTask
from hocket.steps import DEFAULT_STEP, Constant
from tests.peers.federation_case import Federation, play
from tests.peers.plans import JOINT, RSS_NB, drawn
from tests.peers.study_case import planned

NAMES = ["mean radius", "mean texture", "mean smoothness"]


@pytest.fixture(scope="module")
def clinics():
    """Four clinics' rows, standardised, and the pooled fit with its standard errors."""
    data = load_breast_cancer()
    X = data.data[:, [list(data.feature_names).index(name) for name in NAMES]]
    X = np.column_stack([np.ones(len(X)), (X - X.mean(0)) / X.std(0)])
    best = np.zeros(4)
    for _ in range(20):
        p = 1 / (1 + np.exp(-X @ best))
        information = (X * (p * (1 - p))[:, None]).T @ X
        best = best + np.linalg.solve(information, X.T @ (data.target - p))
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    return [(X[j::4], data.target[j::4]) for j in range(4)], best, errors


def descended(parts, rounds, size):
    """Joint averaging by the book, from zero, and what one clinic measures of it."""
    x, movement = np.zeros(4), Movement(rounds, DEFAULT_STEP)
    for k, alpha in enumerate(DEFAULT_STEP.table(1, rounds), start=1):
        gradients = [X.T @ (1 / (1 + np.exp(-X @ x)) - y) / size(len(y)) for X, y in parts]
        x = x - alpha * np.mean(gradients, axis=0)
        movement.pass_by(k, x)
    return x, movement.look(rounds, x) | {"round": rounds}


@pytest.mark.parametrize("rounds", [50, 200, 1000])
def test_the_newcomer_is_not_told_that_it_converged(clinics, rounds):
    """Four clinics, mean losses, the default steps and rounds: five standard errors off, and all rounds played."""
    parts, best, errors = clinics
    x, measured = descended(parts, rounds, size=lambda rows: rows)
    assert np.abs((x - best) / errors).max() > 5
    for joint in (False, True):
        found = standing(measured, joint=joint)
        assert found.kind == "moving"
        assert found.words.startswith("still moving")
    # With steps that suit, the same rounds arrive, and are told so.
    if rounds == 1000:
        x, measured = descended(parts, rounds, size=lambda rows: 1)
        assert np.abs((x - best) / errors).max() < 0.1
        assert standing(measured, joint=True).kind == "converged"


@pytest.mark.parametrize("algorithm", [JOINT, RSS_NB], ids=["joint-average", "rss-nb"])
def test_nor_is_it_told_so_by_its_own_commands(tmp_path, clinics, capsys, algorithm):
    """The same four over real links, with the default steps, all rounds played: by joint averages, and by gossip, where
    they add up their states now and then."""
    parts, best, errors = clinics
    federation = Federation(
        tmp_path,
        members=4,
        topology="complete",
        rounds=60,
        algorithm=algorithm,
        feasible={"kind": "everywhere"},
        options={"dimension": 4},
    )
    default = read_step({"a": 1.0, "b": 20.0, "p": 0.75})
    assert default.build() == DEFAULT_STEP
    run = federation.plan.run.model_copy(update={"means": 0 if algorithm is JOINT else 10})
    federation.plan = federation.signed(
        replace(federation.plan, step_section=default, run=run, signatures={})
    )
    write_plan(federation.plan, federation.plan_file)

    def task(X, y):
        return GradientTask(4, lambda x, k, h, rng: X.T @ (1 / (1 + np.exp(-X @ x)) - y) / len(y))

    found = play(
        federation.member(name, task=task(*part)) for name, part in zip(federation.names, parts, strict=True)
    )
    assert np.abs((found[0].published - best) / errors).max() > 5
    for command in ("status", "watch"):
        home = str(federation.home("ash").folder)
        assert main(["peer", command, str(federation.plan_file), "--home", home]) == 0
        told = capsys.readouterr().out
        assert "How it stands: still moving, by" in told
        assert "60 of 60" in told
        assert "converged to" not in told
        if algorithm is not JOINT and command == "status":
            assert "Said of the mean of all members' states, added up under masks after round 60" in told


def test_growth_that_no_steady_push_makes_is_divergence():
    for path, kind in (
        ([1.2**k for k in range(60)], "diverging"),
        ([(-1.3) ** k for k in range(60)], "diverging"),
        ([0.1 * k for k in range(60)], "moving"),
        ([0.1 * k * k for k in range(60)], "moving"),
        ([1e300 * 10.0**k for k in range(60)], "diverging"),
    ):
        movement = Movement(1000, Constant(0.1))
        for k, value in enumerate(path, start=1):
            movement.pass_by(k, np.array([value]))
        with np.errstate(all="ignore"):
            found = movement.look(60, np.array([path[-1]])) | {"round": 60}
        assert standing(found).kind == kind, path[:3]
        if kind == "diverging":
            assert "plan smaller steps" in standing(found).why[0]


def test_one_member_alone_settles_and_all_together_converge():
    still = {"round": 50, "movement": 0.0003, "movement_rounds": 5, "movement_ahead": 0.0021}
    status = {"measured": still, "finished": True}
    assert diagnosis_of(drawn(), status).words == "settled to 0.03 % in the last 5 rounds"
    assert "no proof that it is an optimum" in diagnosis_of(drawn(), status).why[1]
    together = diagnosis_of(drawn(algorithm=JOINT), status)
    assert together.words == "converged to 0.03 % in the last 5 rounds"
    assert "average over all members" in together.why[1]


def test_a_study_has_converged_once_it_has_results():
    from tests.peers.plans import IDENTITIES

    plan = planned(IDENTITIES[:4], range(7000, 7004))
    assert diagnosis_of(plan, {"measured": {}, "finished": False}).kind == "unknown"
    assert diagnosis_of(plan, {"measured": {}, "finished": True}).kind == "converged"


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (
            {"movement": 0.03, "movement_rounds": 5, "movement_ahead": 0.21},
            "still moving, by 3 % in the last 5 rounds",
        ),
        (
            {"movement": 3e-4, "movement_rounds": 5, "movement_ahead": 2e-3},
            "settled to 0.03 % in the last 5 rounds",
        ),
        (
            {"movement": 3e-4, "movement_rounds": 1, "movement_ahead": 2e-3},
            "settled to 0.03 % in the last round",
        ),
        ({}, "not known: its movement was not measured"),
    ],
    ids=["moving", "settled", "one round", "unknown"],
)
def test_status_report_and_watch_say_the_same(tmp_path, capsys, measured, words):
    plan = drawn()
    write_plan(plan, tmp_path / "plan.toml")
    folder = RunFolder(tmp_path / "runs" / plan.run_hash.hex()[:16])
    folder.make()
    write_plan(plan, folder.plan)
    status = {
        "member": "clinic-c",
        "task": "digits",
        "round": 50,
        "rounds": 50,
        "finished": True,
        "dropped": [],
        "verdict": [],
        "measured": measured | {"round": 50},
    }
    write_json(folder.path / "status.json", status)
    for command in ("status", "watch"):
        assert main(["peer", command, str(tmp_path / "plan.toml"), "--home", str(tmp_path)]) == 0
        assert f"How it stands: {words}." in capsys.readouterr().out
        assert main(["--json", "peer", command, str(tmp_path / "plan.toml"), "--home", str(tmp_path)]) == 0
        assert json.loads(capsys.readouterr().out)["standing"]["words"] == words
    assert main(["report", str(folder.path)]) == 0
    assert words.replace(" %", "\N{NO-BREAK SPACE}%") in (folder.path / "report.html").read_text(
        encoding="utf-8"
    )
