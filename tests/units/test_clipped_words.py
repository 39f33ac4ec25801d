"""Clipped gradients and noise on one grid: what a message shows is one exact sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.agent import Agent
from hocket.algorithm import Setting
from hocket.algorithms.parts.clipped_messages import ClippedState, cut
from hocket.claims import mechanism
from hocket.errors import BadAlgorithm
from hocket.noise.mechanism import Mechanism
from hocket.problems.sets import Everywhere

RING = hk.Network.cycle(5)
UNIT = 2.0**-20
WHOLE = hk.CertifiedRssNb(sd=3.0, own=1.0, clip=2.0, grid=UNIT)
QUADRATICS = hk.polynomials([[0, -3.0 * j, 1.0] for j in range(5)], box=(-50, 50))
LENGTHS = st.floats(1e-3, 1e3)


@given(
    way=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6),
    norm=LENGTHS,
    power=st.integers(-30, -4),
)
def test_what_is_cut_is_whole_and_never_too_long(way, norm, power):
    unit = 2.0**power
    found = cut(np.array(way), norm, unit)
    units = [int(one) for one in found / unit]
    np.testing.assert_array_equal(np.array(units, dtype=np.float64) * unit, found)
    assert sum(one * one for one in units) * unit * unit <= norm * norm  # whole numbers: no rounding helps it
    assert (np.abs(found) <= np.abs(way)).all()
    if np.linalg.norm(way) <= norm / 2:
        np.testing.assert_allclose(found, way, atol=unit)


def message(
    g: np.ndarray, noise: np.ndarray, v: np.ndarray, algorithm: hk.CertifiedRssNb, alpha: float
) -> np.ndarray:
    """What an agent sends whose last gradient was g."""
    agent = Agent(0, lambda k: alpha, lambda x: 0 * x, Everywhere(), {"paired": noise, "own": 0 * noise})
    state = v - alpha * g if algorithm.clip is None else ClippedState(v - alpha * g, v, g)
    return next(algorithm.round(agent, state, 3)).message


@pytest.mark.parametrize("wild", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_cut_to_nothing(wild):
    """A message that is no number would tell all that a record led there, whatever noise is on it."""
    for unit in (None, 2.0**-20):
        assert cut(np.array([wild, 1.0]), 1.0, unit).tolist() == [0.0, 0.0]


@given(seed=st.integers(0, 2**32), units=st.integers(-(2**20), 2**20))
def test_a_gradient_and_noise_that_moves_with_it_give_the_same_message_to_the_last_bit(seed, units):
    rng = np.random.default_rng(seed)
    v, alpha = rng.normal(size=8), rng.uniform(0.01, 1)
    g, noise = (np.rint(rng.normal(size=8) * size / UNIT) * UNIT for size in (1, 30))
    other = g + units * UNIT, noise + units * UNIT
    np.testing.assert_array_equal(message(g, noise, v, WHOLE, alpha), message(*other, v, WHOLE, alpha))


def test_with_a_state_that_is_rounded_by_itself_the_last_bits_tell():
    """The same numbers without the grid's order of operations: every third message differs, and gives a guess away."""
    rng = np.random.default_rng(0)
    plain, differ = hk.CertifiedRssNb(3.0, 1.0), 0
    for _ in range(200):
        v, alpha = rng.normal(size=1), rng.uniform(0.01, 1)
        g, noise = (np.rint(rng.normal(size=1) * size / UNIT) * UNIT for size in (1, 30))
        one, other = (message(g + move, noise + move, v, plain, alpha) for move in (0.0, 0.3125))
        differ += bool((one != other).any())
    assert differ > 20


