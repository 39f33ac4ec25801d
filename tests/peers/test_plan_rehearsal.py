"""A plan rehearsed on stand-in data: its step is found, and written where nobody has signed."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.bench.local_steps import stepping
from hocket.cli import main
from hocket.errors import BadInput, BadPlan
from hocket.federation.plan.dry_run import from_files, made_up, simulate
from hocket.federation.plan.plan_file import read_plan, write_plan
from hocket.federation.workloads.task import GradientTask, LocalSteps, known_seeds
from hocket.problems.sets import Box
from tests.peers.plans import IDENTITIES, JOINT, RSS_NB, SHARING, WIDE, drawn


def test_local_steps_are_those_of_a_member():
    problem = made_up(drawn(feasible=WIDE), 8, 1)
    (group,) = problem.groups
    data = group.data_of(2)
    descend = stepping(problem, 3).groups[0].objective.local(data)
    task = GradientTask(4, lambda x, k, h, rng: np.asarray(group.objective.gradient(x, data)))
    x = np.array([0.3, -0.2, 0.1, 0.5])
    theirs = LocalSteps(task, 3, known_seeds)(x, 1, step=0.3, feasible=Box(-1, 1), plus=None)
    mine = descend(jnp.asarray(x), 1, step=0.3, feasible=Box(-1, 1), plus=None)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)  # float32 where nobody asks for more


def test_the_step_goes_into_an_unsigned_plan(tmp_path, capsys):
    path = tmp_path / "plan.toml"
    before = drawn(algorithm=JOINT, feasible=WIDE, rounds=20)
    write_plan(before, path)
    figure = tmp_path / "steps.svg"
    asked = ["simulate", str(path), "--rounds", "20", "--seeds", "1", "--figure", str(figure), "--json"]
    assert main([*asked, "--write"]) == 0
    told = json.loads(capsys.readouterr().out)
    after = read_plan(path)
    assert told["written"]
    assert after.step(1) == pytest.approx(told["best"]["step"] / 21**0.75)
    assert after.hash != before.hash
    assert after.run == before.run
    assert figure.exists()
    assert sum(row["best"] for row in told["candidates"]) == 1


def test_a_signed_plan_is_not_touched(tmp_path, capsys):
    path = tmp_path / "plan.toml"
    write_plan(drawn(algorithm=JOINT, feasible=WIDE).signed_by(IDENTITIES[0]), path)
    text = path.read_text()
    assert main(["simulate", str(path), "--write"]) == 1
    assert "was signed by clinic-a" in capsys.readouterr().err
    assert path.read_text() == text


def test_local_steps_and_noise_are_chosen():
    plan = drawn(algorithm=RSS_NB, feasible=WIDE, rounds=40)
    found = simulate(plan, rounds=15, seeds=1, local_steps=[1, 4], noise={"delta": [0.01, 1000.0]}, goal=0.5)
    assert found.plan.algorithm == hk.RssNb(0.01)
    assert found.plan.run.local_steps == found.local_steps
    assert {row["local_steps"] for row in found.rows()} == {1, 4}
    assert any("50 made-up records" in remark for remark in found.remarks)


def test_files_stand_for_members(tmp_path):
    plan = drawn(feasible=WIDE)
    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{name}.csv" for name in plan.names]
    for path in paths:
        np.savetxt(path, rng.normal(size=(6, 5)), delimiter=",", header="a,b,c,d,y", comments="")
    problem = from_files(plan, paths)
    assert (problem.n, problem.dim) == (5, 4)
    with pytest.raises(BadInput, match="there are 2 files for 5 members"):
        from_files(plan, paths[:2])
    np.savetxt(paths[1], rng.normal(size=(6, 3)), delimiter=",")
    with pytest.raises(BadInput, match=r"clinic-b.csv has 3 columns; the plan has 4 unknowns"):
        from_files(plan, paths)
    paths[1].write_text("a,b\n1,x\n")
    with pytest.raises(BadInput, match=r"clinic-b.csv is no table of numbers"):
        from_files(plan, paths)


def test_made_up_data_are_of_the_declared_class():
    assert made_up(drawn(objectives="generalised-linear"), 5, 0).objective_class.kind == "generalised-linear"
    assert made_up(drawn(objectives="quadratic"), 5, 0).objective_class.kind == "quadratic"


def test_what_cannot_be_rehearsed_is_refused():
    inner = drawn(algorithm=SHARING | {"inner": "aug-dgm"}, feasible=WIDE)
    with pytest.raises(BadPlan, match="takes one gradient in a round; leave --local-steps out"):
        simulate(inner, local_steps=[2])
    with pytest.raises(BadInput, match="say with --goal which gap is small enough"):
        simulate(drawn(feasible=WIDE), noise={"delta": [1.0]})
