"""Leakage of plans: numbers known beforehand, algorithms against their names, what never helps, and bad questions."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket as hk
from hocket.algorithms.parts.parameters import LONGEST_RUN, sd_within_bound, sd_within_norm
from hocket.errors import BadInput, NoTheorem
from hocket.privacy import worst_leakage
from hocket.privacy.coalitions import apart, stars
from hocket.privacy.graph.connectivity import agents_in, everybody, neighbour_masks
from hocket.privacy.leakage.edges import LEFT, of_difference
from hocket.privacy.profile import profile
from hocket.privacy.stand_ins import TYPICAL
from hocket.runs.channel import link_needs
from tests.laws.test_leakage_laws import PLAIN, THREATS, coalitions, networks

RING = hk.Network.cycle(5)
MODELLED = [
    name for name, one in TYPICAL.items() if not (profile(one).compresses or link_needs(one).directed)
]
"""Algorithms whose rounds are affine, so that they can be asked about by name."""
DECAYING = hk.Power(1, 0, 1)


def test_twenty_rounds_on_a_ring_of_five():
    found = hk.leakage(
        RING, "rss-nb", threat="states", rounds=20, sigma=1.0, prior=100, start=1000, step=hk.Constant(0.1)
    )
    np.testing.assert_allclose(found.sd, 0.4472, atol=1e-4)
    assert found.identifiable == (0, 1, 2, 3, 4)


COUNT = 5 * 16
"""Draws of one kind on the ring in fifteen rounds and the word after them: of links, or of agents."""
CUT = 1 - LEFT ** (1 / COUNT)
OF_DIFFERENCE = math.sqrt(of_difference(CUT))
"""What bounded noise on links counts for beside normal noise; RSS-LB's on a ring are such differences, too."""
ON_RING = {
    # everybody has two neighbours of equal weight: two directed draws a link, and a balance of ±d
    "rss-nb": (hk.RssNb(3.0), OF_DIFFERENCE * 3 / 4 / math.sqrt(3 * 6)),
    "rss-nb, the paper's split": (
        hk.RssNb(3.0, split="paper"),
        OF_DIFFERENCE * 3 / 10 / math.sqrt(3 * 6),
    ),
    "rss-nb, gaussian": (
        hk.RssNb(3.0, distribution="gaussian"),
        3 * sd_within_norm(6, events=5 * LONGEST_RUN, failure=1e-6) / 2,
    ),
    "rss-lb": (hk.RssLb(3.0), OF_DIFFERENCE * 3 / math.sqrt(3 * 6)),
    "independent": (hk.IndependentNoise(3.0), 3.0),
    "function-sharing": (hk.FunctionSharing(4, 0.5), 0.5 / math.sqrt(3)),
    "function-sharing, gaussian": (
        hk.FunctionSharing(1, 0.5, distribution="gaussian"),
        0.5 * sd_within_bound(events=2 * 5 * 2 * 6, failure=1e-6),
    ),
    "function-sharing, waves": (
        hk.FunctionSharing(2, 0.5, family="cosine"),
        0.5 / math.sqrt(3) * math.sqrt(1 + 4),
    ),
    "dgd": (hk.Dgd(), 0.0),
    "dgd, as rss-nb without noise": (hk.RssNb(0.0), 0.0),
}


@pytest.mark.parametrize("name", ON_RING)
def test_an_algorithm_leaks_as_much_as_its_name_with_the_same_noise(name):
    """Six coordinates share a bound; each of them leaks as much as if it were alone."""
    algorithm, sigma = ON_RING[name]
    plan = {"rounds": 15, "coalition": {1}, "step": DECAYING}
    ours = hk.leakage(RING, algorithm, dim=6, **plan)
    theirs = hk.leakage(RING, name.partition(",")[0], sigma=sigma, **plan)
    np.testing.assert_allclose(ours.sd, theirs.sd, rtol=1e-9, atol=1e-12)
    assert ours.algorithm == algorithm.name


