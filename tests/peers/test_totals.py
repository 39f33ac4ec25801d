"""Sums over all members: exact, the same after a crash in any exchange, and of their parts nothing is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import hocket as hk
from hocket.algorithm import Algorithm, SecureSum, Setting
from hocket.algorithms.totals import Totals
from hocket.errors import BadInput, BadPlan, LinkError
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.peer import Finished, Peer
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import BEGINNING, MaskedSum, check_point, tree_of
from hocket.federation.workloads.analysis import Analysis
from hocket.federation.workloads.needs import Needs, needs
from hocket.links.conversation import Conversation
from hocket.links.journals.journal import Journal
from hocket.secagg.group import FixedPoint, add

from .company import Company
from .switchboard import Switchboard


class TwoSums(Algorithm):
    """A round with two sums and a message between them, of several arrays each."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        first = yield SecureSum({"x": state, "count": np.ones(1)})
        received = yield hk.Broadcast(state)
        second = yield SecureSum(agent.mix(state, received))
        return agent.descend((first["x"] + second) / (2 * first["count"]), k)


needs.add(Needs(sums=True), TwoSums)


NETWORKS = {"complete": hk.Network.complete(4), "path": hk.Network.path(4), "star": hk.Network.star(5)}


def roles(network: hk.Network) -> list[MemberRole]:
    setting = Setting(network, 3, hk.Constant(0.1), 5)
    return [
        MemberRole(j, setting, hk.JointAverage(), hk.Everywhere(), np.dtype(np.float64))
        for j in range(network.n)
    ]


def streams(role: MemberRole, seed: int, k: int = 1) -> ChainStreams:
    """Chains that both ends of a link know, and nobody else."""
    rng = {o: np.random.default_rng([seed, *sorted((role.index, o))]) for o in role.neighbours}
    return ChainStreams(k, {o: one.bytes(32) for o, one in rng.items()}, {}, b"", role.dtype)


def sums(
    network: hk.Network, values: np.ndarray, *, seed: int = 0, points: Mapping[int, bytes] | None = None
) -> list[MaskedSum]:
    tree, names = tree_of(network), [f"member {j}" for j in range(network.n)]
    return [
        MaskedSum.of(
            role,
            tree,
            streams(role, seed),
            SecureSum(values[role.index]),
            1,
            0,
            (points or {}).get(role.index, BEGINNING),
            names,
        )
        for role in roles(network)
    ]


def carried(members: list[MaskedSum]) -> None:
    for step in range(members[0].exchanges):
        said = [one.said(step) for one in members]
        for one in members:
            one.received(step, {other: said[other][one.role.index] for other in one.due(step)})


@st.composite
def graphs(draw: st.DrawFn) -> hk.Network:
    n = draw(st.integers(2, 9))
    tree = nx.random_labeled_tree(n, seed=draw(st.integers(0, 99)))
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=6))
    tree.add_edges_from(pair for pair in more if pair[0] != pair[1])
    return hk.Network(tree)


@given(graphs(), st.integers(0, 99))
def test_everybody_has_the_sum_of_fixed_point_numbers(network, seed):
    values = np.random.default_rng(seed).normal(size=(network.n, 3)) * 1e3
    members = sums(network, values, seed=seed)
    carried(members)
    total = FixedPoint().encode(values[0], members=network.n)
    for row in values[1:]:
        total = add(total, FixedPoint().encode(row, members=network.n))
    assert all(np.array_equal(one.partial, total) for one in members)  # to the last bit
    np.testing.assert_allclose(members[0].result, values.sum(axis=0), rtol=1e-12, atol=1e-12)
    assert len({one.next_point for one in members}) == 1


@given(graphs())
def test_a_tree_reaches_everybody_over_links_of_the_plan_in_the_fewest_levels(network):
    tree = tree_of(network)
    links = {frozenset(link) for link in network.links.tolist()}
    assert sum(parent is None for parent in tree.parent) == 1
    assert all(frozenset((j, parent)) in links for j, parent in enumerate(tree.parent) if parent is not None)
    assert tree.height == nx.radius(nx.Graph(network.links.tolist()))


@given(graphs())
def test_numbers_go_once_up_and_once_down_a_tree_and_points_once_over_all_other_links(network):
    """The fewest bytes that there can be: 2 (n − 1) words with numbers, and two short ones for every further link."""
    members = sums(network, np.ones((network.n, 3)))
    said = [(j, parts) for step in range(members[0].exchanges) for j, parts in _all_said(members, step)]
    numbers = [j for j, parts in said if len(parts) == 2]
    assert len(numbers) == 2 * (network.n - 1)
    assert len(said) - len(numbers) == 2 * (len(network.links) - (network.n - 1))


def _all_said(members: list[MaskedSum], step: int) -> list[tuple[int, Any]]:
    """By speaker; and whatever is said is due at its other end, and nothing else is."""
    said = [one.said(step) for one in members]
    for one in members:
        to_me = [j for j, words in enumerate(said) if one.role.index in words]
        assert sorted(one.due(step)) == to_me
    for one in members:
        one.received(step, {other: said[other][one.role.index] for other in one.due(step)})
    return [(j, parts) for j, words in enumerate(said) for parts in words.values()]


