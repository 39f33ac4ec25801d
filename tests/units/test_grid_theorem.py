"""What discrete Gaussians on a grid leave of a change is no more than normal noise of a little less variance would.

The distribution of three honest agents' sums is computed in full, cell by cell, and held against Gaussian differential
privacy at many ε: with the deviation that `mechanism` tells it holds, and for a fine grid nothing is given away.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from hocket.noise.functions import PolynomialFamily, QuadraticFamily
from hocket.noise.stored_sum import StoredSum
from hocket.problems.quadratic import squares

EPSILONS = np.linspace(0, 4, 81)
CELLS = 256
"""Per axis, around: tails beyond are below 1e-15 at the deviations used here."""


def normal_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """δ(ε) of a shift by μ deviations."""
    return ndtr(-epsilon / mu + mu / 2) - np.exp(epsilon) * ndtr(-epsilon / mu - mu / 2)


def spectrum(variance: float, way: tuple[int, int]) -> np.ndarray:
    """The characteristic function of a discrete Gaussian along one direction of two agents' sums."""
    k = np.arange(-CELLS // 2, CELLS // 2)
    weight = np.exp(-(k**2) / (2 * variance))
    table = np.zeros((CELLS, CELLS))
    np.add.at(table, (k * way[0] % CELLS, k * way[1] % CELLS), weight / weight.sum())
    return np.fft.fft2(table)


def told(total: np.ndarray, shift: tuple[int, int]) -> np.ndarray:
    """δ(ε) between a distribution and itself moved by whole numbers: Σ max(0, P − e^ε Q)."""
    p = np.maximum(np.fft.ifft2(total).real, 0.0)
    q = np.roll(p, shift, axis=(0, 1))
    return np.array([np.maximum(p - np.exp(one) * q, 0).sum() for one in EPSILONS])


@pytest.mark.parametrize("sd", [7, 10])
@pytest.mark.parametrize("shift", [(4, -4), (6, 0), (5, -2)], ids=str)
def test_moves_among_three(sd, shift):
    """A triangle of links, two draws each: A1 with σ as it is told, for moves among all three."""
    drawn = spectrum(sd**2, (1, -1)) * spectrum(sd**2, (1, 0)) * spectrum(sd**2, (0, 1))
    counted = StoredSum(PolynomialFamily(1), 1.0, float(sd)).counted_as(sd)
    delta = np.array([*shift, -sum(shift)])
    laplacian = 2 * counted**2 * (3 * np.eye(3) - 1)
    mu = math.sqrt(delta @ np.linalg.pinv(laplacian) @ delta)
    assert (told(drawn**2, shift) <= normal_delta(mu, EPSILONS) + 1e-12).all()


def test_own_noise_hides_what_does_not_cancel():
    """A2: one agent's sum alone changes, beside another's; links of 9 units and own noise of 8."""
    sd, own, change = 9, 8, 5
    drawn = spectrum(sd**2, (1, -1)) ** 2 * spectrum(own**2, (1, 0)) * spectrum(own**2, (0, 1))
    stored = StoredSum(PolynomialFamily(1), 1.0, float(sd), float(own))
    link, alone = stored.counted_as(sd) ** 2, stored.counted_as(own) ** 2
    kappa = np.linalg.inv(2 * link * np.array([[1, -1], [-1, 1]]) + alone * np.eye(2))[0, 0]
    assert (told(drawn, (change, 0)) <= normal_delta(change * math.sqrt(kappa), EPSILONS) + 1e-12).all()


def test_nothing_is_given_away_by_a_finer_grid():
    """At 10 units δ(ε) is within .003 of a normal shift of the full deviation; the correction costs no more."""
    shift, sd = (4, -4), 10
    drawn = spectrum(sd**2, (1, -1)) * spectrum(sd**2, (1, 0)) * spectrum(sd**2, (0, 1))
    mu = math.sqrt(2 * 4**2 / (6 * sd**2))
    np.testing.assert_allclose(told(drawn**2, shift), normal_delta(mu, EPSILONS), atol=3e-3)


def test_too_coarse_a_grid_tells_more_than_the_formula():
    """At half a unit a discrete draw is zero most of the time: what `check` refuses would break the bound."""
    sd, shift = 0.5, (1, -1)
    drawn = spectrum(sd**2, (1, -1)) * spectrum(sd**2, (1, 0)) * spectrum(sd**2, (0, 1))
    mu = math.sqrt(2 / (6 * sd**2))
    assert (told(drawn**2, shift) > normal_delta(mu, EPSILONS) + 1e-3).any()


@pytest.mark.parametrize("sd", [7, 10])
@pytest.mark.parametrize("shift", [(4, -4), (6, 0)], ids=str)
def test_squares_of_the_quadratic_family(sd, shift):
    """x_p² has half the variance, and a change of it counts √2 times: what is counted holds there too."""
    stored = StoredSum(QuadraticFamily(2), 1.0, float(sd))
    (variance,) = (stored.link_variances(1)[place] for place in np.arange(2)[squares(1)])
    drawn = spectrum(variance, (1, -1)) * spectrum(variance, (1, 0)) * spectrum(variance, (0, 1))
    delta = math.sqrt(2) * np.array([*shift, -sum(shift)])
    laplacian = 2 * stored.counted_as(sd) ** 2 * (3 * np.eye(3) - 1)
    mu = math.sqrt(delta @ np.linalg.pinv(laplacian) @ delta)
    assert (told(drawn**2, shift) <= normal_delta(mu, EPSILONS) + 1e-12).all()


@pytest.mark.parametrize("family", [PolynomialFamily(2), QuadraticFamily(2)], ids=repr)
def test_of_every_coefficient_eight_square_units_are_left_for_rounding(family):
    """r² ≥ 8 in the proof, whatever a coefficient's own weight is; and no more than 16 are given up."""
    stored, dim, sd = StoredSum(family, 2.0**-4, 3.0), 3, 3.0
    relative = family.relative_variance(dim)
    weights = np.ones(family.width(dim)) if relative is None else relative
    left = np.array(stored.link_variances(dim)) - weights * (stored.counted_as(sd) / stored.unit) ** 2
    assert left.min() >= 8
    assert left.max() <= 16


@pytest.mark.parametrize("squared", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("centre", [0.0, 0.3, 0.5])
def test_normal_noise_rounded_at_random_is_a_discrete_gaussian(squared, centre):
    """Step (a) of the proof, in numbers: within a factor 1 ± 2η of η = 2 exp(−2π² r²), here where η can be seen."""
    variance, whole = 3.0, np.arange(-12, 13)
    t = np.linspace(-20, 20, 200_001) + centre
    kernel = np.exp(-((np.arange(-40, 41)[:, None] - t) ** 2) / (2 * squared))
    normal = np.exp(-((t - centre) ** 2) / (2 * (variance - squared)))
    rounded = (kernel[28:53] / kernel.sum(axis=0) * normal).sum(axis=1)
    wanted = np.exp(-((whole - centre) ** 2) / (2 * variance))
    ratio = (rounded / rounded.sum()) / (wanted / wanted.sum())
    eta = 2 * math.exp(-2 * math.pi**2 * squared)
    assert np.abs(ratio - 1).max() <= 2 * eta / (1 - eta)
    assert np.abs(ratio - 1).max() > 1e-9  # it can be seen