@pytest.mark.parametrize("normal", [False, True])
def test_an_anchor_and_fresh_noise_share_the_bound(normal):
    """From α_1 = 1 to α_2 = 1/2 the step halves, and the anchor's share pays for that."""
    whole = 3 / 4 / math.sqrt(3)
    algorithm, fresh = hk.RssNb(3.0, persistent=0.6), 0.4 * OF_DIFFERENCE
    if normal:
        whole = 3 * sd_within_norm(1, events=5 * LONGEST_RUN, failure=1e-6) / 2
        algorithm, fresh = hk.RssNb(3.0, persistent=0.6, distribution="gaussian"), 0.8
    plan = {"rounds": 15, "threat": "states", "step": DECAYING}
    ours = hk.leakage(RING, algorithm, **plan)
    theirs = hk.leakage(RING, "rss-nb", sigma=fresh * whole, persistent=0.6 * whole / 2, **plan)
    np.testing.assert_allclose(ours.sd, theirs.sd, rtol=1e-9)


@given(
    data=st.data(),
    name=st.sampled_from(MODELLED),
    rounds=st.integers(1, 12),
    step=st.sampled_from([hk.Constant(0.2), DECAYING, hk.Power(1, 5, 0.75)]),
    start=st.sampled_from([0.0, 1.0]),
    persistent=st.sampled_from([0.0, 0.5]),
)
def test_to_hear_more_never_hurts_the_listener(data, name, rounds, step, start, persistent):
    network = data.draw(networks(smallest=5))
    small = data.draw(coalitions(network, most=2))
    added = data.draw(st.sampled_from(sorted(set(range(network.n)) - small)))
    plan = {
        "sigma": 0.7,
        "persistent": persistent if name == "rss-nb" else 0.0,
        "prior": 3.0,
        "step": step,
        "start": start,
    }

    def sd(coalition, rounds, threat="coalition", **more):
        return hk.leakage(network, name, coalition=coalition, rounds=rounds, threat=threat, **plan, **more).sd

    tapped = [sd(small, rounds, threat) for threat in THREATS]
    less_to_more = [
        (tapped[0], sd(small, rounds + 3)),
        (tapped[0], sd(small | {added}, rounds)),
        (tapped[1], sd(small | {added}, rounds, "states")),
        (tapped[0], sd(small, rounds, runs=2)),
        (tapped[0], sd(small, rounds, release="mixed")),
        (sd(small, rounds, release="mixed"), tapped[1]),
        (tapped[0], sd(small, rounds, release="raw")),
        *itertools.pairwise(tapped),
    ]
    for less, more in less_to_more:
        # What either side takes for rounding moves a standard deviation by up to this.
        assert (more <= less + 1e-5).all()


@pytest.mark.parametrize("step", [hk.Constant(0.1), DECAYING], ids=str)
def test_one_colluder_on_a_square_averages_everybody_out(step):
    """The graph alone promises nothing: its opposite is two links away."""
    assert hk.leakage(hk.Network.cycle(4), "rss-nb", coalition={0}, rounds=40, step=step).identifiable == (
        1,
        2,
        3,
    )


def test_decaying_steps_expose_more_than_constant_ones():
    plan = {"coalition": {0}, "rounds": 40}
    ring = hk.Network.cycle(6)
    assert hk.leakage(ring, "rss-nb", step=hk.Constant(0.1), **plan).identifiable == ()
    assert hk.leakage(ring, "rss-nb", step=DECAYING, **plan).identifiable == (1, 2, 3, 4, 5)


def test_a_published_state_gives_the_last_gradient_away_and_a_mixed_one_does_not():
    plan = {"rounds": 20, "step": DECAYING, "coalition": {1}}

    def sd(release, threat="coalition"):
        return hk.leakage(RING, "rss-nb", release=release, threat=threat, **plan).sd[[0, 2, 3, 4]]

    assert (sd("raw", "states") == 0).all()
    np.testing.assert_allclose(sd("mixed", "states"), sd("nothing", "states"), rtol=1e-9)
    assert (sd("raw") < sd("mixed") / 3).all()
    assert (sd("mixed") < sd("nothing")).all()  # it is news to anybody who heard two neighbours only


