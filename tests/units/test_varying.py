"""Networks that change from round to round: weights, noise and balance follow the links that are up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm
from tests.units.engine_cases import CHORDS, LONELY, PHASES, RING, STEP, play

ROUNDS = 25
ALPHA = np.concatenate([[0.0], STEP.table(1, ROUNDS)])
START = np.random.default_rng(0).uniform(-5, 5, size=(6, 2))


def kept(algorithm: hk.Algorithm, network: hk.Network = PHASES, **how: Any) -> hk.Run:
    """A short run of which everything is known."""
    return play(
        algorithm, **{"network": network, "keep": "transcript", "rounds": ROUNDS, "start": START} | how
    )


def check_by_hand(run: hk.Run, mix: Callable[[np.ndarray, int], np.ndarray], plus: Any = None) -> None:
    """Repeat a run from its mixing, round by round: v = mix(x, k), then a projected gradient step."""
    x = START
    for k in range(1, ROUNDS + 1):
        v = mix(x, k)
        slope = np.array([run.problem.gradient(j, v[j]) for j in range(6)])
        x = np.clip(v - ALPHA[k] * (slope if plus is None else slope + plus(v)), -5, 5)
        np.testing.assert_allclose(run.path[k], x, rtol=0, atol=1e-12)  # float64, rounds that contract


def gained(network: hk.Network, draws: np.ndarray, k: int) -> np.ndarray:
    """Σ_i (s^{i,j} − s^{j,i}) over the links that are up in round k."""
    d, up = np.zeros((network.n, draws.shape[-1])), network.active[(k - 1) % network.period]
    for (low, high), (forth, back), active in zip(network.links, draws, up, strict=True):
        if active:
            d[high] += forth - back
            d[low] += back - forth
    return d


@pytest.mark.parametrize(
    "algorithm", [hk.Dgd(), hk.RssNb(1.0), hk.RssNb(1.0, persistent=0.5)], ids=["dgd", "rss-nb", "anchored"]
)
def test_a_loop_by_hand_gives_the_same_run(algorithm):
    run = kept(algorithm)
    noise = run.transcript.noise

    def mix(x: np.ndarray, k: int) -> np.ndarray:
        if "paired" in noise:
            x = x + ALPHA[k] * gained(PHASES, noise["paired"][k - 1], k)
        if "persistent" in noise:
            x = x + ALPHA[k - 1] * gained(PHASES, noise["persistent"][0], k)
        return PHASES.B_at(k) @ x

    check_by_hand(run, mix)


def test_words_are_balanced_over_the_links_that_are_up():
    run = kept(hk.RssLb(1.0, unprotected=True), LONELY)

    def mix(x: np.ndarray, k: int) -> np.ndarray:
        B = LONELY.B_at(k)
        v = np.diag(B)[:, None] * x
        for j in range(6):
            others = LONELY.neighbours(j)
            weight = B[others, j]
            d = run.transcript.words[0][k - 1, j, : len(others)] - run.path[k - 1, j]
            np.testing.assert_allclose(weight @ d, 0, atol=1e-14)
            hidden = (weight > 0).sum() > 1  # one word cannot be balanced, and is said as it is
            assert (d.any(axis=1) == (hidden & (weight > 0))).all()
            v[list(others)] += weight[:, None] * (x[j] + d)
        return v

    check_by_hand(run, mix)


def test_an_agent_alone_in_one_phase_is_refused():
    with pytest.raises(BadAlgorithm, match="RSS-LB cannot hide agent 3, 4: it has one neighbour"):
        kept(hk.RssLb(1.0), LONELY)


def test_noise_functions_are_shared_over_all_links():
    """FS draws once: its functions cancel in every round, whichever links are up."""
    run = kept(hk.FunctionSharing(2, 0.1))
    draws = run.transcript.noise["function"]
    assert draws.shape == (1, len(PHASES.links), 2, 6)
    total = np.zeros((6, 6))
    for (low, high), (forth, back) in zip(PHASES.links, draws[0], strict=True):
        total[high] += forth - back
        total[low] += back - forth
    _, first, second = total.reshape(6, 3, 2).transpose(1, 0, 2)
    check_by_hand(run, lambda x, k: PHASES.B_at(k) @ x, plus=lambda v: first + 2 * second * v)


def test_draws_keep_to_links_that_are_up_and_to_their_degree():
    draws = kept(hk.RssNb(1.0)).transcript.noise["paired"]
    for k in range(2, ROUNDS + 1):
        up = PHASES.active[(k - 1) % 3]
        size = np.linalg.norm(draws[k - 1], axis=-1)
        assert not size[~up].any()
        degree = (2, 2, 3)[(k - 1) % 3]
        assert 0 < size[up].min() <= size[up].max() <= 1 / (2 * degree)


def test_an_anchor_keeps_to_the_tightest_phase():
    """One constant per link for all phases: if it changed by a known ratio it could be told from the gradient."""
    persistent = kept(hk.RssNb(1.0, persistent=0.5)).transcript.noise["persistent"]
    assert persistent.shape == (1, 15, 2, 2)
    chord = [link in CHORDS for link in map(tuple, PHASES.links.tolist())]
    share = 0.5 / STEP.max_ratio(ROUNDS) / 2
    limit = np.where(chord, share / 2, share / 3)  # all but chords are also up when everybody has three
    assert (np.linalg.norm(persistent[0], axis=-1) <= limit[:, None]).all()


def test_phases_with_all_links_are_one_network_for_the_theorems():
    run = kept(hk.Dgd())
    assert run.theorem is None
    assert "some links are silent in some rounds" in str(run.claim)
    both = [RING, hk.Network.cycle(6, weights="metropolis")]
    assert play(hk.Dgd(), network=both).theorem == "Theorem 1"


def test_given_noise_is_asked_for_on_links_that_are_up_only():
    asked = set()

    def noise(sender: int, receiver: int, k: int) -> list[float]:
        asked.add((min(sender, receiver), max(sender, receiver), k))
        return [0.1, 0.2] if sender < receiver else [0.0, 0.0]

    run = kept(hk.RssNb(1.0, given=noise), rounds=4)
    up = {k: {tuple(link) for link in PHASES.links[PHASES.active[(k - 1) % 3]].tolist()} for k in (2, 3, 4)}
    assert asked == {(i, j, k) for k, links in up.items() for i, j in links}  # round 1 is silent
    table = run.transcript.noise["paired"]
    np.testing.assert_array_equal(table[1][PHASES.active[1], 0], [[0.1, 0.2]] * 6)
    table = np.ones((4, 15, 2, 2))
    with pytest.raises(BadAlgorithm, match="agents 0 and 2 in round 1, in which it is silent"):
        kept(hk.RssNb(1.0, given=table), rounds=4)


def test_a_run_on_phases_resumes_to_the_same_bits(tmp_path):
    whole = play(hk.RssNb(1.0, persistent=0.5), network=PHASES)
    play(hk.RssNb(1.0, persistent=0.5), network=PHASES, rounds=10, checkpoint=tmp_path)
    resumed = play(hk.RssNb(1.0, persistent=0.5), network=PHASES, checkpoint=tmp_path)
    np.testing.assert_array_equal(whole.x, resumed.x)
