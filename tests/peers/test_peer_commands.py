"""`hocket peer init`, `plan` and `sign`: from nothing to a plan that everybody has signed."""

from __future__ import annotations

import dataclasses
import getpass
import json
from pathlib import Path

import pytest

from hocket.cli.peer import peer
from hocket.config.sections import read_algorithm
from hocket.errors import BadConfig, BadIdentity, BadPlan, UnsafePlan
from hocket.federation.plan.plan_file import read_plan
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.home import Home
from hocket.federation.state.served_plan import record_of
from hocket.links.keys.identity import Identity

NAMES = [f"clinic-{letter}" for letter in "abcde"]
NOISE = ["--algorithm", "rss-nb", "--noise-bound", "10", "--persistent", "0.5"]
NETWORK = ["--topology", "harary:k=3", "--colluders", "2", *NOISE]
PLAN = [*NETWORK, "--task", "digits", "--dimension", "4"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HOCKET_PASSPHRASE", raising=False)


def hocket_peer(*words):
    """The answer of one command; what it says must be words, and what it tells programs JSON."""
    answer = peer([str(word) for word in words], exit_on_error=False, result_action="return_value")
    assert all(isinstance(line, str) for line in answer.words)
    json.dumps(answer.data, allow_nan=False)
    return answer


def init(name, *more):
    return hocket_peer(
        "init",
        "--name",
        name,
        "--address",
        f"{name}.example:7000",
        "--home",
        name,
        "--card",
        f"cards/{name}.toml",
        *more,
    )


def plan(*more, members=NAMES):
    return hocket_peer("plan", *(f"cards/{name}.toml" for name in members), *PLAN, "--rounds", "20", *more)


def test_a_rule_that_cannot_drop_anybody_is_not_planned():
    for name in NAMES[:4]:
        init(name)
    with pytest.raises(BadPlan, match="--drop-after 24h would never drop anybody"):
        plan("--drop-after", "24h", "--unsafe", members=NAMES[:4])
    assert not Path("plan.toml").exists()


def test_cards_that_an_editor_on_windows_has_saved_are_read():
    for name in NAMES:
        init(name)
        card = Path(f"cards/{name}.toml")
        card.write_bytes(b"\xef\xbb\xbf" + card.read_bytes().replace(b"\n", b"\r\n"))
    assert plan("-o", "plan.toml").data["safe"] is True


def test_five_members_sign_one_plan():
    for name in NAMES:
        shown = init(name)
        assert shown.data["fingerprint"] in "\n".join(shown.words)
        assert "PRIVATE" not in "\n".join(shown.words)
    planned = plan("-o", "plan.toml")
    assert planned.data["safe"] is True
    assert planned.data["fingerprint"] in Path("plan.toml").read_text()
    for place, name in enumerate(NAMES):
        answer = hocket_peer("sign", "plan.toml", "--yes", "--home", name)
        assert answer.data["unsigned"] == NAMES[place + 1 :]
        assert answer.data["hash"] == planned.data["hash"]
    assert answer.words[-1] == "Everybody has signed. Next: hocket peer check plan.toml --task FILE.py:NAME"
    read_plan(Path("plan.toml")).check_signatures()


def test_signatures_of_copies_are_collected():
    for name in NAMES[:4]:
        init(name)
    plan(members=NAMES[:4])
    for name in NAMES[1:4]:
        Path(f"{name}.plan").write_text(Path("plan.toml").read_text())
        hocket_peer("sign", f"{name}.plan", "--yes", "--home", name)
    copies = [f"{name}.plan" for name in NAMES[1:4]]
    answer = hocket_peer("sign", "plan.toml", *copies, "--yes", "--home", NAMES[0])
    assert answer.data["unsigned"] == []
    read_plan(Path("plan.toml")).check_signatures()


def test_by_default_keys_are_at_home_and_the_card_is_here(tmp_path):
    answer = hocket_peer("init", "--name", "clinic-a")
    assert answer.data["card"] == "clinic-a.toml"
    assert answer.data["address"] is None
    assert Identity.load(tmp_path / "home" / "identity").fingerprint == answer.data["fingerprint"]


def test_init_replaces_nothing():
    init("clinic-a")
    with pytest.raises(
        BadIdentity, match="already holds an identity; for a new key under its name: hocket peer renew"
    ):
        init("clinic-a")
    Path("cards/clinic-a.toml").unlink()
    with pytest.raises(BadIdentity, match="already holds an identity"):
        init("clinic-a")
    assert not Path("cards/clinic-a.toml").exists()
    init("clinic-b")
    with pytest.raises(BadConfig, match="name another file for the card"):
        hocket_peer("init", "--name", "clinic-b", "--home", "another", "--card", "cards/clinic-b.toml")
    assert not Path("another").exists()


def test_what_cannot_be_an_address_leaves_nothing_behind(tmp_path):
    with pytest.raises(BadPlan, match="write host:port"):
        hocket_peer("init", "--name", "clinic-a", "--address", "clinic")
    assert list(tmp_path.iterdir()) == []


def test_a_passphrase_is_asked_for_or_taken_from_the_environment(monkeypatch):
    typed = iter(["one", "another", "one", "one", "one"])
    monkeypatch.setattr(getpass, "getpass", lambda prompt: next(typed))
    for name in NAMES[1:]:
        init(name)
    with pytest.raises(BadIdentity, match="the two passphrases differ"):
        init("clinic-a", "--passphrase")
    init("clinic-a", "--passphrase")
    plan()
    assert hocket_peer("sign", "plan.toml", "--yes", "--home", "clinic-a").data["signed"] == ["clinic-a"]
    monkeypatch.setenv("HOCKET_PASSPHRASE", "wrong")
    with pytest.raises(BadIdentity, match="the passphrase is wrong"):
        hocket_peer("sign", "plan.toml", "--yes", "--home", "clinic-a")


def test_an_unsafe_plan_is_not_written_unless_asked():
    for name in NAMES:
        init(name)
    with pytest.raises(UnsafePlan, match="where 100 % of a gradient of size 1 is the least"):
        plan("--min-sd", "1")
    assert not Path("plan.toml").exists()
    answer = plan("--min-sd", "1", "--unsafe")
    assert answer.data["safe"] is False
    assert any("Accepted as it is: " in line for line in answer.words)
    # Anybody who signs is told once more.
    signed = hocket_peer("sign", "plan.toml", "--yes", "--accept-unsafe", "--home", NAMES[0])
    assert any("Accepted by each signer" in line for line in signed.words)
    with pytest.raises(BadConfig, match=r"plan\.toml exists"):
        plan()


def test_earlier_runs_on_the_same_data_count():
    for name in NAMES:
        init(name)
    plan()
    accounts = Home(Path("clinic-a")).accounts
    same = read_plan(Path("plan.toml"))
    plain = dataclasses.replace(same, algorithm_section=read_algorithm({"name": "dgd"}))
    for number, run in zip((1, 2, 2), ("one", "two", "two"), strict=True):
        assert (
            accounts.begin("digits", RecordedRun(run, f"plan {run}", "rss-nb", "", record_of(same))) == number
        )
    answer = hocket_peer("sign", "plan.toml", "--yes", "--home", "clinic-a")
    assert answer.data["runs"] == 3
    assert any("Earlier runs on digits: rss-nb, " in line for line in answer.words)
    assert accounts.begin("digits", RecordedRun("three", "plan three", "dgd", "", record_of(plain))) == 3
    with pytest.raises(UnsafePlan, match=r"known exactly after .* and 3 earlier runs on these data"):
        hocket_peer("sign", "plan.toml", "--yes", "--home", "clinic-a")
    assert hocket_peer("sign", "plan.toml", "--yes", "--home", "clinic-b").data["runs"] == 1


def test_a_stranger_cannot_sign():
    for name in NAMES:
        init(name)
    plan()
    hocket_peer("init", "--name", "clinic-a")
    with pytest.raises(BadPlan, match="the plan names another certificate for clinic-a than yours"):
        hocket_peer("sign", "plan.toml", "--yes")
    assert read_plan(Path("plan.toml")).unsigned == tuple(NAMES)


def test_the_dimension_can_come_from_the_task():
    for name in NAMES:
        init(name)
    Path("mine.py").write_text(
        "from hocket.federation.workloads.task import GradientTask\n\n\n"
        "def task():\n    return GradientTask(7, lambda x, k, h, rng: x)\n"
    )
    words = [*NETWORK, "--task", "mine.py:task"]
    cards = [f"cards/{name}.toml" for name in NAMES]
    hocket_peer("plan", *cards, *words, "--rounds", "5")
    section = read_plan(Path("plan.toml")).task
    assert (section.name, section.dataset, section.dimension) == ("task", "task", 7)
    with pytest.raises(BadConfig, match="give --dimension, or --task"):
        hocket_peer("plan", *cards, *NETWORK, "--task", "digits", "-o", "other.toml")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--step", "1,2"], "--step '1,2' is no step size"),
        (["--box", "1"], "--box '1' is no box"),
        (["--box", "-1,1", "--ball", "1"], "two feasible sets; give one of them"),
    ],
)
def test_wrong_words(words, complaint):
    for name in NAMES:
        init(name)
    with pytest.raises(BadConfig, match=complaint):
        plan(*words)