def test_who_leaves_counts_as_a_member():
    found = hk.leakage(RING, "rss-nb", coalition={4}, leavers={1: 5}, rounds=20)
    assert found.coalition == (1, 4)
    assert found.exact == (0,)  # both neighbours know all its noise
    alone = hk.leakage(RING, "rss-nb", leavers={1: 5}, rounds=20)
    assert alone.exact == ()
    stayed = hk.leakage(RING, "rss-nb", coalition={1}, rounds=20)
    assert (alone.sd >= stayed.sd).all()  # who left early has heard less


def test_the_history_ends_where_the_estimate_does():
    found = hk.leakage(RING, "rss-nb", rounds=500, threat="states", runs=2)
    assert found.history["round"][[0, -1]].tolist() == [1, 500]
    np.testing.assert_allclose(found.history["sd"][-1], found.sd, rtol=1e-12)  # two summation orders
    assert (np.diff(found.history["sd"], axis=0) <= 0).all()


@pytest.mark.parametrize("threat", THREATS)
def test_the_worst_coalition_is_the_worst_of_all(threat):
    graph = hk.Network([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 2), (0, 3)])
    found = worst_leakage(graph, "rss-nb", 2, rounds=30, threat=threat)
    assert (found.searched, found.total, found.complete) == (15, 15, True)
    every = [
        hk.leakage(graph, "rss-nb", coalition=one, rounds=30, threat=threat)
        for one in itertools.combinations(range(6), 2)
    ]
    assert _least(found.leakage) == pytest.approx(min(map(_least, every)), abs=1e-9)


def test_a_search_that_ends_early_says_how_far_it_came():
    network = hk.Network.random_regular(3, 20, seed=1)
    found = worst_leakage(network, "rss-nb", 3, rounds=10, work=2_000_000)
    assert (found.searched, found.total, found.complete) == (40, math.comb(20, 3), False)
    assert len(found.leakage.exact) > 0  # the neighbours of an agent come first


UNEVEN = hk.Network(
    [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 2), (0, 3), (1, 4), (2, 5), (3, 5), (1, 3)]
)


@pytest.mark.parametrize("threat", ["coalition", "states"])
@pytest.mark.parametrize("colluders", [1, 2])
@pytest.mark.parametrize(
    "algorithm", [hk.RssNb(1.0), hk.RssNb(1.0, persistent=0.5), hk.RssLb(1.0), hk.FunctionSharing(1, 0.5)]
)
def test_no_coalition_beats_the_bound_on_those_that_were_not_searched(algorithm, colluders, threat):
    plan = {"rounds": 12, "threat": threat, "step": hk.Power(1, 20, 0.75)}
    found = worst_leakage(UNEVEN, algorithm, colluders, work=1, **plan)
    assert found.searched == 1
    every = [
        _least(hk.leakage(UNEVEN, algorithm, coalition=one, **plan))
        for one in itertools.combinations(range(6), colluders)
    ]
    assert found.bound is not None
    assert found.bound <= min(every) * (1 + 1e-9)  # two summation orders
    assert found.bound > 0 or min(every) == 0


def test_the_bound_is_reached_where_all_words_are_heard():
    # Function sharing, every message heard: √(2 · honest neighbours), whatever else is known.
    network = hk.Network.random_regular(4, 30, seed=2)
    found = worst_leakage(network, "function-sharing", 2, rounds=5, threat="states", work=1, prior=1e4)
    assert found.bound == pytest.approx(2, rel=1e-6)  # a prior of 10⁴ is worth 1e-8


def test_rounding_of_noise_that_was_heard_is_no_noise():
    # Of the honest only agent 4 is not heard, and the sum of all tells its words: everybody's noise averages out.
    links = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    found = hk.leakage(
        hk.Network(links), "rss-nb", coalition={1}, rounds=30, step=hk.Constant(0.2), prior=10.0
    )
    assert found.identifiable == (0, 2, 3, 4)


