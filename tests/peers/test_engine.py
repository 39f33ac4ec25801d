"""The peers engine says what the simulator computes: same generators, same noise, other carriers."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Setting
from hocket.algorithms.parts.pairwise_noise import link_sd
from hocket.federation.runtime.noise_shares import ChainStreams, directed, shares
from hocket.federation.runtime.role import MemberRole

from .company import Company

ALGORITHMS = {
    "dgd": hk.Dgd(),
    "rss-nb": hk.RssNb(delta=1.0),
    "persistent": hk.RssNb(delta=1.0, persistent=0.5),
    "rss-lb": hk.RssLb(delta=1.0),
    "fs": hk.FunctionSharing(degree=4, bound=0.1),
    "normal": hk.RssNb(delta=1.0, persistent=0.5, distribution="gaussian"),
    "joint average": hk.JointAverage(),
    "aug-dgm": hk.AugDgm(),
    "gradient tracking": hk.GradientTracking(),
    "extra": hk.Extra(),
    "nids": hk.Nids(),
    "admm": hk.Admm(),
    "accelerated tracking": hk.AcceleratedTracking(share=0.5, strong_convexity=1.0),
    "local tracking": hk.LocalTracking(3),
    "push-sum": hk.PushSum(),
    "push-diging": hk.PushDiging(),
    "choco, largest": hk.Choco(hk.TopK(1)),
    "choco, some": hk.Choco(hk.RandomK(1)),
    "choco, rounded": hk.Choco(hk.Quantised(4)),
    "fs with choco": hk.FunctionSharing(degree=2, bound=0.1, inner=hk.Choco(hk.TopK(1))),
    "fs with aug-dgm": hk.FunctionSharing(degree=2, bound=0.1, inner=hk.AugDgm()),
    "safeguarded": hk.FunctionSharing(degree=2, bound=0.1, inner=hk.Safeguard(hk.AugDgm())),
    "joint average, own": hk.JointAverage(own=0.1, clip=2.0),
    "own": hk.CertifiedRssNb(sd=0.3, own=0.1),
    "whole numbers": hk.CertifiedRssNb(sd=0.3, own=0.1, clip=2.0, grid=2.0**-20),
    "whole numbers by link": hk.CertifiedRssNb(
        sd={(0, 1): 0.1, (1, 2): 0.2, (2, 3): 0.3, (3, 4): 0.4, (4, 0): 0.5}, clip=2.0, grid=2.0**-20
    ),
    "fs by link": hk.FunctionSharing(degree=4, sd=[0.01, 0.02, 0.03, 0.04, 0.05]),
    "normal fs": hk.FunctionSharing(degree=4, bound=0.1, distribution="gaussian"),
}


ALIKE = {
    "gradient tracking",
    "nids",
    "admm",
    "own",
    "normal fs",
    "push-sum",
    "choco, some",
    "choco, rounded",
    "fs with choco",
    "normal",
    "fs by link",
}
"""For which another stands while one works: played with the slow tests."""


@pytest.mark.parametrize(
    "algorithm",
    [
        pytest.param(algorithm, id=name, marks=pytest.mark.slow if name in ALIKE else ())
        for name, algorithm in ALGORITHMS.items()
    ],
)
def test_final_states_equal_the_replay(algorithm, tmp_path):
    problem = hk.polynomials(
        [[0, 1, 1], [0, -1, 2], [0, 0.5, 0.5, 0, 1], [0, 0, 1], [0, 2, 3]], box=(-30, 30)
    )
    company = Company(problem, hk.Network.cycle(5), algorithm, tmp_path)
    finished = company.play()
    run = company.replay()
    # float64, 40 rounds, sums in another order.
    np.testing.assert_allclose(np.stack([member.x for member in finished]), run.x, atol=1e-12, rtol=0)


class Nearest(hk.Algorithm):
    """DGD on a mean from which the neighbour's message that is farthest away is left out."""

    def round(self, agent, state, k):
        received = yield hk.Broadcast(agent.perturb(state, paired=agent.step(k)))
        weights, messages = received.each()
        away = ((messages - state) ** 2).sum(axis=1) * (weights > 0)
        weights = weights * (away < away.max())
        return agent.descend((1 - weights.sum()) * state + (weights[:, None] * messages).sum(axis=0), k)

    def noise(self, setting):
        return hk.RssNb(1.0).noise(setting)


