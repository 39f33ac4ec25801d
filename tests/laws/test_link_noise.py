"""Noise with a deviation for each link: alike on all links it is the same to the bit, and everybody who looks at it
sees what is really dealt."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket as hk
from hocket.algorithm import Setting
from hocket.errors import BadAlgorithm, NoTheorem
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import When
from hocket.noise.threefry import seed_key
from hocket.privacy.attacks import likelihood_ratios
from hocket.privacy.dp.empirical import Told
from hocket.steps import Constant
from tests.laws.table import networks, quadratics
from tests.units.certificate_cases import dense, graphs

DIM = 2
STEP = hk.Power(1.0, 20, 0.75)
BARBELL = hk.Network([(0, 1), (0, 2), (1, 2), (1, 4), (2, 3), (3, 4), (3, 5), (4, 5)], name="barbell")
"""Two triangles, and two links between them: no link is like another but its mirror image."""
SIGMA = (1.0, 2.0, 0.2, 0.3, 3.0, 0.3, 2.0, 0.4)
KINDS: dict[str, Any] = {
    "fs": lambda sd: hk.FunctionSharing(2, sd=sd),
    "fs-quadratic": lambda sd: hk.FunctionSharing(2, sd=sd, own=0.2, family="quadratic"),
    "fs-grid": lambda sd: hk.FunctionSharing(2, sd=sd, own=0.2, family="quadratic", grid=2.0**-20),
    "certified": lambda sd: hk.CertifiedRssNb(sd),
    "certified-persistent": lambda sd: hk.CertifiedRssNb(sd, persistent=0.5),
    "certified-own": lambda sd: hk.CertifiedRssNb(sd, 0.2),
    "certified-grid": lambda sd: hk.CertifiedRssNb(sd, 0.2, clip=2.0, grid=2.0**-20),
}
"""Every kind of noise that takes σ."""
stds = st.lists(st.floats(0.1, 5.0), min_size=8, max_size=8)


def by_ends(network: hk.Network, sd: Any) -> dict[tuple[int, int], float]:
    return {(j, i): one for (i, j), one in zip(network.links.tolist(), sd, strict=True)}


def played(network: hk.Network, algorithm: hk.Algorithm, seed: int) -> hk.Run:
    problem = quadratics(network.n, DIM, 0)
    return hk.solve(problem, network, algorithm, step=STEP, rounds=4, seed=seed, keep="transcript")


def same(first: hk.Run, second: hk.Run) -> None:
    """All states, messages and draws, to the bit."""
    np.testing.assert_array_equal(first.x, second.x)
    assert first.transcript is not None
    assert second.transcript is not None
    for one, other in zip(first.transcript.words, second.transcript.words, strict=True):
        np.testing.assert_array_equal(one, other)
    for kind, table in first.transcript.noise.items():
        np.testing.assert_array_equal(table, second.transcript.noise[kind])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3)
@given(network=networks(), seed=st.integers(0, 2**32), sd=st.floats(0.1, 5.0))
def test_the_same_on_all_links_is_one_number_bit_for_bit(kind, network, seed, sd):
    same(played(network, KINDS[kind](sd), seed), played(network, KINDS[kind]([sd] * 8), seed))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3)
@given(network=networks(), seed=st.integers(0, 2**32), sd=stds)
def test_a_list_and_a_table_by_ends_are_the_same(kind, network, seed, sd):
    same(played(network, KINDS[kind](sd), seed), played(network, KINDS[kind](by_ends(network, sd)), seed))


@pytest.mark.parametrize("kind", ["fs", "certified-own"])
def test_fractions_have_the_same_noise(kind):
    problem, step = quadratics(6, 1, 0), Constant(Fraction(1, 10))
    exact, floats = (
        hk.solve(problem, BARBELL, KINDS[kind](SIGMA), step=step, rounds=3, engine=engine)
        for engine in ("exact", "simulator")
    )
    np.testing.assert_allclose(exact.x.astype(float), floats.x, atol=1e-14)  # float64, three rounds


@pytest.mark.parametrize("kind", ["fs", "fs-quadratic", "certified"])
@settings(max_examples=3)
@given(network=networks(), seed=st.integers(0, 2**32), sd=stds)
def test_every_draw_is_scaled_by_its_own_link(kind, network, seed, sd):
    """Beside noise of deviation one from the same seed, and by nothing else."""
    runs = [played(network, KINDS[kind](one), seed).transcript for one in (1.0, sd)]
    (unit, mine) = ((one.noise.get("function", one.noise.get("paired"))) for one in runs if one is not None)
    assert unit is not None
    np.testing.assert_allclose(mine, unit * np.array(sd)[:, None, None], rtol=1e-12)  # one product each


@pytest.mark.parametrize("kind", ["fs", "certified"])
@settings(max_examples=10)
@given(network=graphs(), data=st.data())
def test_what_auditors_take_for_its_covariance_is_what_is_dealt(kind, network, data):
    """By the linear map that `hk.leakage` uses, by the definition link by link, and as 20,000 draws have it."""
    sd = data.draw(st.lists(st.floats(0.2, 3.0), min_size=len(network.links), max_size=len(network.links)))
    draws = KINDS[kind](sd).noise(Setting(network, 1, Constant(1.0), 3))
    draw, tables = draws["function" if kind == "fs" else "paired"], tabulate(network, slots_needed=False)
    rounds = np.arange(2, 20_002)
    when = When(rounds, np.zeros_like(rounds))
    spread = draw.spread(when, tables)[:, 0]
    _, defined = dense(network, set(), sd, 0.0)
    np.testing.assert_allclose(spread @ spread.T, defined, rtol=1e-12, atol=1e-12)
    raw = draw.raw(seed_key(1), when, tables, np.dtype(np.float64))
    dealt = draw.deal(draw.condense(raw), when, tables)[..., 0]
    size = np.sqrt(defined.diagonal())
    # 20,000 draws: a correlation deviates by 0.007, and a variance by 0.01 of itself.
    np.testing.assert_allclose(
        np.cov(dealt.T) / np.outer(size, size), defined / np.outer(size, size), atol=0.06
    )


@settings(max_examples=15)
@given(network=graphs(), data=st.data())
def test_an_algorithm_is_certified_as_its_key_with_the_same_deviations(network, data):
    sd = data.draw(st.lists(st.floats(0.2, 3.0), min_size=len(network.links), max_size=len(network.links)))
    asked: dict[str, Any] = {"colluders": 1, "sensitivity": 0.5}
    ends = by_ends(network, sd)
    for rounds, name, itself, also in (
        (
            1,
            "function-sharing",
            hk.FunctionSharing(2, sd=sd, own=0.3),
            hk.FunctionSharing(2, sd=ends, own=0.3),
        ),
        (4, "certified-rss-nb", hk.CertifiedRssNb(sd, 0.3), hk.CertifiedRssNb(ends, 0.3)),
    ):
        asked["rounds"] = rounds
        by_key = hk.certify(network, name, sigma=sd, independent=0.3, **asked)
        mus = {hk.certify(network, one, dim=1, **asked).mu for one in (itself, also)}
        assert mus == {by_key.mu}
        _, covariance = dense(network, set(by_key.coalition), sd, 0.3)
        worst = 0.5 * np.sqrt(rounds * np.linalg.inv(covariance).diagonal().max())
        assert by_key.mu == pytest.approx(worst)


def test_a_linear_move_is_certified_as_far_as_an_audit_tells_it():
    """B0 is √(2·divergence) of `hk.leakage` where all messages are received; by either way and by linearisation."""
    algorithm = hk.CertifiedRssNb(SIGMA)
    ask: dict[str, Any] = {"coalition": {0}, "step": STEP, "rounds": 12}
    found = hk.certify(BARBELL, algorithm, move=(1, 5, 0.3), dim=1, **ask)
    linear = hk.certify(BARBELL, algorithm, move=(1, 5, 0.3), dim=1, by="linearisation", **ask)
    audited = hk.leakage(BARBELL, algorithm, threat="states", **ask)
    assert found.mu == pytest.approx(np.sqrt(2 * audited.divergence(1, 5, 0.3)), rel=1e-8)
    assert found.mu == pytest.approx(linear.mu, rel=1e-8)


def world(changes: dict[tuple[int, int], float]) -> hk.Problem:
    rows = [[0.0, 0.3 * j - 0.7, 0.5 + 0.1 * j] for j in range(6)]
    for (agent, power), change in changes.items():
        rows[agent][power] += change
    return hk.polynomials(rows, box=(-1e6, 1e6))


TOLD: dict[str, Any] = {
    "A1": (
        hk.FunctionSharing(2, sd=SIGMA),
        {"move": (1, 5, [0.45, -0.6])},
        {(1, 1): -0.45, (1, 2): 0.6, (5, 1): 0.45, (5, 2): -0.6},
        0.05,
        6,
    ),
    "B1": (hk.CertifiedRssNb(SIGMA, 0.8), {"sensitivity": 0.4, "records": {1: 1}}, {(1, 1): 0.4}, STEP, 10),
}


@pytest.mark.parametrize("name", TOLD)
def test_real_runs_are_told_apart_as_well_as_the_certificate_says_and_no_better(name):
    """Likelihood ratios of all messages on an irregular graph: at a confidence of 0.999 their fit holds μ."""
    algorithm, hidden, changes, step, rounds = TOLD[name]
    worlds, plan = (world({}), world(changes)), {"step": step, "rounds": rounds}
    found = hk.certify(BARBELL, algorithm, coalition={0}, problem=worlds[0], **plan, **hidden)
    ratios = likelihood_ratios(
        worlds, BARBELL, algorithm, coalition={0}, start=1.0 if name == "A1" else 0.0, runs=250, **plan
    )
    told = Told(*ratios, confidence=0.999)
    low, high = told.interval
    assert low < found.mu < high
    assert told.mu_bound() <= found.mu
    # The same numbers on other links are another certificate, which these runs refute.
    turned = replace(algorithm, sd=SIGMA[::-1])
    assert hk.certify(BARBELL, turned, coalition={0}, problem=worlds[0], **plan, **hidden).mu < low


def test_a_shard_deals_what_its_own_links_have():
    """Where only some links are at hand, as in a cluster; none in place of a link deals nothing."""
    draw = hk.CertifiedRssNb(SIGMA).noise(Setting(BARBELL, 1, STEP, 4))["paired"]
    some = draw.among(np.array([4, -1, 0]), np.array([2, 3]))
    np.testing.assert_array_equal(some.sd, [[SIGMA[4], 0.0, SIGMA[0]]])


def test_links_that_come_and_go_are_counted_over_all_phases():
    """One number for each link of the union; silent in the phases in which its link is."""
    parts = [
        hk.Network([(0, 1), (1, 2), (2, 3)]),
        hk.Network([(0, 1), (0, 3), (1, 2)], n=4),
    ]
    varying = hk.Network.varying(parts)
    assert varying.links.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    sd = [1.0, 2.0, 3.0, 4.0]
    scale = hk.CertifiedRssNb(sd).noise(Setting(varying, 1, STEP, 4))["paired"].sd
    np.testing.assert_array_equal(scale, [[1, 0, 3, 4], [1, 2, 3, 0]])
    with pytest.raises(BadAlgorithm, match="3 numbers for the 4 links"):
        hk.CertifiedRssNb(sd[:3]).validate(Setting(varying, 1, STEP, 4))


@pytest.mark.parametrize(
    ("sd", "said"),
    [
        ([1.0, 0.0, 1.0], "sd = 0.0 for link 1 of net.links"),
        ([1.0, float("inf"), 1.0], "sd = inf for link 1 of net.links"),
        ([1.0, "2", 1.0], "sd = '2' for link 1"),
        ([], "empty list"),
        ({(0, 1): -1.0}, "sd = -1.0 for the link of agents 0 and 1"),
        ({(0, 1): 1.0, (1, 0): 2.0}, "twice for the link of agents 0 and 1"),
        ({"0-1": 1.0}, "a link is the numbers of two agents"),
    ],
)
def test_what_is_no_deviation_is_refused_by_its_link(sd, said):
    for build in (lambda: hk.FunctionSharing(1, sd=sd), lambda: hk.CertifiedRssNb(sd)):
        with pytest.raises(BadAlgorithm, match=said):
            build()


@pytest.mark.parametrize(
    ("sd", "said"),
    [
        ([1.0, 1.0], "2 numbers for the 3 links of path:4; .* the first is that of Aalst and Bruges"),
        ({(0, 1): 1.0, (1, 2): 1.0}, "no number for the link of Ghent and Leuven"),
        ({(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (0, 3): 1.0}, "Aalst and Leuven, which are not linked"),
    ],
)
def test_what_does_not_fit_the_network_is_refused_by_name(sd, said):
    network = hk.Network.path(4).called(["Aalst", "Bruges", "Ghent", "Leuven"])
    problem = quadratics(4, 1, 0)
    for algorithm in (hk.FunctionSharing(2, sd=sd), hk.CertifiedRssNb(sd)):
        with pytest.raises(BadAlgorithm, match=said):
            hk.solve(problem, network, algorithm, rounds=2)


def test_widths_for_one_bound_are_not_claimed():
    run = hk.solve(world({}), BARBELL, hk.FunctionSharing(2, sd=SIGMA), rounds=2, keep="transcript")
    with pytest.raises(NoTheorem, match="links have a deviation each"):
        hk.privacy.ambiguity(BARBELL, {0}, {1}, run=run)