@given(graphs(), st.integers(0, 999), st.booleans())
def test_no_neighbour_is_ever_more_than_two_messages_ahead(network, seed, talks):
    """However slow some links are, and with a word to all between two sums or none: a link's last two messages are all
    that anybody can have missed, and no more of one neighbour's are for exchanges still to come."""
    rng, members = np.random.default_rng(seed), sums(network, np.ones((network.n, 1)))
    everybody = [set(one.role.neighbours) for one in members]
    plan: list[list[tuple[set[Any], set[int]]]] = [[] for _ in members]
    for _ in range(3):
        for step in range(members[0].exchanges):
            for j, one in enumerate(members):
                plan[j].append((set(one.said(step)), set(one.due(step))))
        for j, all_ in enumerate(everybody if talks else []):
            plan[j].append((all_, all_))
    for j, all_ in enumerate(everybody):  # the farewell
        plan[j].append((all_, all_))
    now, pending = [-1] * network.n, {(i, j): [] for i in range(network.n) for j in everybody[i]}
    while any(at < len(plan[0]) for at in now):
        able = [
            j
            for j, at in enumerate(now)
            if at < 0 or (at < len(plan[j]) and all(at in pending[i, j] for i in plan[j][at][1]))
        ]
        j = int(rng.choice(able))
        for i in everybody[j]:
            pending[i, j] = [moment for moment in pending[i, j] if moment != now[j]]
        now[j] += 1
        for i in plan[j][now[j]][0] if now[j] < len(plan[j]) else ():
            pending[j, i].append(now[j])
        assert all(len(waiting) <= 2 for waiting in pending.values())


