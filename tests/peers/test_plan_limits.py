"""What a plan refuses by default: a gradient that colluders know better than to a tenth of its size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.errors import UnsafePlan
from hocket.federation.audit.plan_audit import audit_plan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.plan.policy import Policy
from hocket.federation.plan.sections import MIN_SD, AuditSection
from tests.peers.plans import RSS_NB, SHARING, drawn

LITTLE = RSS_NB | {"delta": 0.1}


def test_nobodys_gradient_may_be_known_better_than_to_a_tenth_unless_a_plan_says_so():
    assert AuditSection(colluders=1).min_sd == MIN_SD == 0.1
    with pytest.raises(
        UnsafePlan, match=r"±0\.000687, relative error 0\.00069.*where 10 % of a gradient of size 1 is"
    ):
        audit_plan(drawn(algorithm=LITTLE | {"delta": 0.1624}, rounds=50, min_sd=MIN_SD))
    assert audit_plan(drawn(algorithm=LITTLE, min_sd=0.0)).problems == ()


def test_the_limit_is_relative_to_a_gradients_size():
    least = audit_plan(drawn(algorithm=LITTLE, min_sd=0.0)).least
    for size, refused in ((least * 9, False), (least * 11, True)):
        plan = drawn(algorithm=LITTLE, min_sd=MIN_SD, gradient_size=size, unsafe=True)
        assert bool(audit_plan(plan).problems) == refused
    words = " ".join(audit_plan(drawn(algorithm=LITTLE, min_sd=0.0, gradient_size=0.01)).words)
    assert "gradients being of size 0.01 per coordinate, as declared" in words


@pytest.mark.parametrize(
    ("asked", "size", "refused"), [(0.5, 1.0, True), (0.05, 1.0, False), (0.5, 0.1, False)]
)
def test_a_floor_is_relative_too(asked, size, refused):
    assert (Policy(min_sd=asked).refuses(0.1, size) is not None) == refused
    own = Policy(min_sd=asked, gradient=size)
    assert (own.refuses(0.1, 1e6) is not None) == refused  # one's own size, whatever the plan says


@pytest.fixture
def plan_file(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "nobody"))
    write_plan(drawn(algorithm=LITTLE, min_sd=MIN_SD), Path("plan.toml"))
    return Path("plan.toml")


def test_a_plan_is_audited_by_whoever_has_the_file(plan_file, capsys):
    assert main(["audit", "--plan", "plan.toml", "--html", "plan.html", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["safe"] is False
    assert told["members"][0] == "clinic-a"
    page = Path("plan.html").read_text(encoding="utf-8")
    assert "Refused by its own limits." in page
    assert "clinic-c" in page
    assert not Path("nobody").exists()
    assert main(["audit", "--plan", "plan.toml"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in audit_plan(drawn(algorithm=LITTLE, min_sd=MIN_SD), unsafe=True).words:
        assert " ".join(words.split()) in shown  # all that anybody who signs is shown


def test_more_colluders_may_be_asked_about_and_nothing_else_is_changed(plan_file, capsys):
    write_plan(drawn(algorithm=SHARING), Path("sharing.toml"))
    assert main(["audit", "--plan", "sharing.toml", "--colluders", "3"]) == 0
    assert "can be surrounded by 3 colluders" in capsys.readouterr().out
    for extra, says in (
        (
            ["--topology", "cycle:5"],
            "--plan is audited as it was drawn up, on its own network; leave --topology away",
        ),
        (["--rounds", "5"], "--plan is audited as it was drawn up"),
        (["--dim", "5"], "--plan is audited as it was drawn up"),
    ):
        assert main(["audit", "--plan", "plan.toml", *extra]) == 1
        assert says in capsys.readouterr().err
