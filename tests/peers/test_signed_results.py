"""Everybody has everybody's signature of a study's results, also where two members are no neighbours."""

from __future__ import annotations

import asyncio
import base64
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, LinkError
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished
from hocket.federation.runtime.secure_sum import BEGINNING
from hocket.federation.runtime.termination import Termination
from hocket.federation.state.run_folder import write_json
from hocket.federation.verification.study_signatures import (
    PURPOSE,
    SIGNATURES,
    Signatures,
    check_results,
    check_signatures,
    gather,
)
from hocket.links.journals.journal import EVERYBODY, Journal
from hocket.links.keys.identity import Identity
from hocket.links.wire import Frame, Kind, pack_named, unpack
from hocket.machine import held_ports
from hocket.studies.results.results import RESULTS, digest_of

from .study_case import NAMES, planned
from .test_studies import members
from .test_totals import roles

RING = (*NAMES, "elder")


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in RING]


class Crash(Exception):
    """The power fails."""


async def all_of(some: list[Member]) -> None:
    async def again_and_again(member: Member) -> None:
        while True:
            try:
                await take_part(member)
            except Crash:
                continue
            return

    async with asyncio.timeout(60):
        await asyncio.gather(*map(again_and_again, some))


@pytest.mark.parametrize("crash", ["none", "before", "after"])
def test_on_a_ring_of_five_signatures_come_to_everybody(tmp_path, identities, crash, monkeypatch):
    """One of them may lose its power while signatures are passed along, before or after it has written down its own."""
    usual, crashes = Journal.commit_messages, list[int]()

    def failing(self: Journal, round: int, exchange: int, words: Any, received: Any, **more: Any) -> Any:
        is_farewell = EVERYBODY in words and "cedar" in str(self._database.path)
        if crash == "none" or not is_farewell or crashes:
            return usual(self, round, exchange, words, received, **more)
        if crash == "after":
            usual(self, round, exchange, words, received, **more)
        crashes.append(exchange)
        raise Crash

    monkeypatch.setattr(Journal, "commit_messages", failing)
    with held_ports(len(RING)) as ports:
        some = members(tmp_path, planned(identities, ports, topology="cycle"), identities)
        asyncio.run(all_of(some))
    assert crashes == ([] if crash == "none" else [1])
    for member in some:
        found = json.loads((member.folder.path / SIGNATURES).read_text())
        signed, wrong = check_signatures(member.plan, found)
        assert ({*signed}, wrong, len({*signed.values()})) == ({*RING}, [], 1)


class Same:
    """Seals that hold are their member's name."""

    def own(self, published: np.ndarray, point: bytes) -> bytes:
        return b"0"

    def holds(self, name: str, seal: bytes) -> bool:
        return seal == name.encode()


def farewell() -> Termination:
    talk: Any = SimpleNamespace(plan=bytes(32))
    nobody: Any = None
    names = [str(j) for j in range(5)]
    role = roles(hk.Network.cycle(5))[0]
    return Termination(role, names, talk, nobody, Same(), 3, np.zeros(1), BEGINNING)


def said(*parts: Any) -> Frame:
    return Frame(Kind.DONE, bytes(32), 3, 0, parts)


def test_a_neighbour_that_passes_on_false_signatures_hides_no_true_one():
    mine = farewell()
    lies = {"4": b"4", "3": b"false", "2": b"false", "nobody": b"nobody!"}
    mine._look(
        {"4": said(BEGINNING, pack_named(lies)), "1": said(BEGINNING, pack_named({"1": b"1", "2": b"2"}))}
    )
    assert mine.seals == {"0": b"0", "1": b"1", "2": b"2", "4": b"4"}
    assert not mine.differing  # of what it passes on nobody knows whose lie it is
    mine._look({"1": said(BEGINNING, pack_named({"1": b"other results"}))})
    assert mine.differing == {"1"}
    assert set(mine.seals) == {"0", "1", "2", "4"}
    again = unpack(mine.word(1), SimpleNamespace(bytes=10**6, parts=16))  # type: ignore[arg-type]
    assert again.exchange == 1
    assert again.parts[0] == BEGINNING


@pytest.mark.parametrize("parts", [(), (b"\xff",), (b"a", b"b"), (np.zeros(3),)])
def test_what_cannot_be_read_is_refused_by_name(parts):
    with pytest.raises(LinkError, match="4 is done, and passes on what cannot be read"):
        farewell()._look({"4": said(BEGINNING, *parts)})


def test_a_signature_that_is_kept_back_is_missed(tmp_path, identities):
    [member, *_] = members(tmp_path, planned(identities, range(7000, 7005), topology="cycle"), identities)
    results: Any = SimpleNamespace(digest="00" * 32)
    x = np.zeros(1)
    seals = {name: b"signature" for name in RING if name != "cedar"}
    with pytest.raises(LinkError, match="no signature of cedar for these sums was passed on"):
        gather(member, results, BEGINNING, Finished(x, x, seals))
    gather(member, results, BEGINNING, Finished(x, x, seals, waiting_for=("birch",)))
    with pytest.raises(LinkError, match="birch signed other sums than this member was shown"):
        gather(member, results, BEGINNING, Finished(x, x, seals, differing=("birch",)))


def test_a_last_digit_that_another_machine_rounds_otherwise_ends_no_run(tmp_path, identities):
    """8.5 % of digests differed at differences of 1e-12, and honest members told each other that they lied."""
    ash, birch, *_ = members(tmp_path, planned(identities, range(7000, 7005), topology="cycle"), identities)
    x, sums, seals = np.zeros(1), bytes(range(32)), dict[str, bytes]()
    for member, digest in ((ash, "00" * 32), (birch, "11" * 32)):
        member.folder.make()
        results: Any = SimpleNamespace(digest=digest)
        signing = Signatures(member, lambda published, results=results: results)
        seals[member.name] = signing.own(x, sums)
    signing = Signatures(ash, lambda published: SimpleNamespace(digest="00" * 32))  # type: ignore[arg-type]
    signing.own(x, sums)
    assert all(signing.holds(name, seal) for name, seal in seals.items())
    signing._point = bytes(32)  # other sums
    assert not any(signing.holds(name, seal) for name, seal in seals.items())


@pytest.mark.parametrize(("alike", "refused"), [(5, False), (4, True), (3, True), (1, True)])
def test_results_that_one_member_did_not_come_to_are_refused(tmp_path, identities, alike, refused):
    """Its own member may sign another table, and no other member has signed that."""
    plan = planned(identities, range(7000, 7005), topology="cycle")
    data, point = {"title": "T"}, bytes(32)
    mine, others = bytes.fromhex(digest_of(data)), bytes(32)
    seals = {}
    for place, identity in enumerate(identities):
        digest = mine if place < alike else others
        signature = identity.sign(plan.run_hash + point + digest, PURPOSE)
        seals[identity.name] = base64.b64encode(digest + signature).decode()
    about = {"file": RESULTS, "run": plan.run_hash.hex(), "left": [], "sums": point.hex()}
    write_json(tmp_path / RESULTS, data)
    write_json(tmp_path / SIGNATURES, about | {"results": mine.hex(), "signatures": seals})
    if refused:
        with pytest.raises(BadInput, match="signed other numbers than the results in"):
            check_results(plan, tmp_path)
    else:
        assert len(check_results(plan, tmp_path)) == alike