def test_the_bound_counts_leavers_beside_the_colluders():
    plan = {"rounds": 6, "leavers": {3: 2}, "work": 1}
    found = worst_leakage(hk.Network.complete(6), "rss-nb", 1, **plan)
    every = [
        _least(hk.leakage(hk.Network.complete(6), "rss-nb", coalition={one}, rounds=6, leavers={3: 2}))
        for one in (0, 1, 2, 4, 5)
    ]
    assert 0 < found.bound <= min(every) * (1 + 1e-9)
    assert worst_leakage(hk.Network.cycle(5), "rss-nb", 1, rounds=6, leavers={0: 2}, work=1).bound == 0


def test_means_tell_a_coalition_that_cuts_the_network_the_sum_of_each_part():
    # Masks cancel among honest members who are connected: {0, 3} knows 1 + 2 and 4 + 5, not the sum of the four alone.
    ring, plan = hk.Network.cycle(6), {"coalition": {0, 3}, "rounds": 20, "threat": "coalition"}
    found = hk.leakage(ring, "independent", release="means", **plan)
    np.testing.assert_allclose(found.sd[[1, 2, 4, 5]], 0.1581, atol=1e-4)
    # Nobody bound by less: two triangles that share an agent, who hears both sides.
    bow = hk.Network([(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 0)])
    bound = worst_leakage(bow, "independent", 1, rounds=5, release="means", work=1).bound
    assert bound <= _least(hk.leakage(bow, "independent", coalition={0}, rounds=5, release="means")) * (
        1 + 1e-9
    )


def test_the_bound_is_none_where_it_takes_too_long_and_where_all_were_searched():
    assert worst_leakage(UNEVEN, "rss-nb", 1, rounds=10, work=1, bound_work=1).bound is None
    assert worst_leakage(UNEVEN, "rss-nb", 1, rounds=10).bound is None
    assert worst_leakage(hk.Network.cycle(40), "rss-nb", 2, rounds=10, work=1).bound == 0  # two surround


@settings(max_examples=15)
@given(networks(smallest=6, largest=9))
def test_stars_that_do_not_touch_are_known_as_each_by_itself(network):
    near = neighbour_masks(network.n, network.links)
    least = min(one.bit_count() for one in near)
    if least < 2:
        return
    plan = {"rounds": 3, "step": hk.Power(1, 20, 0.75)}
    groups = apart(near, stars(near, least - 1))
    for mask, centres in groups[:2]:
        together = hk.leakage(network, "rss-nb", coalition=agents_in(everybody(network.n) & ~mask), **plan)
        for star in stars(near, least - 1):
            if star.centre in centres and star.agents & ~mask == 0:
                rest = agents_in(everybody(network.n) & ~star.agents)
                alone = hk.leakage(network, "rss-nb", coalition=rest, **plan)
                # 1e-6: the recursion's own resolution beside a prior of 100
                assert together.sd[star.centre] == pytest.approx(alone.sd[star.centre], rel=1e-6)
    assert set(range(network.n)) == set().union(*(centres for _, centres in groups))


def test_too_many_coalitions_to_rank_are_sampled():
    network = hk.Network.random_regular(3, 60, seed=1)
    found = worst_leakage(network, "function-sharing", 4, rounds=2, work=200_000)
    assert found.total == math.comb(60, 4)
    assert found.leakage.exact != ()


