"""Dropping silent members by rule: each by its own hearing, all together, and never into two parts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hocket.errors import BadPlan
from hocket.federation.audit.survivors import check_drop_rule
from hocket.federation.membership.changes import MembershipChanges
from hocket.federation.membership.roster import NUMBER_BYTES, Roster
from hocket.federation.membership.silence_rule import DropRule
from hocket.federation.membership.votes import vote
from hocket.federation.monitoring.metrics import Log
from hocket.federation.monitoring.watching.cautions import troubles
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.plan.policy import NONE, Policy
from hocket.federation.runtime.noise_shares import ChainStreams, kept_shares, shares
from hocket.federation.runtime.payload import arrays_for
from hocket.federation.runtime.role import MemberRole, role_of
from hocket.federation.verification.replay import _received
from hocket.federation.workloads.task import LocalSteps
from hocket.links.handshake import SeedEscrow
from hocket.links.journals.journal import Journal
from hocket.links.wire import Frame, pack

from .federation_case import ESCROW, Federation
from .plans import CARDS, JOINT, WIDE, drawn
from .quadratic import task_of
from .relay_case import names as relay_names
from .relay_case import start_relay, through


def ruled(federation: Federation, after: str) -> Federation:
    run = federation.plan.run.model_copy(update={"drop_after": after})
    federation.plan = federation.signed(replace(federation.plan, run=run, signatures={}))
    write_plan(federation.plan, federation.plan_file)
    return federation


class Talk:
    """All that the rule looks at of a conversation."""

    def __init__(self) -> None:
        self.connected: set[str] = set()
        self.waiting_since = 0.0


class Scene:
    """One member's rule, with a clock that is set by hand."""

    def __init__(self, federation: Federation, journal: Journal, policy: Policy):
        self.now, self.talk, self.federation, self.journal = 0.0, Talk(), federation, journal
        me = federation.member(federation.names[0])
        self.folder = me.folder
        roster = Roster(me.plan, me.identity, journal.run)

        async def nobody(frame: Frame, source: str) -> None: ...

        self.membership = MembershipChanges(
            roster,
            journal.ballots,
            Log(me.folder.log),
            me.folder,
            policy,
            pass_on=nobody,
            drop=pytest.fail,
            round=lambda: 3,
        )
        self.rule = DropRule(self.membership, clock=lambda: self.now)

    def look(self, until: float, connected: str, waiting: str) -> str:
        """Seconds go by with these neighbours there, and these waited for."""
        while self.now < until:
            self.now += 1.0
            self.talk.connected = {*connected.split()}
            asyncio.run(self.rule.look(self.talk, waiting.split()))  # pyright: ignore[reportArgumentType]
        return self.rule.reason

    def hears(self, voter: str, leaver: str) -> None:
        """Another member's vote."""
        plan, identity = self.federation.plan, self.federation.identities[voter]
        theirs = Roster(plan, identity, os.urandom(NUMBER_BYTES))
        self.journal.ballots.add(voter, leaver, pack(vote(theirs, leaver).frame(plan)))

    @property
    def votes(self) -> set[str]:
        return self.membership.wanted


@contextlib.contextmanager
def scene(folder: Path, *, policy: Policy = NONE, **how: Any) -> Iterator[Scene]:
    federation = ruled(Federation(folder, **how), "60s")
    ash = federation.member("ash")
    with Journal.open(ash.folder.journal, ash.plan.run_hash) as journal:
        yield Scene(federation, journal, policy)


def test_a_silent_neighbour_is_voted_on_after_the_plans_time(tmp_path):
    with scene(tmp_path, members=4, topology="complete") as one:
        assert one.look(50, "birch cedar", "elm") == "elm: silent, and dropped after 60s if all others agree"
        one.look(55, "birch cedar elm", "elm")  # it was there for a moment: its time begins again
        assert one.look(110, "birch cedar", "elm").endswith("if all others agree")
        assert one.votes == set()
        waits = one.look(120, "birch cedar", "elm")
        assert one.votes == {"elm"}
        assert waits == "elm: silent for 60s; waits for the votes of ash, birch, cedar"
        one.hears("birch", "elm")
        assert one.look(121, "birch cedar", "elm").endswith(
            "the votes of ash, cedar"
        )  # ash's is signed by `collect`
        told = [*troubles({"dropped": [], "rule": one.rule.reason})]
        assert told == [one.rule.reason]
        assert one.look(122, "birch cedar elm", "") == ""


def test_whoever_hears_nobody_drops_nobody(tmp_path):
    """A relay is cut for longer than the plan's time; then members come back one after the other."""
    with scene(tmp_path, members=4, topology="complete") as one:
        assert "may be this member's own line" in one.look(500, "", "birch cedar elm")
        one.look(520, "birch", "cedar elm")
        one.look(530, "birch cedar", "elm")
        assert one.votes == set()
        one.look(570, "birch cedar", "elm")  # it was not heard for an hour, and for a minute beside others
        assert one.votes == {"elm"}


