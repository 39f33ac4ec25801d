"""Cards that were swapped: who had which key is remembered by name, and another is refused unless somebody vouches."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hocket.cli.peer import peer
from hocket.cli.peer.run import _changed_cards
from hocket.errors import BadConfig, BadPlan
from hocket.federation.plan.cards import Card, read_card
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import read_plan, write_plan
from hocket.federation.state.home import Home
from hocket.federation.state.known_keys import KnownKeys, changes_between
from hocket.federation.state.run_folder import RunFolder
from hocket.links.keys.identity import Identity

from .federation_case import Federation

YES = ("--yes", "--accept-unsafe")


def ask(*words: str | Path) -> Any:
    given = [str(word) for word in words]
    return peer(given, exit_on_error=False, print_error=False, result_action="return_value")


@pytest.fixture
def federation(tmp_path, monkeypatch) -> Federation:
    """Three members who have all signed, and know each other by that."""
    monkeypatch.chdir(tmp_path)
    made = Federation(tmp_path)
    for name in made.names:
        ask("sign", made.plan_file, *YES, "--home", made.home(name).folder)
    return made


def swapped(plan: FederationPlan, *names: str, old: dict[str, Identity] | None = None) -> FederationPlan:
    """The plan with new keys for these members, which their old ones have signed where they are given."""
    cards = []
    for name in names:
        card = Card.of(Identity.create(name), plan.card(name).address)
        cards.append(card if old is None else card.renewed_by(old[name]))
    return plan.with_renewed(cards)


def sign(federation: Federation, plan: FederationPlan, *words: str) -> Any:
    write_plan(plan, Path("plan-2.toml"))
    return ask("sign", "plan-2.toml", *YES, *words, "--home", federation.home("cedar").folder)


def test_a_card_that_was_swapped_on_the_way_is_refused_by_name(federation):
    """Ash hands the plan round 'with its renewed card', and birch's card is another as well."""
    renewed = swapped(federation.plan, "ash", old=federation.identities)
    false = swapped(renewed, "birch")
    with pytest.raises(BadPlan) as refused:
        sign(federation, false)
    assert str(refused.value) == (
        f"CHANGED: the key of birch was {federation.plan.card('birch').fingerprint} and is "
        f"{false.card('birch').fingerprint} now. Its old key has not signed the new one, so that anybody may have put "
        "it there. Ask birch by voice for its fingerprint; if it is the new one, add --accept-key birch"
    )
    assert read_plan(Path("plan-2.toml")).signatures == {}


def test_what_changed_is_said_to_whoever_signs(federation):
    renewed = swapped(federation.plan, "ash", old=federation.identities)
    moved = renewed.with_renewed([replace(renewed.card("birch"), address="birch.example:7000")])
    answer = sign(federation, moved)
    assert answer.data["changed"] == [
        f"CHANGED: the key of ash was {federation.plan.card('ash').fingerprint} and is "
        f"{renewed.card('ash').fingerprint} now; renewed: the old key has signed the new one",
        f"CHANGED: birch was found at {federation.plan.card('birch').address}, and is found at birch.example:7000 now; "
        "its key is as it was",
    ]
    assert answer.words[:2] == answer.data["changed"]
    assert sign(federation, moved).data["changed"] == []  # by now they are known like that


def test_a_lost_key_is_replaced_by_whoever_accepts_it_by_name(federation):
    false = swapped(federation.plan, "ash", "birch")
    with pytest.raises(BadPlan, match="the key of birch was"):
        sign(federation, false, "--accept-key", "ash")
    answer = sign(federation, false, "--accept-key", "ash", "--accept-key", "birch")
    assert all("its old key has not signed it, and you accept it" in line for line in answer.data["changed"])


def test_a_key_that_was_renewed_does_not_come_back(federation):
    """Anybody who stole it would like that."""
    sign(federation, swapped(federation.plan, "ash", old=federation.identities))
    with pytest.raises(BadPlan, match=r"the key of ash was .* Its old key has not signed the new one"):
        sign(federation, federation.plan)


