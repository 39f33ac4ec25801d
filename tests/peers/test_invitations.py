"""`hocket peer invite`, `accept` and `again`: from nothing to a signed plan, by files that go to and fro."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.cli import main
from hocket.config.files import dumps
from hocket.errors import BadConfig, BadIdentity, BadInput, BadPlan
from hocket.federation.plan import invitation
from hocket.federation.plan.again import draw_up_again, resized
from hocket.federation.plan.cards import Card
from hocket.federation.plan.invitation import Invitation, check_heard, parse_invitation, read_invitation
from hocket.federation.plan.plan_file import parse_plan, read_plan, write_plan
from hocket.files import toml_tables
from hocket.links.keys.identity import Identity
from tests.peers.plans import CARDS, IDENTITIES, RSS_NB, drawn
from tests.peers.study_case import planned

NOISE = [
    "--algorithm",
    "rss-nb",
    "--noise-bound",
    "10",
    "--persistent",
    "0.5",
    "--task",
    "digits",
    "--dimension",
    "2",
]
ME, OTHER = IDENTITIES[0], IDENTITIES[1]
SENT = Invitation(CARDS[0], drawn().signed_by(ME), note='Guten Tag, "Größe" 100 %').text(ME)


@pytest.fixture
def hocket(tmp_path, monkeypatch, capsys):
    """Commands of a member, typed in a folder of its own; gives what they tell programs, or what they complain of."""
    monkeypatch.setenv("COLUMNS", "200")

    def type_in(member: str, *words: str) -> dict:
        folder = tmp_path / member
        folder.mkdir(exist_ok=True)
        with contextlib.chdir(folder):
            code = main(["--json", "peer", *words, "--home", "home"])
        out = json.loads(capsys.readouterr().out)
        return out if code == 0 else {"error": out["error"]["message"]}

    return type_in


def carry(root: Path, file: str, sender: str, *receivers: str) -> None:
    for one in receivers:
        (root / one).mkdir(exist_ok=True)
        (root / one / Path(file).name).write_bytes((root / sender / file).read_bytes())


def test_from_nothing_to_a_plan_that_all_have_signed(tmp_path, hocket, capsys):
    names = ["clinic-a", "clinic-b", "clinic-c"]
    hocket("clinic-a", "init", "--name", "clinic-a", "--address", "a.example:7000")
    sent = hocket("clinic-a", "invite", "--note", "Digits together?")
    for name in names[1:]:
        carry(tmp_path, "invitation.toml", "clinic-a", name)
        new = ["--name", name, "--address", f"{name}.example:7000"]
        got = hocket(name, "accept", "invitation.toml", "--fingerprint", sent["fingerprint"], *new)
        assert (got["from"], got["reply"]) == ("clinic-a", f"{name}-joins.toml")
        carry(tmp_path, got["reply"], name, "clinic-a")
        joined = hocket("clinic-a", "accept", got["reply"])
        assert (joined["card"], joined["reply"]) == (f"{name}.toml", None)
    words = [
        "plan",
        *(f"{name}.toml" for name in names),
        "--topology",
        "complete",
        "--colluders",
        "1",
        *NOISE,
    ]
    with contextlib.chdir(tmp_path / "clinic-a"):
        assert main(["peer", *words, "--rounds", "5"]) == 0
    capsys.readouterr()
    hocket("clinic-a", "sign", "plan.toml", "--yes")
    planned_by_a = hocket("clinic-a", "invite", "plan.toml", "-o", "plan-sent.toml")
    for name in names[1:]:
        carry(tmp_path, "plan-sent.toml", "clinic-a", name)
        signed = hocket(
            name, "accept", "plan-sent.toml", "--yes", "--fingerprint", planned_by_a["fingerprint"]
        )
        assert signed["signed"] == sorted(["clinic-a", name])
        carry(tmp_path, signed["reply"], name, "clinic-a")
        together = hocket("clinic-a", "accept", signed["reply"])
    assert together["unsigned"] == []
    assert together["reply"] is None
    # Once more to all: now everybody has all signatures.
    hocket("clinic-a", "invite", "plan.toml", "-o", "all.toml")
    carry(tmp_path, "all.toml", "clinic-a", "clinic-b")
    assert hocket("clinic-b", "accept", "all.toml")["unsigned"] == []
    read_plan(tmp_path / "clinic-b" / "plan.toml").check_signatures()


def test_nothing_is_left_behind_where_nobody_signs(tmp_path, hocket):
    OTHER.save(tmp_path / "clinic-b" / "home" / "identity")
    (tmp_path / "clinic-b" / "sent.toml").write_text(SENT)
    assert "add --yes" in hocket("clinic-b", "accept", "sent.toml")["error"]
    assert not (tmp_path / "clinic-b" / "plan.toml").exists()
    wrong = hocket("clinic-b", "accept", "sent.toml", "--yes", "--fingerprint", CARDS[0].fingerprint)["error"]
    assert "word 1 is" in wrong
    assert not (tmp_path / "clinic-b" / "plan.toml").exists()


def test_a_file_is_for_those_in_its_plan_and_replaces_no_other(tmp_path, hocket):
    folder = tmp_path / "oak"
    Identity.create("oak").save(folder / "home" / "identity")
    (folder / "sent.toml").write_text(SENT)
    assert "oak is not in this plan" in hocket("oak", "accept", "sent.toml", "--yes")["error"]
    folder = tmp_path / "clinic-b"
    OTHER.save(folder / "home" / "identity")
    (folder / "sent.toml").write_text(SENT)
    write_plan(drawn(rounds=60), folder / "plan.toml")
    told = hocket("clinic-b", "accept", "sent.toml", "--yes")["error"]
    assert "rounds is 60 here and 50 there; name another file with --out" in told


def test_another_card_of_the_same_name_is_not_taken(tmp_path, hocket):
    folder = tmp_path / "clinic-b"
    OTHER.save(folder / "home" / "identity")
    false = Identity.create("clinic-a")
    (folder / "clinic-a.toml").write_text(CARDS[0].text())
    (folder / "sent.toml").write_text(Invitation(Card.of(false, None)).text(false))
    assert "another card of clinic-a" in hocket("clinic-b", "accept", "sent.toml")["error"]
    assert "already holds an identity" in hocket("clinic-b", "accept", "sent.toml", "--name", "oak")["error"]
    # Nor where a plan has it in the place of the one that was accepted.
    (folder / "clinic-a.toml").unlink()
    (folder / "clinic-c.toml").write_text(Card.of(Identity.create("clinic-c"), None).text())
    (folder / "plan-sent.toml").write_text(SENT)
    assert "another card of clinic-c" in hocket("clinic-b", "accept", "plan-sent.toml", "--yes")["error"]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "sent.toml").write_text((folder / "sent.toml").read_text())
    assert "add --name" in hocket("new", "accept", "sent.toml")["error"]


def test_it_reads_back_what_was_written():
    found = parse_invitation(SENT)
    assert found.plan is not None
    assert (found.sender, found.plan.hash, found.asks) == (CARDS[0], drawn().hash, False)
    assert found.note == 'Guten Tag, "Größe" 100 %'
    assert set(found.plan.signatures) == {"clinic-a"}
    assert found.fingerprint in SENT


def changed(**sections) -> str:
    tables = toml_tables(SENT)
    return dumps({name: table | sections.get(name, {}) for name, table in tables.items()})


OTHERS_CARD = Invitation(CARDS[1], drawn()).text(ME)


@pytest.mark.parametrize(
    ("text", "error", "complaint"),
    [
        ("", BadConfig, r"\[invitation\] is missing"),
        ("[invitation]\nversion = 1\n", BadConfig, r"\[card\] is missing"),
        (SENT + "\n[plans]\nx = 1\n", BadConfig, r"no section \[plans\] \(did you mean 'plan'\?\)"),
        (SENT + "\n[card.more]\nx = 1\n", BadPlan, "changed on its way"),
        (changed(invitation={"version": 2}), BadConfig, "version 2"),
        (changed(invitation={"note": "Another word"}), BadPlan, "changed on its way"),
        (changed(invitation={"asks": True}), BadPlan, "changed on its way"),
        (changed(invitation={"note": "x" * 300}), BadConfig, "note"),
        (changed(invitation={"note": "\x1b[2J"}), BadConfig, "cannot be seen"),
        (changed(invitation={"signature": "AAAA"}), BadPlan, "not signed by clinic-a"),
        (changed(invitation={"signature": "no base 64"}), BadPlan, "not signed by clinic-a"),
        (changed(card={"address": "elsewhere.example:1"}), BadPlan, "changed on its way"),
        (changed(plan={"more": 1}), BadPlan, "changed on its way"),
        (changed(plan={"text": "[run]"}), BadPlan, "changed on its way"),
        (OTHERS_CARD, BadPlan, "not signed by clinic-b"),
        (SENT.replace("version = 1", "version = 1979-05-27"), BadConfig, "version"),
        (SENT + "\nwhen = 1979-05-27\n", BadConfig, "values that no invitation has"),
        (SENT + "\nwhen = nan\n", BadConfig, "values that no invitation has"),
    ],
)
def test_whatever_is_odd_is_refused_by_name(text, error, complaint):
    with pytest.raises(error, match=complaint):
        parse_invitation(text)


def test_a_plan_with_another_card_of_its_sender_is_refused():
    again = Identity.create("clinic-a")
    with pytest.raises(BadPlan, match="another card for clinic-a"):
        parse_invitation(Invitation(Card.of(again, "clinic-a.example:7000"), drawn()).text(again))


def test_an_expired_sender_is_refused():
    from datetime import UTC, datetime, timedelta

    old = Identity.create("oak", now=datetime.now(UTC) - timedelta(days=900))
    with pytest.raises(BadIdentity, match="expired"):
        parse_invitation(Invitation(Card.of(old, None)).text(old))


def test_what_is_too_long_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(invitation, "LONGEST", 1000)
    (tmp_path / "sent.toml").write_text(SENT)
    with pytest.raises(BadInput, match="1,000 are the most"):
        read_invitation(tmp_path / "sent.toml")
    with pytest.raises(BadConfig, match="name the file that hocket peer invite"):
        read_invitation(tmp_path / "none.toml")


@given(st.integers(0, len(SENT) - 1), st.characters(), st.booleans())
def test_a_changed_letter_is_refused_or_changes_nothing(place, letter, cut):
    text = SENT[:place] + ("" if cut else letter) + SENT[place + 1 :]
    try:
        found = parse_invitation(text)
    except BadInput:
        return
    assert (found.sender, found.plan, found.note) == (CARDS[0], drawn(), parse_invitation(SENT).note)


@pytest.mark.parametrize(
    "said", [str, lambda words: words.upper().replace("-", "  "), lambda words: f"{words}."]
)
def test_words_that_were_heard(said):
    fingerprint = CARDS[0].fingerprint
    check_heard(said(fingerprint), fingerprint)
    with pytest.raises(BadIdentity, match="you gave 2 words"):
        check_heard("-".join(fingerprint.split("-")[:2]), fingerprint)
    with pytest.raises(BadIdentity, match="swapped on its way"):
        check_heard(CARDS[1].fingerprint, fingerprint)


def test_a_newcomer_joins_a_finished_study_in_one_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = planned(IDENTITIES[:4], range(7000, 7004), colluders=1)
    write_plan(before, Path("plan.toml"))
    Path("clinic-e.toml").write_text(CARDS[4].text())
    assert main(["peer", "again", "plan.toml", "clinic-e.toml", "-o", "plan-2.toml"]) == 0
    told = capsys.readouterr().out
    assert "what clinic-e gives: of the first sum exactly" in told
    assert "Tell clinic-e before it signs." in told
    after = read_plan(Path("plan-2.toml"))
    assert after.names == (*before.names, "clinic-e")
    assert after.cards[:4] == before.cards
    assert (after.study, after.task, after.audit) == (before.study, before.task, before.audit)
    assert after.run.id != before.run.id
    assert after.signatures == {}
    assert main(["peer", "again", "plan.toml", "clinic-e.toml", "-o", "plan-2.toml"]) == 1
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize("topology", ["cycle", "harary:k=3", "complete", "random-regular:d=4"])
@pytest.mark.parametrize("weights", ["paper", "metropolis"])
def test_all_that_was_agreed_stays(topology, weights):
    from hocket.federation.plan.draft import draw_up

    plan = draw_up(
        CARDS,
        topology,
        algorithm=RSS_NB,
        step={"constant": 0.1},
        task={"name": "digits", "dataset": "trial-7", "dimension": 4},
        run={"rounds": 50, "local_steps": 2, "reach": 9.0},
        feasible={"kind": "ball", "radius": 2.0},
        audit={"colluders": 1, "gradient_size": 0.5},
        weights=weights,
    )
    names = [one.name for one in IDENTITIES]
    newcomer = Card.of(Identity.create("oak"), "oak.example:7000")
    renewed = Card.of(Identity.create("clinic-b"), "clinic-b.example:7001")
    after = draw_up_again(plan, [newcomer, renewed], rounds=70)
    assert after.names == (*names, "oak")
    assert after.card("clinic-b") == renewed
    same = ("algorithm_section", "step_section", "feasible_section", "task", "audit", "certificate")
    assert all(getattr(after, part) == getattr(plan, part) for part in same)
    assert (after.run.rounds, after.run.local_steps, after.run.reach) == (70, 2, 9.0)
    np.testing.assert_allclose(np.sum(after.weights, axis=1), 1)
    if topology != "random-regular:d=4":
        fewer = draw_up_again(plan, [], without=["clinic-e"], colluders=2)
        assert fewer.names == tuple(names[:4])
        assert fewer.audit.colluders == 2


def test_what_cannot_be_done_again_says_so():
    with pytest.raises(BadPlan, match="oak is not in this plan"):
        draw_up_again(drawn(), [], without=["oak"])
    with pytest.raises(BadPlan, match="choose with --topology"):
        resized("grid:2x3", 7)
    before = drawn(CARDS[:4], "grid:2x2")
    with pytest.raises(BadPlan, match="choose with --topology"):
        draw_up_again(before, CARDS[4:])
    assert draw_up_again(before, CARDS[4:], topology="cycle").topology == "cycle:5"


def test_an_invitation_is_no_plan_and_says_what_opens_it():
    with pytest.raises(BadConfig, match="this is an invitation, which hocket peer accept opens, and no plan"):
        parse_plan(SENT)