class Own(hk.Algorithm):
    """DGD that mixes by itself what each neighbour was sent by itself."""

    def round(self, agent, state, k):
        received = yield hk.SendEach(agent.perturb(state, balanced=agent.step(k)))
        weights, messages = received.each()
        return agent.descend((1 - weights.sum()) * state + (weights[:, None] * messages).sum(axis=0), k)

    def noise(self, setting):
        return hk.RssLb(1.0).noise(setting)


@pytest.mark.parametrize("algorithm", [Nearest(), Own()], ids=lambda one: one.name)
def test_single_messages_are_those_of_the_simulator(algorithm, tmp_path):
    """In the simulator there are rows that stand for nobody: agents here have two neighbours, three or four."""
    problem = hk.polynomials([[0, 1, 1], [0, -1, 2], [0, 0.5, 0.5], [0, 0, 1], [0, 2, 3]], box=(-30, 30))
    wheel = hk.Network([(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4)])
    company = Company(problem, wheel, algorithm, tmp_path)
    finished = company.play()
    np.testing.assert_allclose(np.stack([one.x for one in finished]), company.replay().x, atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    "algorithm",
    [
        hk.CertifiedRssNb(0.3, 0.1),
        hk.CertifiedRssNb([0.1, 0.2, 0.3, 0.4, 0.5]),
        hk.CertifiedRssNb(0.3, persistent=0.5),
    ],
    ids=["certified", "by link", "persistent"],
)
def test_true_words_outside_the_set_are_believed_where_nothing_bounds_them(algorithm, tmp_path):
    problem = hk.polynomials([[0, 1, 1], [0, -1, 2], [0, 0.5, 0.5], [0, 0, 1], [0, 2, 3]], box=(0.5, 0.6))
    finished = Company(problem, hk.Network.cycle(5), algorithm, tmp_path, rounds=5, start=0.55).play()
    assert len(finished) == 5


def test_words_that_are_no_states_are_not_held_against_the_set(tmp_path):
    """A tracked gradient is far outside a small box, and true."""
    problem = hk.polynomials([[0, 9.0 * c, 1] for c in (1, -1, 2, -2, 1)], box=(-0.6, 0.6))
    company = Company(problem, hk.Network.cycle(5), hk.AugDgm(), tmp_path, rounds=5)
    finished = company.play()
    np.testing.assert_allclose(np.stack([one.x for one in finished]), company.replay().x, atol=1e-12, rtol=0)


def test_own_noise_is_each_members_own():
    """Two members' differ, a round's is not the next one's, and their deviation is what the plan says."""
    plan = Setting(hk.Network.cycle(3), 20_000, hk.Constant(0.1), 10)
    roles = [
        MemberRole(j, plan, hk.CertifiedRssNb(1.0, 0.25), hk.Everywhere(), np.dtype(np.float64))
        for j in (0, 1)
    ]
    keys = {1: b"1" * 32, 2: b"2" * 32, 0: b"0" * 32}

    def own(role: MemberRole, k: int) -> np.ndarray:
        links = {other: keys[other] for other in role.neighbours}
        streams = ChainStreams(1, links, {}, bytes([role.index]) * 32, role.dtype)
        for _ in range(k - 1):
            streams.advance()
        return shares(role, streams, k)["own"]

    drawn = [own(roles[0], 2), own(roles[0], 3), own(roles[1], 2)]
    np.testing.assert_allclose(
        [one.std() for one in drawn], 0.25, rtol=0.03
    )  # 20,000 numbers: known to 0.5 %
    correlation = np.corrcoef(drawn)[np.triu_indices(3, 1)]
    assert abs(correlation).max() < 0.04  # of independent draws it deviates by 0.007
    np.testing.assert_array_equal(own(roles[0], 2), drawn[0])