def test_no_two_parts_go_on(tmp_path):
    with scene(tmp_path, members=4, topology="complete") as one:
        assert "no more than half of all members would stay" in one.look(200, "birch", "cedar elm")
        assert one.votes == set()


def test_votes_that_stand_count_with_those_to_come(tmp_path):
    """A member that came back may still be dropped, if others find it silent, too."""
    with scene(tmp_path, members=4, topology="complete") as one:
        one.hears("ash", "birch")
        reason = one.look(200, "birch cedar", "elm")
        assert reason.startswith("birch, elm: silent, but no more than half of all members would stay")
        assert one.votes == set()


def test_it_waits_where_the_others_would_fall_apart_or_be_exposed(tmp_path):
    (tmp_path / "ring").mkdir()
    with scene(tmp_path / "ring", members=5, topology="path") as one:
        reason = one.look(200, "", "birch")
        assert "own line" in reason
    (tmp_path / "policy").mkdir()
    with scene(tmp_path / "policy", members=4, topology="complete", policy=Policy(min_sd=1e9)) as one:
        reason = one.look(200, "birch cedar", "elm")
        assert reason.startswith("elm: silent, but not dropped by the plan's rule: not safe. elm left")
        assert "below your policy" in reason
        assert one.votes == set()
        one.folder.accept(frozenset({"elm"}))
        one.rule._judged = (frozenset(), 0, "")  # a restart, or the next round
        one.look(201, "birch cedar", "elm")
        assert one.votes == {"elm"}


def test_whom_one_cannot_hear_is_left_to_its_neighbours(tmp_path):
    """On a ring of five, ash hears birch and fir; elm's neighbours are cedar and fir."""
    with scene(tmp_path, members=5, topology="cycle") as one:
        one.folder.accept(frozenset({"elm"}))  # a path of four exposes somebody
        one.look(200, "birch fir", "fir")
        one.hears("fir", "elm")
        one.look(210, "birch fir", "fir")
        assert one.votes == set()  # cedar may hear it
        one.hears("cedar", "elm")
        one.talk.waiting_since = 190.0
        one.look(240, "birch fir", "fir")
        assert one.votes == set()  # ash itself has not waited for so long
        one.look(250, "birch fir", "fir")
        assert one.votes == {"elm"}


def test_a_plan_says_so_in_words():
    plan = drawn()
    assert "drop_after" not in plan.tables()["run"]
    ruled = replace(plan, run=plan.run.model_copy(update={"drop_after": "36h"}))
    assert ruled.run.drop_seconds == 36 * 3600
    joint = drawn(algorithm=JOINT)
    with pytest.raises(BadPlan, match="would end the run"):
        replace(joint, run=joint.run.model_copy(update={"drop_after": "1h"}))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"cards": CARDS[:4], "colluders": 3}, "nobody to hide behind"),
        ({"topology": "path"}, "is known exactly"),
        ({"algorithm": {"name": "dgd"}, "unsafe": True}, "No theorem"),
    ],
    ids=["few members", "a path", "nothing hidden"],
)
def test_a_rule_that_could_never_drop_anybody_is_refused_at_planning(given, why):
    """Without it plans are drawn up as ever; with it members would rely on what does not happen."""
    plan = drawn(**given)
    check_drop_rule(plan)
    vain = replace(plan, run=plan.run.model_copy(update={"drop_after": "24h"}))
    with pytest.raises(BadPlan, match=f"--drop-after 24h would never drop anybody.*{why}"):
        check_drop_rule(vain)


def test_a_rule_that_can_drop_somebody_is_planned():
    plan = drawn(topology="complete", colluders=1)
    check_drop_rule(replace(plan, run=plan.run.model_copy(update={"drop_after": "24h"})))


def test_whoever_came_back_would_say_its_last_step_under_less_noise():
    """RSS-NB, the default steps: it falls silent after round 10, and says that step in round 500. Who knows where it
    stood reads its gradient off the word, to the noise in units of the step that it hides."""
    plan = drawn(rounds=600, feasible=WIDE)
    role = role_of(plan, "clinic-a")

    def error(said_in: int, seed: int) -> np.ndarray:
        """What hides α_10 ∇f in a word of some round, over α_10."""
        streams = _streams(plan.run_hash, role, SeedEscrow(seed))
        for _ in range(said_in - 1):
            streams.advance()
        talk = role.round(role.agent(said_in, shares(role, streams, said_in), None), np.zeros(4), said_in)
        return next(talk).message / role.step(10)

    planned, later = (np.std([error(k, seed) for seed in range(200)]) for k in (11, 500))
    assert planned / later == pytest.approx((role.step(11) / role.step(500)), rel=0.2)
    assert planned > 7 * later


