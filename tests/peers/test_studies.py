"""A study over links: the same bits as its rehearsal, whoever is killed on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hocket.config.files import loads
from hocket.errors import BadStudy, UnsafePlan
from hocket.federation.cards import Card
from hocket.federation.consent import keep_consent
from hocket.federation.home import Home
from hocket.federation.member import Member
from hocket.federation.plan_draft import draw_up
from hocket.federation.plan_verdict import judge_plan
from hocket.federation.run_folder import RunFolder
from hocket.federation.study_task import MOST_TOTALS, NUMBERS, StudyTask
from hocket.links.identity import Identity
from hocket.machine import LOOPBACK, held_ports
from hocket.studies.rehearsal import rehearse
from hocket.studies.study import parse_study
from hocket.studies.table import Table

from .federation_case import play

STUDY = """
[study]
title = "Breast cancer in four clinics"
formula = "benign ~ radius + texture + smoothness"
family = "binomial"
[columns.radius]
from = "mean radius"
[columns.texture]
from = "mean texture"
[columns.smoothness]
from = "mean smoothness"
"""
NAMES = ("ash", "birch", "cedar", "dogwood")


@cache
def tables() -> dict[str, Table]:
    """The same rows every time, dealt to four clinics."""
    data = load_breast_cancer()
    columns = dict(zip(data.feature_names, data.data.T, strict=True)) | {"benign": data.target}
    deal = np.random.default_rng(0).permutation(len(data.target)) % len(NAMES)
    return {
        name: Table.of({str(key): cells[deal == place].tolist() for key, cells in columns.items()}, name)
        for place, name in enumerate(NAMES)
    }


def planned(identities, ports, *, topology="complete", colluders=1, study=STUDY, **audit):
    cards = [Card.of(one, f"{LOOPBACK}:{port}") for one, port in zip(identities, ports, strict=True)]
    return draw_up(
        cards,
        topology,
        algorithm={"name": "totals", "study": study},
        step={"constant": 1.0},
        task={"name": "breast cancer", "dataset": "breast-cancer", "dimension": NUMBERS},
        run={"rounds": MOST_TOTALS},
        audit={"colluders": colluders, **audit},
    )


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in NAMES]


def members(folder, plan, identities):
    for one in identities:
        plan = plan.signed_by(one)
    found, study = judge_plan(plan), parse_study(loads(STUDY))
    made = []
    for one in identities:
        home = Home(folder / one.name)
        keep_consent(plan, RunFolder(home.run(plan.run_hash)), found)
        made.append(Member(plan, one, StudyTask(study, tables()[one.name], one.name), home, linger=30.0))
    return made


@pytest.mark.parametrize("topology", ["complete", "cycle"])
def test_members_come_to_the_bits_of_the_rehearsal(tmp_path, identities, topology):
    expected = rehearse(parse_study(loads(STUDY)), tables())
    with held_ports(len(NAMES)) as ports:
        some = members(tmp_path, planned(identities, ports, topology=topology), identities)
        play(some)
    for member in some:
        found = json.loads((member.folder.path / "results.json").read_text())
        assert found["rows_by_member"] == {member.name: tables()[member.name].rows}
        assert {**found, "rows_by_member": 0} == {
            **json.loads(json.dumps(expected.data)),
            "rows_by_member": 0,
        }


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
        _ = StudyTask(parse_study(loads(STUDY)), short, "ash").checked


def test_other_rows_are_other_data(identities):
    study, table = parse_study(loads(STUDY)), tables()["ash"]
    changed = {key: list(cells) for key, cells in table.columns.items()}
    changed["mean radius"][3] += 1
    other = replace(table, columns=changed)
    assert StudyTask(study, table, "ash").data_digest() == StudyTask(study, table, "ash").data_digest()
    assert StudyTask(study, other, "ash").data_digest() != StudyTask(study, table, "ash").data_digest()
