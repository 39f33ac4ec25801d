"""Function sharing on a grid over links: one sum of whole numbers per member, made once, and all messages of it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Setting
from hocket.errors import BadInput, JournalError
from hocket.federation import GradientTask, LeastSquaresTask
from hocket.federation.runtime.noise_shares import ChainStreams, shares
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.stored import StoredTask, dealt, formed
from hocket.federation.workloads.task import LocalSteps, known_seeds
from hocket.federation.workloads.task_checks import check_objectives
from hocket.links.keys.lasting_noise import LastingNoise
from hocket.problems.quadratic import hessians

from .federation_case import Federation, play

DIM = 3
GRID = 2.0**-20
ALGORITHM = {"name": "function-sharing", "degree": 2, "sd": 1.0, "family": "quadratic", "grid": GRID}


def records(member: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(member)
    rows = rng.uniform(-1, 1, size=(8, DIM))
    return rows, rows @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=8)


def task_of(member: int) -> LeastSquaresTask:
    return LeastSquaresTask(*records(member))


def federation(folder, *, rounds: int = 2, **changes) -> Federation:
    return Federation(
        folder,
        members=3,
        rounds=rounds,
        algorithm=ALGORITHM | changes,
        options={"objectives": "quadratic", "dimension": DIM},
    )


def everybody(group: Federation, **changes):
    return [group.member(name, task=task_of(place), **changes) for place, name in enumerate(group.names)]


def asked(group: Federation, name: str, question: str) -> list:
    with closing(sqlite3.connect(group.home(name).lasting_noise("targets"))) as database, database:
        return database.execute(question).fetchall()


def sums(group: Federation) -> np.ndarray:
    """Every member's sum as it lies on its disk."""
    found = []
    for name in group.names:
        ((total,),) = asked(group, name, "SELECT total FROM sums")
        found.append([int(one) for one in total.split()])
    return np.array(found, dtype=object)


def another_plan(group: Federation):
    """The same once more: another run on the same data."""
    return group.signed(group.drawn([group.plan.card(name) for name in group.names]))


def roles(network: hk.Network, algorithm: hk.Algorithm) -> list[MemberRole]:
    plan = Setting(network, DIM, hk.Power(1.0, 20, 0.75), 10)
    return [MemberRole(j, plan, algorithm, hk.Everywhere(), np.dtype(np.float64)) for j in range(network.n)]


def once(role: MemberRole) -> dict[int, bytes]:
    """Keys that the ends of a link share."""
    return {other: bytes([role.index ^ other, min(role.index, other)]) * 16 for other in role.neighbours}


def test_the_sum_is_that_of_the_true_objectives_and_words_follow_it(tmp_path):
    """Pairwise noise cancels to the last unit, and the members come to the optimum of the sum."""
    group = federation(tmp_path, rounds=20)
    finished = play(everybody(group))
    kept, stored = sums(group), group.plan.algorithm.stored
    true = [stored.objective(task_of(j).coefficients()) for j in range(3)]
    assert (kept.sum(axis=0) == sum(true)).all()
    assert all((one != other).all() for one, other in zip(kept, true, strict=True))
    x = np.zeros((3, DIM))
    for k in range(1, 21):
        v = group.plan.network.B @ x
        slopes = [stored.family.gradient(*one) for one in zip(v, stored.values(kept), strict=True)]
        x = np.clip(v - group.plan.step(k) * np.array(slopes), -10, 10)
    np.testing.assert_allclose([one.x for one in finished], x, atol=1e-9)  # float64, 20 rounds, other orders


def test_later_runs_follow_the_same_sum(tmp_path):
    """Own noise is not drawn twice: another draw would average it away."""
    group = federation(tmp_path, own=0.5)
    play(everybody(group))
    first = sums(group)
    later = another_plan(group)
    assert later.run_hash != group.plan.run_hash
    play(everybody(group, plan=later))
    assert (sums(group) == first).all()


def test_with_a_deviation_for_each_link_noise_cancels_and_another_is_another_noise(tmp_path):
    group = federation(tmp_path, sd=[0.5, 1.0, 2.0])
    play(everybody(group))
    kept, stored = sums(group), group.plan.algorithm.stored
    true = [stored.objective(task_of(j).coefficients()) for j in range(3)]
    assert (kept.sum(axis=0) == sum(true)).all()
    play(everybody(group, plan=another_plan(group)))
    assert (sums(group) == kept).all()
    group.algorithm = group.algorithm | {"sd": [0.5, 1.0, 3.0]}
    with pytest.raises(JournalError, match=r"dealt with (birch|cedar) as .* spread by \[2\.0\]"):
        play(everybody(group, plan=another_plan(group)))


def test_a_sum_that_was_made_on_other_terms_is_refused(tmp_path):
    with closing(LastingNoise.open(tmp_path / "noise.sqlite", "targets")) as lasting:
        assert lasting.stored_sum("so") is None
        lasting.store_sum("so", [1 << 52, -3])
    with closing(LastingNoise.open(tmp_path / "noise.sqlite", "targets")) as lasting:
        assert lasting.stored_sum("so") == (1 << 52, -3)
        with pytest.raises(JournalError, match="was hidden as so, and this plan would hide it as otherwise"):
            lasting.stored_sum("otherwise")
        with pytest.raises(JournalError, match="UNIQUE"):  # a sum is made once
            lasting.store_sum("so", [0, 0])


