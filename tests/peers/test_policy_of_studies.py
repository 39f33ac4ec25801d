"""What a member's own policy asks of studies: refused at `sign` and at `run`, whatever the study says."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.errors import BadConfig, UnsafePlan
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.plan.plan_file import plan_text, read_plan
from hocket.federation.plan.policy import check_policy, read_policy
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.consent import check_consent, keep_consent
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.links.keys.identity import Identity
from hocket.studies.spec.study import parse_study

from .federation_case import free_ports
from .study_case import NAMES, planned
from .test_studies import members

HIDDEN = """
[study]
title = "Age and blood sugar"
formula = "radius ~ texture"
where = ["area > 0"]
[columns.radius]
from = "mean radius"
[columns.texture]
from = "HIV"
[columns.area]
from = "mean area"
[disclosure]
fewest_rows = 5
fewest_different = 1
"""


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in NAMES]


@pytest.fixture
def plan(identities):
    return planned(identities, range(7000, 7004), study=HIDDEN)


@pytest.fixture
def home(tmp_path) -> Home:
    tmp_path.joinpath("home").mkdir()
    return Home(tmp_path / "home")


POLICIES = [
    (
        "fewest_rows = 10",
        r"\[disclosure\] fewest_rows = 5 where you ask for fewest_rows = 10; have it say 10 or more",
    ),
    ("smallest_cell = 6", r"\[disclosure\] smallest_cell = 5 where you ask for smallest_cell = 6"),
    ("fewest_different = 5", r"\[disclosure\] fewest_different = 1 where you ask for fewest_different = 5"),
    (
        'never_used = ["hiv"]',
        "reads your column HIV, which it calls texture, where you have never_used = hiv",
    ),
    ('never_used = ["Texture"]', "which it calls texture, where you have never_used = Texture"),
    ('never_used = ["mean area"]', "reads your column mean area, which it calls area"),
]


@pytest.mark.parametrize(("text", "words"), POLICIES, ids=[row[0] for row in POLICIES])
def test_a_study_below_the_policy_is_refused_at_sign_and_at_run(plan, home, text, words):
    found = judge_plan(plan)
    folder = RunFolder(home.run(plan.run_hash))
    keep_consent(plan, folder, found)
    check_consent(plan, home, folder)
    home.policy.write_text(f"[policy]\n{text}\n")
    with pytest.raises(UnsafePlan, match=f"below your policy: the study.*{words}"):
        check_policy(read_policy(home), plan, found, file=home.policy)
    with pytest.raises(UnsafePlan, match=words):
        check_consent(plan, home, folder)


def test_a_study_that_meets_the_policy_is_signed(plan, home):
    home.policy.write_text(
        '[policy]\nfewest_rows = 5\nsmallest_cell = 5\nfewest_different = 1\nnever_used = ["hiv_status"]\n'
    )
    policy = read_policy(home)
    check_policy(policy, plan, judge_plan(plan), file=home.policy)
    assert policy.words == (
        "fewest_rows of 5 or more, smallest_cell of 5 or more, fewest_different of 1 or more, never the column "
        "hiv_status, no unsafe plan"
    )


def test_a_column_that_only_a_description_reads_counts(home):
    home.policy.write_text('[policy]\nnever_used = ["hiv"]\n')
    study = parse_study({"study": {"title": "T"}, "describe": {}, "columns": {"x": {"from": "hiv"}}})
    assert len([*read_policy(home).refuses_study(study)]) == 1


@pytest.mark.parametrize(
    ("guarded", "source"),
    [
        ("s\u00e9ro", "se\u0301ro"),
        ("se\u0301ro", "S\u00c9RO"),
        ("stra\u00dfe", "STRASSE"),
        ("hiv", "\ufeffhiv"),
        ("a b", "a\u00a0b"),
    ],
)
def test_a_column_is_guarded_however_its_letters_are_written(home, guarded, source):
    """An accent may be a sign of its own, and what is not seen makes no other name."""
    home.policy.write_text(f'[policy]\nnever_used = ["{guarded}"]\n')
    study = parse_study({"study": {"title": "T"}, "describe": {}, "columns": {"x": {"from": source}}})
    assert len([*read_policy(home).refuses_study(study)]) == 1


def test_a_guarded_name_that_no_column_has_is_remarked(home):
    home.policy.write_text('[policy]\nnever_used = ["hvi", "AGE "]\n')
    remarks = [*read_policy(home).unmatched(["hiv", "age"])]
    assert remarks == ["never_used = hvi matches no column of this table"]


OLD = r"floor\.toml is not read any more.*Rename it.*section \[floor\] to \[policy\]"


def test_a_file_under_its_old_name_is_refused_not_ignored(tmp_path, identities):
    """A guard that is silently no longer read would be worse than none."""
    ash = members(tmp_path, planned(identities, free_ports(len(NAMES))), identities)[0]
    (ash.home.folder / "floor.toml").write_text("[floor]\ncolluders = 1\n")
    with pytest.raises(BadConfig, match=OLD):
        read_policy(ash.home)
    with pytest.raises(BadConfig, match=OLD):
        asyncio.run(take_part(ash))


def test_sign_shows_the_study_before_it_asks(plan, tmp_path, identities, monkeypatch, capsys):
    """Refused for want of a terminal: what was shown until then is all that somebody would decide on."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    home, file = Home(tmp_path / "home"), tmp_path / "plan.toml"
    identities[0].save(home.identity)
    file.write_text(plan_text(plan))
    assert main(["peer", "sign", str(file), "--home", str(home.folder)]) == 1
    shown = capsys.readouterr().err
    for line in (
        "Study: 'Age and blood sugar'",
        "Model: radius ~ texture, linear",
        "Rows: only where area > 0 (your column 'mean area')",
        "LOOK: column texture READS YOUR COLUMN 'HIV': numbers; missing: row left out",
        "LOOK: Rule fewest_different = 1: rows by which two sets of rows that are summed over must differ; WEAKER than "
        "the default, 5",
        "Rule smallest_cell = 5",
        "Your policy: none",
    ):
        assert line in shown
    assert not read_plan(Path(file)).signatures


def test_verifiable_is_shown(tmp_path, monkeypatch, capsys):
    import dataclasses

    from tests.peers.plans import IDENTITIES, drawn

    monkeypatch.setenv("COLUMNS", "400")
    home, file, plan = Home(tmp_path / "home"), tmp_path / "plan.toml", drawn()
    IDENTITIES[0].save(home.identity)
    for verifiable in (False, True):
        run = plan.run.model_copy(update={"verifiable": verifiable})
        file.write_text(plan_text(dataclasses.replace(plan, run=run)))
        assert main(["peer", "sign", str(file), "--home", str(home.folder), "--yes"]) == 0
        assert ("LOOK: verifiable = true" in capsys.readouterr().out) == verifiable
