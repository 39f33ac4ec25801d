"""What a graph or a matrix that cannot be a network is told, and the forms in which a matrix may come."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy

from hocket.errors import BadNetwork
from hocket.networks.network import Network

TWO_WORLDS = [(i, i + 1) for i in range(19)] + [(20, 21)]

BAD_GRAPHS = {
    "components": (lambda: Network([(0, 1), (2, 3)]), r"falls into 2 parts: \{0, 1\}, \{2, 3\}; add links"),
    "isolated": (lambda: Network([(0, 1)], n=3), r"2 parts: \{0, 1\}, \{2\}"),
    "long": (lambda: Network(TWO_WORLDS), r"\{0, 1, 2, 3, 4, 5, 6, 7, … 20 agents\}, \{20, 21\}"),
    "many": (lambda: Network([], n=30), r"30 parts: \{0\}, .*\{5\}, and 24 more"),
    "named": (lambda: Network(nx.Graph([("a", "b"), ("c", "d")])), r"\{a, b\}, \{c, d\}"),
    "self-loop": (lambda: Network([(0, 1), (1, 1)]), r"link \(1, 1\) joins agent 1 to itself; leave it out"),
    "named self-loop": (
        lambda: Network(nx.Graph([("a", "b"), ("b", "b")])),
        r"link \('b', 'b'\) joins agent 'b'",
    ),
    "duplicate": (lambda: Network([(0, 1), (1, 2), (1, 0)]), r"link \(0, 1\) is given twice"),
    "parallel": (lambda: Network(nx.MultiGraph([(0, 1), (0, 1)])), r"link \(0, 1\) is given twice"),
    "stranger": (lambda: Network([(0, 1), (1, 7)], n=3), r"link \(1, 7\) names agent 7.* 0 to 2"),
    "negative": (lambda: Network([(0, 1), (-1, 0)]), r"link \(-1, 0\) names agent -1"),
    "directed": (lambda: Network(nx.DiGraph([(0, 1)]), directed=False), r"directed.*to_undirected"),
    "one way": (lambda: Network(nx.DiGraph([(0, 1)])), r"no words leave \{1\}"),
    "alone": (lambda: Network.path(1), r"at least 2 agents, got 1; Network\.single\(\)"),
    "nobody": (lambda: Network([]), r"at least 2 agents, got 0"),
    "names": (lambda: Network([("a", "b")]), r"pairs of agent numbers.*networkx graph"),
    "triples": (lambda: Network([(0, 1, 2)]), r"pairs of agent numbers"),
    "ragged": (lambda: Network([(0, 1), (2,)]), r"pairs of agent numbers"),
    "floats": (lambda: Network([(0.0, 1.0)]), r"pairs of agent numbers"),
    "no iterable": (lambda: Network(5), r"pairs of agent numbers"),
    "nodes and n": (lambda: Network(nx.path_graph(3), n=4), r"has 3 nodes, not n=4"),
    "small cycle": (lambda: Network.cycle(2), r"cycle needs at least 3 agents, got 2; path\(2\)"),
    "empty grid": (lambda: Network.grid(0, 3), r"at least one row.*got 0x3"),
    "flat cube": (lambda: Network.hypercube(0), r"at least one dimension, got 0"),
    "harary": (lambda: Network.harary(7, 7), r"1 ≤ k < n, got k=7 and n=7"),
    "degree": (lambda: Network.random_regular(5, 5), r"1 ≤ degree < n, got degree 5 and n=5"),
    "odd": (lambda: Network.random_regular(3, 5), r"no graph has 5 agents of degree 3.*even"),
    "matching": (
        lambda: Network.random_regular(1, 8),
        r"none of 100 .* seed 0 is connected; raise the degree",
    ),
    "p": (lambda: Network.erdos_renyi(5, 1.5), r"0 < p ≤ 1, got n=5 and p=1\.5"),
    "p too small": (
        lambda: Network.erdos_renyi(50, 0.01),
        r"none of 100 .* raise p from 0\.01 .* ln\(n\)/n = 0\.0782",
    ),
    "no phase": (lambda: Network.varying([]), r"at least one phase"),
    "sizes": (
        lambda: Network.varying([Network.cycle(5), Network.cycle(4)]),
        r"phase 1 has 4 agents, phase 0 has 5",
    ),
    "orders": (
        lambda: Network.varying([nx.Graph([("a", "b")]), nx.Graph([("b", "a")])]),
        r"phase 1 numbers its nodes unlike phase 0",
    ),
    "union": (lambda: Network.varying([[(0, 1)], [(2, 3)]], n=4), r"2 parts: \{0, 1\}, \{2, 3\}"),
    "B": (lambda: Network.varying([Network.cycle(5)] * 2).B, r"2 phases and no single B; use B_at\(k\)"),
    "lam": (lambda: Network.varying([Network.cycle(5)] * 2).lam, r"2 phases and no single λ"),
    "round": (lambda: Network.cycle(5).B_at(0), r"rounds count from 1, got k=0"),
    "agent": (lambda: Network.cycle(5).neighbours(5), r"no agent 5; agents are numbered 0 to 4"),
    "rule": (
        lambda: Network.cycle(5, weights="papper"),
        r"unknown weights 'papper'; choose 'paper', 'metropolis'",
    ),
}


@pytest.mark.parametrize(("build", "says"), BAD_GRAPHS.values(), ids=BAD_GRAPHS.keys())
def test_a_bad_graph_is_told_what_is_wrong(build, says):
    with pytest.raises(BadNetwork, match=says):
        build()


def changed(**entries: float) -> np.ndarray:
    """The weights of a cycle of four, with some entries replaced: r0c2=0.5 is B[0, 2]."""
    B = Network.cycle(4).B
    for place, value in entries.items():
        row, col = place[1:].split("c")
        B[int(row), int(col)] = value
    return B


BAD_WEIGHTS = {
    "shape": (np.eye(3), r"shape \(3, 3\), but 4 agents need \(4, 4\)"),
    "flat": ([1.0, 2.0], r"shape \(2,\), but 4 agents need"),
    "nothing": (None, r"shape \(\), but 4 agents need"),
    "text": ([["a"]], r"a rule's name or an n × n matrix"),
    "nan": (changed(r1c2=np.nan), r"B\[1, 2\] = nan is not a finite number"),
    "infinite": (changed(r3c0=np.inf), r"B\[3, 0\] = inf is not a finite number"),
    "negative": (changed(r1c2=-0.25), r"B\[1, 2\] = -0\.25 is negative"),
    "diagonal": (changed(r2c2=0), r"B\[2, 2\] = 0, but an agent must keep"),
    "off the graph": (changed(r0c2=0.1), r"B\[0, 2\] = 0\.1, but these two agents are not linked"),
    "missing": (changed(r1c0=0, r1c1=0.75), r"B\[1, 0\] = 0, but agents 1 and 0 are linked"),
    "row": (changed(r3c3=0.6), r"row 3 of the weights sums to 1\.1, not 1 within 1e-09"),
    "column": (changed(r0c0=0.6, r0c1=0.15), r"column 0 of the weights sums to 1\.1, not 1"),
}


@pytest.mark.parametrize(("matrix", "says"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
def test_a_bad_matrix_is_told_which_entry_is_wrong(matrix, says):
    with pytest.raises(BadNetwork, match=says):
        Network.cycle(4, weights=matrix)


@pytest.mark.parametrize(
    "form", [np.asarray, np.ndarray.tolist, scipy.sparse.csr_array, scipy.sparse.coo_matrix]
)
def test_a_matrix_may_come_in_any_form(form):
    B = Network.cycle(4, weights="metropolis").B
    np.testing.assert_array_equal(Network.cycle(4, weights=form(B)).B, B)


def test_a_matrix_of_fractions_is_taken():
    half = Fraction(1, 2)
    assert Network.path(2, weights=[[half, half], [half, half]]).B.tolist() == [[0.5, 0.5], [0.5, 0.5]]
