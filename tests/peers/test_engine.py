"""The peers engine says what the simulator computes: same generators, same noise, other carriers."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk

from .company import Company

ALGORITHMS = {
    "dgd": hk.Dgd(),
    "rss-nb": hk.RssNb(delta=1.0),
    "anchored": hk.RssNb(delta=1.0, anchor=0.5),
    "rss-lb": hk.RssLb(delta=1.0),
    "fs": hk.FunctionSharing(degree=4, bound=0.1),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_final_states_equal_the_replay(algorithm, tmp_path):
    problem = hk.polynomials(
        [[0, 1, 1], [0, -1, 2], [0, 0.5, 0.5, 0, 1], [0, 0, 1], [0, 2, 3]], box=(-30, 30)
    )
    company = Company(problem, hk.Network.cycle(5), algorithm, tmp_path)
    finished = company.play()
    run = company.replay()
    # float64, 40 rounds, sums in another order.
    np.testing.assert_allclose(np.stack([member.x for member in finished]), run.x, atol=1e-12, rtol=0)
