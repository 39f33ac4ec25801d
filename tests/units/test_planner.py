"""Topologies planned from scratch or mended with few links."""

from __future__ import annotations

import itertools
import json

import networkx as nx
import pytest

import hocket as hk
from hocket.errors import BadInput, BadNetwork
from hocket.privacy import guarantees, plan_topology, repair

MENDED = [
    (hk.Network.path(4), 1, 1),
    (hk.Network.star(8), 1, 6),
    (hk.Network.cycle(7), 2, 4),
    (hk.Network.cycle(8), 3, 8),
    (hk.Network.grid(3, 4), 2, 2),
    (hk.Network.grid(5, 5), 3, 10),
    (hk.Network.star(12), 2, 11),
    (hk.Network(nx.barbell_graph(6, 1)), 2, 3),
]
"""With the number of colluders and the fewest links that do."""


@pytest.mark.parametrize(("n", "f"), [(3, 1), (7, 2), (8, 3), (9, 4), (6, 4)])
def test_a_plan_holds_with_no_link_too_many(n, f):
    plan = plan_topology(n, f)
    assert guarantees(plan.network, f).p2
    assert plan.links == -(-(f + 1) * n // 2)  # everybody needs f + 1 neighbours
    for left_out in range(plan.links):
        links = [link for at, link in enumerate(plan.network.links.tolist()) if at != left_out]
        graph = nx.Graph(links)
        assert nx.node_connectivity(graph) <= f


@pytest.mark.parametrize(("network", "f", "fewest"), MENDED, ids=lambda value: getattr(value, "name", value))
def test_a_repair_adds_the_fewest_links(network, f, fewest):
    mended = repair(network, f)
    assert len(mended.added) == fewest
    assert mended.minimal
    assert nx.node_connectivity(mended.network.graph) > f
    assert set(map(tuple, network.links.tolist())).isdisjoint(mended.added)


def test_nothing_is_added_where_nothing_is_missing():
    mended = repair(hk.Network.complete(5), 2)
    assert (mended.added, mended.minimal) == ((), True)
    assert "nothing to add" in str(mended)


def test_forbidden_links_are_not_used():
    forbidden = [(3, 0), (1, 4), (2, 5)]  # in either order
    mended = repair(hk.Network.cycle(6), 2, forbidden=forbidden)
    assert set(mended.added).isdisjoint({(0, 3), (1, 4), (2, 5)})
    assert nx.node_connectivity(mended.network.graph) == 3


def test_exhaustion_proves_what_counting_cannot():
    """A hexagon whose long diagonals and one short one are forbidden: three links would do by degrees alone."""
    network = hk.Network.cycle(6)
    forbidden = [(0, 3), (1, 4), (2, 5), (0, 2)]
    mended = repair(network, 2, forbidden=forbidden)
    free = [(i, j) for i, j in itertools.combinations(range(6), 2) if not network.graph.has_edge(i, j)]
    free = [link for link in free if link not in forbidden]

    def enough(links: tuple) -> bool:
        return nx.node_connectivity(nx.Graph([*network.graph.edges, *links])) > 2

    fewest = next(size for size in range(9) if any(map(enough, itertools.combinations(free, size))))
    assert len(mended.added) == fewest > 3
    assert mended.minimal
    assert "all smaller sets of links were tried" in str(mended)


def test_labels_are_kept():
    named = hk.Network(nx.relabel_nodes(nx.path_graph(4), dict(enumerate("abcd"))))
    assert repair(named, 1).network.labels == ("a", "b", "c", "d")


def test_a_large_ring_is_mended_in_seconds():
    mended = repair(hk.Network.cycle(200), 3)
    assert (len(mended.added), mended.minimal) == (200, True)


def test_what_cannot_be_mended_is_refused_with_the_reason():
    with pytest.raises(BadNetwork, match=r"\{1, 5\} cut \{0\} from \{2, 3, 4\} whatever is added"):
        repair(hk.Network.cycle(6), 2, forbidden=[(0, 2), (0, 3), (0, 4)])
    with pytest.raises(BadNetwork, match="a single agent would be left; plan for at most 3"):
        repair(hk.Network.cycle(5), 4)
    with pytest.raises(BadNetwork, match="a single agent would be left"):
        plan_topology(3, 2)
    with pytest.raises(BadInput, match="leave nobody honest"):
        plan_topology(3, 3)
    with pytest.raises(BadNetwork, match="forbidden link 0-9"):
        repair(hk.Network.cycle(5), 2, forbidden=[(0, 9)])


def test_plans_are_json():
    for plan in (plan_topology(7, 2), repair(hk.Network.cycle(5), 2)):
        assert json.loads(json.dumps(plan.to_json())) == plan.to_json()
