"""Networks: what the named ones look like, and what weights promise on any graph."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.errors import BadNetwork
from hocket.networks.network import Network

NAMED = [
    (Network.cycle(7), nx.cycle_graph(7)),
    (Network.complete(6), nx.complete_graph(6)),
    (Network.path(4), nx.path_graph(4)),
    (Network.star(6), nx.star_graph(5)),
    (Network.grid(3, 4), nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4))),
    (Network.grid(1, 5), nx.path_graph(5)),
    (Network.hypercube(1), nx.path_graph(2)),
    (Network.random_regular(4, 20, seed=3), nx.random_regular_graph(4, 20, seed=3)),
    (Network.erdos_renyi(20, 0.5, seed=3), nx.fast_gnp_random_graph(20, 0.5, seed=3)),
]


@st.composite
def connected_graphs(draw: st.DrawFn, most: int = 12) -> tuple[int, list[tuple[int, int]]]:
    """A random tree and then some more links, its agents and links in no particular order."""
    n = draw(st.integers(2, most))
    number = draw(st.permutations(range(n)))
    tree = {(draw(st.integers(0, j - 1)), j) for j in range(1, n)}
    others = [(i, j) for j in range(n) for i in range(j) if (i, j) not in tree]
    extra = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    links = draw(st.permutations([*sorted(tree), *extra]))
    return n, [(number[i], number[j]) for i, j in links]


def support(n: int, links: list[tuple[int, int]]) -> np.ndarray:
    on = np.eye(n, dtype=bool)
    for i, j in links:
        on[i, j] = on[j, i] = True
    return on


def assert_doubly_stochastic(B: np.ndarray) -> None:
    assert (B >= 0).all()
    # float64: the diagonal is 1 minus at most n - 1 rounded terms.
    np.testing.assert_allclose(B.sum(axis=0), 1, rtol=0, atol=1e-14)
    np.testing.assert_allclose(B.sum(axis=1), 1, rtol=0, atol=1e-14)


@given(connected_graphs(), st.sampled_from(["paper", "metropolis"]))
def test_weights_are_doubly_stochastic_on_exactly_the_graph(graph, weights):
    n, links = graph
    B = Network(links, weights=weights).B
    assert_doubly_stochastic(B)
    np.testing.assert_array_equal(B > 0, support(n, links))
    np.testing.assert_array_equal(B, B.T)


@given(connected_graphs())
def test_arrays_agree_with_each_other_and_with_networkx(graph):
    n, links = graph
    network, reference = Network(links, n=n), nx.Graph(links, name="custom")
    assert network.links.tolist() == sorted(sorted(link) for link in links)
    assert [network.neighbours(j) for j in range(n)] == [tuple(sorted(reference[j])) for j in range(n)]
    assert network.degrees.tolist() == [[reference.degree[j] for j in range(n)]]
    assert nx.utils.graphs_equal(network.graph, reference)
    assert network.rho == network.B[network.B > 0].min()
    assert network.active.all()
    assert network.constant_support
    # Connected with a positive diagonal: powers of B do reach the average.
    assert 0 <= network.lam < 1


@given(connected_graphs(most=6), st.data())
def test_a_matrix_is_taken_as_given_and_directions_are_not_confused(graph, data):
    n, links = graph
    # A turn of the ring is doubly stochastic but goes one way only; a symmetric B fills the other entries.
    ring = np.roll(np.eye(n), 1, axis=0)
    share = data.draw(st.floats(0.1, 0.9))
    links = sorted(
        {(min(i, j), max(i, j)) for i, j in [*links, *((j, (j + 1) % n) for j in range(n))] if i != j}
    )
    B = share * Network(links).B + (1 - share) * ring
    network = Network(links, weights=B)
    np.testing.assert_array_equal(network.B, B)
    for link, (i, j) in enumerate(network.links):
        assert network.weight[0, link, 0] == B[j, i]
        assert network.weight[0, link, 1] == B[i, j]


@pytest.mark.parametrize(
    ("weights", "off", "own"), [("paper", (4, 6), (2, 3)), ("metropolis", (3, 5), (3, 5))]
)
def test_five_agents_have_the_weights_of_the_paper(weights, off, own):
    for network, share, diagonal in zip(
        (Network.cycle(5, weights=weights), Network.complete(5, weights=weights)), off, own, strict=True
    ):
        np.testing.assert_array_equal(network.weight, 1 / share)
        np.testing.assert_allclose(network.own, 1 / diagonal, rtol=1e-15)


def test_a_cycle_of_five_in_full():
    network = Network.cycle(5)
    expected = [[2, 1, 0, 0, 1], [1, 2, 1, 0, 0], [0, 1, 2, 1, 0], [0, 0, 1, 2, 1], [1, 0, 0, 1, 2]]
    np.testing.assert_array_equal(network.B, np.array(expected) / 4)
    assert network.rho == 0.25
    assert network.lam == pytest.approx((1 + np.cos(2 * np.pi / 5)) / 2, rel=1e-12)
    assert len(network) == 5
    assert network.period == 1
    assert repr(network) == "Network('cycle:5', agents=5, links=5)"


@pytest.mark.parametrize(("network", "reference"), NAMED, ids=[network.name for network, _ in NAMED])
def test_named_graphs_are_those_of_networkx(network, reference):
    assert nx.utils.edges_equal(network.graph.edges, reference.edges)
    assert network.n == len(reference)


@pytest.mark.parametrize("dim", [2, 5])
def test_hypercube_links_numbers_that_differ_in_one_bit(dim):
    network = Network.hypercube(dim)
    assert (network.degrees == dim).all()
    assert all((i ^ j).bit_count() == 1 for i, j in network.links.tolist())


@pytest.mark.parametrize("n", [2, 3, 5, 8, 9])
def test_harary_is_as_connected_as_asked_with_the_fewest_links(n):
    for k in range(1, n):
        network = Network.harary(k, n)
        assert nx.node_connectivity(network.graph) == k
        assert len(network.links) == (n - 1 if k == 1 else -(-k * n // 2))


def test_random_graphs_depend_on_the_seed_alone_and_are_connected():
    sparse = [Network.erdos_renyi(12, 0.15, seed=seed) for seed in range(6)]
    again = [Network.erdos_renyi(12, 0.15, seed=seed) for seed in range(6)]
    assert [net.links.tolist() for net in sparse] == [net.links.tolist() for net in again]
    assert len({str(net.links.tolist()) for net in sparse}) == 6
    assert nx.is_connected(Network.random_regular(2, 12, seed=1).graph)


def test_a_single_agent_has_nobody_to_hear():
    alone = Network.single()
    assert (alone.n, len(alone.links), alone.rho, alone.lam) == (1, 0, 1.0, 0.0)
    assert alone.neighbours(0) == ()
    assert alone.B.tolist() == [[1.0]]


def test_nodes_with_names_are_numbered_in_order_and_kept():
    graph = nx.Graph([("oslo", "rome"), ("rome", "bern")], name="cities")
    network = Network(graph)
    assert network.labels == ("oslo", "rome", "bern")
    assert network.links.tolist() == [[0, 1], [1, 2]]
    assert network.name == "cities"
    # Whole numbers from 0 name agents themselves, in whatever order the graph met them.
    assert Network(nx.Graph([(2, 1), (1, 0)])).labels is None
    assert Network(nx.Graph([(2, 1), (1, 0)])).neighbours(0) == (1,)


def test_arrays_cannot_be_changed_behind_the_back_of_a_run():
    network = Network.cycle(5)
    with pytest.raises(ValueError, match="read-only"):
        network.weight[0, 0, 0] = 1
    with pytest.raises(AttributeError):
        network.n = 6
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        network.graph.add_edge(0, 2)


def test_a_hundred_thousand_agents_never_make_a_square_table():
    # An n × n array of float64 would take 80 GB.
    network = Network.random_regular(4, 100_000, seed=1)
    assert (network.degrees == 4).all()
    assert network.rho == pytest.approx(1 / 6)
    assert len(network.neighbours(99_999)) == 4


def test_lam_of_a_large_network_is_that_of_the_dense_matrix(monkeypatch):
    one_way = np.roll(np.eye(300), 1, axis=0)
    network = Network.harary(4, 300, weights=0.7 * Network.harary(4, 300).B + 0.3 * one_way)
    monkeypatch.setattr("hocket.networks.weights.DENSE_LIMIT", 100)
    # Lanczos stops at a residual of 1e-10 in λ².
    assert network.lam == pytest.approx(np.linalg.norm(network.B - 1 / 300, 2), rel=1e-9)


def test_phases_take_turns_over_the_union_of_their_links():
    network = Network.varying([Network.cycle(5), Network.star(5, weights="metropolis"), Network.cycle(5)])
    assert network.period == 3
    assert len(network.links) == 7
    assert network.active.sum(axis=1).tolist() == [5, 4, 5]
    assert network.degrees.tolist() == [[2] * 5, [4, 1, 1, 1, 1], [2] * 5]
    assert network.neighbours(2) == (0, 1, 3)
    for k, phase in enumerate(
        [Network.cycle(5), Network.star(5, weights="metropolis"), Network.cycle(5)] * 2, 1
    ):
        np.testing.assert_array_equal(network.B_at(k), phase.B)
    assert not network.constant_support
    assert Network.varying([Network.cycle(5), Network.cycle(5, weights="metropolis")]).constant_support
    assert network.rho == pytest.approx(1 / 5)
    assert repr(network) == "Network('varying', agents=5, links=7, period=3)"


@given(connected_graphs(), st.data())
def test_phases_may_fall_apart_as_long_as_their_union_does_not(graph, data):
    n, links = graph
    turn = data.draw(st.lists(st.integers(0, 2), min_size=len(links), max_size=len(links)))
    phases = [[link for link, at in zip(links, turn, strict=True) if at == phase] for phase in range(3)]
    network = Network.varying(phases, n=n, weights="metropolis")
    assert network.links.tolist() == sorted(sorted(link) for link in links)
    for k, phase in enumerate(phases, 1):
        assert_doubly_stochastic(network.B_at(k))
        np.testing.assert_array_equal(network.B_at(k) > 0, support(n, phase))


@settings(max_examples=15)
@given(connected_graphs(most=7))
def test_fastest_weights_beat_the_rules_and_keep_every_link(graph):
    n, links = graph
    network = Network(links, weights="fastest")
    assert_doubly_stochastic(network.B)
    np.testing.assert_array_equal(network.B > 0, support(n, links))
    assert network.rho >= 1e-3 - 1e-15
    rivals = [Network(links, weights=weights).lam for weights in ("paper", "metropolis")]
    assert network.lam <= min(rivals) + 1e-7  # the solver's own tolerance is about 1e-8


def test_fastest_weights_of_known_graphs():
    # On C5 the eigenvalues 1 − 2w(1 − cos 72°) and −(1 − 2w(1 − cos 144°)) meet at 1/√5; K5 averages at once.
    assert Network.cycle(5, weights="fastest").lam == pytest.approx(1 / np.sqrt(5), abs=1e-6)
    assert Network.complete(5, weights="fastest").lam == pytest.approx(0, abs=1e-6)


def test_fastest_weights_without_the_extra_name_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(BadNetwork, match=r'pip install "hocket\[fastest\]"'):
        Network.cycle(5, weights="fastest")


def test_fastest_weights_refuse_what_cannot_be():
    with pytest.raises(BadNetwork, match=r'agent 0 has 1000 links, too many .* 0\.001; use weights="paper"'):
        Network.star(1001, weights="fastest")
    with pytest.raises(BadNetwork, match=r"not connected.*\{0, 1\}, \{2, 3\}"):
        Network.varying([[(0, 1), (2, 3)], [(1, 2), (0, 3)]], weights="fastest")
