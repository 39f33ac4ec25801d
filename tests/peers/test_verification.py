"""A finished run can be verified: by signed digests alone, and word by word where all disclose it."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.cli.peer import peer
from hocket.errors import BadConfig, BadInput, BadPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.verification.noise_disclosure import FOLDER, KEYS, START, STEPS
from hocket.federation.verification.verify import FILE, PURPOSE, LinkDigests, read_transcript, verify_run
from hocket.links.handshake import FromSystem

from .federation_case import Federation, play
from .quadratic import task_of

ALGORITHMS: dict[str, dict[str, Any]] = {
    "dgd": {"name": "dgd"},
    "persistent": {"name": "rss-nb", "delta": 1.0, "persistent": 0.5},
    "gaussian": {"name": "rss-nb", "delta": 1.0, "distribution": "gaussian"},
    "certified": {"name": "certified-rss-nb", "sd": 0.1, "own": 0.01, "clip": 5.0, "grid": 2.0**-20},
    "rss-lb": {"name": "rss-lb", "delta": 1.0},
    "function-sharing": {"name": "function-sharing", "degree": 2, "bound": 0.01},
}


def finished(folder: Path, *, verifiable: bool = True, **options: Any) -> Federation:
    """A federation that has played a run, with secrets that nobody else knows."""
    federation = Federation(folder, rounds=12, **options)
    cards = [federation.plan.card(name) for name in federation.names]
    federation.plan = federation.signed(federation.drawn(cards, verifiable=verifiable))
    play(federation.member(name, secrets=FromSystem()) for name in federation.names)
    return federation


def folders(federation: Federation) -> list[Path]:
    return [federation.member(name).folder.path for name in federation.names]


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_a_run_that_all_disclose_comes_out_word_by_word(tmp_path, algorithm):
    federation = finished(tmp_path, algorithm=algorithm)
    found = verify_run(federation.plan, folders(federation))
    assert (found.holds, found.replayed, found.links) == (True, True, 3)
    for name in federation.names:
        np.testing.assert_array_equal(found.published[name], federation.ended(name).published)
    # Where the data are at hand, steps need not be believed.
    tasks = {name: task_of(federation.plan.agent(name)) for name in federation.names[:2]}
    again = verify_run(federation.plan, folders(federation), tasks=tasks)
    assert again.holds
    assert again.recomputed == federation.names[:2]


def test_digests_agree_without_anything_disclosed(tmp_path):
    federation = finished(tmp_path, verifiable=False)
    assert not (folders(federation)[0] / FOLDER).exists()
    found = verify_run(federation.plan, folders(federation))
    assert (found.holds, found.replayed, found.links) == (True, False, 3)
    some = verify_run(federation.plan, folders(federation)[:2])
    assert (some.links, some.missing) == (1, ("cedar",))


def test_a_step_that_was_changed_shows(tmp_path):
    federation = finished(tmp_path)
    path = folders(federation)[1] / FOLDER / STEPS
    data = bytearray(path.read_bytes())
    data[3 * 24 + 2] ^= 1  # a late bit of one number in round 4, though none that adding noise rounds off
    path.write_bytes(data)
    found = verify_run(federation.plan, folders(federation))
    assert any("birch would have said other words" in line for line in found.differences)
    other = {"cedar": task_of(0)}
    shown = verify_run(federation.plan, folders(federation), tasks=other).differences
    assert any("cedar would have said other words" in line for line in shown)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one["links"]["birch"].update(received=64 * "0"), "was not signed by it"),
        (lambda one: one.update(run=64 * "0"), "of another run"),
        (lambda one: one.update(signature="!"), "is damaged"),
        (lambda one: one.update(member="oak"), "oak is not in this plan"),
        (lambda one: one.pop("links"), "links"),
    ],
    ids=["digest", "run", "signature", "name", "form"],
)
def test_a_transcript_that_was_changed_is_refused(tmp_path, change, said):
    federation = finished(tmp_path, verifiable=False)
    path = folders(federation)[0] / FILE
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    with pytest.raises((BadInput, BadPlan), match=said):
        verify_run(federation.plan, folders(federation))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("file", [START, STEPS])
def test_a_pipe_in_place_of_what_was_disclosed_is_not_waited_for(tmp_path, file):
    federation = finished(tmp_path)
    path = folders(federation)[0] / FOLDER / file
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BadConfig, match=f"{file} cannot be read"):
        verify_run(federation.plan, folders(federation))


def test_a_key_of_nobody_s_draws_no_line(tmp_path):
    federation = finished(tmp_path)
    path = folders(federation)[0] / FOLDER / KEYS
    keys = json.loads(path.read_text())
    path.write_text(json.dumps(keys | {"chains": {"x\n3 of 3 links were verified": "00"}}))
    with pytest.raises(BadConfig, match=r"keys for x\\x0a3 of 3 links"):
        verify_run(federation.plan, folders(federation))


def test_ends_that_signed_other_digests_are_named(tmp_path):
    federation = finished(tmp_path, verifiable=False)
    path = folders(federation)[0] / FILE
    mine = federation.identities["ash"]
    true = read_transcript(path.parent)
    lied = replace(true, links=true.links | {"birch": LinkDigests(said=64 * "1", received=64 * "2")})
    replace(lied, signature=mine.sign(lied.message, PURPOSE)).save(path.parent)
    found = verify_run(federation.plan, folders(federation))
    assert found.differences == (
        "what ash said is not what birch heard",
        "what birch said is not what ash heard",
    )


def test_verify_and_disclose_as_commands(tmp_path):
    federation = finished(tmp_path)
    plan = tmp_path / "plan.toml"
    write_plan(federation.plan, plan)

    def ask(*words: object) -> Any:
        return peer([str(word) for word in words], exit_on_error=False, result_action="return_value")

    home = federation.home("ash").folder
    with pytest.raises(BadPlan, match="nobody can be asked"):
        ask("disclose", plan, "--out", tmp_path / "out-ash", "--home", home)
    for name in federation.names:
        ask(
            "disclose",
            plan,
            "--out",
            tmp_path / f"out-{name}",
            "--home",
            federation.home(name).folder,
            "--yes",
        )
    given = [tmp_path / f"out-{name}" for name in federation.names]
    answer = ask("verify", plan, "--with", *given)
    assert answer.data["replayed"]
    assert "both ends signed the same digests" in answer.words[0]
    shutil.rmtree(given[0] / FOLDER)
    assert not ask("verify", plan, "--with", *given).data["replayed"]
    with pytest.raises(BadConfig, match=r"no transcript\.json"):
        ask("verify", plan, "--with", tmp_path)


def test_only_a_verifiable_run_can_be_disclosed(tmp_path):
    federation = finished(tmp_path, verifiable=False)
    write_plan(federation.plan, tmp_path / "plan.toml")
    words = ["disclose", tmp_path / "plan.toml", "--out", tmp_path / "out", "--yes", "--home"]
    with pytest.raises(BadConfig, match="the plan is not verifiable: keys were destroyed"):
        peer(
            [*map(str, words), str(federation.home("ash").folder)],
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )


def signed_again(federation: Federation, name: str, **changes: Any) -> None:
    """A member signs something else than it has seen."""
    folder = federation.member(name).folder.path
    lied = replace(read_transcript(folder), **changes)
    replace(lied, signature=federation.identities[name].sign(lied.message, PURPOSE)).save(folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"links": {}}, "has no record of their link"),
        ({"left": ("birch",)}, "one of them says that the other was dropped"),
    ],
    ids=["no links", "dropped"],
)
def test_whoever_signs_less_than_it_heard_is_named(tmp_path, changes, said):
    federation = finished(tmp_path)
    signed_again(federation, "ash", **changes)
    found = verify_run(federation.plan, folders(federation))
    assert not found.holds
    assert any("ash" in line and said in line for line in found.differences)


def test_keys_and_starts_must_agree_between_members(tmp_path):
    federation = finished(tmp_path)
    path = folders(federation)[0] / FOLDER
    keys = json.loads((path / KEYS).read_text())
    keys["chains"]["birch"] = 64 * "0"
    (path / KEYS).write_text(json.dumps(keys))
    found = verify_run(federation.plan, folders(federation))
    assert found.differences == ("ash and birch disclose other noise keys for their link",)
    (path / START).write_bytes(np.full(3, 7.0).tobytes())
    assert any(
        "began elsewhere" in line for line in verify_run(federation.plan, folders(federation)).differences
    )


@pytest.mark.parametrize(
    ("file", "content"),
    [(KEYS, b"{}"), (KEYS, b'{"chains": {"birch": ""}, "once": {}, "own": ""}'), (START, b""), (STEPS, b"")],
    ids=["no keys", "few keys", "no start", "no steps"],
)
def test_a_disclosure_that_is_not_whole_is_named(tmp_path, file, content):
    federation = finished(tmp_path)
    (folders(federation)[0] / FOLDER / file).write_bytes(content)
    with pytest.raises((BadConfig, BadInput), match=r"ask for it again|keys\.json"):
        verify_run(federation.plan, folders(federation))
