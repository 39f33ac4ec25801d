"""P1, P2 and cuts on graphs whose answers are known, and what bad questions are told."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, NoTheorem
from hocket.networks.topologies import complete, cycle, path, star
from hocket.privacy import exposure, guarantees, search_coalitions
from hocket.privacy.graph.connectivity import vertex_connectivity

THOUSAND = [
    hk.Network.random_regular(4, 1000),
    hk.Network.cycle(1000),
    hk.Network.harary(4, 1000),
    hk.Network.erdos_renyi(1000, 0.1),
]


def test_one_colluder_on_a_ring_learns_nothing():
    found = guarantees(hk.Network.cycle(5), 1)
    assert (found.min_degree, found.vertex_connectivity, found.p1, found.p2) == (2, 2, True, True)
    assert found.exposed == ()


def test_two_colluders_on_a_ring_surround_anybody():
    found = guarantees(hk.Network.cycle(5), 2)
    assert (found.p1, found.p2) == (False, False)
    assert found.exposed == (0, 1, 2, 3, 4)
    assert found.smallest_cut is not None
    assert found.smallest_cut.components == ((0,), (2, 3))
    assert "agents 0, 1, 2, 3 and 4" in str(found)


@pytest.mark.parametrize(
    ("links", "n", "kappa"),
    [(path(2), 2, 1), (path(5), 5, 1), (star(6), 6, 1), (cycle(7), 7, 2), (complete(6), 6, 5)],
)
def test_connectivity_of_known_graphs(links, n, kappa):
    assert vertex_connectivity(n, links).value == kappa


@pytest.mark.parametrize(("k", "n"), [(2, 5), (3, 6), (3, 7), (4, 9), (5, 9), (6, 11), (7, 8)])
def test_harary_graphs_have_the_connectivity_they_promise(k, n):
    assert guarantees(hk.Network.harary(k, n), 1).vertex_connectivity == k


def test_a_graph_in_parts_has_connectivity_zero_and_an_empty_cut():
    assert vertex_connectivity(4, np.array([[0, 1], [2, 3]])).cut == ()


def test_looking_for_small_cuts_only_says_so():
    found = vertex_connectivity(8, hk.Network.hypercube(3).links, at_most=2)
    assert (found.value, found.exact, found.cut) == (2, False, None)


def test_a_dense_large_graph_is_only_searched_for_the_cuts_that_matter():
    found = guarantees(hk.Network.erdos_renyi(400, 0.5), 3)
    assert (found.vertex_connectivity, found.connectivity_exact, found.p2) == (4, False, True)
    assert "at least 4" in str(found)


def test_colluders_who_leave_one_agent_alone_learn_its_objective():
    found = guarantees(hk.Network.complete(4), 3)
    assert (found.p1, found.p2, found.exposed) == (False, False, (0, 1, 2, 3))
    assert "nothing left to hide behind" in str(found)


def test_a_coalition_cuts_a_ring_into_arcs():
    found = exposure(hk.Network.cycle(7), {0, 3})
    assert found.components == ((1, 2), (4, 5, 6))
    assert (found.p1, found.p2, found.surrounded) == (True, False, ())


def test_links_of_all_phases_count():
    network = hk.Network.varying([[(0, 1), (2, 3)], [(1, 2), (0, 3)]])
    assert guarantees(network, 1).p2


@pytest.mark.parametrize(("n", "f", "surrounding", "cutting"), [(6, 2, 6, 9), (5, 1, 0, 0), (5, 2, 5, 5)])
def test_all_coalitions_on_a_ring(n, f, surrounding, cutting):
    """Two agents cut a ring unless they are neighbours, and surround who stands between them."""
    found = search_coalitions(hk.Network.cycle(n), f)
    assert (found.surrounding, found.cutting, found.complete) == (surrounding, cutting, True)


def test_a_search_that_ends_early_says_how_far_it_came():
    found = search_coalitions(hk.Network.random_regular(3, 200), 3, work=20_000)
    assert (found.searched, found.total, found.complete) == (100, math.comb(200, 3), False)
    assert len(found.surrounded_by) == 200  # by degree, not by the search
    assert found.surrounding == 100  # the neighbours of weak agents come first
    assert "searched 100 of 1,313,400" in str(found)


def test_no_search_is_needed_where_the_connectivity_decides():
    found = search_coalitions(hk.Network.complete(40), 3)
    assert (found.proved, found.complete, found.worst, found.surrounded_by) == (True, True, None, {})


@pytest.mark.parametrize(
    ("coalition", "told"),
    [
        ({1, 9}, "agent 9 is unknown"),
        (range(5), "all 5 agents"),
        (range(4), "everybody but agent 4, who has nothing left to hide behind"),
        ((), "empty coalition"),
    ],
)
def test_impossible_coalitions_are_refused(coalition, told):
    with pytest.raises(BadInput, match=told):
        exposure(hk.Network.cycle(5), coalition)


@pytest.mark.parametrize("colluders", [0, -1, 1.5, True, 5, 17])
def test_impossible_numbers_of_colluders_are_refused(colluders):
    with pytest.raises(BadInput, match="colluders"):
        guarantees(hk.Network.cycle(5), colluders)


@pytest.mark.parametrize(
    "algorithm", ["rss-nb", "rss-lb", "dgd", hk.RssNb(1.0), hk.FunctionSharing(2, 1.0, family="cosine")]
)
def test_no_guarantee_is_given_without_a_theorem(algorithm):
    with pytest.raises(NoTheorem, match=r"no theorem covers.*leakage"):
        guarantees(hk.Network.cycle(5), 1, algorithm=algorithm)
    with pytest.raises(NoTheorem, match="no theorem covers"):
        exposure(hk.Network.cycle(5), {1}, algorithm=algorithm)


def test_function_sharing_itself_may_be_passed():
    assert guarantees(hk.Network.cycle(5), 1, algorithm=hk.FunctionSharing(4, 1.0)).p2


def test_verdicts_are_json():
    network = hk.Network.cycle(6)
    for verdict in (guarantees(network, 2), exposure(network, {0, 2}), search_coalitions(network, 2)):
        assert json.loads(json.dumps(verdict.to_json())) == verdict.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("network", THOUSAND, ids=lambda network: network.name)
def test_a_thousand_agents_are_decided(network):
    assert guarantees(network, 3).p2 == (network.name != "cycle:1000")
