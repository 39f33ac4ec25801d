"""Going on without a member: votes that hold for one run, and what the survivors are told."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.federation.audit.survivors import judge_survivors
from hocket.federation.membership.roster import NUMBER_BYTES, UNKNOWN, Roster, RosterEntry
from hocket.federation.membership.votes import agreed_leavers, read_vote, vote
from hocket.federation.plan.cards import Card
from hocket.federation.plan.plan import Dial
from hocket.federation.plan.sections import AuditSection
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished
from hocket.federation.state.run_folder import read_json
from hocket.links.keys.identity import Identity
from hocket.links.wire import Frame, Kind
from hocket.networks.network import Network

from .federation_case import Federation, play
from .plans import CARDS, IDENTITIES, SHARING, drawn

PLAN = drawn()
NUMBERS = [bytes([j + 1]) * NUMBER_BYTES for j in range(5)]


def roll_of(agent: int, number: bytes | None = None) -> Roster:
    return Roster(PLAN, IDENTITIES[agent], number or NUMBERS[agent])


def met(*rolls: Roster) -> None:
    """All of them hear of each other."""
    for roster in rolls:
        for other in rolls:
            roster.take(other.frame(other.entries[other.identity.name]), other.identity.name)


def test_a_vote_is_believed_by_those_whose_number_is_in_it():
    a, b, c = (roll_of(j) for j in range(3))
    met(a, b, c)
    mine = vote(a, "clinic-e")
    assert read_vote(b, mine.frame(PLAN)) == mine
    assert mine.numbers == b"".join([*NUMBERS[:3], UNKNOWN, UNKNOWN])
    assert read_vote(roll_of(3), mine.frame(PLAN)) is None  # a did not know of it


def test_a_vote_from_another_run_of_the_same_plan_is_refused():
    """Everybody lost its journal and began again: names, keys and plan are the same, numbers are not."""
    before = [roll_of(j) for j in range(3)]
    met(*before)
    old = vote(before[0], "clinic-e").frame(PLAN)
    assert read_vote(before[1], old) is not None
    again = roll_of(1, b"another number..")
    met(again, roll_of(0, b"as well another."))
    assert read_vote(again, old) is None


@pytest.mark.parametrize(
    "change",
    [
        {"voter": "clinic-b"},
        {"leaver": "clinic-d"},
        {"leaver": "clinic-a"},
        {"leaver": "nobody"},
        {"signature": b"x" * 70},
        {"numbers": b""},
    ],
    ids=str,
)
def test_a_vote_that_was_changed_is_refused(change):
    a, b = roll_of(0), roll_of(1)
    met(a, b)
    assert read_vote(b, vote(a, "clinic-e")._replace(**change).frame(PLAN)) is None
    assert read_vote(b, Frame(Kind.VOTE, PLAN.run_hash, parts=(b"clinic-a",))) is None


def test_numbers_are_signed_and_the_first_one_stands():
    a, b, c = (roll_of(j) for j in range(3))
    mine = a.entries["clinic-a"]
    forged = RosterEntry("clinic-b", mine.number, mine.signature)
    assert c.take(a.frame(forged), "clinic-a") is None
    assert c.take(Frame(Kind.ROSTER, PLAN.run_hash, parts=(b"too few",)), "clinic-a") is None
    assert c.take(a.frame(mine), "clinic-b") == mine
    assert c.take(a.frame(mine), "clinic-b") is None  # no news
    later = roll_of(0, b"a later number..")
    newer = later.entries["clinic-a"]
    assert c.take(later.frame(newer), "clinic-b") is None  # anybody could repeat an old one
    assert c.take(later.frame(newer), "clinic-a") == newer  # it says so itself
    assert c.missing({"clinic-e"}) == ["clinic-b", "clinic-d"]
    met(b, c)
    assert c.missing({"clinic-d", "clinic-e"}) == []


@pytest.mark.parametrize(
    ("votes", "gone"),
    [
        ({}, ""),
        ({"d": "abc"}, "d"),
        ({"d": "ab"}, ""),
        ({"d": "bc"}, ""),
        ({"c": "ab", "d": "ab"}, "cd"),
        ({"c": "abd", "d": "ab"}, "cd"),
        ({"c": "ab", "d": "a"}, ""),
        ({"a": "cd", "b": "cd"}, ""),
        ({"a": "bcd"}, ""),
        ({"b": "acd", "a": "bcd"}, "b"),
        ({"a": "cd", "b": "cd", "c": "ab", "d": "ab"}, "cd"),
    ],
    ids=str,
)
def test_who_is_dropped(votes, gone):
    """As a sees it: nobody for whom a has not voted, whatever the others have. In the last case two halves part."""
    found = agreed_leavers("abcd", {leaver: set(voters) for leaver, voters in votes.items()}, "a")
    assert found == set(gone)


@given(
    st.dictionaries(st.sampled_from("abcde"), st.frozensets(st.sampled_from("abcde"))),
    st.frozensets(st.sampled_from("abcde"), max_size=4),
)
def test_those_who_collude_drop_nobody_by_themselves(votes, colluders):
    """However they vote: for somebody honest to be dropped by an honest one, that one's own operator has voted so."""
    for me in {*"abcde"} - colluders:
        gone = agreed_leavers("abcde", votes, me)
        assert me not in gone
        assert all(me in votes[leaver] for leaver in gone)
        honest = {*"abcde"} - colluders - gone
        assert all(honest <= votes[leaver] for leaver in gone)


