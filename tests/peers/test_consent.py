"""`hocket peer sign` asks before it signs, keeps what was agreed to, and looks at the member's own policy."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.errors import BadConfig, UnsafePlan
from hocket.federation.audit.plan_audit import audit_plan
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import plan_text, read_plan
from hocket.federation.plan.policy import check_policy, read_policy
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.state.served_plan import record_of
from hocket.links.keys.lasting_noise import LastingNoise
from tests.peers.plans import IDENTITIES, RSS_NB, SHARING, drawn

SAFE, UNSAFE = drawn(algorithm=SHARING), drawn(algorithm={"name": "dgd"}, unsafe=True)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """clinic-a's home, a safe plan and an unsafe one, and no terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    IDENTITIES[0].save(Home(Path("home")).identity)
    Path("safe.toml").write_text(plan_text(SAFE))
    Path("unsafe.toml").write_text(plan_text(UNSAFE))


def sign(plan: str, *words: str) -> int:
    return main(["peer", "sign", plan, "--home", "home", *words])


def is_signed(plan: str) -> bool:
    return "clinic-a" in read_plan(Path(plan)).signatures


@contextmanager
def typing(answer: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A terminal at which somebody has typed this."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal, os.fdopen(ours, "w") as keyboard:
        monkeypatch.setattr(sys, "stdin", terminal)
        keyboard.write(answer)
        keyboard.flush()
        yield


@pytest.mark.parametrize(("plan", "option"), [("safe.toml", "--yes"), ("unsafe.toml", "--accept-unsafe")])
@pytest.mark.parametrize("programs", [[], ["--json"]])
def test_without_a_terminal_nobody_is_asked_and_nothing_signed(
    plan: str, option: str, programs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(plan).read_text()
    assert sign(plan, *programs) == 1
    shown = capsys.readouterr()
    assert "standard input is no terminal" in shown.err
    assert option in shown.err
    assert "With the states that all members publish" in shown.err  # what it is about is shown all the same
    assert Path(plan).read_text() == before
    assert not Path("home/runs").exists()
    if programs:
        assert json.loads(shown.out)["error"]["kind"] == "BadPlan"
    else:
        assert shown.out == ""


@pytest.mark.parametrize("answer", ["y\n", "Yes\n"])
def test_a_yes_on_a_terminal_signs(
    answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with typing(answer, monkeypatch):
        assert sign("safe.toml") == 0
    shown = capsys.readouterr()
    assert is_signed("safe.toml")
    assert shown.err.index("With the states that all members publish") < shown.err.index(
        "Sign as clinic-a? [y/N] "
    )
    assert "Signed as clinic-a: safe.toml" in shown.out
    assert "With the states that all members publish" not in shown.out  # it was read already


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04", "expose\n"])
def test_anything_else_leaves_the_plan_as_it_was(
    answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("safe.toml").read_text()
    with typing(answer, monkeypatch):
        assert sign("safe.toml") == 1
    assert Path("safe.toml").read_text() == before
    assert not Path("home/runs").exists()
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith("hocket: not signed: clinic-a did not agree; safe.toml is as it was")


def test_yes_is_not_enough_for_an_unsafe_plan(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sign("unsafe.toml", "--yes") == 1
    said = capsys.readouterr().err
    assert "dgd hides nothing" in said
    assert "--yes is not enough, add --accept-unsafe to sign" in said
    with typing("y\n", monkeypatch):
        assert sign("unsafe.toml") == 1
    assert "Type expose to sign it as clinic-a" in capsys.readouterr().err
    assert not is_signed("unsafe.toml")
    with typing("expose\n", monkeypatch):
        assert sign("unsafe.toml") == 0
    assert is_signed("unsafe.toml")


def test_an_unsafe_plan_is_signed_by_two_options() -> None:
    assert sign("unsafe.toml", "--yes", "--accept-unsafe") == 0
    assert is_signed("unsafe.toml")


def test_what_was_consented_to_is_kept() -> None:
    for number in range(3):
        run = RecordedRun(str(number), f"plan {number}", "rss-nb", "", record_of(SAFE))
        Home(Path("home")).accounts.begin("trial-7", run)
    folder = RunFolder(Home(Path("home")).run(SAFE.run_hash))
    assert folder.consent is None
    assert sign("safe.toml", "--yes") == 0
    assert folder.consent is not None
    assert (folder.consent.hash, folder.consent.runs) == (SAFE.hash.hex(), 4)


def test_other_data_in_the_home_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        run = RecordedRun(str(number), f"plan {number}", "rss-nb")
        Home(Path("home")).accounts.begin("trial-7b", run)
    assert sign("safe.toml", "--yes") == 0
    shown = capsys.readouterr().out
    assert (
        "Other data in this home: trial-7b (3 runs). Whether they share records with these was not checked"
        in shown
    )
    assert "With this one, trial-7 has served 1 run here." in shown


def test_renamed_keepsakes_are_still_those_of_the_data() -> None:
    home = Home(Path("home"))
    home.lasting_noise("trial-7").parent.mkdir(parents=True)
    old = home.folder / "datasets" / "Trial_7.sqlite"
    LastingNoise.open(old, "Trial_7").close()
    with pytest.raises(BadConfig, match=r"rename the file to trial-7\.sqlite"):
        home.lasting_noise("trial-7")
    os.rename(old, old.with_name("trial-7.sqlite"))
    LastingNoise.open(home.lasting_noise("trial-7"), "trial-7").close()


POLICIES: list[tuple[str, FederationPlan, str]] = [
    ("colluders = 3", SAFE, "audited against 2 where you ask for colluders = 3"),
    ("min_sd = 100.0", SAFE, r"would be ±.* gradient of 1, where you ask for min_sd = 100; have more noise"),
    (
        "gradient = 50.0\nmin_sd = 0.5",
        SAFE,
        r"% of your gradient of 50, where you ask for min_sd = 0\.5",
    ),
    ('algorithms = ["rss-nb"]', SAFE, "runs function-sharing where you allow algorithms = rss-nb"),
    ("", UNSAFE, "says unsafe = true where you have allow_unsafe = false"),
    (
        "allow_unsafe = true\nmin_sd = 0.1",
        UNSAFE,
        "a gradient would be known exactly where you ask for min_sd = 0.1",
    ),
]


@pytest.mark.parametrize(("text", "plan", "words"), POLICIES, ids=[row[0] for row in POLICIES])
def test_a_plan_below_the_floor_is_refused(text: str, plan: FederationPlan, words: str) -> None:
    home = Home(Path("home"))
    home.policy.write_text(f"[policy]\n{text}\n")
    found = audit_plan(plan)
    with pytest.raises(UnsafePlan, match=words) as caught:
        check_policy(read_policy(home), plan, found, file=home.policy)
    assert "home/policy.toml sets this policy" in str(caught.value)
    name = "safe.toml" if plan is SAFE else "unsafe.toml"
    assert sign(name, "--yes", "--accept-unsafe") == 1
    assert not is_signed(name)


def test_a_floor_that_is_met_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert sign("safe.toml", "--yes") == 0
    assert "Your policy: none (home/policy.toml would set one)" in capsys.readouterr().out
    Path("home/policy.toml").write_text(
        '[policy]\ncolluders = 2\nmin_sd = 0.1\nalgorithms = ["function-sharing"]\n'
    )
    assert sign("safe.toml", "--yes") == 0
    assert (
        "Your policy: audited against 2 colluders or more, no gradient known better than to 10 %, one of "
        "function-sharing, no unsafe plan; met (home/policy.toml)" in capsys.readouterr().out
    )


def test_where_there_is_no_file_nothing_is_asked_for() -> None:
    policy = read_policy(Home(Path("home")))
    assert policy.model_dump(exclude_none=True) == {"allow_unsafe": True}
    for plan in (SAFE, UNSAFE, drawn(algorithm=RSS_NB)):
        check_policy(policy, plan, audit_plan(plan))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"needs the section \[policy\]"),
        ("[policy]\n[more]\n", "nothing else"),
        ("policy = 3", "write it as a section"),
        ("[policy]\nmin_ds = 1.0", "did you mean 'min_sd'"),
        ("[policy]\nmin_sd = -1.0", "a positive number"),
        ("[policy]\ncolluders = 0", "a whole number"),
        ("[policy]\ngradient = 1.0", "gradient is what min_sd is a share of"),
        ('[policy]\nalgorithms = ["rss-bn"]', "did you mean 'rss-nb'"),
        ("[policy", "not valid TOML"),
    ],
)
def test_a_floor_that_cannot_be_read_refuses_everything(text: str, words: str) -> None:
    home = Home(Path("home"))
    home.policy.write_text(text)
    with pytest.raises(BadConfig, match=words) as caught:
        read_policy(home)
    assert "home/policy.toml" in str(caught.value)
    assert sign("safe.toml", "--yes") == 1
    assert not is_signed("safe.toml")