def test_a_run_on_a_grid_sends_whole_numbers_and_publishes_no_gradient():
    run = hk.solve(QUADRATICS, RING, WHOLE, step=0.1, rounds=6, start=1.0, keep="transcript")
    words = run.transcript.words[0]
    v = np.einsum("ji,kid->kjd", RING.B, words)
    moved = (words[1:] - v[:-1]) / 0.1 / UNIT
    np.testing.assert_allclose(
        moved, np.rint(moved), atol=1e-4
    )  # messages of size 1 have 2^-52, over 0.1 and 2^-20
    gradients = (v[:-1] - run.path[1:-1]) / 0.1
    assert np.abs(gradients).max() <= 2.0 + 1e-9
    assert np.abs(gradients).max() > 1.9  # the clip was felt
    np.testing.assert_allclose(run.published, RING.B @ run.released.words[0], atol=1e-13)
    again = hk.solve(QUADRATICS, RING, WHOLE, step=0.1, rounds=6, start=1.0)
    np.testing.assert_array_equal(again.x, run.x)


def test_noise_on_the_grid_has_its_deviation():
    run = hk.solve(QUADRATICS, RING, WHOLE, step=0.1, rounds=150, start=1.0, keep="transcript")
    drawn = run.transcript.noise["paired"]
    assert not drawn[0].any()
    np.testing.assert_array_equal(drawn / UNIT, np.rint(drawn / UNIT))
    assert drawn[1:].std() == pytest.approx(3.0, rel=0.07)  # 1,490 numbers: known to 1.8 %


def test_the_mechanism_is_exact_and_knows_its_sensitivity():
    setting = Setting(RING, 1, hk.Constant(0.1), 6)
    found = mechanism(WHOLE, setting)
    assert isinstance(found, Mechanism)
    assert found.exact
    assert found.sensitivity == 4.0
    assert 3.0 - 1e-10 < found.link_sd[0, 0] < 3.0  # a discrete Gaussian counts for a little less
    assert 1.0 - 1e-10 < found.own_sd < 1.0
    loose = mechanism(hk.CertifiedRssNb(3.0, 1.0, clip=2.0), setting)
    assert isinstance(loose, Mechanism)
    assert not loose.exact
    assert loose.sensitivity == 4.0
    certificate = hk.certify(RING, WHOLE, problem=QUADRATICS, colluders=1, rounds=6)
    assert certificate.mu == pytest.approx(4.0 * np.sqrt(6 * 0.294898), rel=1e-5)
    assert "real-arithmetic" not in certificate.statement


def test_an_estimate_takes_no_notice_of_the_clip():
    clipped, plain = (
        hk.leakage(RING, one, coalition={0}, rounds=5, step=hk.Constant(0.1)).sd
        for one in (WHOLE, hk.CertifiedRssNb(3.0, 1.0))
    )
    np.testing.assert_allclose(clipped, plain)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"clip": 0.0}, "clip = 0.0"),
        ({"clip": 1.0, "persistent": 0.5}, "with clip= take persistent = 0"),
        ({"grid": UNIT}, "give clip= too"),
        ({"grid": 0.3, "clip": 1.0}, "a power of two"),
    ],
)
def test_what_would_not_be_whole_is_refused(wrong, said):
    with pytest.raises(BadAlgorithm, match=said):
        hk.CertifiedRssNb(3.0, 1.0, **wrong)


def test_a_grid_fits_its_noise():
    def ask(unit: float) -> None:
        hk.CertifiedRssNb(sd=3.0, own=1.0, clip=2.0, grid=unit).validate(
            Setting(RING, 1, hk.Constant(0.1), 6)
        )

    with pytest.raises(BadAlgorithm, match="too coarse for own = 1"):
        ask(0.25)
    with pytest.raises(BadAlgorithm, match="take a coarser one"):
        ask(2.0**-48)
    with pytest.raises(BadAlgorithm, match="leave grid= out"):
        hk.sweep(QUADRATICS, RING, WHOLE, rounds=2, seeds=[0])
    with pytest.raises(BadAlgorithm, match="float64"):
        hk.solve(QUADRATICS, RING, WHOLE, rounds=2, step=0.1, dtype=np.float32)
