"""Certificates: printed values, and every closed form against covariances that are written down link by link."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import hocket as hk
from hocket.algorithm import Setting
from hocket.claims import mechanism
from hocket.errors import BadInput
from hocket.noise.mechanism import Mechanism
from hocket.privacy.dp.bounds import bounded
from hocket.privacy.dp.looks import Look, looks_at_gradients
from hocket.privacy.dp.protected import Record, Transfer, as_shift
from hocket.privacy.dp.worst import RecordSearch, worst
from tests.units.certificate_cases import dense, graphs, torus

RING = hk.Network.cycle(5)
STEP = hk.Power(1, 20, 0.75)
SIZES = st.floats(0.2, 5.0)


class TestPrintedValues:
    def test_a_move_under_function_sharing(self):
        found = hk.certify(RING, "function-sharing", coalition={0}, sigma=2.0, move=(1, 4, [0.6, -0.8]))
        assert found.mu == pytest.approx(0.612372, abs=1e-6)
        assert found.epsilon(1e-5) == pytest.approx(2.50174, abs=1e-5)
        assert found.delta(1.0) == pytest.approx(0.0209592, abs=1e-7)
        assert found.theorem == "A1"

    def test_a_record_under_function_sharing_with_own_noise(self):
        found = hk.certify(RING, "function-sharing", colluders=1, sigma=3.0, independent=1.0, sensitivity=1.0)
        assert found.kappa == pytest.approx(0.294898, abs=1e-6)
        assert found.mu == pytest.approx(math.sqrt(0.294898), abs=1e-6)

    def test_a_record_in_a_component_of_its_own(self):
        found = hk.certify(
            hk.Network.path(5),
            "function-sharing",
            coalition={2},
            sigma=10.0,
            independent=1.0,
            sensitivity=1.0,
        )
        assert found.kappa == pytest.approx(0.50125, abs=1e-5)

    def test_a_linear_function_under_rss(self):
        # Two links lie between the two, and each of 50 messages has 2σ² on both: μ² = 50 · 0.1² · 2 / 2.
        ask = {"coalition": {0}, "rounds": 50, "move": (1, 3, 0.1)}
        found = hk.certify(RING, "certified-rss-nb", sigma=1.0, **ask)
        assert found.mu == pytest.approx(0.707107, abs=1e-6)
        for step in (STEP, hk.Constant(0.1)):  # noise is scaled like the gradient that it hides
            for one, noise in (("certified-rss-nb", {"sigma": 1.0}), (hk.CertifiedRssNb(1.0), {})):
                assert hk.certify(RING, one, step=step, **noise, **ask).mu == pytest.approx(found.mu)
        assert found.theorem == "B0"

    @pytest.mark.parametrize(
        ("net", "f", "over_central"),
        [(RING, 1, 1.128), (hk.Network.harary(4, 16), 2, 1.105), (hk.Network.complete(16), 2, 1.072)],
        ids=["cycle:5", "harary:4,16", "complete:16"],
    )
    def test_noise_on_the_average_over_central(self, net, f, over_central):
        found = hk.certify(
            net, "certified-rss-nb", colluders=f, sigma=10.0, independent=1.0, sensitivity=1.0, rounds=7
        )
        assert math.sqrt(net.n * found.kappa) == pytest.approx(over_central, abs=6e-4)
        assert found.mu == pytest.approx(math.sqrt(7 * found.kappa), rel=1e-9)

    @pytest.mark.parametrize(
        ("net", "own", "between", "printed"),
        [
            (hk.Network.cycle(16), 22.96953, 94.0, (10.5, 14.4, 38)),
            (torus(4), 22.96953, 47.0, (10.2, 11.3, 13.2)),
            (hk.Network.complete(16), 17.8271, 32.0, (10.8, 11.2, 11.7)),
        ],
        ids=["ring", "grid", "complete"],
    )
    def test_insiders_against_settings_that_count_none(self, net, own, between, printed):
        # Published settings of DECOR for ε = 10 at user level: clip 1, 3,500 rounds, δ = 1e-5, converted as there. It
        # gives the variance of a link's noise; here a link has two draws.
        for insiders, epsilon in enumerate(printed):
            found = hk.certify(
                net,
                "certified-rss-nb",
                colluders=insiders,
                sigma=between / math.sqrt(2),
                independent=own,
                sensitivity=2.0,
                rounds=3500,
            )
            said = hk.privacy.gdp.epsilon_by_concentration(found.mu, 1e-5)
            assert said == pytest.approx(epsilon, abs=0.06 if epsilon < 20 else 0.6)
            assert found.epsilon(1e-5) < said


@given(net=graphs(), data=st.data())
@settings(deadline=None)
def test_any_shift_is_as_far_away_as_its_gaussians_are(net, data):
    coalition = set(data.draw(st.lists(st.integers(0, net.n - 1), max_size=net.n - 2)))
    sigma = data.draw(st.lists(SIZES, min_size=len(net.links), max_size=len(net.links)))
    tau = data.draw(st.sampled_from([0.0, 0.5]))
    honest, covariance = dense(net, coalition, sigma, tau)
    rows = np.array(
        data.draw(st.lists(st.integers(-3, 3), min_size=2 * len(honest), max_size=2 * len(honest)))
    )
    rows = rows.reshape(len(honest), 2).astype(float)
    if data.draw(st.booleans()):
        rows -= rows.mean(axis=0)
    assume(rows.any())
    inside = np.linalg.matrix_rank(np.hstack([covariance, rows]), tol=1e-9) == np.linalg.matrix_rank(
        covariance, tol=1e-9
    )
    squared = np.trace(rows.T @ np.linalg.pinv(covariance, hermitian=True) @ rows) if inside else math.inf
    shift = dict(zip(honest, rows, strict=True))
    found = hk.certify(
        net, "function-sharing", coalition=coalition, sigma=sigma, independent=tau, shift=shift
    )
    assert found.mu == pytest.approx(math.sqrt(squared), rel=1e-6)
    assert bool(found.reason) == (not inside)


@given(net=graphs(), data=st.data())
@settings(deadline=None, max_examples=40)
def test_records_and_transfers_are_shifts_at_their_worst(net, data):
    f = data.draw(st.integers(0, net.n - 2))
    sigma, tau = data.draw(SIZES), data.draw(SIZES)
    record = hk.certify(net, "function-sharing", colluders=f, sigma=sigma, independent=tau, sensitivity=1.0)
    moved = hk.certify(net, "function-sharing", colluders=f, sigma=sigma, independent=tau, transfer=1.0)
    every = []
    for coalition in itertools.combinations(range(net.n), f):
        honest, covariance = dense(net, set(coalition), sigma, tau)
        inverse = np.linalg.inv(covariance)
        between = inverse.diagonal()[:, None] + inverse.diagonal() - 2 * inverse
        every.append((inverse.diagonal().max(), between.max(), np.array(honest)[inverse.diagonal().argmax()]))
    assert record.kappa == pytest.approx(max(one[0] for one in every), rel=1e-9)
    assert moved.mu == pytest.approx(math.sqrt(max(one[1] for one in every)), rel=1e-9)
    named = hk.certify(
        net, "function-sharing", coalition=record.coalition, sigma=sigma, independent=tau, sensitivity=1.0
    )
    assert named.mu == pytest.approx(record.mu, rel=1e-9)


@given(net=graphs(5, 8), data=st.data())
@settings(deadline=None, max_examples=15)
def test_no_coalition_beats_the_bounds(net, data):
    f = data.draw(st.integers(0, 2))
    conductance = np.array(
        data.draw(st.lists(SIZES, min_size=len(net.links), max_size=len(net.links)))
        if data.draw(st.booleans())
        else [data.draw(SIZES)] * len(net.links)
    )
    looks = (Look(net.links, net.n, conductance, data.draw(st.sampled_from([0.0, 0.3]))),)
    for protected in (Transfer(1.3), Record(0.7, 2), as_shift(net.n, {0: -1.0, 2: 3.0, 3: -2.0})):
        found = worst(protected, looks, f).cost.squared
        assert found <= bounded(protected, looks, f).squared * (1 + 1e-9)


@pytest.mark.parametrize(("net", "f"), [(hk.Network.cycle(9), 1), (hk.Network.complete(9), 3)])
def test_bounds_are_tight_where_they_should_be(net, f):
    ask = {"colluders": f, "sigma": 1.0, "transfer": 1.0}
    bound, found = (hk.certify(net, "function-sharing", by=one, **ask).mu for one in ("bound", "search"))
    assert bound == pytest.approx(found)


@given(net=graphs(), data=st.data())
@settings(deadline=None, max_examples=15)
def test_more_insiders_and_less_noise_are_worse(net, data):
    members = data.draw(st.permutations(range(net.n)))
    fewer, more = members[:1], members[:2]
    protect = {"sigma": 1.0, "independent": 0.4, "sensitivity": 1.0}
    at = {
        name: hk.certify(net, "function-sharing", coalition=who, **(protect | change)).mu
        for name, who, change in (
            ("fewer", fewer, {}),
            ("noisier", fewer, {"sigma": 2.0}),
            ("own", fewer, {"independent": 0.8}),
        )
    }
    assert at["noisier"] <= at["fewer"] * (1 + 1e-9)
    assert at["own"] <= at["fewer"] * (1 + 1e-9)
    # Anybody who stays honest is hidden no better when another leaves.
    for agent in set(range(net.n)) - set(more):
        asked = protect | {"records": {agent: 1}}
        one, two = (hk.certify(net, "function-sharing", coalition=who, **asked).mu for who in (fewer, more))
        assert one <= two * (1 + 1e-9)


@pytest.mark.parametrize("persistent", [0.0, 0.3])
@pytest.mark.parametrize("step", [STEP, hk.Constant(0.1)], ids=["power", "constant"])
def test_a_linear_function_is_told_as_well_as_leakage_says(persistent, step):
    net, coalition = hk.Network.harary(3, 6), {2}
    plan = {"coalition": coalition, "sigma": 1.0, "persistent": persistent, "step": step, "rounds": 30}
    found = hk.certify(net, "certified-rss-nb", move=(0, 4, 0.1), **plan)
    leaked = hk.leakage(net, "certified-rss-nb", threat="states", prior=1e4, **plan)
    assert found.mu == pytest.approx(math.sqrt(2 * leaked.divergence(0, 4, 0.1)), rel=1e-5)


class TestSeveralRuns:
    def test_fresh_noise_composes_and_kept_noise_costs_once(self):
        ask = {"coalition": {0}, "sigma": 2.0, "move": (1, 4, 1.0)}
        one = hk.certify(RING, "function-sharing", **ask)
        assert hk.certify(RING, "function-sharing", runs=4, **ask).mu == pytest.approx(2 * one.mu)
        assert hk.certify(RING, "function-sharing", runs=4, kept=True, **ask).mu == one.mu

    def test_persistent_noise_bounds_what_many_runs_tell(self):
        ask = {"coalition": {0}, "sigma": 2.0, "persistent": 1.0, "move": (1, 4, 1.0), "rounds": 10}
        many = hk.certify(RING, "certified-rss-nb", runs=7, kept=True, **ask)
        assert many.mu == pytest.approx(hk.certify(RING, "certified-rss-nb", **(ask | {"rounds": 70})).mu)
        forever = hk.certify(RING, "function-sharing", coalition={0}, sigma=1.0, move=(1, 4, 1.0))
        assert many.mu < forever.mu
        assert hk.certify(RING, "certified-rss-nb", runs=10**7, kept=True, **ask).mu == pytest.approx(
            forever.mu, rel=1e-6
        )

    def test_who_left_counts_as_a_colluder(self):
        net = hk.Network.harary(4, 8)
        ask = {"sigma": 1.0, "independent": 0.5, "sensitivity": 1.0}
        gone = hk.certify(net, "function-sharing", coalition={1}, leavers={5}, **ask)
        assert gone.mu == hk.certify(net, "function-sharing", coalition={1, 5}, **ask).mu
        any_one = hk.certify(net, "function-sharing", colluders=1, leavers={5}, **ask)
        every = [hk.certify(net, "function-sharing", coalition={5, j}, **ask).mu for j in range(8) if j != 5]
        assert any_one.mu == pytest.approx(max(every))
        assert 5 in any_one.coalition


class TestLinksThatVary:
    NET = hk.Network.varying([[(0, 1), (2, 3), (0, 3)], [(1, 2), (0, 3), (0, 2)]], n=4)

    def test_every_round_counts_with_its_own_links(self):
        # Message k + 1 has gradient k under the noise of round k + 1.
        ask = {"coalition": {3}, "sigma": 1.3, "rounds": 6}
        found = hk.certify(self.NET, "certified-rss-nb", independent=0.6, move=(0, 2, 1.0), step=STEP, **ask)
        total = 0.0
        for k in range(1, 7):
            links = self.NET.links[self.NET.active[k % 2]]
            drawn = np.zeros((3, 3))
            for i, j in links[(links != 3).all(axis=1)].tolist():
                drawn[[i, j, i, j], [i, j, j, i]] += 2 * 1.3**2 * np.array([1, 1, -1, -1])
            shift = np.array([-1.0, 0.0, 1.0])
            total += shift @ np.linalg.solve(drawn + 0.36 * np.eye(3), shift)
        assert found.mu == pytest.approx(math.sqrt(total))

    def test_a_round_that_separates_two_agents_exposes_what_moves(self):
        found = hk.certify(self.NET, "certified-rss-nb", coalition={3}, sigma=1.0, rounds=6, move=(0, 2, 1.0))
        assert found.mu == math.inf
        assert "the sum over {0, 1} changes" in found.reason

    def test_noise_functions_are_dealt_once_over_all_links(self):
        found = hk.certify(self.NET, "function-sharing", coalition={3}, sigma=1.0, move=(0, 2, 1.0))
        assert found.mu == pytest.approx(math.sqrt(2 / 3 / 2))  # a triangle 0-1-2


def test_rounds_without_end_are_counted_and_not_written_down():
    ask = {"coalition": {0}, "sigma": 1.0, "independent": 1.0, "sensitivity": 1e-6}
    once = hk.certify(RING, "certified-rss-nb", rounds=1, **ask).mu
    assert hk.certify(RING, "certified-rss-nb", rounds=10**12, **ask).mu == pytest.approx(1e6 * once)
    with pytest.raises(BadInput, match="rounds = 1e"):
        hk.certify(RING, "certified-rss-nb", rounds=1e16, **ask)


@pytest.mark.parametrize("rounds", [1, 2, 3, 7, 8])
def test_rounds_are_counted_phase_by_phase(rounds):
    """Gradient k is sent in message k + 1, under the noise of that round's links."""
    net = hk.Network.varying([[(0, 1), (1, 2), (0, 2)], [(0, 1), (1, 2)], [(1, 2), (0, 2)]], n=3)
    mechanism = Mechanism("gradients", np.ones((1, 3)), 1.0)
    how = {"rounds": rounds, "runs": 1, "kept": False, "constant": False}
    looks = looks_at_gradients(net, mechanism, **how)
    counts = [sum(k % 3 == phase for k in range(1, rounds + 1)) for phase in range(3)]
    assert [round(1 / look.share) for look in looks] == [count for count in counts if count]


