"""Every algorithm is audited as it stands: against all agents' rounds, played together with a unit of each unknown.

What leakage builds from one agent's rule, network and noise apart, is here one run of everybody: coordinate c of every
array is a world with a unit of unknown c and nothing else.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.agent import Agent
from hocket.algorithm import SecureSum, SendEach, Setting
from hocket.claims import only_sums
from hocket.errors import NoTheorem
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import Balanced, Pair, Paired, When
from hocket.privacy.attacks import averaging_attacks
from hocket.privacy.leakage.levels import planned_levels
from hocket.privacy.stand_ins import by_coordinate
from hocket.problems.sets import Everywhere
from tests.laws.documented import DOCUMENTED
from tests.laws.table import ROWS, Row

THREATS = ("coalition", "states", "states+noise")
REFUSED = {"centralised": "all data lie in one place"}
AUDITED = [row for row in [*ROWS, *DOCUMENTED] if row.name not in REFUSED]
STEPS = [hk.Constant(0.3), hk.Power(1, 1, 0.75)]
NETWORKS = [
    hk.Network([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2)]),
    hk.Network.varying([hk.Network.cycle(5), hk.Network.complete(5)]),
    hk.Network.star(5),
]
MASK = 1e4
"""In place of masks that are uniform on a group: so wide that nothing shows through them."""


def build(row: Row) -> hk.Algorithm:
    return hk.RssLb(2.0, unprotected=True) if row.name == "rss-lb" else row.build(2.0)


class Flat(Agent):
    """An agent whose gradients, those of noise functions included, are the same everywhere."""

    def disguised(self, plus):
        return super().disguised(None if plus is None else lambda at: plus(0 * at))


class Words(list):
    """What came over the links, with the weights that it is mixed with."""

    def mixed_with(self, own):
        (_, weight), *others = self
        total = jax.tree.map(lambda leaf: weight * leaf, own)
        for word, weight in others:
            total = jax.tree.map(lambda a, b, w=weight: a + w * b, total, word)
        return total


class Everybody:
    """All that is said in a run, as numbers in every world, from numbers for everything unknown."""

    def __init__(self, network, algorithm, step, rounds):
        masked = only_sums(algorithm)
        algorithm = by_coordinate(algorithm, Setting(network, 1, step, rounds))
        self.network, self.algorithm, self.step, self.rounds = network, algorithm, step, rounds
        self.tables = tabulate(network, slots_needed=True)
        levels = planned_levels(network, algorithm, dim=1, step=step, rounds=rounds)
        self.draws = levels.as_normal(
            network, rounds + 1
        ).draws  # bounded ones as small as leakage counts them
        self.sizes, self.owners = [], []
        self.layout = {}
        n, links = network.n, network.links.tolist()
        for kind in "xg":
            self._number(kind, (n,), lambda place: {place[0]}, lambda place: 1.0)
        for name, draw in self.draws.items():
            many = 1 if draw.once else rounds + 1
            if isinstance(draw, Paired):
                shape, owner = (2, many, len(links), draw.width), lambda place: {*links[place[2]], "paired"}
                sd = draw.sd

                def size(place, sd=sd, draw=draw):
                    k, link = place[1] + 1, place[2]
                    return sd[(k - 1) % len(sd), link] * (draw.once or k >= draw.first)
            else:
                slots = (self.tables.slots,) if isinstance(draw, Balanced) else ()
                shape, owner = (many, n, *slots, draw.width), lambda place: {place[1]}

                def size(place, draw=draw):
                    return 1 / np.sqrt(3) if isinstance(draw, Balanced) else float(draw.sd)

            self._number(name, shape, owner, size)
        if masked:
            self._number(
                "mask",
                (rounds + 1, len(links)),
                lambda place: {*links[place[1]], "paired"},
                lambda place: MASK * network.active[place[0] % network.period, place[1]],
            )

    def _number(self, name, shape, owner, size):
        begin = len(self.sizes)
        for place in np.ndindex(*shape):
            self.sizes.append(size(place))
            self.owners.append(owner(place))
        self.layout[name] = (slice(begin, len(self.sizes)), shape)

    def play(self, numbers):
        """Every number said, by round, array, speaker and listener."""
        worlds = numbers.shape[1]
        value = {name: numbers[where].reshape(*shape, worlds) for name, (where, shape) in self.layout.items()}
        self.masks = value.get("mask")
        shares = {name: self._dealt(name, draw, value[name]) for name, draw in self.draws.items()}
        n = self.network.n

        def agent(j, k):
            dealt = {name: table[k - 1, j] for name, table in shares.items()}
            return Flat(
                index=j,
                alpha=lambda k: self.step(k) if k > 0 else 0.0,
                objective=lambda v: value["g"][j],
                feasible=Everywhere(),
                shares=dealt,
                members=n,
            )

        states = [self.algorithm.init(agent(j, 1), value["x"][j]) for j in range(n)]
        said = {}
        for k in range(1, self.rounds + 2):
            talks = [self.algorithm.round(agent(j, k), states[j], k) for j in range(n)]
            states, received, arrays = [], [None] * n, 0
            while not states:
                outgoing = []
                for talk, words in zip(talks, received, strict=True):
                    try:
                        outgoing.append(talk.send(words))
                    except StopIteration as end:
                        states.append(end.value)
                if outgoing:
                    received, count = self._carried(said, k, arrays, outgoing)
                    arrays += count
        return said

    def _carried(self, said, k, arrays, outgoing):
        """What everybody hears of an exchange; what is said is taken down."""
        if isinstance(outgoing[0], SecureSum):
            return self._summed(said, k, arrays, [word.values for word in outgoing]), 1
        network, B = self.network, self.network.B_at(k)

        def towards(i, j):
            word = outgoing[i]
            if not isinstance(word, SendEach):
                return word.message
            slot = sorted(network.neighbours(i)).index(j)
            return jax.tree.map(lambda leaf: leaf[slot], word.messages)

        received = []
        for j in range(network.n):
            near = [i for i in range(network.n) if i != j and B[j, i] > 0]
            received.append(Words([(None, B[j, j]), *((towards(i, j), B[j, i]) for i in near)]))
            for i in near:
                for place, leaf in enumerate(jax.tree.leaves(towards(i, j))):
                    said[k, arrays + place, i, j] = leaf
        return received, len(jax.tree.leaves(outgoing[0][0]))

    def _summed(self, said, k, arrays, values):
        """As the masked sum goes over links: everybody adds a mask per link, and what comes of it is spread to all."""
        masked = [np.array(value) for value in values]
        for link, (low, high) in enumerate(self.network.links.tolist()):
            masked[low] += self.masks[k - 1, link]
            masked[high] -= self.masks[k - 1, link]
        for i, word in enumerate(masked):
            said.update({(k, arrays, i, j): word for j in range(self.network.n) if j != i})
        return [sum(masked)] * self.network.n

    def _dealt(self, name, draw, drawn):
        drawn = drawn.reshape(*drawn.shape[:-2], -1)  # the terms of a draw, each in every world
        raw = Pair(*drawn) if isinstance(draw, Paired) else drawn
        rounds = np.arange(1, self.rounds + 2)
        when = When(rounds, (rounds - 1) % self.network.period)
        dealt = draw.deal(draw.condense(raw), when, self.tables)
        return np.broadcast_to(dealt, (len(rounds), *dealt.shape[1:]))


def dense_sd(everybody, members, threat, *, prior, start):
    """The prior off the row space of what is heard and held, by one singular value decomposition."""
    scale = np.array(everybody.sizes)
    scale[everybody.layout["x"][0]], scale[everybody.layout["g"][0]] = start, prior
    count = len(scale)
    said = everybody.play(np.eye(count, count + 1))  # nothing at all in the last world
    received = [word for key, word in said.items() if threat != "coalition" or members & {*key[2:]}]
    rows = np.array([word[:-1] - word[-1] for word in received]).reshape(-1, count) * scale
    known = {*members, *({"paired"} if threat == "states+noise" else ())}
    held = np.eye(count)[[place for place, who in enumerate(everybody.owners) if who & known]] * scale
    _, size, axes = np.linalg.svd(np.vstack([rows, held]))
    seen = axes[: np.count_nonzero(size > 1e-9 * size[0])]
    unknown = (np.eye(count) * scale)[everybody.layout["g"][0]]
    return np.linalg.norm(unknown - (unknown @ seen.T) @ seen, axis=1)


@pytest.mark.parametrize("row", AUDITED, ids=str)
@given(
    network=st.sampled_from(NETWORKS),
    members=st.sets(st.integers(0, 4), min_size=1, max_size=3),
    threat=st.sampled_from(THREATS),
    step=st.sampled_from(STEPS),
    rounds=st.integers(1, 3),
    start=st.sampled_from([0.0, 1.5]),
)
def test_leakage_is_what_the_algorithm_s_own_rounds_give_away(
    row, network, members, threat, step, rounds, start
):
    algorithm = build(row)
    found = hk.leakage(
        network, algorithm, coalition=members, threat=threat, rounds=rounds, step=step, prior=2.0, start=start
    )
    expected = dense_sd(Everybody(network, algorithm, step, rounds), members, threat, prior=2.0, start=start)
    expected[list(members)] = 0.0
    # Both lose what is below 1e-9 of the largest term; sd of such a combination moves by up to its square root.
    np.testing.assert_allclose(found.sd, expected, atol=1e-5)


@pytest.mark.parametrize("row", AUDITED, ids=str)
def test_every_algorithm_has_a_verdict_and_an_attack(row):
    """Neither the audit nor the averaging attack has a line about any of them."""
    network = hk.Network.cycle(5)
    slopes = [1.0, 2.0, -1.0, 0.5, 3.0]
    problem = hk.polynomials([[0.0, slope] for slope in slopes], box=(-1e6, 1e6))
    algorithm, step = row.build(0.5), hk.Power(0.5, 0, 0.75)
    run = hk.solve(problem, network, algorithm, step=step, rounds=30, start=0.0, keep="transcript")
    verdict = hk.audit(network, coalition={1, 4}, algorithm=algorithm, rounds=30, step=step)
    assert verdict.findings[0].leakage.sd.shape == (5,)
    if only_sums(algorithm):
        return
    for agent, attack in averaging_attacks(run.view({1, 4}), start=0.0).items():
        if attack.estimate is None:
            assert not row.plain
            assert any(
                word in str(attack.why) for word in ("are curved", "beside", "a part of what they mean")
            )
            continue
        error = abs(attack.estimate[0, 0] - slopes[agent])
        # Six deviations; noise functions are looked at where agents were heard last, which moves their slope a little.
        assert error <= 6 * attack.predicted_sd[0, 0] + 0.3


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in REFUSED], ids=str)
def test_what_is_not_affine_is_told_so_by_name(row):
    name = type(row.build(1.0)).__name__
    with pytest.raises(NoTheorem, match=f"no leakage model covers {name}: .*{REFUSED[row.name]}"):
        hk.leakage(hk.Network.cycle(5), row.build(1.0), coalition={0}, rounds=3)
