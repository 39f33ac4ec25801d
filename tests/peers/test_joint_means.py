"""Whether a run converges as a whole: masked sums of all states, now and then, that change nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadPlan
from hocket.federation.membership.roster import Roster
from hocket.federation.monitoring.convergence import diagnosis_of
from hocket.federation.monitoring.metrics import Log
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.plan.sections import CertificateSection
from hocket.federation.runtime import convergence as joint_means
from hocket.federation.runtime.convergence import NUMBERS, JointMeans, folded, told_after
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.served_plan import ServedPlan
from hocket.links.journals.journal import Journal
from hocket.links.wire import Frame
from hocket.privacy.leakage.leakage import leakage
from tests.peers.federation_case import Federation, play
from tests.peers.plans import JOINT, drawn


def with_means(plan: FederationPlan, means: int) -> FederationPlan:
    return replace(plan, run=plan.run.model_copy(update={"means": means}), signatures={})


def summing(folder: Path, *, means: int = 5, **how: Any) -> Federation:
    federation = Federation(folder, **how)
    federation.plan = federation.signed(with_means(federation.plan, means))
    write_plan(federation.plan, federation.plan_file)
    return federation


async def nobody(frame: Frame, source: str) -> None: ...


def heard_by(federation: Federation, name: str, journal: Journal) -> JointMeans:
    member = federation.member(name)
    roster = Roster(member.plan, member.identity, journal.run)
    return JointMeans(roster, journal.state_sums, Log(member.folder.log), nobody)


def test_the_sum_is_that_of_all_states_and_a_crash_changes_no_bit(tmp_path, monkeypatch):
    """On a path, where words go by several hands; one member is started again in the middle of it."""
    federation = summing(tmp_path, members=4, topology="path", rounds=20)
    assert told_after(federation.plan) == (2, 6, 10, 14, 18)  # two rounds later everybody has heard of it
    states: dict[tuple[str, int], np.ndarray] = {}

    def noted(name: str, stop: int = 0) -> Any:
        def watch(played: Any, session: Any) -> None:
            states[name, played.k] = played.x
            if played.k == stop:
                raise InterruptedError

        return watch

    async def everybody() -> list[Any]:
        others = [take_part(federation.member(name), watch=noted(name)) for name in federation.names[1:]]

        async def first() -> Any:
            with pytest.raises(InterruptedError):
                await take_part(federation.member("ash"), watch=noted("ash", 10))
            return await take_part(federation.member("ash"), watch=noted("ash"))

        return await asyncio.gather(first(), *others)

    ends = asyncio.run(asyncio.wait_for(everybody(), 90))
    measured = [federation.member(name).folder.status()["measured"] for name in federation.names]
    assert {one["joint_round"] for one in measured} == {18}
    assert len({one["joint_movement"] for one in measured}) == 1
    ash = federation.member("ash")
    with Journal.open(ash.folder.journal, ash.plan.run_hash) as journal:
        means = heard_by(federation, "ash", journal)
        for k in told_after(federation.plan):
            true = np.mean([states[name, k] for name in federation.names], axis=0)
            _, after = means._mean(k)
            np.testing.assert_allclose(
                np.abs(after), np.abs(true), atol=1e-12, rtol=0
            )  # but for public signs
            told, _ = journal.state_sums.after(k)["ash"]
            alone = means._point.decode(np.frombuffer(told, "<u8").reshape(2, -1).astype(np.uint64))
            assert np.abs(alone).min() > 1e3  # a masked word is any number of the group
        assert means.measured == {key: value for key, value in measured[0].items() if key in means.measured}
    # The same without a crash, and without any sum: words and noise are the same, bit for bit.
    for name in federation.names:
        federation.wipe(name)
    monkeypatch.setattr(joint_means, "told_after", lambda plan: ())
    for one, other in zip(ends, play(federation.member(name) for name in federation.names), strict=True):
        np.testing.assert_array_equal(one.published, other.published)
    status = federation.member("ash").folder.status()
    assert "joint_round" not in status["measured"]
    assert any("No sum of all members' states" in why for why in diagnosis_of(federation.plan, status).why)


def test_a_word_that_was_changed_or_is_anothers_is_refused(tmp_path):
    federation = summing(tmp_path, members=3, rounds=4, means=1)
    play(federation.member(name) for name in federation.names)
    frames = {}
    for name in federation.names:
        member = federation.member(name)
        with Journal.open(member.folder.journal, member.plan.run_hash) as journal:
            means = heard_by(federation, name, journal)
            frames |= {bytes(frame.parts[0]).decode(): frame for frame in means.known()}
            entries = means.roster.entries
    (federation.folder / "other").mkdir()
    with Journal.open(federation.folder / "other" / "journal.db", federation.plan.run_hash) as journal:
        means = heard_by(federation, "ash", journal)
        name, told, signature = map(bytes, frames["birch"].parts)
        good = frames["birch"]

        def try_all() -> int:
            for parts in (
                (name, told[:-1] + b"x", signature),
                (b"cedar", told, signature),
                (b"nobody", told, signature),
                (name, told[:-16], signature),
                (name, told),
            ):
                asyncio.run(means.hear(good._replace(parts=parts), "cedar"))
            asyncio.run(means.hear(good._replace(round=2), "cedar"))
            asyncio.run(means.hear(good, "cedar"))
            return len(journal.state_sums.after(4))

        assert try_all() == 0  # nobody has heard of birch in this run: its word may be an earlier run's
        means.roster.entries |= entries
        member = federation.member("birch")
        with Journal.open(member.folder.journal, member.plan.run_hash) as theirs:
            means.roster.entries["birch"] = Roster(member.plan, member.identity, theirs.run).entries["birch"]
        assert try_all() == 1


def test_folding_keeps_sizes():
    rng = np.random.default_rng(3)
    small = rng.normal(size=5)
    np.testing.assert_array_equal(np.abs(folded(small, b"run")), np.abs(small))
    x, y = rng.normal(size=(2, 50_000))
    np.testing.assert_allclose(folded(x, b"run") + folded(y, b"run"), folded(x + y, b"run"), atol=1e-9)
    sizes = [np.linalg.norm(folded(x, bytes([run]))) / np.linalg.norm(x) for run in range(50)]
    assert folded(x, b"run").shape == (NUMBERS,)
    # The squared size is a mean of 64 squares, relative deviation √(2/64): that of the size itself is half of it.
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.05)
    assert np.std(sizes) < 0.15


@pytest.mark.parametrize("algorithm", ["rss-nb", "rss-lb"])
def test_an_audit_knows_the_sum_of_all_gradients(algorithm):
    """What is left is what was known before, given the sum over all honest members."""
    how: dict[str, Any] = {"rounds": 12, "coalition": [0], "prior": 10.0}
    network = hk.Network.cycle(6)
    mixed = leakage(network, algorithm, release="mixed", **how)
    means = leakage(network, algorithm, release="means", **how)
    some = list(mixed.honest)
    before, one = mixed.covariance[np.ix_(some, some)], np.ones(len(some))
    spread = one @ before @ one
    given = before - np.outer(before @ one, before @ one) / spread if spread > 1e-12 else before
    np.testing.assert_allclose(means.sd[some], np.sqrt(np.maximum(np.diag(given), 0)), atol=1e-6)
    assert one @ means.covariance[np.ix_(some, some)] @ one < 1e-12


def test_a_plan_says_so_and_the_ledger_remembers():
    plan = drawn()
    assert "means" not in plan.tables()["run"]  # the hash that it always had
    summed = with_means(plan, 10)
    assert summed.tables()["run"]["means"] == 10
    assert (ServedPlan.of(plan).run.release, ServedPlan.of(summed).run.release) == ("mixed", "means")
    with pytest.raises(BadPlan, match="sums over all members anyway"):
        with_means(drawn(algorithm=JOINT), 10)
    promised = CertificateSection(
        protect="record", epsilon=1.0, delta=1e-6, sensitivity=1.0, sigma=1.0, own=1.0, mu=1.0
    )
    with pytest.raises(BadPlan, match="which no ε covers"):
        replace(summed, certificate=promised)


def test_members_who_stay_apart_have_not_converged():
    whole = {
        "joint_round": 90.0,
        "joint_movement": 1e-4,
        "joint_movement_rounds": 10.0,
        "joint_movement_ahead": 1e-3,
        "joint_movement_growth": 1.0,
        "joint_gradient": 2e-5,
    }
    plan = with_means(drawn(), 10)

    def found(**more: Any) -> Any:
        return diagnosis_of(plan, {"finished": True, "dropped": [], "measured": whole} | more)

    assert found().words == "converged to 0.01 % in the last 10 rounds"
    assert "mean of all members' states" in found().why[1]
    near = found(measured=whole | {"joint_distance": 0.002})
    assert (near.kind, near.why[2]) == (
        "converged",
        "This member's own state is 0.2 % of its size away from it.",
    )
    apart = found(measured=whole | {"joint_distance": 0.04})
    assert apart.words.startswith("settled, not converged: members are apart")
    assert found(measured=whole | {"joint_movement_ahead": 0.3}).kind == "moving"
    assert found(measured=whole | {"joint_movement_growth": 9.0}).kind == "diverging"
    own = {"movement": 1e-4, "movement_rounds": 5, "movement_ahead": 1e-3}
    left = found(measured=whole | own, dropped=["clinic-e"])
    assert left.kind == "settled"
    assert "no longer added up" in left.why[-1]