def test_records_of_one_or_several_agents_add_up():
    net = hk.Network.harary(4, 7)
    ask = {"coalition": {0}, "sigma": 1.0, "independent": 0.5, "sensitivity": 0.3}
    each = {j: hk.certify(net, "function-sharing", records={j: 1}, **ask).mu for j in range(1, 7)}
    assert hk.certify(net, "function-sharing", records=3, **ask).mu == pytest.approx(3 * max(each.values()))
    both = hk.certify(net, "function-sharing", records={2: 1, 5: 4}, **ask)
    assert both.mu == pytest.approx(each[2] + 4 * each[5])
    assert both.agent == (2, 5)


def test_an_algorithm_brings_its_own_noise_and_sensitivity():
    certified = hk.CertifiedRssNb(0.6, 0.2, clip=0.25)
    found = hk.certify(RING, certified, colluders=1, rounds=9, dim=3)
    ask = {"sigma": 0.6, "independent": 0.2, "sensitivity": 0.5, "rounds": 9}
    assert found.mu == pytest.approx(hk.certify(RING, "certified-rss-nb", colluders=1, **ask).mu)
    stated = mechanism(certified, Setting(RING, 3, STEP, 9))
    assert isinstance(stated, Mechanism)
    assert (stated.on, stated.own_sd, stated.sensitivity, stated.exact) == ("gradients", 0.2, 0.5, False)
    np.testing.assert_array_equal(stated.link_sd, np.full((1, 5), 0.6))


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [
        (hk.RssNb(1.0), "RSS-NB as printed deals uniform noise, of which no certificate is made"),
        (hk.RssNb(1.0, distribution="gaussian"), "RSS-NB as printed deals gaussian noise"),
        (hk.RssNb(1.0, persistent=0.5), "RSS-NB as printed deals uniform noise"),
        (
            hk.RssNb(1.0, given=lambda i, j, k: np.ones(1)),
            "RSS-NB as printed deals noise that a user brought along",
        ),
        (hk.IndependentNoise(1.0), "independent noise is a baseline"),
        (hk.JointAverage(), "shows the sum over honest agents exactly"),
        (hk.FunctionSharing(2, 1.0), "draws its coefficients uniformly here"),
        (hk.FunctionSharing(2, sd=0.0), "FS without noise is plain DGD"),
        (hk.FunctionSharing(2, sd=1.0, family="cosine"), "which hide no polynomial"),
        (
            hk.FunctionSharing(2, sd=1.0, given=lambda i, j, k: np.ones(3)),
            "noise of the user's own takes the place",
        ),
        (hk.Nids(), "has no normal noise that would hide a record or a move"),
    ],
    ids=lambda one: one.title if isinstance(one, hk.Algorithm) else "",
)
def test_why_an_algorithm_of_hocket_s_has_none(algorithm, why):
    found = hk.certify(RING, algorithm, colluders=1, transfer=0.1, rounds=3, step=0.1, dim=1)
    assert not found.holds
    assert why in found.reason


