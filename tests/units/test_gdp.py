"""Gaussian differential privacy: conversions, against the definition and to the last digits."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import hocket as hk
from hocket.errors import BadInput

gdp = hk.privacy.gdp
SOME = st.floats(0.02, 20.0)


def test_printed_values():
    assert gdp.epsilon(1.0, 1e-5) == pytest.approx(4.37718, abs=1e-5)
    assert gdp.mu(1.0, 1e-5) == pytest.approx(0.268051, abs=1e-6)
    assert gdp.epsilon(0.612372, 1e-5) == pytest.approx(2.50174, abs=1e-5)
    assert gdp.delta(0.612372, 1.0) == pytest.approx(0.0209592, abs=1e-7)


@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.3, 1.0, 1.5, 8.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 0.5, 4.0, 90.0])
def test_delta_is_how_much_likelihood_exceeds_its_allowance(mu, epsilon):
    # δ is the mean of (1 − e^{ε − L})₊ over the log-likelihood ratio L ~ N(μ²/2, μ²): integrated, not by Φ.
    begin = epsilon / mu - mu / 2
    peak = max(begin, 0.0)

    def excess(u: float) -> float:
        d = u / (1 + abs(begin))
        exponent = -d * (2 * begin + d) / 2 if begin > 0 else -((begin + d) ** 2) / 2
        return -math.expm1(-mu * d) * math.exp(exponent) / (1 + abs(begin))

    middle = (peak - begin) * (1 + abs(begin))
    found = sum(
        quad(excess, *ends, epsabs=0, epsrel=1e-10, limit=400)[0]
        for ends in itertools.pairwise(
            [0.0, middle / 2, middle, middle + 5, middle + 60 * (1 + max(-begin, 0.0))]
        )
        if ends[1] > ends[0]
    )
    logarithm = math.log(found / math.sqrt(2 * math.pi)) - peak**2 / 2
    assert gdp.log_delta(mu, epsilon) == pytest.approx(logarithm, rel=1e-9, abs=1e-9)


@given(mu=SOME, delta=st.floats(1e-200, 0.9))
def test_epsilon_and_delta_are_inverse(mu, delta):
    epsilon = gdp.epsilon(mu, delta)
    if epsilon > 0:
        assert gdp.delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    else:
        assert gdp.delta(mu, 0.0) <= delta * (1 + 1e-9)


@given(epsilon=st.floats(0.0, 30.0), delta=st.floats(1e-100, 0.5))
def test_mu_and_epsilon_are_inverse(epsilon, delta):
    assert gdp.delta(gdp.mu(epsilon, delta), epsilon) == pytest.approx(delta, rel=1e-6)


@given(mu=SOME, more=st.floats(1.01, 2.0), delta=st.floats(1e-12, 0.1))
def test_more_mu_is_less_privacy(mu, more, delta):
    assert gdp.epsilon(mu, delta) <= gdp.epsilon(more * mu, delta)
    assert gdp.epsilon(mu, delta) <= gdp.epsilon_by_concentration(mu, delta) * (1 + 1e-9)


def test_nothing_and_everything():
    assert gdp.epsilon(0.0, 1e-5) == 0.0
    assert gdp.epsilon(math.inf, 1e-5) == math.inf
    assert gdp.epsilon(1.0, 0.0) == math.inf
    assert gdp.delta(0.0, 0.0) == 0.0
    assert gdp.delta(math.inf, 3.0) == 1.0
    assert gdp.mu(1.0, 0.0) == 0.0
    assert gdp.mu(math.inf, 1e-5) == math.inf
    assert gdp.composed(3.0, 4.0) == 5.0
    assert gdp.composed(1.0, math.inf) == math.inf
    assert gdp.composed() == 0.0


@pytest.mark.parametrize(
    "ask", [lambda: gdp.epsilon(-1, 0.1), lambda: gdp.epsilon(1, 1.0), lambda: gdp.delta(math.nan, 1)]
)
def test_what_is_no_number_of_privacy_is_refused(ask):
    with pytest.raises(BadInput):
        ask()
