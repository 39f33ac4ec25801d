"""CHOCO and its compressors: words, what is kept of them, the published recursion, and what is refused."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.algorithms.parts.compressors import Compressor
from hocket.config.sections import read_algorithm
from hocket.errors import BadAlgorithm, BadConfig
from hocket.runs.job import describe_algorithm

RING = hk.Network.cycle(5)
RNG = np.random.default_rng(2)
ROWS = RNG.normal(size=(5, 10, 4))
TARGETS = RNG.normal(size=(5, 10))
REGRESSION = hk.least_squares(ROWS, TARGETS, feasible=hk.Everywhere())
STEP = hk.Power(0.5, 20, 0.75)
COMPRESSORS = (
    hk.TopK(1),
    hk.TopK(0.4),
    hk.RandomK(2),
    hk.RandomK(0.3, seed=7),
    hk.Quantised(2),
    hk.Quantised(4, block=3),
    hk.Quantised(8),
    hk.Quantised(16),
)
each = pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)


def gradients(x: np.ndarray) -> np.ndarray:
    return np.einsum("jsp,js->jp", ROWS, np.einsum("jsp,jp->js", ROWS, x) - TARGETS)


def largest(v: np.ndarray, k: int) -> np.ndarray:
    """Row by row, all but the k numbers of largest size struck out."""
    kept = np.sort(abs(v), axis=1)[:, -k][:, None]
    return np.where(abs(v) >= kept, v, 0)


def rounded(v: np.ndarray, bits: int) -> np.ndarray:
    """Row by row, to the nearest of 2^bits − 1 levels."""
    unit = abs(v).max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
    return np.where(unit > 0, unit * np.floor(v / np.where(unit > 0, unit, 1) + 0.5), 0)


@pytest.mark.parametrize(
    ("compressor", "by_hand"),
    [(hk.TopK(1), lambda v: largest(v, 1)), (hk.Quantised(4), lambda v: rounded(v, 4))],
    ids=["top-k", "quantised"],
)
def test_it_is_the_published_recursion(compressor, by_hand):
    """In its first form, where everybody keeps a copy of everybody: x̂ for all, and x ← h + γ(B − I)x̂."""
    run = hk.solve(REGRESSION, RING, hk.Choco(compressor, gamma=0.3), step=STEP, rounds=25)
    x, copies = np.zeros((5, 4)), np.zeros((5, 4))
    for k in range(1, 26):
        half = x - STEP(k) * gradients(x)
        copies = copies + by_hand(half - copies)
        x = half + 0.3 * (RING.B @ copies - copies)
    np.testing.assert_allclose(run.x, x, rtol=0, atol=1e-11)  # float64, 25 rounds, numbers of about 1


@each
@given(data=st.data())
def test_what_is_kept_is_as_much_as_promised(compressor, data):
    dim = data.draw(st.integers(4, 12))
    numbers = st.floats(-1e3, 1e3, allow_subnormal=False)
    v = np.array(data.draw(st.lists(numbers, min_size=dim, max_size=dim)))
    kinds = [1] if not isinstance(compressor, hk.RandomK) else range(1, 201)
    lost = np.mean([np.sum((v - _through(compressor, v, k)) ** 2) for k in kinds])
    slack = 1 if len(kinds) == 1 else 1.5  # the mean of 200 tosses
    assert lost <= slack * (1 - compressor.kept(dim)) * np.sum(v**2) + 1e-9 * np.sum(v**2)


def _through(compressor: Compressor, v: np.ndarray, k: int = 1) -> np.ndarray:
    return compressor.decoded(compressor.encoded(v, k), k, len(v))


@each
def test_words_are_the_same_in_all_numbers(compressor):
    v = RNG.integers(-99, 99, size=7) / 8
    word = compressor.encoded(v, 3)
    fractions = np.array([Fraction(number) for number in v.tolist()], dtype=object)
    exactly = _through(compressor, fractions, 3)
    assert {type(one) for one in exactly.tolist()} <= {Fraction, int}
    np.testing.assert_allclose(exactly.astype(float), _through(compressor, v, 3), atol=1e-12)
    with jax.enable_x64(True):
        compiled = jax.jit(lambda v, k: compressor.encoded(v, k))(jnp.asarray(v), 3)
        for ours, theirs in zip(jax.tree.leaves(word), jax.tree.leaves(compiled), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
        back = compressor.decoded(compiled, 3, 7)
    np.testing.assert_allclose(back, _through(compressor, v, 3), atol=1e-14)


@each
def test_nothing_is_compressed_to_nothing(compressor):
    np.testing.assert_array_equal(_through(compressor, np.zeros(6)), np.zeros(6))


def test_coordinates_are_tossed_anew_in_every_round_and_alike():
    compressor = hk.RandomK(2)
    places = [np.flatnonzero(_through(compressor, np.ones(5), k)) for k in range(1, 2001)]
    counts = np.bincount(np.concatenate(places), minlength=5)
    np.testing.assert_allclose(counts, 800, atol=5 * np.sqrt(2000 * 0.4 * 0.6))
    other = [np.flatnonzero(_through(hk.RandomK(2, seed=1), np.ones(5), k)) for k in range(1, 21)]
    assert any((one != two).any() for one, two in zip(places, other, strict=False))


@each
def test_copies_come_together(compressor):
    """Without gradients it is CHOCO-gossip, and agents agree on the mean of their starts."""
    flat = hk.least_squares(np.zeros((5, 1, 6)), np.zeros((5, 1)), feasible=hk.Everywhere())
    start = RNG.normal(size=(5, 6))
    run = hk.solve(flat, RING, hk.Choco(compressor), step=1.0, rounds=1500, start=start)
    np.testing.assert_allclose(run.x, np.tile(start.mean(axis=0), (5, 1)), atol=1e-9)


def test_the_proved_gamma_is_that_of_the_theorem_and_brings_agents_together():
    choco = hk.Choco(hk.TopK(0.5))
    rho, beta = 1 - RING.lam, 1 - np.linalg.eigvalsh(RING.B)[0]
    expected = rho**2 * 0.5 / (16 * rho + rho**2 + 4 * beta**2 + 2 * rho * beta**2 - 4 * rho)
    assert choco.proved_gamma(RING, 4) == pytest.approx(expected)
    flat = hk.least_squares(np.zeros((5, 1, 4)), np.zeros((5, 1)), feasible=hk.Everywhere())
    start = RNG.normal(size=(5, 4))
    how = {"step": 1.0, "rounds": 1000, "start": start}
    run = hk.solve(flat, RING, dataclasses.replace(choco, gamma=expected), **how)
    rate = (1 - rho**2 * 0.5 / 82) ** 1000  # of the squared distance [Theorem 2]
    assert np.sum((run.x - start.mean(axis=0)) ** 2) <= rate * np.sum((start - start.mean(axis=0)) ** 2)


@each
def test_it_nears_the_optimum_as_steps_fall(compressor):
    how = {"step": hk.Power(0.1, 20, 0.75), "rounds": 6000}
    run = hk.solve(REGRESSION, RING, hk.Choco(compressor), **how)
    plain = hk.solve(REGRESSION, RING, hk.Dgd(), **how)
    assert run.gap < 0.05 * run.history["gap"][0]
    assert run.gap < 300 * plain.gap  # of the order of 1/γ²
    assert run.claim.theorem is None


def test_noise_functions_go_around_it():
    sharing = hk.FunctionSharing(1, sd=1.0, family="linear", inner=hk.Choco(hk.TopK(2)))
    run = hk.solve(REGRESSION, RING, sharing, step=STEP, rounds=6000)
    assert run.gap < 0.05 * run.history["gap"][0]


@dataclasses.dataclass(frozen=True)
class Own(hk.TopK):
    """A compressor of a user's own."""