def test_sets_and_steps():
    for name in NAMES:
        init(name)
    plan("--box", "-1,1", "--step", "0.1", "--local-steps", "4", "--set", "distribution=gaussian")
    made = read_plan(Path("plan.toml"))
    assert made.algorithm_section.model_dump()["distribution"] == "gaussian"
    assert str(made.feasible) == str(made.feasible_section.build())
    assert made.feasible_section.model_dump() == {"kind": "box", "low": -1.0, "high": 1.0}
    assert made.step_section.model_dump() == {"constant": 0.1}
    assert made.run.local_steps == 4


def test_the_dataset_is_named_after_the_task_in_its_one_spelling():
    for name in NAMES:
        init(name)
    cards = [f"cards/{name}.toml" for name in NAMES]
    hocket_peer("plan", *cards, *NETWORK, "--task", "Trial 7 (Größe)", "--dimension", "4", "--rounds", "5")
    section = read_plan(Path("plan.toml")).task
    assert (section.name, section.dataset) == ("Trial 7 (Größe)", "trial-7-gro-e")


def test_a_plan_may_go_on_from_an_earlier_one():
    for name in NAMES:
        init(name)
    plan("-o", "first.toml")
    plan("-o", "second.toml", "--after", "first.toml")
    first, second = (read_plan(Path(file)) for file in ("first.toml", "second.toml"))
    assert first.run.start == "public"
    assert second.run.start == first.run_hash.hex()


def test_a_member_keeps_the_verdict_it_signed_under():
    for name in NAMES:
        init(name)
    plan()
    answer = hocket_peer("sign", "plan.toml", "--yes", "--home", "clinic-a")
    folder = Home(Path("clinic-a")).run(read_plan(Path("plan.toml")).run_hash)
    kept = json.loads((folder / "audit.json").read_text())
    assert kept["safe"] is answer.data["safe"]
    assert kept["worst"]["runs"] == 1
    assert any("With the states that all members publish at the end" in line for line in answer.words)