SIGMA = {(0, 1): 0.5, (0, 2): 1.0, (0, 3): 2.0, (1, 2): 4.0, (2, 3): 8.0}
FAN = hk.Network([*SIGMA])


@pytest.mark.parametrize(
    ("algorithm", "dim"),
    [
        (hk.CertifiedRssNb(SIGMA), 4000),
        (hk.CertifiedRssNb(SIGMA, clip=1.0, grid=2.0**-16), 1000),
        (hk.FunctionSharing(1, sd=SIGMA, family="linear"), 2000),
        (hk.FunctionSharing(2, sd=[*SIGMA.values()], family="quadratic", grid=2.0**-16), 40),
    ],
    ids=["certified", "certified-grid", "fs", "fs-grid"],
)
def test_every_link_has_the_deviation_that_the_plan_gives_it(algorithm, dim):
    """Both ends draw the same there, as widely spread as its σ says; and what is dealt cancels."""
    plan, links = Setting(FAN, dim, hk.Constant(0.1), 5), [*SIGMA]
    keys = {link: bytes([place + 1]) * 32 for place, link in enumerate(links)}
    found, total = {}, 0.0
    for j in range(FAN.n):
        role = MemberRole(j, plan, algorithm, hk.Everywhere(), np.dtype(np.float64))
        mine = {other: keys[min(j, other), max(j, other)] for other in role.neighbours}
        streams = ChainStreams(2, mine, mine, bytes(32), role.dtype)
        name = next(iter(role.draws))
        drawn = directed(role, streams, name, 2)
        for slot, other in enumerate(role.neighbours):
            both = np.stack([drawn.forward[0, slot], drawn.backward[0, slot]])
            link = (min(j, other), max(j, other))
            np.testing.assert_array_equal(both, found.setdefault(link, both))
            total = total + (both[0] - both[1]) * (1 if j > other else -1)
    relative = getattr(role.draws[name], "relative", None)
    for link, both in found.items():
        spread = (both if relative is None else both / relative).std()
        assert spread == pytest.approx(SIGMA[link], rel=0.1)  # 1,700 numbers or more: known to 2 %
    np.testing.assert_allclose(total, 0.0, atol=1e-12)


def test_normal_draws_are_normal_and_cancel():
    """Both ends of a link draw the same numbers, of the deviation that the plan asks for and with a bell's tails."""
    plan = Setting(hk.Network.cycle(3), 20_000, hk.Power(1.0, 20, 0.75), 10)
    algorithm = hk.RssNb(delta=1.0, distribution="gaussian")
    roles = [MemberRole(j, plan, algorithm, hk.Everywhere(), np.dtype(np.float64)) for j in range(3)]
    keys = {frozenset(pair): bytes([sum(pair)]) * 32 for pair in ((0, 1), (0, 2), (1, 2))}
    shared = [
        shares(
            role,
            ChainStreams(
                2, {o: keys[frozenset((role.index, o))] for o in role.neighbours}, {}, b"", role.dtype
            ),
            2,
        )["paired"]
        for role in roles
    ]
    # Four draws each, of deviation s: the sum's is 2s. 20,000 numbers: known to 0.5 %, their fourth moment to 5 %.
    expected = 2 * link_sd(plan, algorithm.failure)[0, 0]
    np.testing.assert_allclose([one.std() for one in shared], expected, rtol=0.03)
    np.testing.assert_allclose([np.mean((one / one.std()) ** 4) for one in shared], 3.0, atol=0.25)
    np.testing.assert_allclose(sum(shared), 0.0, atol=1e-15)  # float64, numbers of 0.003
