"""Directed links: how they are read, weighed and checked, and who works on them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.errors import BadAlgorithm, BadNetwork
from hocket.networks.topologies import parse
from hocket.privacy.stand_ins import TYPICAL
from hocket.runs.channel import link_needs
from tests.laws.table import ROWS, quadratics

FOUR = hk.Network([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], directed=True)


@given(n=st.integers(3, 12), p=st.floats(0.3, 1), seed=st.integers(0, 1000))
def test_columns_of_push_weights_sum_to_one(n, p, seed):
    network = hk.Network.random_directed(n, p, seed)
    np.testing.assert_allclose(network.B.sum(axis=0), 1, rtol=0, atol=1e-14)  # up to twelve terms
    out = np.count_nonzero(network.B, axis=0) - 1
    share = np.broadcast_to(1 / (1 + out), (n, n))
    np.testing.assert_allclose(network.B, np.where(network.B > 0, share, 0))


def test_a_pair_lets_the_first_speak_to_the_second():
    assert FOUR.B[1, 0] == pytest.approx(1 / 3)
    assert FOUR.B[0, 1] == 0
    assert sorted(map(tuple, FOUR.outgoing.tolist())) == [(0, 1), (0, 2), (1, 2), (2, 3), (3, 0)]


def test_a_directed_graph_of_networkx_keeps_its_names():
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    network = hk.Network(graph)
    assert network.labels == ("a", "b", "c")
    assert network.directed
    assert sorted(network.graph.edges) == [(0, 1), (0, 2), (1, 2), (2, 0)]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("directed-cycle:4", {(0, 1), (1, 2), (2, 3), (3, 0)}),
        ("exponential:5", {(i, (i + hop) % 5) for i in range(5) for hop in (1, 2, 4)}),
    ],
)
def test_named_directed_graphs(text, pairs):
    network = parse(text)
    assert network.directed
    assert {*map(tuple, network.outgoing.tolist())} == pairs
    assert network.name == text


def test_equal_degrees_balance_and_words_that_go_both_ways_are_no_directed_links():
    assert not hk.Network.cycle(5, weights="push").directed
    assert hk.Network.star(5, weights="push").directed
    assert not hk.Network([(i, j) for i in range(3) for j in range(3) if i != j], directed=True).directed


def test_a_matrix_on_directed_links_needs_columns_that_sum_to_one():
    B = [[0.5, 0, 0.25], [0.5, 0.5, 0], [0, 0.5, 0.75]]
    network = hk.Network([(0, 1), (1, 2), (2, 0)], weights=B, directed=True)
    np.testing.assert_array_equal(network.B, B)
    wrong = np.array(B)
    wrong[0, 0] = 0.4
    with pytest.raises(BadNetwork, match=r"column 0 of the weights sums to 0.9, .*push"):
        hk.Network([(0, 1), (1, 2), (2, 0)], weights=wrong, directed=True)
    wrong = np.array(B)
    wrong[0, 1] = 0.1
    with pytest.raises(BadNetwork, match=r"B\[0, 1\] = 0.1, but these two agents are not linked"):
        hk.Network([(0, 1), (1, 2), (2, 0)], weights=wrong, directed=True)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda: hk.Network([(0, 1), (1, 2), (0, 2)], directed=True),
            r"no words leave \{2\}.* none reach \{0\}",
        ),
        (
            lambda: hk.Network([(0, 1), (1, 0), (0, 1)], directed=True),
            r"link \(0, 1\) is given twice in the same",
        ),
        (lambda: hk.Network([(0, 1), (2, 3)], directed=True), r"falls into 2 parts"),
        (
            lambda: hk.Network.directed_cycle(4, weights="paper"),
            r"'paper' are for links that go both ways.*'push'",
        ),
        (lambda: hk.Network.directed_cycle(2), r"at least 3 agents"),
        (lambda: hk.Network.exponential(1), r"at least 2 agents"),
        (lambda: hk.Network.random_directed(30, 0.01), r"none of 100 .* strongly connected; raise p"),
        (lambda: FOUR.lam, r"λ is for links that go both ways .* 'custom' are directed"),
    ],
)
def test_a_bad_directed_graph_is_told_what_is_wrong(build, says):
    with pytest.raises(BadNetwork, match=says):
        build()


def test_phases_of_directed_links_hang_together_as_a_whole():
    phases = [[(0, 1), (2, 3)], [(1, 2), (3, 0)]]
    network = hk.Network.varying(phases, directed=True)
    assert network.directed
    np.testing.assert_allclose(network.B_at(1).sum(axis=0), 1)
    with pytest.raises(BadNetwork, match="strongly connected"):
        hk.Network.varying([[(0, 1), (2, 3)], [(1, 2)]], directed=True, n=4)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_who_is_not_made_for_directed_links_refuses_them_by_name(row):
    algorithm, problem = row.build(1.0), quadratics(4, 2, 0)
    if link_needs(algorithm).directed:
        assert hk.solve(problem, FOUR, algorithm, rounds=2).rounds == 2
        return
    with pytest.raises(BadNetwork, match=rf"{algorithm.title} is for links that go both ways.*push method"):
        hk.solve(problem, FOUR, algorithm, rounds=2)


def test_push_methods_are_among_the_algorithms():
    assert {name for name, one in TYPICAL.items() if link_needs(one).directed} == {
        "push-sum",
        "push-diging",
    }


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hk.audit(FOUR, colluders=1, algorithm="push-sum", rounds=3),
        lambda: hk.certify(FOUR, "function-sharing", colluders=1, sigma=1.0, transfer=1.0),
        lambda: hk.leakage(FOUR, "dgd", coalition={0}, rounds=3),
        lambda: hk.privacy.guarantees(FOUR, 1),
        lambda: hk.privacy.search_coalitions(FOUR, 1),
        lambda: hk.solve(quadratics(4, 2, 0), FOUR, hk.PushSum(), rounds=2, keep="transcript").view({0}),
    ],
)
def test_nothing_is_audited_on_directed_links(ask):
    with pytest.raises(BadNetwork, match=r"for links that go both ways.*directed"):
        ask()


def test_a_penalty_is_refused():
    problem = hk.least_squares(np.ones((4, 2, 1)), np.ones((4, 2)), prox=hk.L1(1.0), feasible=hk.Everywhere())
    with pytest.raises(BadAlgorithm, match="no proximal step, and L1 needs one"):
        hk.solve(problem, FOUR, hk.PushDiging(), step=0.1, rounds=2)


def test_a_directed_run_is_stored_and_read_back(tmp_path):
    run = hk.solve(quadratics(4, 2, 0), FOUR, hk.PushDiging(), rounds=3)
    again = hk.Run.load(run.save(tmp_path))
    assert again.network.directed
    assert again.messages == run.messages == (15, 15, 0)