def test_another_members_word_is_not_the_old_key_s(federation):
    thief = federation.identities["birch"]
    with pytest.raises(BadPlan, match="the key of ash was"):
        sign(federation, swapped(federation.plan, "ash", old={"ash": thief}))
    honest = swapped(federation.plan, "ash", old=federation.identities).card("ash")
    moved = replace(Card.of(Identity.create("ash"), honest.address), renewal=honest.renewal)
    with pytest.raises(BadPlan, match="the key of ash was"):  # a signature of another key
        sign(federation, federation.plan.with_renewed([moved]))


def test_another_plan_with_the_same_names_is_looked_at_too(federation):
    """It is no renewal, and nothing in it says so: a new study, to which somebody else was asked as birch."""
    cards = [
        Card.of(Identity.create("birch"), "127.0.0.1:7001") if card.name == "birch" else card
        for card in federation.plan.cards
    ]
    with pytest.raises(BadPlan, match="the key of birch was"):
        sign(federation, federation.drawn(cards))


def test_replace_says_what_changed_and_refuses_a_key_without_a_word_of_the_old(federation):
    new = Card.of(Identity.create("birch"), "127.0.0.1:7001")
    Path("birch-2.toml").write_text(new.text())
    with pytest.raises(BadPlan, match=r"the key of birch was .* add --accept-key birch"):
        ask("replace", federation.plan_file, "birch-2.toml", "-o", "plan-2.toml")
    assert not Path("plan-2.toml").exists()
    answer = ask(
        "replace", federation.plan_file, "birch-2.toml", "-o", "plan-2.toml", "--accept-key", "birch"
    )
    assert "you accept it" in answer.words[0]
    Path("birch-3.toml").write_text(new.renewed_by(federation.identities["birch"]).text())
    answer = ask("replace", federation.plan_file, "birch-3.toml", "-o", "plan-3.toml")
    assert "the old key has signed the new one" in answer.words[0]


def test_run_and_check_refuse_a_key_that_was_never_accepted(federation):
    """The plan is signed by all, here on another machine that knew nobody: this home still knows birch by its key."""
    false = Identity.create("birch")
    card = Card.of(false, federation.plan.card("birch").address)
    federation.identities["birch"] = false
    federation.plan = federation.signed(federation.plan.with_renewed([card]))
    with pytest.raises(BadPlan, match="this home knows birch by another key than this plan has"):
        federation.member("cedar").check()
    KnownKeys.of(federation.home("cedar")).remember([card])
    federation.member("cedar").check()


def test_run_says_what_changed_since_it_last_went_on(federation):
    member = federation.member("cedar")
    member.folder.make()
    assert _changed_cards(member) == []
    write_plan(federation.plan, member.folder.plan)
    assert _changed_cards(member) == []
    newer = swapped(federation.plan, "ash", old=federation.identities)
    federation.plan = swapped(newer, "cedar", old=federation.identities)
    [line] = _changed_cards(replace(member, plan=federation.plan))  # one's own is no news
    assert f"and is {newer.card('ash').fingerprint} now" in line
    assert line.endswith("renewed: the old key has signed the new one")


def accepted(name: str, *words: str | Path) -> Any:
    return ask("accept", *words, "--home", name)