def test_masked_words_are_uniform():
    """Whatever the numbers: each bit of what a leaf passes on is a fair coin, and no two runs are alike."""
    values, words = np.array([[1e-3] * 40] * 4), []
    for seed in range(50):
        leaf = next(
            one for one in sums(NETWORKS["path"], values, seed=seed) if one.tree.depth[one.role.index] == 2
        )
        words.append(leaf.partial)
    bits = np.unpackbits(np.stack(words).view(np.uint8))
    counts = np.bincount(np.packbits(bits), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-4  # 32,000 bytes


def test_whoever_shows_members_different_sums_is_noticed_and_learns_noise():
    values = np.ones((4, 3))
    points = {2: b"another point".ljust(32, b"\0")}
    members = sums(NETWORKS["complete"], values, points=points)
    with pytest.raises(LinkError, match="was shown other sums than this member"):
        carried(members)
    # Even if nobody compared, what comes out is noise: masks of different points do not cancel.
    fresh = sums(NETWORKS["complete"], values, points=points)
    total = fresh[0].partial
    for one in fresh[1:]:
        total = add(total, one.partial)
    assert not np.allclose(FixedPoint().decode(total), 4.0, atol=1e6)


def test_unbound_masks_would_tell_a_member_apart():
    """Why masks know their point: under the same ones two sums that differ in one member's point differ in its part."""
    curvature, (here, there) = np.array([1.0, 0.5, 2.0, 1.5]), (0.3, 0.8)
    asked = [np.tile((curvature * here)[:, None], 3), np.tile((curvature * here)[:, None], 3)]
    asked[1][2] = curvature[2] * there  # the liar showed member 2 alone another point
    totals = []
    for values in asked:
        members = sums(NETWORKS["complete"], values)
        total = members[0].partial
        for one in members[1:]:
            total = add(total, one.partial)
        totals.append(FixedPoint().decode(total)[0])
    assert (totals[1] - totals[0]) / (there - here) == pytest.approx(curvature[2], abs=1e-12)


def test_a_network_whose_links_take_turns_is_refused():
    turns = hk.Network.varying([[(0, 1), (1, 2)], [(0, 1), (0, 2)]])
    with pytest.raises(BadPlan, match="links take turns"):
        tree_of(turns)


class Crash(Exception):
    """The power fails."""


class Fragile(Company):
    """One member loses its power at a given write to the disk, before or after it, and comes back."""

    victim: int = 1
    at: int = -1
    after: bool = False
    writes: int = 0
    crashes: int = 0

    def peer(self, j: int, role: MemberRole, conversation: Conversation, journal: Journal) -> Peer:
        peer = super().peer(j, role, conversation, journal)
        if j == self.victim:
            for name in ("commit_round", "commit_messages"):
                setattr(journal, name, self._failing(getattr(journal, name)))
        return peer

    def _failing(self, write: Any) -> Any:
        def failing(*args: Any, **named: Any) -> Any:
            self.writes += 1
            if self.writes - 1 != self.at:
                return write(*args, **named)
            if self.after:
                write(*args, **named)
            raise Crash

        return failing

    async def member(self, j: int, board: Switchboard) -> Finished:
        while True:
            try:
                return await super().member(j, board)
            except Crash:
                self.crashes += 1
                board.unplug(self.names[j])
                for _ in range(50):  # the others go on as far as they can
                    await asyncio.sleep(0)


class Study(Fragile):
    """Two numbers of each member's own, summed; then, at a point that the first sum gives, as many again."""

    def peer(self, j: int, role: MemberRole, conversation: Conversation, journal: Journal) -> Peer:
        peer = super().peer(j, role, conversation, journal)

        def questions() -> Any:
            first = yield SecureSum({"a": np.array([1.0 + j, 2.0]), "b": np.float64(j)})
            more = []
            for _ in range(int(first["b"])):  # as many as the sums themselves say
                more.append((yield SecureSum(first["a"] * (j + 1) / 7)))
            return first, more

        peer.descend, peer.start = Analysis(questions), np.empty(0)
        return peer


def test_an_analysis_ends_when_it_knows_all_and_is_taken_up_from_its_sums(tmp_path):
    network = NETWORKS["complete"]
    problem = hk.polynomials(np.ones((4, 3)), box=(-5, 5))
    base = Study(problem, network, Totals(study="two sums"), tmp_path, rounds=50)

    def company(name: str) -> Study:
        (tmp_path / name).mkdir()
        return Study(
            problem, network, base.algorithm, tmp_path / name, rounds=50, identities=list(base.identities)
        )

    calm = company("calm")
    ended = calm.play()
    sums = ended[0].published
    np.testing.assert_array_equal(sums[:3], [10.0, 8.0, 6.0])
    assert sums.size == 3 + 6 * 2
    assert all(np.array_equal(one.published, sums) for one in ended)
    for at in range(0, calm.writes, 9):
        for after in (False, True):
            stormy = company(f"{at}-{after}")
            stormy.at, stormy.after = at, after
            assert all(np.array_equal(one.published, sums) for one in stormy.play())
            assert stormy.crashes == 1


def test_sums_that_no_members_can_have_given_are_no_traceback():
    def questions() -> Any:
        rows = yield SecureSum(np.ones(1))
        yield SecureSum(np.ones(1) / np.linalg.inv(np.diag(rows)))

    analysis = Analysis(questions)
    with pytest.raises(BadInput, match="a member gives numbers that cannot be its own"):
        analysis.asked(np.zeros(1))


@pytest.mark.parametrize(
    ("network", "algorithm"),
    [
        pytest.param(
            network,
            algorithm,
            id=f"{name}-{type(algorithm).__name__}",
            marks=[] if quick else [pytest.mark.slow],
        )
        for name, network in NETWORKS.items()
        for algorithm in (hk.JointAverage(), TwoSums())
        for quick in [name == "complete" and algorithm.name == "joint-average"]
    ],
)
def test_a_crash_at_any_write_leaves_no_trace(network, algorithm, tmp_path):
    rng = np.random.default_rng(0)
    problem = hk.polynomials(rng.uniform(0.5, 1.5, size=(network.n, 3)), box=(-5, 5))

    def company(name: str) -> Fragile:
        (tmp_path / name).mkdir()
        return Fragile(
            problem, network, algorithm, tmp_path / name, rounds=3, identities=list(base.identities)
        )

    base = Fragile(problem, network, algorithm, tmp_path, rounds=3)
    calm = company("calm")
    expected = [np.concatenate(one[:2]).tobytes() for one in calm.play()]
    assert calm.writes > 3
    for at in range(1, calm.writes, 3):
        for after in (False, True):
            stormy = company(f"{at}-{after}")
            stormy.at, stormy.after = at, after
            assert [np.concatenate(one[:2]).tobytes() for one in stormy.play()] == expected
            assert stormy.crashes == 1


@pytest.mark.parametrize("said", [[], [np.zeros(4)], [np.zeros(0)], [b"short"], [bytes(32), b""]])
def test_whatever_stands_in_a_point_s_place_is_refused_by_name(said):
    network = NETWORKS["complete"]
    role, point = roles(network)[0], bytes(range(32))
    with pytest.raises(LinkError, match="was shown other sums"):
        check_point(role, tree_of(network), list("abcd"), 1, said, point)


def test_sums_of_a_round_that_messages_cannot_number_are_refused(tmp_path, monkeypatch):
    """On a path of four a sum takes four exchanges: two sums and a word between them take nine."""
    network = hk.Network.path(4)
    problem = hk.polynomials(np.ones((4, 3)), box=(-5, 5))
    monkeypatch.setattr("hocket.federation.runtime.peer.EXCHANGES", 9)
    (tmp_path / "nine").mkdir()
    Company(problem, network, TwoSums(), tmp_path / "nine", rounds=1).play()
    monkeypatch.setattr("hocket.federation.runtime.peer.EXCHANGES", 8)
    with pytest.raises(BadPlan, match="another sum, whose 4 exchanges would end beyond the 8"):
        Company(problem, network, TwoSums(), tmp_path, rounds=1).play()
