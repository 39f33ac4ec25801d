"""The engines against plain NumPy written from the paper's pseudo-code, and against each other."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket as hk
from tests.laws.table import ROWS, SPEAKING, networks
from tests.units.engine_cases import SIX, STEP

DIM, ROUNDS = 2, 200
ALPHA = np.concatenate([[0.0], STEP.table(1, ROUNDS)])  # α_0 = 0
FIVE = [1, -0.5, 0.25, -0.75, 0.5]


def test_three_rounds_of_the_papers_polynomials():
    """Figures computed by hand for C5, weights as the paper has them."""
    run = hk.solve(
        hk.paper_polynomials(), hk.Network.cycle(5), hk.Dgd(), step=hk.Power(0.1, 0, 1), rounds=3, start=FIVE
    )
    expected = [0.184167424943, 0.089256473562, -0.027164872295, 0.004982147985, 0.141424349081]
    np.testing.assert_allclose(run.x[:, 0], expected, rtol=0, atol=1e-10)


def coefficients(n: int, seed: int) -> np.ndarray:
    """Ascending coefficients (agents, 3, DIM) of quadratics with minimisers of their own."""
    rng = np.random.default_rng(seed)
    curvature, centre = rng.uniform(0.5, 1.5, size=(n, DIM)), rng.uniform(-1, 1, size=(n, DIM))
    return np.stack([curvature * centre**2, -2 * curvature * centre, curvature], axis=1)


def slopes(table: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Derivatives at v of separable polynomials with these ascending coefficients (agents, terms, DIM)."""
    return sum(m * table[:, m] * v ** (m - 1) for m in range(1, table.shape[1]))


Round = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]
"""(x, k) -> (v, ∇ at v) of one round, for all agents."""


def gained(run: hk.Run, kind: str, row: int) -> np.ndarray:
    """Σ_i (s^{i,j} − s^{j,i}) for every agent j."""
    d = np.zeros((run.network.n, run.transcript.noise[kind].shape[-1]))
    for (low, high), (forth, back) in zip(run.network.links, run.transcript.noise[kind][row], strict=True):
        d[high] += forth - back
        d[low] += back - forth
    return d