def test_a_large_network_is_bounded_without_a_search():
    net = hk.Network.random_regular(6, 120, seed=1)
    ask = {"sigma": 4.0, "independent": 1.0, "sensitivity": 1.0, "rounds": 10}
    found = hk.certify(net, "certified-rss-nb", colluders=3, **ask)
    assert found.coalition is None
    assert "no coalition searched" in found.searched
    some = hk.certify(net, "certified-rss-nb", coalition={0, 1, 2}, **ask)
    assert some.mu < found.mu < math.sqrt(10)  # what own noise alone would give


@given(net=graphs(5, 8), data=st.data())
@settings(deadline=None, max_examples=15)
def test_coalitions_worked_with_at_once_are_each_as_by_itself(net, data):
    f = data.draw(st.integers(1, 3))
    sigma = data.draw(st.lists(st.floats(0.0, 30.0), min_size=len(net.links), max_size=len(net.links)))
    looks = (
        Look(net.links, net.n, 2 * np.array(sigma) ** 2, 0.3),
        Look(net.links, net.n, np.ones(len(sigma)), 2.0),
    )
    every = [*itertools.combinations(range(net.n), f)][:20]
    with threadpool_limits(1, user_api="blas"):
        found = RecordSearch(looks).costs(every)
        alone = [np.sum([look.honest(one).records() for look in looks], axis=0) for one in every]
    np.testing.assert_allclose(found, alone, rtol=1e-7, atol=1e-12)