def test_estimates_are_json():
    found = hk.leakage(RING, "dgd", coalition={1}, rounds=5).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"coalition": {1, 9}}, "agent 9 is unknown: this network has agents 0 to 4"),
        ({"coalition": range(5)}, "all 5 agents, nobody is left to hide anything; leave two or more out"),
        ({"coalition": range(4)}, "everybody but agent 4, who has nothing left to hide behind"),
        ({"coalition": ()}, "an empty coalition sees nothing; name at least one agent"),
        ({"coalition": (0, 1, 2), "leavers": {3: 1}}, "everybody but agent 4"),
        ({"threat": "wiretap"}, "unknown threat 'wiretap'; choose one of coalition, states"),
        ({"rounds": 0}, "rounds = 0; give a whole number, 1 or more"),
        ({"rounds": 2.5}, r"rounds = 2\.5; give a whole number"),
        ({"runs": 0}, "runs = 0; give a whole number"),
        ({"dim": True}, "dim = True; give a whole number"),
        ({"sigma": -1.0}, r"sigma = -1\.0; a standard deviation is zero or more"),
        ({"sigma": math.nan}, "sigma = nan"),
        ({"persistent": -1.0}, r"persistent = -1\.0"),
        (
            {"algorithm": "rss-lb", "persistent": 1.0},
            "only rss-nb and certified-rss-nb have persistent noise; leave it away for rss-lb",
        ),
        ({"algorithm": "rss"}, "unknown algorithm 'rss'; choose one of rss-nb, rss-lb"),
        ({"prior": 0.0}, r"prior = 0\.0; what is believed before"),
        ({"prior": math.inf}, "prior = inf"),
        ({"start": -1.0}, r"start = -1\.0; give a standard deviation, zero if the start is public"),
        ({"release": "all"}, "release = 'all'; choose one of nothing, mixed, raw"),
        ({"leavers": {7: 1}}, "agent 7 leaves but is unknown: this network has agents 0 to 4"),
        ({"leavers": {2: 9}}, "agent 2 leaves after round 9; the rounds are 1 to 5"),
    ],
    ids=str,
)
def test_impossible_questions_are_refused(changed, says):
    plan = {"algorithm": "rss-nb", "rounds": 5, "coalition": {1}} | changed
    with pytest.raises(BadInput, match=says):
        hk.leakage(RING, plan.pop("algorithm"), **plan)


class Signs(hk.Algorithm):
    """Steps of one length."""

    def round(self, agent: hk.Agent, state, k):
        received = yield hk.Broadcast(state)
        mixed = agent.mix(state, received)
        return mixed - agent.step(k) * np.sign(agent.gradient(mixed))


def test_an_algorithm_that_is_not_affine_is_told_so():
    with pytest.raises(
        NoTheorem, match=r"no leakage model covers Signs: round 1 is not affine.* nothing is said"
    ):
        hk.leakage(RING, Signs(), rounds=5, coalition={1})


def test_private_dgd_is_read_as_where_it_cuts_nothing():
    """Its noise hides a gradient as much as normal noise of each agent's own does."""
    private = hk.PrivateDgd(1.0, clip=1.0, releases=5)
    plan = {"rounds": 5, "coalition": {1}, "threat": "states", "step": hk.Constant(0.1)}
    found = hk.leakage(RING, private, **plan)
    np.testing.assert_allclose(found.sd[[0, 2, 3, 4]], private.sigma / np.sqrt(5), rtol=0.01)


def test_a_divergence_is_between_two_honest_agents():
    found = hk.leakage(RING, "rss-nb", rounds=5, coalition={1})
    with pytest.raises(BadInput, match=r"agent 1 is not an honest one; choose two of \{0, 2, 3, 4\}"):
        found.divergence(0, 1, 1.0)


def test_three_listeners_among_a_hundred_know_no_more_than_a_tap_on_everybody():
    """Far states show in words as differences below rounding, which must not be taken for news."""
    network, plan = hk.Network.random_regular(4, 100, seed=0), {"rounds": 30, "step": hk.Power(1, 20, 0.75)}
    alone, tapped = (
        hk.leakage(network, "function-sharing", coalition={6, 13, 90}, threat=threat, **plan).sd
        for threat in ("coalition", "states")
    )
    assert (tapped <= alone * (1 + 1e-6)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_patience_never_makes_a_listener_less_sure(name):
    """Rounding adds up over a thousand rounds among a hundred agents, and must not look like forgetting."""
    network = hk.Network.random_regular(4, 100, seed=0)
    found = hk.leakage(network, name, coalition={0, 1, 2}, rounds=1000, step=hk.Power(1, 20, 0.75))
    sd = found.history["sd"]
    assert len(sd) > 10
    assert (sd[1:] <= sd[:-1] * (1 + 1e-6)).all()
    assert (sd[-1, 3:] < sd[0, 3:]).any()


def _least(found):
    return found.sd[list(found.honest)].min()