def played_again(federation: Federation, dead: str) -> dict[str, np.ndarray]:
    """What the survivors of a run publish, by the simulator's rounds on the noise that the escrow gives away.

    The same events: each survivor went on without the dead member from the round that its journal names. What it says
    in that round was begun before; what it hears of the dead member it leaves out.
    """
    plan, gone = federation.plan, federation.plan.agent(dead)
    left: dict[int, int] = {}
    for name in federation.names:
        member = federation.member(name)
        with Journal.open(member.folder.journal, plan.run_hash) as journal:
            left[plan.agent(name)] = journal.round + 1 if name == dead else journal.ballots.left[dead]
    roles = [federation.member(name).role() for name in federation.names]
    without = [replace(role, dropped=frozenset({gone}) & {*role.neighbours}) for role in roles]
    streams = [_streams(plan.run_hash, role) for role in roles]
    locals_ = [LocalSteps(task_of(j), 1, one.batch) for j, one in enumerate(streams)]
    start = federation.member("ash").start()
    states: list[Any] = [
        role.algorithm.init(role.agent(1, kept_shares(role, one), local), start)
        for role, one, local in zip(roles, streams, locals_, strict=True)
    ]
    for k in range(1, plan.run.rounds + 2):
        there = [j for j in range(len(roles)) if j != gone or k < left[gone]]
        talks, said = {}, {}
        for j in there:
            role = roles[j] if k <= left[j] or j == gone else without[j]
            talks[j] = role.round(role.agent(k, shares(role, streams[j], k), locals_[j]), states[j], k)
            said[j] = next(talks[j])
        arrays = {j: arrays_for(roles[j], said[j]) for j in there}
        for j in there:
            role = roles[j] if j == gone or k < left[j] else without[j]
            if not all(other in arrays for other in role.weights(k)[1]):
                continue  # the dead member's last round: nobody hears what comes of it
            player: Any = SimpleNamespace(role=role)
            try:
                talks[j].send(_received(player, k, said[j], arrays))  # pyright: ignore[reportArgumentType]
            except StopIteration as end:
                states[j] = end.value
        for one in streams:
            one.advance()
    return {name: states[plan.agent(name)] for name in federation.names if name != dead}


def _streams(run: bytes, role: MemberRole, escrow: SeedEscrow = ESCROW) -> ChainStreams:
    keys = {
        other: escrow.keys(run, min(role.index, other), max(role.index, other)) for other in role.neighbours
    }
    chains, once = ({other: getattr(key, kind) for other, key in keys.items()} for kind in ("chain", "once"))
    return ChainStreams(1, chains, once, escrow.own_chain(role.index), role.dtype)


def until(true: Any, within: float = 120.0) -> None:
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def check_survivors_of(federation: Federation, dead: str) -> None:
    """They have finished without it, by their own votes, and come to what the simulator comes to."""
    again = played_again(federation, dead)
    for name, published in again.items():
        assert federation.member(name).folder.status()["dropped"] == [dead]
        np.testing.assert_array_equal(federation.ended(name).published, published)


def killed_in_the_middle(federation: Federation, dead: str, cut: Any = lambda: None) -> None:
    """All members as processes; something happens to their links, and then one is killed for good."""
    running = {name: federation.start(name, pause=0.05) for name in federation.names}
    folder = federation.member(dead).folder
    try:
        until(lambda: folder.begun and folder.status()["round"] >= 5)
        cut()
        reached = folder.status()["round"]
        until(lambda: folder.status()["round"] > reached)  # no round is lost: they go on
        running[dead].kill()
        for name, process in running.items():
            assert process.wait(180) == 0 or name == dead
    finally:
        for process in running.values():
            process.kill()
            process.wait()


@pytest.mark.slow
def test_survivors_of_a_dead_member_come_to_what_the_simulator_does(tmp_path):
    federation = ruled(Federation(tmp_path, members=4, topology="complete", rounds=60), "10s")
    killed_in_the_middle(federation, "cedar")
    check_survivors_of(federation, "cedar")
    log = federation.member("ash").folder.log.read_text()
    assert '"rule votes"' in log


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("after", "seconds"),
    [
        pytest.param("20s", 25.0, marks=pytest.mark.slow, id="short"),
        pytest.param("60s", 360.0, marks=pytest.mark.endurance, id="six minutes"),
    ],
)
def test_a_cut_of_the_relay_drops_nobody_and_then_a_death_does(tmp_path, after, seconds):
    """The cut is longer than the plan's time: nobody hears anybody, so nobody votes. Then a member dies."""
    federation = ruled(Federation(tmp_path, members=4, topology="complete", rounds=80), after)
    [name] = relay_names("ws")
    through(federation, name)
    relay = [start_relay(federation, name=name)]

    def cut() -> None:
        relay[0].kill()
        relay[0].communicate()
        time.sleep(seconds)
        for one in federation.names:
            assert federation.member(one).folder.status()["dropped"] == []
            assert not [*federation.member(one).folder.votes.glob("*.vote")]
        relay[0] = start_relay(federation, name=name)

    try:
        killed_in_the_middle(federation, "elm", cut)
    finally:
        relay[0].kill()
        relay[0].communicate()
    check_survivors_of(federation, "elm")