def test_a_search_can_be_asked_for_or_left_out():
    net = hk.Network.harary(4, 10)
    ask = {"colluders": 2, "sigma": 1.0, "independent": 0.5, "sensitivity": 1.0}
    found, bound = (hk.certify(net, "function-sharing", by=one, **ask) for one in ("search", "bound"))
    assert found.mu < bound.mu
    assert "all 45 coalitions" in found.searched
    assert "no coalition searched" in bound.searched


def test_two_agents_with_many_paths_between_them_are_bounded_where_others_are_cut_off():
    # Agent 8 hangs on by one link: one colluder cuts it off, and 0 and 4 do not care.
    net = hk.Network([*hk.Network.harary(4, 8).links.tolist(), (0, 8)])
    ask = {"colluders": 1, "sigma": 1.0, "by": "bound"}
    assert hk.certify(net, "function-sharing", transfer=1.0, **ask).mu == math.inf
    bound = hk.certify(net, "function-sharing", move=(1, 5, 1.0), **ask)
    found = hk.certify(net, "function-sharing", move=(1, 5, 1.0), **(ask | {"by": "search"}))
    assert found.mu < bound.mu < math.inf


def test_a_round_by_itself_is_what_secret_batches_are_accounted_from():
    ask = {"colluders": 1, "sigma": 2.0, "independent": 1.0, "sensitivity": 0.1}
    alike = hk.certify(RING, "certified-rss-nb", rounds=16, **ask)
    assert alike.per_round == pytest.approx(alike.mu / 4)
    falling = hk.certify(RING, "certified-rss-nb", rounds=16, step=STEP, **ask)
    first = hk.certify(RING, "certified-rss-nb", rounds=1, step=STEP, **ask)
    assert falling.per_round == pytest.approx(first.mu)
    assert falling.kappa == pytest.approx(alike.kappa)


@pytest.mark.parametrize(("sigma", "own"), [(1e3, 1e-3), (1.0, 1e-6), (1e6, 1.0), (1e-3, 1e3), (40.0, 0.5)])
def test_little_own_noise_is_not_lost_in_rounding(sigma, own):
    # Against {1, 4} a ring of seven is a pair and three in a row; {0, 2} leave 1 by itself.
    net, ask = hk.Network.cycle(7), {"sigma": sigma, "independent": own, "sensitivity": 1.0}
    pair = hk.certify(net, "function-sharing", coalition={1, 4}, records={2: 1}, **ask)
    of_two = 1 / (2 * own**2) + 1 / (2 * (4 * sigma**2 + own**2))
    assert pair.mu == pytest.approx(math.sqrt(of_two), rel=1e-9)
    assert hk.certify(net, "function-sharing", colluders=2, **ask).mu == pytest.approx(1 / own, rel=1e-6)