def test_certificates_go_around_it_as_long_as_its_compressor_is_known():
    def certified(inner: hk.Algorithm):
        sharing = hk.FunctionSharing(2, sd=1.0, family="quadratic", inner=inner)
        return hk.certify(
            hk.Network.complete(4), sharing, colluders=1, move=(0, 1, 1.0), rounds=10, step=0.01
        )

    assert certified(hk.Choco(hk.TopK(1))).mu == certified(hk.Dgd()).mu
    assert "Own is not one of hocket's classes" in certified(hk.Choco(Own(1))).reason


def test_it_hides_nothing_and_no_attack_takes_parts_for_words():
    """What it tells is that of whole words, which tell no less; an attack on a run would take one for the other."""
    assert hk.leakage(RING, hk.Choco(hk.TopK(1)), coalition={0}, rounds=3).exact == (1, 2, 3, 4)
    run = hk.solve(REGRESSION, RING, hk.Choco(hk.TopK(1)), step=STEP, rounds=5, keep="transcript")
    assert run.transcript.words[0].shape == (5, 5, 4)  # what words stand for
    assert (run.transcript.words[0] != 0).sum(axis=2).max() == 1
    found = hk.privacy.attacks.averaging_attacks(run.view({0}))
    assert {"has no model of" in str(attack.why) for attack in found.values()} == {True}


def test_more_numbers_than_there_are_is_all_of_them():
    whole = hk.solve(REGRESSION, RING, hk.Choco("whole", gamma=0.5), step=STEP, rounds=20)
    most = hk.solve(REGRESSION, RING, hk.Choco(hk.TopK(99), gamma=0.5), step=STEP, rounds=20)
    np.testing.assert_allclose(most.x, whole.x, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "compressor"),
    [
        ("top-k:0.1", hk.TopK(0.1)),
        ("top-k:20", hk.TopK(20)),
        ("random-k:0.25", hk.RandomK(0.25)),
        ("random-k:3:9", hk.RandomK(3, seed=9)),
        ("quantised:4", hk.Quantised(4)),
        ("quantised:8:16", hk.Quantised(8, block=16)),
    ],
)
def test_files_name_compressors(text, compressor):
    assert str(compressor) == text
    choco = read_algorithm({"name": "choco", "compressor": text}).build()
    assert choco.compressor == compressor
    assert describe_algorithm(choco) == {"name": "Choco", "compressor": text}


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: hk.TopK(0), "k = 0 of top-k; give a whole number, or a part"),
        (lambda: hk.RandomK(1.5), "k = 1.5 of random-k"),
        (lambda: hk.RandomK(1, seed=-1), "seed = -1"),
        (lambda: hk.Quantised(3), "bits = 3 .* 2, 4, 8 or 16 bits"),
        (lambda: hk.Choco("top-j:3"), "'top-j:3' is no compressor"),
        (lambda: hk.Choco("top-k"), "top-k is followed by k"),
        (lambda: hk.Choco("top-k:x"), "top-k is followed by k"),
        (lambda: hk.Choco("top-k:0"), "k = 0 of top-k"),
        (lambda: hk.Choco(gamma=0.0), "gamma = 0.0; it is the part of the way"),
        (lambda: hk.Choco("whole:1"), "whole is followed by nothing"),
    ],
)
def test_what_makes_no_word_is_refused(build, words):
    with pytest.raises(BadAlgorithm, match=words):
        build()


def test_a_file_is_told_what_a_compressor_looks_like():
    with pytest.raises(BadConfig, match=r"text such as 'top-k:0\.1'"):
        read_algorithm({"name": "choco", "compressor": 3})
