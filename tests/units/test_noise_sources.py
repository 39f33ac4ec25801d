"""Noise is drawn and dealt alike by NumPy and JAX, keeps to its bound and cancels where it should."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

import hocket as hk
from hocket.algorithm import Setting
from hocket.algorithms.parts.parameters import sd_within_bound, sd_within_norm
from hocket.engines.compiled import kernels
from hocket.engines.prepare import on_device
from hocket.networks.neighbour_tables import NeighbourTables, tabulate
from hocket.noise import threefry
from hocket.noise.draws import Draw, Gaussian, Own, Pair, Paired, When

VARYING = hk.Network.varying([hk.Network.cycle(6), [(0, 2), (1, 3), (2, 4), (3, 5), (0, 4), (1, 5)]])
NETWORKS = {
    "slots": hk.Network.cycle(6),
    "dense": hk.Network.complete(20),
    "links": hk.Network.star(12),
    "varying": VARYING,
}


def draws_of(algorithm: hk.Algorithm, network: hk.Network) -> dict[str, Draw]:
    return dict(algorithm.noise(Setting(network, 3, hk.Power(1, 0, 1), 10)))


ALGORITHMS = {
    "paired": hk.RssNb(1.0),
    "anchored": hk.RssNb(1.0, persistent=0.5),
    "balanced": hk.RssLb(1.0, unprotected=True),
    "normal pairs": hk.RssNb(1.0, persistent=0.5, distribution="gaussian"),
    "normal function": hk.FunctionSharing(2, 1.0, distribution="gaussian"),
    "own": hk.IndependentNoise(1.0),
    "function": hk.FunctionSharing(2, 1.0),
    "gaussian": hk.PrivateDgd(1.0, 1.0, 10),
}


def moments(library: Any, draw: Draw, tables: NeighbourTables, rounds: np.ndarray) -> When:
    """The rounds to draw for; for noise drawn once, every phase."""
    phases = np.arange(tables.period) if draw.once else (rounds - 1) % tables.period
    return When(*map(library.asarray, (np.zeros_like(phases) if draw.once else rounds, phases)))


def drawn(library: Any, draw: Draw, tables: NeighbourTables, rounds: np.ndarray) -> Any:
    """What one library draws, under one key."""
    key = threefry.derive(tuple(library.asarray(threefry.seed_key(9))), draw.label)
    return draw.raw(key, moments(library, draw, tables, rounds), tables, np.float64)


def dealt(draw: Draw, tables: NeighbourTables, rounds: np.ndarray) -> tuple[Any, np.ndarray]:
    """What NumPy draws and deals."""
    raw = drawn(np, draw, tables, rounds)
    return raw, draw.deal(draw.condense(raw), moments(np, draw, tables, rounds), tables)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_numpy_and_jax_draw_the_same_noise(name):
    tables, rounds = tabulate(VARYING, slots_needed=True), np.arange(1, 5)
    for draw in draws_of(ALGORITHMS[name], VARYING).values():
        ours = drawn(np, draw, tables, rounds)
        with jax.enable_x64(True):
            theirs = drawn(jnp, *on_device((draw, tables), np.float64), rounds)
        normal = isinstance(draw, Gaussian) or (isinstance(draw, Paired) and draw.normal)
        near = 1e-15 if normal else 0  # log, cos and sin are rounded differently by the two
        jax.tree.map(
            lambda a, b, near=near: np.testing.assert_allclose(a, b, rtol=near, atol=0), ours, theirs
        )


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_numpy_and_jax_deal_alike(name, network):
    tables, rounds = tabulate(NETWORKS[network], slots_needed=True), np.arange(1, 5)
    for draw in draws_of(ALGORITHMS[name], NETWORKS[network]).values():
        raw, ours = dealt(draw, tables, rounds)
        with jax.enable_x64(True):
            draw, wires, raw = on_device((draw, tables, raw), np.float64)
            theirs = draw.deal(draw.condense(raw), moments(jnp, draw, wires, rounds), wires)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)  # sums of up to 19 draws below 1


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_agents_that_draw_for_themselves_draw_what_they_would_be_dealt(name, network):
    tables, rounds = tabulate(NETWORKS[network], slots_needed=True), np.arange(1, 5)
    for draw in draws_of(ALGORITHMS[name], NETWORKS[network]).values():
        key = threefry.derive(tuple(threefry.seed_key(9)), draw.label)
        when = moments(np, draw, tables, rounds)
        own = draw.at_each_end(key, when, tables, np.dtype(np.float64))
        np.testing.assert_array_equal(own, dealt(draw, tables, rounds)[1])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_noise_does_not_depend_on_how_rounds_are_blocked(name):
    tables = tabulate(VARYING, slots_needed=True)
    for draw in draws_of(ALGORITHMS[name], VARYING).values():
        if not draw.once:
            whole = dealt(draw, tables, np.arange(1, 9))[1]
            single = [dealt(draw, tables, np.array([k]))[1][0] for k in range(1, 9)]
            np.testing.assert_allclose(whole, single, rtol=0, atol=1e-15)  # only vector units may differ


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", ["paired", "anchored", "function", "normal pairs", "normal function"])
def test_paired_shares_cancel_and_keep_to_their_links(name, network):
    graph = NETWORKS[network]
    tables, rounds = tabulate(graph, slots_needed=False), np.arange(1, 5)
    for kind, draw in draws_of(ALGORITHMS[name], graph).items():
        raw, shares = dealt(draw, tables, rounds)
        assert isinstance(draw, Paired)
        assert isinstance(raw, Pair)
        np.testing.assert_allclose(shares.sum(axis=1), 0, atol=1e-14)
        if kind == "paired":
            assert not raw.forward[0].any()  # round 1 is said without noise
            silent = ~graph.active[(rounds - 1) % graph.period]
            assert not raw.forward[silent].any()
            assert raw.backward[1:][~silent[1:]].all()


@pytest.mark.parametrize("network", NETWORKS)
def test_balanced_noise_is_balanced_by_what_neighbours_weigh_it_with(network):
    graph = NETWORKS[network]
    tables, rounds = tabulate(graph, slots_needed=True), np.arange(1, 5)
    (draw,) = draws_of(ALGORITHMS["balanced"], graph).values()
    shares = dealt(draw, tables, rounds)[1]
    assert np.linalg.norm(shares, axis=-1).max() <= 1
    for row, k in enumerate(rounds):
        B = graph.B_at(int(k))
        for j in range(graph.n):
            others = graph.neighbours(j)
            received = shares[row, j, : len(others)]
            assert not shares[row, j, len(others) :].any()
            np.testing.assert_allclose(B[list(others), j] @ received, 0, atol=1e-15)
            assert not received[B[list(others), j] == 0].any()
            assert received.any() == ((B[list(others), j] > 0).sum() > 1)


def test_own_noise_keeps_to_its_bound_and_normal_noise_to_its_deviation():
    tables = tabulate(hk.Network.cycle(6), slots_needed=False)
    own, normal = (
        dealt(draw, tables, np.arange(1, 5001))[1]
        for draw in (
            Own(np.asarray(0.5), width=2, label=4),
            Gaussian(np.asarray(0.5), width=2, label=6),
        )
    )
    assert np.abs(own).max() <= 0.5
    # 60,000 draws each: one standard error is .2 % and .3 %.
    assert own.std() == pytest.approx(0.5 / np.sqrt(3), rel=0.01)
    assert normal.std() == pytest.approx(0.5, rel=0.015)
    assert scipy.stats.kstest(normal.ravel() / 0.5, "norm").pvalue > 1e-4


def test_normal_pairs_are_normal_and_their_two_draws_independent():
    tables, network = tabulate(hk.Network.cycle(6), slots_needed=False), hk.Network.cycle(6)
    draw = draws_of(hk.RssNb(1.0, distribution="gaussian"), network)["paired"]
    raw = drawn(np, draw, tables, np.arange(2, 5002))
    forward, backward = (side.ravel() / draw.sd[0, 0] for side in raw)
    for side in (forward, backward):  # 90,000 draws each, under one key
        assert scipy.stats.kstest(side, "norm").pvalue > 1e-4
    # Cosine and sine of one angle are uncorrelated whatever the radius; their squares only with the right one.
    for power in (1, 2):
        assert abs(np.corrcoef(forward**power, backward**power)[0, 1]) < 4 / np.sqrt(len(forward))


@pytest.mark.parametrize("dim", [1, 3, 50])
def test_normal_noise_breaks_its_bound_no_more_often_than_promised(dim):
    """With a failure so likely that it can be seen."""
    network, events = hk.Network.star(5), 4000
    tables, rounds = tabulate(network, slots_needed=True), np.arange(2, events // network.n + 2)
    sd = sd_within_norm(dim, events=1, failure=0.2)
    scale = np.full((1, 4), sd / np.sqrt(2 * 4))
    shares = dealt(Paired(scale, width=dim, label=1, first=2, normal=True), tables, rounds)[1]
    broken = np.linalg.norm(shares, axis=-1) > 1
    # The hub has all four links that the deviation allows for, and fails as often as promised; the leaves have one.
    assert broken[:, 0].mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / len(rounds)))
    assert broken[:, 1:].mean() < broken[:, 0].mean()
    coefficients = sd_within_bound(events=1, failure=0.2) * np.random.default_rng(0).normal(size=events)
    assert (abs(coefficients) > 1).mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / events))


def test_many_events_share_one_failure():
    """A thousand events at a thousandth each, or one at all of it; and a smaller failure narrows the noise slowly."""
    assert sd_within_norm(7, events=1000, failure=1e-3) == sd_within_norm(7, events=1, failure=1e-6)
    assert sd_within_bound(events=1000, failure=1e-3) == sd_within_bound(events=1, failure=1e-6)
    # 4.8916 deviations on either side leave out a millionth.
    assert 1 / sd_within_bound(events=1, failure=1e-6) == pytest.approx(4.8916, abs=1e-4)
    assert sd_within_norm(1, events=1, failure=0.01) == pytest.approx(sd_within_bound(events=1, failure=0.01))
    assert sd_within_norm(1, events=10**9, failure=1e-6) > 0.7 * sd_within_norm(1, events=10**5, failure=1e-6)


@pytest.mark.parametrize("dim", [1, 20, 1000])
def test_normal_noise_fills_a_ball_that_a_box_leaves_empty(dim):
    """In many dimensions a normal vector's length hardly varies, so that Δ buys more noise than a box does."""
    plan = Setting(hk.Network.cycle(5), dim, hk.Power(1), 100)
    sd = {
        kind: hk.RssNb(1.0, distribution=kind).noise(plan)["paired"].sd[0, 0]
        for kind in ("uniform", "gaussian")
    }
    assert (sd["gaussian"] > sd["uniform"]) == (dim >= 20)
    if dim == 1000:
        assert sd["gaussian"] > 2.5 * sd["uniform"]


@pytest.mark.parametrize("network", ["slots", pytest.param("varying", marks=pytest.mark.slow)])
def test_the_kernel_for_gpus_gives_the_numbers_of_array_code(network):
    graph = NETWORKS[network]
    [draw] = draws_of(ALGORITHMS["balanced"], graph).values()
    draw, tables = on_device((draw, tabulate(graph, slots_needed=True)), np.float32)
    key = threefry.derive(tuple(jnp.asarray(threefry.seed_key(9))), draw.label)
    when = moments(jnp, draw, tables, np.array([4]))
    dealt_out = draw.deal(draw.condense(draw.raw(key, when, tables, np.float32)), when, tables)
    assert kernels.noise_fits(draw, when, tables, np.float32)
    x, scale = dealt_out[0, :, 0] + 1, jnp.arange(1.0, 1 + graph.n, dtype=np.float32) / graph.n
    words = kernels.noisy(draw, key, when, tables, x, scale)
    expected = x[:, None] + scale[:, None, None] * dealt_out[0]
    np.testing.assert_allclose(words, expected, rtol=0, atol=1e-6)  # float32, sums of two numbers of size one
