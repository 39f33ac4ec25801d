"""Which shard plays whom, and how words cross between shards."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.engines.cluster.layout import crossing, lay_out, partition
from hocket.engines.cluster.routes import plan_trips
from hocket.networks.neighbour_tables import tabulate


@pytest.mark.parametrize("shards", [2, 3, 4, 7])
@pytest.mark.parametrize(
    ("network", "cut"),
    [
        (hk.Network.cycle(41), lambda shards: shards),
        (hk.Network.grid(12, 12), lambda shards: 9 * shards),
        (hk.Network.star(30), lambda shards: 30),
        (hk.Network.random_regular(4, 60), lambda shards: 100),
        (hk.Network.cycle(7), lambda shards: 7),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize("metis", [True, False])
def test_shards_are_even_and_few_links_cross(metis, network, cut, shards, monkeypatch):
    if metis:
        pytest.importorskip("pymetis", reason="the extra cluster is not installed")
    else:
        monkeypatch.setitem(sys.modules, "pymetis", None)
    shard_of = partition(network.links, network.n, shards)
    sizes = np.bincount(shard_of, minlength=shards)
    assert len(sizes) == shards
    assert sizes.min() >= 1
    assert sizes.max() <= max(-(-network.n // shards), 1.03 * network.n / shards)
    if metis:
        assert crossing(network.links, shard_of) <= cut(shards)


def test_numbers_that_hide_a_ring_do_not_hide_it_from_metis():
    pytest.importorskip("pymetis", reason="the extra cluster is not installed")
    order = np.random.default_rng(0).permutation(200)
    ring = hk.Network([(order[i], order[(i + 1) % 200]) for i in range(200)], n=200)
    assert crossing(ring.links, partition(ring.links, 200, 4)) <= 8


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, np.ndarray]:
    """Rows that shards want of each other, repeats and all."""
    shards = draw(st.integers(2, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    wanted = rng.integers(0, [shards, shards, 50], size=(draw(st.integers(0, 400)), 3))
    return shards, wanted[wanted[:, 0] != wanted[:, 1]]


@given(requests())
def test_every_row_arrives_where_it_is_found_and_little_else_is_moved(case):
    shards, wanted = case
    plan = plan_trips(shards, *wanted.T)
    assert plan.needed == len(np.unique(wanted, axis=0))
    assert plan.needed <= plan.moved <= 1.2 * plan.needed
    for trip in plan.trips:
        senders, receivers = zip(*trip, strict=True)
        assert len(set(senders)) == len(senders)
        assert len(set(receivers)) == len(receivers)
    # Carry numbered rows by hand, and look for them where the plan says they are.
    rows = np.arange(shards)[:, None] * 1000 + np.arange(50)
    routes = [plan.routes(shard) for shard in range(shards)]
    for shard in range(shards):
        table = list(rows[shard])
        for at, trip in enumerate(plan.trips):
            sender = {b: a for a, b in trip}.get(shard)
            load = routes[shard].trips[at].load
            table += [-1] * load if sender is None else list(rows[sender][routes[sender].trips[at].rows])
        own = wanted[wanted[:, 1] == shard]
        found = plan.found(shard, 50, own[:, 0], own[:, 2])
        np.testing.assert_array_equal(np.array(table)[found], rows[own[:, 0], own[:, 2]])


def test_uneven_shards_repeat_an_agent_that_nobody_hears():
    layout = lay_out(tabulate(hk.Network.cycle(7), slots_needed=True), 3)
    assert layout.size == 3
    seats = layout.agents.ravel()[layout.role_of]
    np.testing.assert_array_equal(seats, np.arange(7))
    assert layout.said.needed == 6  # three links cross, and both ends of each are heard on the other side
    assert layout.told.needed == 6