def test_two_members_who_are_silent_together_can_be_dropped(tmp_path):
    federation = Federation(tmp_path, members=5, topology="complete", rounds=20)
    survivors = federation.names[:3]

    async def scene() -> list[Finished]:
        for name in survivors:
            folder = federation.member(name).folder
            folder.make()
            for leaver in federation.names[3:]:
                (folder.votes / f"{leaver}.vote").touch()
        async with asyncio.timeout(60):
            return await asyncio.gather(*(take_part(federation.member(name)) for name in survivors))

    assert len(asyncio.run(scene())) == 3
    member = federation.member("ash")
    assert member.folder.status()["dropped"] == ["elm", "fir"]
    verdict = read_json(member.folder.survivors)
    assert verdict["remaining"] == list(survivors)
    assert {*member.home.accounts.left(member.plan.run_hash.hex())} == {"elm", "fir"}
    assert member.folder.status()["verdict"] == verdict["words"]


def test_survivors_are_judged_with_the_leaver_and_the_plans_colluders():
    """One of five leaves, two more may collude: two honest ones hide behind each other at most."""
    plan = drawn(topology="complete")
    verdict = judge_survivors(plan, {"clinic-e": 10})
    assert verdict.colluders == 2
    assert verdict.remaining == plan.names[:4]
    assert "clinic-e left and is counted as colluding, with any 2 of clinic-a" in verdict.words[0]
    assert "(worst of all 6)" in verdict.words[1]
    assert len(verdict.sd) == 2
    fewer = judge_survivors(drawn(topology="complete", colluders=1), {"clinic-e": 10})
    assert min(fewer.sd.values()) > min(verdict.sd.values())


def test_survivors_may_have_nobody_left_to_hide_behind():
    plan = drawn(topology="complete")
    verdict = judge_survivors(plan, {"clinic-d": 10, "clinic-e": 10})
    assert not verdict.safe
    assert "leaves nobody to hide behind" in verdict.words[1]


@pytest.mark.parametrize(
    ("topology", "colluders", "safe", "words"),
    [
        ("complete", 2, True, "P1 and P2 still hold"),
        ("cycle", 1, False, "P1 and P2 fail: clinic-a, clinic-d can be surrounded"),
    ],
)
def test_theorem_2_is_asked_of_what_remains(topology, colluders, safe, words):
    how = {"objectives": "polynomial:1", "colluders": colluders, "unsafe": True}
    plan = drawn(topology=topology, algorithm=SHARING, **how)
    verdict = judge_survivors(plan, {"clinic-e": 10})
    assert verdict.safe is safe
    assert words in verdict.words[1]
    assert "shows it by the difference before and after" in verdict.words[2]


def test_a_cut_among_survivors_is_named():
    """Two triangles that share clinic-c, and clinic-f, who talked with all of them and left."""
    sixth = Identity.create("clinic-f")
    plan = drawn([*CARDS, Card.of(sixth, "clinic-f.example:7005")], topology="complete", algorithm=SHARING)
    bow_tie = {(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)}
    network = Network(sorted(bow_tie | {(j, 5) for j in range(5)}), n=6)
    plan = dataclasses.replace(
        plan,
        links=tuple(Dial(i, j) for i, j in network.links.tolist()),
        weights=tuple(tuple(row) for row in network.B.tolist()),
        audit=AuditSection(colluders=1),
    )
    [_, words, _] = judge_survivors(plan, {"clinic-f": 10}).words
    assert "P2 fails: clinic-c would cut {clinic-a, clinic-b} from {clinic-d, clinic-e}" in words


def test_more_runs_leave_less():
    plan = drawn(topology="complete", colluders=1, rounds=20)
    once, often = (judge_survivors(plan, {"clinic-e": 20}, runs=runs) for runs in (1, 9))
    assert min(often.sd.values()) < 0.5 * min(once.sd.values())
    assert "in each of 9 runs" in often.words[1]


ALGORITHMS: dict[str, dict[str, Any]] = {
    "dgd": {"name": "dgd"},
    "rss-nb": {"name": "rss-nb", "delta": 1.0},
    "rss-lb": {"name": "rss-lb", "delta": 1.0},
    "function-sharing": {"name": "function-sharing", "degree": 2, "bound": 0.01},
}


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_runs_of_every_algorithm_count(tmp_path, algorithm):
    federation = Federation(tmp_path, rounds=5, algorithm=algorithm)
    play(federation.member(name) for name in federation.names)
    accounts = federation.home("ash").accounts
    assert [one.algorithm for one in accounts.runs("targets")] == [algorithm["name"]]
    play(federation.member(name, linger=0.1) for name in federation.names)  # the same run once more
    assert len(accounts.runs("targets")) == 1
    assert read_json(federation.member("ash").folder.about)["runs"] == 1
    cards = [federation.plan.card(name) for name in federation.names]
    federation.plan = federation.signed(federation.drawn(cards, rounds=6))
    play(federation.member(name) for name in federation.names)
    assert read_json(federation.member("ash").folder.about)["runs"] == 2
