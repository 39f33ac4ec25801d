"""Numbers of any size: a certificate is right or refused, and never zero, NaN or a traceback by overflow."""

from __future__ import annotations

import math
import warnings

import hypothesis.strategies as st
import mpmath as mp
import pytest
from hypothesis import given, settings

import hocket as hk
from hocket.claims import NOISE_ON
from hocket.errors import BadInput
from hocket.privacy import gdp
from hocket.privacy.dp.protected import LEAST, MOST

NETS = [hk.Network.complete(2), hk.Network.path(3), hk.Network.cycle(5), hk.Network.complete(5)]
POWERS = st.floats(-69.9, 69.9) | st.floats(-69.9, 69.9) | st.floats(-323, 308)
ANY = POWERS.map(lambda power: 10**power).filter(bool)


@settings(max_examples=150, deadline=None)
@given(
    net=st.sampled_from(NETS),
    key=st.sampled_from([*NOISE_ON]),
    colluders=st.integers(0, 1),
    sigma=ANY,
    own=ANY,
    size=ANY,
    hidden=st.sampled_from(["transfer", "sensitivity"]),
)
def test_right_or_refused(net, key, colluders, sigma, own, size, hidden):
    ask = {"rounds": 7} if NOISE_ON[key] == "gradients" else {}
    ask |= {"independent": own} if hidden == "sensitivity" else {}
    sizes = [sigma, size, *([own] if hidden == "sensitivity" else [])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if any(not LEAST <= one <= MOST for one in sizes) or (hidden == "transfer" and net.n - colluders < 2):
            with pytest.raises(BadInput):
                hk.certify(net, key, colluders=colluders, sigma=sigma, **{hidden: size}, **ask)
            return
        found = hk.certify(net, key, colluders=colluders, sigma=sigma, **{hidden: size}, **ask)
        assert found.mu > 0  # also: no NaN
        assert (found.mu == math.inf) == bool(found.reason)
        assert not math.isnan(found.epsilon(1e-5))
        assert found.delta(1.0) > 0
        str(found)
    if found.holds and hidden == "transfer":
        unit = hk.certify(net, key, colluders=colluders, sigma=1.0, transfer=1.0, **ask)
        assert found.mu == pytest.approx(unit.mu * (size / sigma), rel=1e-9)


@pytest.mark.parametrize("unit", [1e-60, 1e-8, 1e8, 1e60])
def test_the_general_accountant_counts_in_any_unit(unit):
    ring, ask = hk.Network.cycle(5), {"colluders": 1, "rounds": 4, "by": "linearisation"}
    one, other = (
        hk.certify(ring, hk.CertifiedRssNb(u, u / 2), sensitivity=0.1 * u, **ask).mu for u in (1.0, unit)
    )
    assert other == pytest.approx(one, rel=1e-9)


def test_what_is_refused_says_the_cure():
    ask = {"coalition": {0}, "move": (1, 2, 1.0)}
    with pytest.raises(
        BadInput, match=r"noise between neighbours is 1e-150, and squares .* count in other units"
    ):
        hk.certify(NETS[3], "function-sharing", sigma=1e-150, **ask)
    with pytest.raises(BadInput, match="what a record changes is 1e-300"):
        hk.certify(NETS[3], "function-sharing", colluders=1, sigma=1.0, independent=1.0, sensitivity=1e-300)
    with pytest.raises(BadInput, match="records = 1000"):
        hk.certify(
            NETS[3],
            "function-sharing",
            colluders=1,
            sigma=1.0,
            independent=1.0,
            sensitivity=1.0,
            records=10**400,
        )
    falling = hk.Power(1.0, 0, 400.0)
    by_name = ask | {"sigma": 1.0, "rounds": 3, "step": falling}
    with pytest.raises(BadInput, match=r"the step is .* count in other units"):
        hk.certify(NETS[3], "certified-rss-nb", by="linearisation", **by_name)
    # Noise of the last step is as large beside its gradient in every round, however steps fall.
    assert hk.certify(NETS[3], "certified-rss-nb", **by_name).mu == pytest.approx(
        hk.certify(NETS[3], "certified-rss-nb", **by_name | {"step": None}).mu
    )


MUS = [1e-12, 1e-6, 1e-3, 0.5, 0.999, 1.001, 3.0, 30.0, 1e3, 1e4]
DELTAS = [1e-300, 1e-100, 1e-20, 1e-13, 1e-5, 0.1, 0.5]


@pytest.mark.parametrize("mu", MUS)
def test_epsilon_against_eighty_digits(mu):
    """Brackets of a relative 1e-12 around what is found hold the root, in numbers of 80 digits."""
    with mp.workdps(80):

        def told(epsilon):
            near, far = mp.mpf(mu) / 2 - epsilon / mp.mpf(mu), -mp.mpf(mu) / 2 - epsilon / mp.mpf(mu)
            return (mp.erfc(-near / mp.sqrt(2)) - mp.exp(epsilon) * mp.erfc(-far / mp.sqrt(2))) / 2

        for delta in DELTAS:
            found = gdp.epsilon(mu, delta)
            if found == 0:
                assert told(mp.mpf(0)) <= mp.mpf(delta) * (1 + mp.mpf(10) ** -12)
                continue
            assert told(mp.mpf(found) * (1 + mp.mpf(10) ** -12)) < delta
            assert told(mp.mpf(found) * (1 - mp.mpf(10) ** -12)) > delta


def test_beyond_all_measure_epsilon_is_still_no_less_than_it_is():
    joint = gdp.CERTAIN
    below, above = gdp.epsilon(joint * (1 - 1e-9), 1e-5), gdp.epsilon(joint * (1 + 1e-9), 1e-5)
    assert above == pytest.approx(below, rel=1e-8)
    assert above > below
    assert gdp.epsilon(1e50, 1e-5) == pytest.approx(0.5e100)
    for mu in (1e-3, 1e-100, 1e-200, 1e-320):  # e^−500000 is not nothing, and less of it neither
        assert 0 < gdp.delta(mu, 1.0) < 1e-300


@pytest.mark.parametrize("left", [1e-6, 1e-9, 0.0])
@pytest.mark.parametrize("own", [1e-9, 1e-3, 1.0])
def test_a_bound_without_a_search_counts_what_a_shift_leaves_over(left, own):
    """A millionth of a millionth of what moves stood for zero, and beside little noise it is told for certain: the
    bound was μ = 0.038 where one coalition alone has 378."""
    ask = {"colluders": 1, "sigma": 1e7, "independent": own, "shift": {0: [1e6], 1: [-1e6 + left]}}
    exact, bound = (
        hk.certify(hk.Network.complete(8), "function-sharing", by=by, **ask).mu for by in ("search", "bound")
    )
    assert bound >= exact * (1 - 1e-9)
