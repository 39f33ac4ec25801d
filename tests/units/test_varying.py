"""Networks that change from round to round: weights, noise and balance follow the links that are up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm, BadNetwork
from tests.laws.table import quadratics

RING = hk.Network.cycle(6)
CHORDS = [(0, 2), (1, 3), (2, 4), (3, 5), (0, 4), (1, 5)]
PAIRS = [(0, 3), (1, 4), (2, 5)]
TWO = hk.Network.varying([RING, CHORDS])
"""Everybody has two neighbours in either phase, and other ones."""
THREE = hk.Network.varying([RING, CHORDS, PAIRS])
ROUNDS = 25
STEP = hk.Power(1.0, 5, 0.75)
ALPHA = np.concatenate([[0.0], STEP.table(1, ROUNDS)])


def play(algorithm: hk.Algorithm, network: Any = TWO, **how: Any) -> hk.Run:
    how = {"keep": "transcript", "rounds": ROUNDS, "step": STEP, "seed": 4, "start": start()} | how
    return hk.solve(quadratics(6, 2, 1), network, algorithm, **how)


def start() -> np.ndarray:
    return np.random.default_rng(0).uniform(-5, 5, size=(6, 2))


def gained(network: hk.Network, draws: np.ndarray, k: int) -> np.ndarray:
    """Σ_i (s^{i,j} − s^{j,i}) over the links that are up in round k."""
    d, up = np.zeros((network.n, draws.shape[-1])), network.active[(k - 1) % network.period]
    for (low, high), (forth, back), active in zip(network.links, draws, up, strict=True):
        if active:
            d[high] += forth - back
            d[low] += back - forth
    return d


@pytest.mark.parametrize("network", [TWO, THREE], ids=["two phases", "three phases"])
@pytest.mark.parametrize(
    "algorithm", [hk.Dgd(), hk.RssNb(1.0), hk.RssNb(1.0, anchor=0.5)], ids=["dgd", "rss-nb", "anchored"]
)
def test_a_loop_by_hand_gives_the_same_run(algorithm, network):
    run = play(algorithm, network)
    noise, x = run.transcript.noise, start()
    for k in range(1, ROUNDS + 1):
        w = x
        if "paired" in noise:
            w = w + ALPHA[k] * gained(network, noise["paired"][k - 1], k)
        if "anchor" in noise:
            w = w + ALPHA[k - 1] * gained(network, noise["anchor"][0], k)
        v = network.B_at(k) @ w
        slope = np.array([run.problem.gradient(j, v[j]) for j in range(6)])
        x = np.clip(v - ALPHA[k] * slope, -5, 5)
        np.testing.assert_allclose(run.path[k], x, rtol=0, atol=1e-12)


def test_balanced_words_by_hand():
    run, x = play(hk.RssLb(1.0)), start()
    for k in range(1, ROUNDS + 1):
        B = TWO.B_at(k)
        v = np.diag(B)[:, None] * x
        for j in range(6):
            others = TWO.neighbours(j)
            d = run.transcript.words[0][k - 1, j, : len(others)] - run.path[k - 1, j]
            np.testing.assert_allclose(B[others, j] @ d, 0, atol=1e-14)  # balanced over the links that are up
            assert not d[B[others, j] == 0].any()
            assert (np.abs(d[B[others, j] > 0]) > 0).all()
            v[list(others)] += B[others, j][:, None] * (x[j] + d)
        slope = np.array([run.problem.gradient(j, v[j]) for j in range(6)])
        x = np.clip(v - ALPHA[k] * slope, -5, 5)
        np.testing.assert_allclose(run.path[k], x, rtol=0, atol=1e-12)


def test_noise_functions_are_shared_over_all_links():
    """FS draws once: its functions cancel in every round, whichever links are up."""
    run = play(hk.FunctionSharing(2, 0.1), THREE)
    draws = run.transcript.noise["function"]
    assert draws.shape == (1, len(THREE.links), 2, 6)
    total = np.zeros((6, 6))
    for (low, high), (forth, back) in zip(THREE.links, draws[0], strict=True):
        total[high] += forth - back
        total[low] += back - forth
    x = start()
    for k in range(1, ROUNDS + 1):
        v = THREE.B_at(k) @ x
        table = total.reshape(6, 3, 2)
        slope = np.array([run.problem.gradient(j, v[j]) for j in range(6)])
        x = np.clip(v - ALPHA[k] * (slope + table[:, 1] + 2 * table[:, 2] * v), -5, 5)
        np.testing.assert_allclose(run.path[k], x, rtol=0, atol=1e-12)


def test_draws_keep_to_links_that_are_up_and_to_their_degree():
    draws = play(hk.RssNb(1.0), THREE).transcript.noise["paired"]
    for k in range(2, ROUNDS + 1):
        up = THREE.active[(k - 1) % 3]
        size = np.linalg.norm(draws[k - 1], axis=-1)
        assert not size[~up].any()
        degree = {0: 2, 1: 2, 2: 1}[(k - 1) % 3]
        assert 0 < size[up].min() <= size[up].max() <= 1 / (2 * degree)


def test_an_anchor_stays_what_it_is():
    """One constant per link, in every phase: if it changed by a known ratio it could be told from the gradient."""
    weights = [hk.Network.cycle(6), hk.Network.complete(6)]  # ring links have degree 2 in one phase, 5 in the other
    network = hk.Network.varying(weights)
    run = play(hk.RssNb(1.0, anchor=1.0), network, step=0.1, rounds=5)
    anchor = run.transcript.noise["anchor"]
    assert anchor.shape == (1, 15, 2, 2)
    assert np.linalg.norm(anchor, axis=-1).max() <= 1 / (2 * 5)  # within the bound of the busier phase
    for k in range(2, 6):
        said = run.transcript.words[0][k - 1] - run.path[k - 1]
        np.testing.assert_allclose(said, 0.1 * gained(network, anchor[0], k), rtol=0, atol=1e-14)


def test_an_agent_alone_in_one_phase_is_refused():
    phases = [RING, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (4, 5)]]  # agent 5 has one neighbour in the second
    with pytest.raises(BadAlgorithm, match="RSS-LB cannot hide agent 5: it has one neighbour"):
        play(hk.RssLb(1.0), phases)
    run = play(hk.RssLb(1.0, unprotected=True), phases)
    d = run.transcript.words[0] - run.path[:-1][:, :, None]
    network = hk.Network.varying(phases)
    slot = network.neighbours(5).index(4)
    assert np.abs(d[0::2, 5, slot]).min() > 0
    assert not d[1::2, 5].any()


def test_an_agent_without_neighbours_in_a_phase_keeps_to_itself():
    """Nobody hears agent 5 in the second phase: it descends alone, and there is nothing to balance."""
    phases = [RING, hk.Network.varying([[(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], RING], n=6)]
    with pytest.raises(BadNetwork):
        hk.Network.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], n=6)
    run = play(hk.RssLb(1.0), phases)
    x = run.path[1, 5]
    np.testing.assert_allclose(
        run.path[2, 5], x - ALPHA[2] * run.problem.gradient(5, x), rtol=0, atol=1e-13
    )


def test_phases_with_all_links_are_one_network_for_the_theorems():
    assert play(hk.Dgd(), TWO).theorem is None
    assert "some links are silent in some rounds" in str(play(hk.Dgd(), TWO).claim)
    both = [RING, hk.Network.cycle(6, weights="metropolis")]
    assert play(hk.Dgd(), both).theorem == "Theorem 1"


def test_a_phase_repeated_is_the_network_itself():
    alone, repeated = play(hk.RssNb(1.0), RING), play(hk.RssNb(1.0), [RING, RING])
    np.testing.assert_allclose(alone.path, repeated.path, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(alone.transcript.noise["paired"], repeated.transcript.noise["paired"])


def test_given_noise_is_asked_for_on_links_that_are_up_only():
    asked = set()

    def noise(sender: int, receiver: int, k: int) -> list[float]:
        asked.add((min(sender, receiver), max(sender, receiver), k))
        return [0.1, 0.2] if sender < receiver else [0.0, 0.0]

    run = play(hk.RssNb(1.0, noise=noise), rounds=4)
    ring, chords = {(int(i), int(j)) for i, j in RING.links}, set(CHORDS)
    assert {(i, j) for i, j, k in asked if k == 3} == ring
    assert {(i, j) for i, j, k in asked if k in (2, 4)} == chords
    assert not any(k == 1 for *_, k in asked)
    table = run.transcript.noise["paired"]
    np.testing.assert_array_equal(table[1][TWO.active[1], 0], [[0.1, 0.2]] * 6)
    table = np.ones((4, 12, 2, 2))
    with pytest.raises(BadAlgorithm, match="agents 0 and 2 in round 1, in which it is silent"):
        play(hk.RssNb(1.0, noise=table), rounds=4)


def test_a_run_on_phases_resumes_to_the_same_bits(tmp_path):
    whole = play(hk.RssNb(1.0, anchor=0.5), THREE, keep="metrics")
    play(hk.RssNb(1.0, anchor=0.5), THREE, keep="metrics", rounds=10, checkpoint=tmp_path)
    resumed = play(hk.RssNb(1.0, anchor=0.5), THREE, keep="metrics", checkpoint=tmp_path)
    np.testing.assert_array_equal(whole.x, resumed.x)
