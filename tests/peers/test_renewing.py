"""A certificate that is renewed in the middle of a run: everybody signs again, and the run goes on as it was."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from hocket.cli.peer import peer
from hocket.errors import BadConfig, BadPlan
from hocket.federation.cards import Card
from hocket.federation.engine.peer import Finished, Played
from hocket.federation.home import Home
from hocket.federation.participation import take_part
from hocket.federation.plan_file import read_plan
from hocket.federation.presence import Presence
from hocket.links.identity import Identity

from .federation_case import Federation, play


def renew(federation: Federation, name: str) -> None:
    """A new key for one member, and everybody's signature under the plan that names it."""
    identity = Identity.create(name)
    federation.identities[name] = identity
    federation.renew([Card.of(identity, federation.plan.card(name).address)])


async def stopped_in_round(federation: Federation, k: int) -> None:
    """Everybody plays until somebody has finished a round, and stops there."""

    def watch(played: Played, presence: Presence) -> None:
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
        folder = federation.member(name).folder
        folder.make()
        folder.write_status({"dropped": ["elm"]})
        federation.member(name).check()


def ask(*words: str | Path) -> dict[str, str]:
    return peer([str(word) for word in words], exit_on_error=False, result_action="return_value").data


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
    assert newer.card("ash").address == "127.0.0.1:7001"
    assert newer.unsigned == newer.names
    for words, complaint in (
        (("renew", "--home", home), "ash-renewed.toml exists"),
        (("renew", "--home", home, "--card", "other.toml"), "identity.old exists"),
        (("replace", federation.plan_file, made["card"], "-o", "renewed.toml"), "renewed.toml exists"),
        (("replace", federation.plan_file), "no card was named"),
    ):
        with pytest.raises(BadConfig, match=complaint):
            ask(*words)