def test_accept_keeps_cards_by_name_and_refuses_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, folder in (("ash", "one"), ("ash", "two"), ("birch", "three")):
        ask(
            "init",
            "--name",
            name,
            "--address",
            "127.0.0.1:7000",
            "--home",
            folder,
            "--card",
            f"{folder}.toml",
        )
        ask("invite", "--card", f"{folder}.toml", "--home", folder, "-o", f"from-{folder}.toml")
    accepted("three", "from-one.toml", "--card", "three.toml", "--reply", "r1.toml")
    Path("ash.toml").unlink()  # the card itself may be long gone
    with pytest.raises(BadPlan, match=r"the key of ash was .* add --accept-key ash"):
        accepted("three", "from-two.toml", "--card", "three.toml", "--reply", "r2.toml")
    assert not Path("ash.toml").exists()
    answer = accepted(
        "three", "from-two.toml", "--card", "three.toml", "--reply", "r2.toml", "--accept-key", "ash"
    )
    assert any("you accept it" in str(line) for line in answer.words)
    assert read_card(Path("ash.toml")).fingerprint == read_card(Path("two.toml")).fingerprint


def test_a_renewed_card_takes_the_place_of_the_one_that_was_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ash", "birch"):
        ask("init", "--name", name, "--address", "127.0.0.1:7000", "--home", name)
    ask("invite", "--home", "ash", "-o", "first.toml")
    Path("kept").mkdir()
    for file in ("first.toml", "birch.toml"):
        (Path("kept") / file).write_text(Path(file).read_text())
    ask("renew", "--home", "ash")
    ask("invite", "--card", "ash-renewed.toml", "--home", "ash", "-o", "second.toml")
    (Path("kept") / "second.toml").write_text(Path("second.toml").read_text())
    monkeypatch.chdir("kept")
    accepted("../birch", "first.toml", "--reply", "r1.toml")
    answer = accepted("../birch", "second.toml", "--reply", "r2.toml")
    assert any("the old key has signed the new one" in str(line) for line in answer.words)
    assert read_card(Path("ash.toml")).renewal is not None


@pytest.mark.parametrize(
    "content", ["", "[]", '{"ash": []}', '{"ash": [3]}', '{"ash": 3}', '{"ash": [{"name": "birch"}]}']
)
def test_a_damaged_memory_is_no_memory_of_nobody(tmp_path, content):
    """To forget all keys when the file is damaged would let everybody in."""
    home = Home(tmp_path)
    home.known_keys.write_text(content)
    with pytest.raises(BadConfig, match=r"members\.json is damaged"):
        KnownKeys.of(home).accept([Card.of(Identity.create("ash"), None)], "birch")


@pytest.mark.parametrize("names", [(), ("birch",)])
def test_whoever_is_new_changes_nothing(names: Collection[str]):
    known = [Card.of(Identity.create(name), None) for name in names]
    assert changes_between(known, [Card.of(Identity.create("ash"), None), *known]) == []


def test_a_run_does_not_go_back_to_an_older_plan_with_a_key_that_was_renewed(federation):
    """Anybody who stole the old key has the old plan as well, signed by all, and hands it to one who runs the new
    one."""
    older, cedar = federation.plan, federation.home("cedar")
    newer = swapped(older, "ash", old=federation.identities)
    sign(federation, newer)
    folder = RunFolder(cedar.run(older.run_hash))
    federation.member("cedar", plan=federation.signed(older)).check()  # as long as the new one was not run
    write_plan(newer, folder.plan)
    with pytest.raises(BadPlan, match=rf"the key of ash is a newer one; run that plan .*{newer.fingerprint}"):
        federation.member("cedar", plan=federation.signed(older)).check()
    with pytest.raises(BadPlan, match="the key of ash was"):
        sign(federation, older)
    sign(federation, older, "--accept-key", "ash")
    federation.member("cedar", plan=federation.signed(older)).check()


def test_a_key_that_expired_long_ago_vouches_with_a_warning():
    """A thief of an old backup can renew it as well as its owner."""
    old = Identity.create("ash", valid_days=1, now=datetime.now(UTC) - timedelta(days=400))
    before, now = Card.of(old, None), Card.of(Identity.create("ash"), None).renewed_by(old)
    [said] = changes_between([before], [now])
    day = datetime.now(UTC) - timedelta(days=399)
    assert said.endswith(f"new one, and expired on {day:%Y-%m-%d}: ask ash by voice whether it is its own")
