"""A certificate that is renewed in the middle of a run: everybody signs again, and the run goes on as it was."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.cli.peer import cards as cards_module
from hocket.cli.peer import peer
from hocket.cli.peer.common import MemberOptions, member_of, open_identity
from hocket.errors import BadConfig, BadIdentity, BadPlan
from hocket.federation.membership.session import Session
from hocket.federation.plan.cards import Card, read_card
from hocket.federation.plan.plan_file import read_plan, write_plan
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished, Played
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.home import Home
from hocket.links.keys.identity import Identity, is_under_passphrase

from .federation_case import Federation, play


def renew(federation: Federation, name: str) -> None:
    """A new key for one member, and everybody's signature under the plan that names it."""
    identity = Identity.create(name)
    federation.identities[name] = identity
    federation.renew([Card.of(identity, federation.plan.card(name).address)])


async def stopped_in_round(federation: Federation, k: int) -> None:
    """Everybody plays until somebody has finished a round, and stops there."""

    def watch(played: Played, session: Session) -> None:
        if played.k == k:
            for task in running:
                task.cancel()

    running = [
        asyncio.create_task(take_part(federation.member(name), watch=watch)) for name in federation.names
    ]
    await asyncio.gather(*running, return_exceptions=True)


def test_a_run_goes_on_with_a_renewed_certificate_bit_for_bit(tmp_path):
    federation = Federation(tmp_path, rounds=40)
    begun = federation.plan
    asyncio.run(asyncio.wait_for(stopped_in_round(federation, 5), 60))
    renew(federation, "birch")
    assert federation.plan.hash != begun.hash
    assert federation.plan.run_hash == begun.run_hash
    rounds = [federation.member(name).folder.status()["round"] for name in federation.names]
    assert all(4 <= k <= 6 for k in rounds)
    ends = play(federation.member(name) for name in federation.names)

    for name in federation.names:
        federation.wipe(name)
    undisturbed = play(federation.member(name) for name in federation.names)
    for one, other in zip(ends, undisturbed, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(one.published, other.published)


def test_whoever_still_runs_the_old_plan_is_not_talked_to(tmp_path):
    """Links ask for the plan that everybody signed last, certificates and all."""
    federation = Federation(tmp_path, members=2, topology="path")
    behind = federation.member("ash")
    renew(federation, "birch")

    async def scene() -> None:
        running = [asyncio.create_task(take_part(member)) for member in (behind, federation.member("birch"))]
        while not (behind.folder.log.exists() and "lost" in behind.folder.log.read_text()):
            await asyncio.sleep(0.1)
        assert not any(task.done() for task in running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    asyncio.run(asyncio.wait_for(scene(), 60))
    assert behind.folder.status()["round"] == 0


def test_a_plan_with_a_renewed_card_needs_all_signatures_again(tmp_path):
    federation = Federation(tmp_path)
    card = Card.of(Identity.create("birch"), "127.0.0.1:7000")
    newer = federation.plan.with_renewed([card])
    assert newer.unsigned == newer.names
    with pytest.raises(BadPlan, match="oak is not in this plan"):
        newer.with_renewed([Card.of(Identity.create("oak"), None)])


def test_survivors_votes_are_signed_anew_with_a_renewed_key(tmp_path):
    """Ash votes, renews its key before birch and cedar know of the vote, and is believed all the same."""
    federation = Federation(tmp_path, members=4, topology="complete", rounds=30)
    survivors = federation.names[:3]

    async def voted() -> None:
        running = [asyncio.create_task(take_part(federation.member(name))) for name in survivors]
        folder = federation.member("ash").folder
        while not (folder.log.exists() and folder.log.read_text().count("joined") == 2):
            await asyncio.sleep(0.1)
        (folder.votes / "elm.vote").touch()
        while (folder.votes / "elm.vote").exists():
            await asyncio.sleep(0.1)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def finished() -> list[Finished]:
        for name in survivors[1:]:
            (federation.member(name).folder.votes / "elm.vote").touch()
        return await asyncio.gather(*(take_part(federation.member(name)) for name in survivors))

    asyncio.run(asyncio.wait_for(voted(), 60))
    renew(federation, "ash")
    ends = asyncio.run(asyncio.wait_for(finished(), 60))
    assert len(ends) == 3
    assert federation.member("cedar").folder.status()["dropped"] == ["elm"]


def test_nothing_is_asked_of_a_member_who_was_dropped(tmp_path):
    """Elm is gone, and so is its key's validity: the others renew theirs, and run on without its signature."""
    federation = Federation(tmp_path, members=4, topology="complete")
    survivors = federation.names[:3]
    expired = Identity.create("elm", valid_days=1, now=datetime.now(UTC) - timedelta(days=9))
    federation.identities["elm"] = expired
    federation.renew([Card.of(expired, "127.0.0.1:7000")])
    given = {name: signature for name, signature in federation.plan.signatures.items() if name != "elm"}
    federation.plan = replace(federation.plan, signatures=given)
    with pytest.raises(BadPlan, match="lacks the signature of elm"):
        federation.member("ash").check()
    for name in survivors:
        accounts, run = federation.home(name).accounts, federation.plan.run_hash.hex()
        accounts.begin("targets", RecordedRun("r", run, "rss-nb", left={"elm": 3}))
        federation.member(name).check()


class Killed(BaseException):
    """The process is no more."""


def _words(given: list[str]) -> list[str]:
    return peer(given, exit_on_error=False, print_error=False, result_action="return_value").words


def ask(*words: str | Path) -> dict[str, Any]:
    given = [str(word) for word in words]
    return peer(given, exit_on_error=False, print_error=False, result_action="return_value").data


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    federation = Federation(tmp_path)
    home = federation.home("ash").folder
    made = ask("renew", "--address", "127.0.0.1:7001", "--home", home)
    assert Identity.load(Home(home).identity).fingerprint == made["fingerprint"]
    assert Identity.load(Path(made["old_identity"])).fingerprint == federation.plan.card("ash").fingerprint
    answer = ask("replace", federation.plan_file, made["card"], "-o", "renewed.toml")
    newer = read_plan(Path("renewed.toml"))
    assert answer["run"] == federation.plan.run_hash.hex() == newer.run_hash.hex()
    assert len(answer["changed"]) == 1
    assert "the old key has signed the new one" in answer["changed"][0]
    assert newer.card("ash").address == "127.0.0.1:7001"
    assert newer.unsigned == newer.names
    for words, complaint in (
        (("renew", "--home", home), "ash-renewed.toml exists"),
        (("replace", federation.plan_file, made["card"], "-o", "renewed.toml"), "renewed.toml exists"),
        (("replace", federation.plan_file), "no card was named"),
    ):
        with pytest.raises(BadConfig, match=complaint):
            ask(*words)


def test_one_command_renews_in_a_running_plan_and_the_others_confirm(tmp_path, monkeypatch):
    """Three commands in all before everybody runs the new plan; addresses, and who has signed, are as they were."""
    monkeypatch.chdir(tmp_path)
    federation = Federation(tmp_path, options={})
    homes = {name: federation.home(name).folder for name in federation.names}
    for home in homes.values():
        ask("sign", federation.plan_file, "--yes", "--accept-unsafe", "--home", home)
    ask("renew", federation.plan_file, "-o", "plan-2.toml", "--home", homes["ash"])
    assert read_plan(Path("plan-2.toml")).unsigned == ("birch", "cedar")
    for name in ("birch", "cedar"):
        told = ask("sign", "plan-2.toml", "--yes", "--accept-unsafe", "--home", homes[name])
        [changed] = told["changed"]
        assert changed.startswith(
            f"CHANGED: the key of ash was {federation.plan.card('ash').fingerprint} and is "
        )
        assert changed.endswith("renewed: the old key has signed the new one")
    newer = read_plan(Path("plan-2.toml"))
    newer.check_signatures()
    assert newer.run_hash == federation.plan.run_hash
    assert [card.address for card in newer.cards] == [card.address for card in federation.plan.cards]
    federation.plan = newer
    federation.identities["ash"] = Identity.load(Home(homes["ash"]).identity)
    again = ["sign", "plan-2.toml", "--yes", "--accept-unsafe", "--home", str(homes["cedar"])]
    assert "Next: hocket peer check plan-2.toml --task" in _words(again)[-1]
    assert len(play(federation.member(name) for name in federation.names)) == 3
    assert _words(again)[-1].endswith("Next: everybody stops its run, and runs plan-2.toml instead")


def test_until_all_have_signed_the_run_goes_on_with_the_old_key(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    federation = Federation(tmp_path)
    home = federation.home("ash")
    old = federation.plan.card("ash")
    for _ in range(3):  # as often as one likes: no key is lost
        ask(
            "renew",
            federation.plan_file,
            "--card",
            "again.toml",
            "-o",
            "again-plan.toml",
            "--home",
            home.folder,
        )
        Path("again.toml").unlink()
        Path("again-plan.toml").unlink()
    assert len(home.old_identities) == 3
    assert open_identity(home.identity_in(federation.plan)).fingerprint == old.fingerprint
    monkeypatch.setenv("QUADRATIC_MEMBER", "0")
    options = MemberOptions(task=f"{Path(__file__).parent / 'quadratic_file.py'}:task", home=home.folder)
    assert member_of(federation.plan_file, options).identity.fingerprint == old.fingerprint


def test_all_renew_in_one_plan_after_all_have_expired(tmp_path, monkeypatch):
    """A command each to renew, the last of which signs, and one each for the others to sign: five for three."""
    monkeypatch.chdir(tmp_path)
    federation = Federation(tmp_path)
    then = datetime.now(UTC) - timedelta(days=400)
    cards = []
    for name in federation.names:
        old = Identity.create(name, now=then)
        shutil.rmtree(federation.home(name).identity)
        old.save(federation.home(name).identity)
        federation.identities[name] = old
        cards.append(Card.of(old, federation.plan.card(name).address))
    federation.plan = federation.signed(federation.plan.with_renewed(cards))
    write_plan(federation.plan, federation.plan_file)
    for name in federation.names:
        federation.consent(name, federation.plan)
    with pytest.raises(
        BadIdentity, match=r"expired on .*; ash renews it with hocket peer renew PLAN, and all others"
    ):
        federation.member("ash").check()
    before = federation.plan_file
    for place, name in enumerate(federation.names):
        file = Path(f"plan-{place}.toml")
        ask("renew", before, "-o", file, "--home", federation.home(name).folder)
        before = file
    assert read_plan(before).unsigned == ("ash", "birch")
    for name in ("ash", "birch"):
        ask("sign", before, "--yes", "--accept-unsafe", "--home", federation.home(name).folder)
    newer = read_plan(before)
    newer.check_signatures()
    newer.check_certificates()
    assert newer.run_hash == federation.plan.run_hash


def test_a_renewed_card_says_where_its_member_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask("init", "--name", "ash", "--address", "ash.example:7000", "--home", "ash")
    assert ask("renew", "--home", "ash")["address"] == "ash.example:7000"
    assert read_card(Path("ash-renewed.toml")).address == "ash.example:7000"
    ask(
        "init",
        "--name",
        "elm",
        "--relay",
        "relay.example:443",
        "--relay",
        "b.example:1",
        "--home",
        "elm",
    )
    assert ask("renew", "--home", "elm")["relays"] == ["relay.example:443", "b.example:1"]
    Identity.create("fir").save(Home(Path("fir")).identity)  # without a card beside its keys
    with pytest.raises(BadConfig, match=r"nothing in .* says where others find fir; add --address"):
        ask("renew", "--home", "fir")


def test_keys_are_never_overwritten_or_lost(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = Home(Path("ash"))
    first = ask("init", "--name", "ash", "--address", "ash.example:7000", "--home", "ash")["fingerprint"]
    with pytest.raises(
        BadIdentity, match="already holds an identity; for a new key under its name: hocket peer renew"
    ):
        ask("init", "--name", "ash", "--address", "ash.example:7000", "--home", "ash")

    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patched:  # the disk is full when the card is to be written
        patched.setattr(cards_module, "replace_text", full)
        with pytest.raises(OSError, match="No space left"):
            ask("renew", "--home", "ash")
    assert Identity.load(home.identity).fingerprint == first
    assert not home.renewed.exists()
    assert not Path("ash-renewed.toml").exists()

    def killed(old: Path, new: Path) -> None:
        if old == home.renewed:
            raise Killed
        rename(old, new)

    rename = os.rename
    with monkeypatch.context() as patched:  # killed between the two steps
        patched.setattr(cards_module.os, "rename", killed)
        with pytest.raises(Killed):
            ask("renew", "--home", "ash")
    assert not home.identity.exists()
    with pytest.raises(BadIdentity, match="already holds an identity"):  # and not a third one over both
        ask("init", "--name", "ash", "--card", "third.toml", "--home", "ash")
    second = open_identity(home.identity).fingerprint
    assert read_card(Path("ash-renewed.toml")).fingerprint == second
    assert [Identity.load(one).fingerprint for one in home.old_identities] == [first]


def test_a_renewed_key_is_under_a_passphrase_as_the_old_one_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOCKET_PASSPHRASE", "a long one")
    ask("init", "--name", "ash", "--address", "ash.example:7000", "--home", "ash", "--passphrase")
    ask("renew", "--home", "ash")
    assert is_under_passphrase(Home(Path("ash")).identity)
