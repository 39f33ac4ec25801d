"""A member's own share of the noise is what the simulator would deal it from the same draws."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.federation.runtime.noise_shares import directed, shares
from hocket.links.keys.noise_keys import PIECE, Source
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import Pair, When

from .company import Company

PROBLEM = hk.polynomials([[0, 1, 1]] * 5, box=(-1, 1))
NETWORKS = {
    "ring": hk.Network.cycle(5),
    "varying": hk.Network.varying([hk.Network.cycle(5), hk.Network.path(5)]),
}


@pytest.mark.parametrize("persistent", [0.0, 0.5], ids=["fresh", "persistent"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
def test_shares_are_dealt_as_in_the_simulator(network, persistent, tmp_path):
    company = Company(PROBLEM, network, hk.RssNb(delta=1.0, persistent=persistent), tmp_path, rounds=4)
    roles = [company.role(j) for j in range(5)]
    streams = [company._streams(role) for role in roles]
    for k in range(1, 5):
        dealt = [shares(role, stream, k) for role, stream in zip(roles, streams, strict=True)]
        for name, draw in company.algorithm.noise(company.plan).items():
            both = np.zeros((2, 1, len(network.links), PROBLEM.dim))
            for role, stream in zip(roles, streams, strict=True):
                drawn = directed(role, stream, name, k)
                for slot, other in enumerate(role.neighbours):
                    ends = sorted((role.index, other))
                    link = network.links.tolist().index(ends)
                    both[:, 0, link] = drawn.forward[0, slot], drawn.backward[0, slot]
            when = When(np.array([k]), np.array([(k - 1) % network.period]))
            expected = draw.deal(draw.condense(Pair(*both)), when, tabulate(network, slots_needed=True))[0]
            # float64, four draws of at most 1, in another order
            np.testing.assert_allclose([mine[name] for mine in dealt], expected, atol=1e-15, rtol=0)
            assert (name == "paired" and k == 1) == (not expected.any())
        for stream in streams:
            stream.advance()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_do_not_depend_on_how_they_are_taken(dtype):
    count = PIECE + 5
    whole = Source(bytes(32), 1, dtype).take(2 * count)
    source = Source(bytes(32), 1, dtype)
    np.testing.assert_array_equal(np.concatenate([source.take(count), source.take(count)]), whole)
    source, scaled = Source(bytes(32), 1, dtype), np.empty(count, dtype)
    for place, numbers in source.pieces(count, 0.25):
        scaled[place] = numbers
    np.testing.assert_array_equal(scaled, dtype(0.25) * whole[:count])


def test_the_next_rounds_streams_beside_this_rounds(tmp_path):
    company = Company(PROBLEM, NETWORKS["ring"], hk.RssNb(delta=1.0), tmp_path)
    role = company.role(0)
    streams = company._streams(role)
    ahead = streams.advanced()
    before = shares(role, streams, 1)
    early = shares(role, ahead, 2)
    np.testing.assert_array_equal(before["paired"], shares(role, streams, 1)["paired"])
    streams.advance()
    np.testing.assert_array_equal(early["paired"], shares(role, streams, 2)["paired"])