def test_both_ends_of_a_link_draw_the_same_and_nothing_is_left_over():
    network = hk.Network([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    algorithm = hk.FunctionSharing(2, sd=1.0, family="quadratic", grid=GRID)
    shared = [dealt(role, once(role), role.neighbours) for role in roles(network, algorithm)]
    assert not sum(shared).any()
    assert all(one.any() for one in shared)


def test_own_noise_is_nobody_elses():
    """Two sums under the same keys differ by own noise alone, and by nothing without it."""
    network = hk.Network.complete(4)
    for own in (0.0, 0.5):
        algorithm = hk.FunctionSharing(2, sd=1.0, own=own, family="quadratic", grid=GRID)
        role = roles(network, algorithm)[0]
        first, second = (formed(role, once(role), task_of(0)) for _ in range(2))
        assert (first != second).any() == bool(own)


@pytest.mark.parametrize("sd", [1.0, [0.5, 1.0, 2.0, 3.0, 4.0, 5.0]], ids=["alike", "by link"])
def test_noise_with_a_leaver_is_taken_off(sd):
    """The leaver knows it; those who stay still sum to what they hold."""
    network = hk.Network.complete(4)
    algorithm = hk.FunctionSharing(2, sd=sd, family="quadratic", grid=GRID)
    stayed = [replace(role, dropped=frozenset({3})) for role in roles(network, algorithm)[:3]]
    total = np.zeros(algorithm.basis.width(DIM))
    for j, role in enumerate(stayed):
        streams = ChainStreams(2, {}, once(role), b"", role.dtype)
        streams.drop(3)
        held = algorithm.stored.values(formed(role, once(role), task_of(j)))
        total += held - shares(role, streams, 2)["lost"]
    true = sum(algorithm.stored.objective(task_of(j).coefficients()) for j in range(3))
    np.testing.assert_array_equal(total, algorithm.stored.values(true))
    whole = roles(network, algorithm)[0]
    assert "lost" not in shares(whole, ChainStreams(2, {}, once(whole), b"", whole.dtype), 2)


def test_words_are_the_same_for_two_ways_to_the_same_sum():
    """Bit for bit: what is said depends on the sum alone, not on which part of it is objective and which is noise."""
    stored = hk.FunctionSharing(2, sd=1.0, family="quadratic", grid=GRID).stored
    one, other = (stored.objective(task_of(j).coefficients()) for j in range(2))
    noise = stored.objective(np.random.default_rng(5).normal(size=(1, len(one))))
    ways = [(one, noise), (other, noise + one - other)]
    words = []
    for objective, hiding in ways:
        task = StoredTask(task_of(0), stored, tuple((objective + hiding).tolist()))
        x, said = np.zeros(DIM), []
        for k in range(1, 20):
            x = LocalSteps(task, 1, known_seeds)(x, k, step=0.05, feasible=hk.Ball(10.0), plus=None)
            said.append(x.tobytes())
        words.append(said)
    assert words[0] == words[1]


class Elsewhere(LeastSquaresTask):
    """Coefficients of another objective than its gradients'."""

    def coefficients(self) -> np.ndarray:
        return 2 * super().coefficients()


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (GradientTask(DIM, lambda x, k, h, rng: x, objectives="quadratic"), "give it coefficients()"),
        (Elsewhere(*records(0)), "they are of two objectives"),
    ],
    ids=["gradients only", "other coefficients"],
)
def test_a_task_must_tell_its_coefficients(tmp_path, task, said):
    with pytest.raises(BadInput, match=said.replace("(", r"\(").replace(")", r"\)")):
        check_objectives(task, federation(tmp_path).plan)


def test_a_member_that_lost_its_sum_in_the_middle_of_a_run_stops(tmp_path):
    group = federation(tmp_path, own=0.5)
    play(everybody(group))
    name = group.names[0]
    asked(group, name, "DELETE FROM sums")
    with pytest.raises(JournalError, match="the sum that ash followed is gone"):
        play([group.member(name, task=task_of(0), linger=0.1)])


@pytest.mark.slow
def test_those_who_stay_come_to_their_own_optimum(tmp_path):
    """elm stops in round 5 and is dropped: what it dealt is taken off the sums, and the rest cancels."""
    group = Federation(
        tmp_path,
        members=4,
        rounds=150,
        topology="complete",
        algorithm=ALGORITHM | {"sd": 0.3},
        options={"objectives": "quadratic", "dimension": DIM},
    )
    # Keys follow from the run's name: the same noise every time.
    group.plan = group.signed(group.drawn(list(group.plan.cards), id="0000000000000002"))
    *stay, leaver = everybody(group)

    def stop(played, session) -> None:
        if played.k == 5:
            raise KeyError("enough")

    async def scene():
        async with asyncio.timeout(60):
            going_on = [asyncio.create_task(take_part(member)) for member in stay]
            with pytest.raises(KeyError):
                await take_part(leaver, watch=stop)
            for member in stay:
                group.vote(member.name, leaver.name)
            return await asyncio.gather(*going_on)

    finished = asyncio.run(scene())
    assert stay[0].folder.status()["dropped"] == [leaver.name]
    rows, targets = (np.concatenate(part) for part in zip(*map(records, range(3)), strict=True))
    best = np.linalg.lstsq(rows, targets, rcond=None)[0]
    mean = np.mean([one.x for one in finished], axis=0)
    kept, stored = sums(group)[:3], group.plan.algorithm.stored
    off = quadratic_optimum(stored.values(kept.sum(axis=0)))
    assert np.linalg.norm(mean - best) < 0.05 < 0.5 * np.linalg.norm(off - best)


def quadratic_optimum(coefficients: np.ndarray) -> np.ndarray:
    """Where a quadratic is least: where the members would go with the leaver's noise still in their sums."""
    return -np.linalg.solve(hessians(coefficients[None], DIM)[0], coefficients[:DIM])