def dgd(run: hk.Run, table: np.ndarray) -> Round:
    def play(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        v = run.network.B @ x
        return v, slopes(table, v)

    return play


def rss_nb(run: hk.Run, table: np.ndarray) -> Round:
    def play(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        w = x + ALPHA[k] * gained(run, "paired", k - 1)
        if "persistent" in run.transcript.noise:
            w = w + ALPHA[k - 1] * gained(run, "persistent", 0)
        v = run.network.B @ w
        return v, slopes(table, v)

    return play


def rss_lb(run: hk.Run, table: np.ndarray) -> Round:
    B = run.network.B

    def play(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        v = np.diag(B)[:, None] * x
        for j in range(run.network.n):
            others = run.network.neighbours(j)
            told = run.transcript.words[0][k - 1, j, : len(others)]
            d = (told - run.path[k - 1, j]) / ALPHA[k]
            # eq. (4); w − x loses digits beside the state, and dividing by α_k scales that up.
            np.testing.assert_allclose(B[others, j] @ d, 0, atol=1e-14 / ALPHA[k])
            for i, noise in zip(others, d, strict=True):
                v[i] += B[i, j] * (x[j] + ALPHA[k] * noise)
        return v, slopes(table, v)

    return play


def function_sharing(run: hk.Run, table: np.ndarray) -> Round:
    noise = gained(run, "function", 0).reshape(run.network.n, -1, DIM)
    assert noise.shape[1] == 3 + 1

    def play(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        v = run.network.B @ x
        return v, slopes(table, v) + slopes(noise, v)

    return play


BY_HAND = {
    "dgd": (hk.Dgd(), dgd),
    "rss-nb": (hk.RssNb(1.0), rss_nb),
    "rss-nb anchored": (hk.RssNb(1.0, persistent=0.4), rss_nb),
    "rss-lb": (hk.RssLb(1.0), rss_lb),
    "fs": (hk.FunctionSharing(3, 0.05), function_sharing),
}


@pytest.mark.parametrize("name", BY_HAND)
@settings(max_examples=4)
@given(network=networks(), seed=st.integers(0, 2**32))
def test_numpy_by_hand_gives_the_same_run(name, network, seed):
    algorithm, by_hand = BY_HAND[name]
    table = coefficients(network.n, seed)
    start = np.random.default_rng(seed).uniform(-5, 5, size=(network.n, DIM))
    run = hk.solve(
        hk.polynomials(table, box=(-5, 5)),
        network,
        algorithm,
        step=STEP,
        rounds=ROUNDS,
        seed=seed,
        start=start,
        keep="transcript",
    )
    play, x = by_hand(run, table), start
    for k in range(1, ROUNDS + 1):
        v, slope = play(x, k)
        x = np.clip(v - ALPHA[k] * slope, -5, 5)
        np.testing.assert_allclose(run.path[k], x, rtol=0, atol=1e-12)  # float64, rounds that contract
    np.testing.assert_array_equal(run.path[-1], run.x)


@pytest.mark.parametrize("row", [row for row in ROWS if row.rational], ids=str)
def test_the_exact_engine_agrees_with_the_simulator(row):
    problem = hk.polynomials(coefficients(6, 8), box=(-5, 5))
    start = np.arange(12).reshape(6, 2) % 7 - 3
    common = {"step": hk.Power(1, 4, 1), "rounds": 4, "seed": 5, "start": start}
    exact = hk.solve(problem, SIX, row.build(0.5), engine="exact", **common)
    simulated = hk.solve(problem, SIX, row.build(0.5), keep="transcript", **common)
    assert {type(number) for number in exact.path.flat} == {Fraction}
    np.testing.assert_allclose(exact.path.astype(float), simulated.path, rtol=0, atol=1e-12)
    for ours, theirs in zip(exact.transcript.words, simulated.transcript.words, strict=True):
        np.testing.assert_allclose(_received(ours).astype(float), _received(theirs), rtol=0, atol=1e-12)
    assert exact.transcript.noise.keys() == simulated.transcript.noise.keys()
    for kind, table in exact.transcript.noise.items():
        np.testing.assert_array_equal(table.astype(float), simulated.transcript.noise[kind])
    assert exact.gap == pytest.approx(simulated.gap, abs=1e-12)
    assert exact.disagreement == pytest.approx(simulated.disagreement, abs=1e-12)


def _received(words: np.ndarray) -> np.ndarray:
    """Words that somebody hears: of words to each neighbour, those in slots that hold one."""
    if words.ndim == 3:
        return words
    return np.concatenate([words[:, j, : len(SIX.neighbours(j))] for j in range(6)], axis=1)


def given_noise(run: hk.Run, kind: str) -> tuple[np.ndarray, Callable[[int, int, int], np.ndarray]]:
    """A run's own noise, as a table and as a function."""
    table = run.transcript.noise[kind]
    place = {tuple(link): at for at, link in enumerate(run.network.links.tolist())}

    def ask(sender: int, receiver: int, k: int) -> np.ndarray:
        link, direction = place[min(sender, receiver), max(sender, receiver)], int(sender > receiver)
        return table[max(k - 1, 0), link, direction]

    return table, ask


@pytest.mark.parametrize(
    ("kind", "algorithm", "again"),
    [
        ("paired", hk.RssNb(1.0), lambda noise: hk.RssNb(1.0, given=noise)),
        ("paired", hk.RssNb(1.0, persistent=0.5), lambda noise: hk.RssNb(1.0, persistent=0.5, given=noise)),
        ("function", hk.FunctionSharing(3, 0.05), lambda noise: hk.FunctionSharing(3, 0.05, given=noise)),
    ],
    ids=["rss-nb", "rss-nb anchored", "fs"],
)
def test_a_run_can_be_replayed_with_its_own_noise(kind, algorithm, again):
    problem = hk.polynomials(coefficients(6, 2), box=(-5, 5))
    common = {"step": STEP, "rounds": 30, "seed": 11, "start": 3.0}
    run = hk.solve(problem, SIX, algorithm, keep="transcript", **common)
    table, ask = given_noise(run, kind)
    by_table, by_function = (hk.solve(problem, SIX, again(noise), **common) for noise in (table, ask))
    np.testing.assert_array_equal(by_table.x, by_function.x)
    np.testing.assert_allclose(by_table.x, run.x, rtol=0, atol=1e-13)  # two compiled programs, 30 rounds


def test_balanced_noise_can_be_replayed_from_the_words():
    problem = hk.polynomials(coefficients(6, 2), box=(-5, 5))
    common = {"step": STEP, "rounds": 30, "seed": 11, "start": 3.0}
    run = hk.solve(problem, SIX, hk.RssLb(1.0), keep="transcript", **common)
    words, x = run.transcript.words[0], run.path

    def ask(sender: int, receiver: int, k: int) -> np.ndarray:
        slot = SIX.neighbours(sender).index(receiver)
        return (words[k - 1, sender, slot] - x[k - 1, sender]) / ALPHA[k]

    links = SIX.links.tolist()
    table = np.array([[[ask(i, j, k), ask(j, i, k)] for i, j in links] for k in range(1, 31)])
    by_table, by_function = (
        hk.solve(problem, SIX, hk.RssLb(1.0, given=noise), **common) for noise in (table, ask)
    )
    np.testing.assert_array_equal(by_table.x, by_function.x)
    np.testing.assert_allclose(by_table.x, run.x, rtol=0, atol=1e-12)  # noise read out of the words


@pytest.mark.parametrize("row", SPEAKING, ids=str)
def test_noise_leaves_the_mean_alone(row):
    """With one common slope everywhere, x̄ moves as if there were no noise: what cancels cannot move it."""
    problem = hk.polynomials([[[0, 0], [1, 1], [0, 0]]] * 6, box=(-5, 5))
    run = hk.solve(problem, SIX, row.build(1.0), step=0.1, rounds=40, start=4.0)
    moved = abs(run.mean - (4.0 - 40 * 0.1)).max()
    assert (moved < 1e-12) == (row.cancels and not row.name.startswith("fs"))
