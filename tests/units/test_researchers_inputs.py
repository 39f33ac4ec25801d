"""What researchers try first: taken where its meaning is plain, else refused with the cure, never ignored."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import hocket as hk
from hocket.config import parse_config
from hocket.errors import BadAlgorithm, BadConfig, BadInput, BadNetwork, BadProblem
from hocket.networks.topologies import parse
from hocket.problems import LeastSquares

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 10, 3)), RNG.normal(size=(5, 10))
FREE = hk.Everywhere()
PROBLEM = hk.least_squares(A, B, feasible=FREE)
RING = hk.Network.cycle(5)


def weighted(weight: Any) -> nx.Graph:
    graph = nx.cycle_graph(5)
    nx.set_edge_attributes(graph, weight, "weight")
    return graph


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_least_squares_with_a_ridge(reduction):
    problem = hk.least_squares(A, B, l2=0.7, reduction=reduction, feasible=FREE)
    share = 1 if reduction == "sum" else 10
    flat, target = A.reshape(50, 3) / np.sqrt(share), B.reshape(50) / np.sqrt(share)
    ridge = np.linalg.solve(flat.T @ flat + 5 * 0.7 * np.eye(3), flat.T @ target)
    np.testing.assert_allclose(problem.best.x, ridge, atol=1e-12)  # two ways to solve three equations
    assert problem.best.certain
    x = np.array([1.0, -2.0, 0.5])
    plain = hk.least_squares(A, B, reduction=reduction, feasible=FREE)
    assert problem.value(2, x) == pytest.approx(plain.value(2, x) + 0.35 * x @ x)
    np.testing.assert_allclose(problem.gradient(2, x), plain.gradient(2, x) + 0.7 * x)
    np.testing.assert_allclose(problem.constants().N, plain.constants().N + 0.7)
    assert problem.strong_convexity == pytest.approx(plain.strong_convexity + 0.7)


def test_a_ridge_is_exact_on_fractions_and_in_the_coefficients_that_are_hidden():
    problem = hk.least_squares([[[1, 2]], [[3, 1]]], [[1], [2]], l2=0.5, feasible=FREE)
    x = np.array([Fraction(1, 3), Fraction(2)], dtype=object)
    residual = Fraction(1, 3) + 4 - 1
    assert problem.value(0, x) == residual**2 / 2 + Fraction(1, 4) * (Fraction(1, 9) + 4)
    (group,) = problem.groups
    total = group.objective.quadratic(group.data_of(0), 2).sum(axis=0)
    np.testing.assert_allclose(total, [-1, -2, 0.5 + 0.25, 2, 2 + 0.25])


def test_a_ridge_on_a_ball_bounds_its_gradients():
    problem = hk.least_squares(A, B, l2=2.0, feasible=hk.Ball(1.5, center=[1.0, 0.0, 0.0]))
    L = problem.constants().L
    for x in problem.feasible.project(RNG.normal(size=3)) + 0.0, np.array([2.5, 0.0, 0.0]):
        assert max(np.linalg.norm(problem.gradient(j, x)) for j in range(5)) <= L


def test_a_ridge_of_zero_is_none():
    assert LeastSquares().l2 is None
    (group,) = hk.least_squares(A, B, l2=0.0, feasible=FREE).groups
    assert group.objective.l2 is None
    with pytest.raises(BadProblem, match="l2 is -1"):
        hk.least_squares(A, B, l2=-1.0, feasible=FREE)
    section = {"kind": "least-squares", "data": "x.npz", "l2": 0.5, "feasible": {"kind": "everywhere"}}
    tables = {
        "problem": section,
        "network": {"topology": "cycle:5"},
        "algorithm": "dgd",
        "run": {"rounds": 1},
    }
    assert parse_config(tables, base=Path()).problem.l2 == 0.5


def test_ready_made_objectives_weigh_agents_by_their_rows():
    """One convention: rows are summed, unless told otherwise."""
    sizes = (2, 8)
    rows = [RNG.normal(size=(size, 2)) for size in sizes]
    for make, targets in (
        (hk.least_squares, [RNG.normal(size=size) for size in sizes]),
        (hk.logistic, [np.sign(RNG.normal(size=size)) for size in sizes]),
    ):
        by_rows, alike = (
            make(rows, targets, feasible=FREE),
            make(rows, targets, feasible=FREE, reduction="mean"),
        )
        x = np.array([0.3, -0.2])
        for j, size in enumerate(sizes):
            assert by_rows.value(j, x) == pytest.approx(size * alike.value(j, x))


def test_weights_on_edges_are_taken_or_refused():
    np.testing.assert_array_equal(hk.Network(weighted(1)).B, RING.B)
    with pytest.raises(BadNetwork, match=r"edge \(0, 1\) has weight 0.2.*pass weights='edges'"):
        hk.Network(weighted(0.2))
    with pytest.raises(BadNetwork, match="the rule 'metropolis' does not look at"):
        hk.Network(weighted(0.2), weights="metropolis")
    taken = hk.Network(weighted(0.2), weights="edges").B
    np.testing.assert_allclose(taken, np.where(RING.B > 0, 0.2, 0) + 0.4 * np.eye(5), atol=1e-15)
    with pytest.raises(BadNetwork, match=r"B\[0, 0\] = 0|negative"):
        hk.Network(weighted(0.5), weights="edges")
    with pytest.raises(BadNetwork, match=r"edge \(0, 1\) has weight 0.2.*columns sum to 1"):
        hk.Network(weighted(0.2).to_directed())
    with pytest.raises(BadNetwork, match="a weight on every edge"):
        hk.Network(nx.cycle_graph(5), weights="edges")
    with pytest.raises(BadNetwork, match="a weight on every edge"):
        hk.Network([(0, 1), (1, 2)], weights="edges")
    partly = weighted(0.2)
    del partly.edges[0, 1]["weight"]
    with pytest.raises(BadNetwork, match=r"edge \(0, 1\) has no weight"):
        hk.Network(partly, weights="edges")
    with pytest.raises(BadNetwork, match="is no number"):
        hk.Network(weighted("heavy"))
    named = nx.relabel_nodes(weighted(0.2), dict(enumerate("abcde")))
    np.testing.assert_array_equal(hk.Network(named, weights="edges").B, taken)
    hk.Network(weighted(0.2), weights=RING.B)  # a matrix that was given says itself what it is


def test_names_of_a_problem_are_matched_with_those_of_the_network():
    """Shuffled nodes, the same data by name: the same states by name, bit for bit."""
    names = ["Aalst", "Bruges", "Ghent", "Lille", "Metz"]
    path = hk.Network(nx.path_graph(names))
    shuffled = [3, 0, 4, 1, 2]
    problem = hk.least_squares(A, B, feasible=FREE, names=names)
    other = hk.least_squares(A[shuffled], B[shuffled], feasible=FREE, names=[names[j] for j in shuffled])
    one, two = (hk.solve(each, path, hk.Dgd(), step=0.01, rounds=20) for each in (problem, other))
    np.testing.assert_allclose(two.x, one.x[shuffled], rtol=1e-12)  # sums in another order
    assert two.network.labels == tuple(names[j] for j in shuffled)
    with pytest.raises(BadNetwork, match=r"agent 'Metz', and the network's are called Aalst.*the same names"):
        hk.solve(problem, path.called([*names[:4], "Nancy"]), hk.Dgd(), rounds=1)
    hk.solve(problem, RING, hk.Dgd(), rounds=1)  # a network without names takes any


def test_a_network_in_another_order_keeps_its_weights():
    weights = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.1, 0.5]])
    given = hk.Network([(0, 1), (1, 2), (0, 2)], weights=weights).called("abc")
    order = [2, 0, 1]
    np.testing.assert_array_equal(given.in_order_of("cab").B, weights[np.ix_(order, order)])


@pytest.mark.parametrize("algorithm", ["dgd", hk.Dgd, "aug-dgm", hk.Nids])
def test_an_algorithm_without_parameters_by_its_key_or_class(algorithm):
    made = algorithm() if isinstance(algorithm, type) else {"dgd": hk.Dgd, "aug-dgm": hk.AugDgm}[algorithm]()
    one, other = (hk.solve(PROBLEM, RING, each, rounds=3) for each in (algorithm, made))
    np.testing.assert_array_equal(one.x, other.x)
    assert one.settings == other.settings


def test_a_networkx_graph_stands_for_its_network():
    one, other = (hk.solve(PROBLEM, each, hk.Dgd(), rounds=3) for each in (nx.cycle_graph(5), RING))
    np.testing.assert_array_equal(one.x, other.x)


TEXT = np.array([[["red", "blue"]] * 3] * 5)
REFUSED = {
    "a key that needs more": (
        lambda: hk.solve(PROBLEM, RING, "rss-nb", rounds=1),
        BadInput,
        r"hk.RssNb\(delta=…\)",
    ),
    "a class that needs more": (
        lambda: hk.solve(PROBLEM, RING, hk.FunctionSharing, rounds=1),
        BadInput,
        "FunctionSharing needs degree",
    ),
    "a key that is none": (lambda: hk.solve(PROBLEM, RING, "dgb", rounds=1), BadInput, "did you mean 'dgd'"),
    "a number for an algorithm": (lambda: hk.solve(PROBLEM, RING, 3, rounds=1), BadInput, r"3 \(a int\)"),
    "a number for a network": (
        lambda: hk.solve(PROBLEM, 5, hk.Dgd(), rounds=1),
        BadInput,
        r"Network.cycle\(5\)",
    ),
    "problem and network exchanged": (
        lambda: hk.solve(RING, PROBLEM, hk.Dgd(), rounds=1),
        BadInput,
        "the problem comes first",
    ),
    "a directed graph": (
        lambda: hk.solve(PROBLEM, nx.DiGraph([(0, 1)]), hk.Dgd(), rounds=1),
        BadNetwork,
        "directed",
    ),
    "text for features": (
        lambda: hk.logistic(TEXT, np.ones((5, 3)), feasible=FREE),
        BadProblem,
        "features of agent 0 hold text, red first; turn it into numbers",
    ),
    "text for labels": (
        lambda: hk.logistic(np.ones((5, 3, 2)), [["yes"] * 3] * 5, feasible=FREE),
        BadProblem,
        "labels of agent 0 hold text, yes first.*-1 and 1",
    ),
    "text in a list": (
        lambda: hk.least_squares([A[0], TEXT[0]], [B[0], np.ones(3)], feasible=FREE),
        BadProblem,
        "A of agent 1 hold text",
    ),
    "text for one's own loss": (
        lambda: hk.Problem(lambda x, data: x[0] ** 2, TEXT, feasible=FREE, dim=1),
        BadProblem,
        "the data of agent 0 hold text",
    ),
    "the same name twice": (
        lambda: hk.least_squares(A, B, feasible=FREE, names=["a", "b", "c", "b", "e"]),
        BadProblem,
        "two agents are called 'b'",
    ),
    "the same label twice": (lambda: RING.called("abcbe"), BadNetwork, "give each one of its own"),
    "a coefficient that is no number": (
        lambda: hk.polynomials([[0, 1], [0, float("nan")]], box=(-1, 1)),
        BadProblem,
        r"agent 1 hold nan at \[1\]; clean",
    ),
    "noise without a bound": (lambda: hk.RssNb(float("inf")), BadAlgorithm, "delta = inf.*and finite"),
    "a level without a bound": (
        lambda: hk.FunctionSharing(2, float("inf")),
        BadAlgorithm,
        "bound = inf.*finite",
    ),
    "a deviation without a bound": (lambda: hk.FunctionSharing(2, sd=float("inf")), BadAlgorithm, "sd = inf"),
    "links that miss the last agent": (
        lambda: hk.solve(PROBLEM, hk.Network([(0, 1), (1, 2), (2, 3)]), hk.Dgd(), rounds=1),
        BadInput,
        "5 agents and the network 4.*links miss the last agents, add theirs and pass n=5",
    ),
    "links that miss the last agent, counted": (
        lambda: hk.Network([(0, 1), (1, 2), (2, 3)], n=5),
        BadNetwork,
        r"\{4\}",
    ),
    "a number and names that disagree": (
        lambda: hk.audit(RING, colluders=1, coalition={1, 3}),
        BadInput,
        r"1 colluder and the coalition \{1, 3\} disagree; pass one of them",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_cure(name):
    act, kind, said = REFUSED[name]
    with pytest.raises(kind, match=said):
        act()


@pytest.mark.parametrize(
    "text",
    [
        "complete:100000000",
        "path:10000000000",
        "star:10000000000",
        "cycle:10000000000",
        "grid:100000x100000",
        "hypercube:60",
        "random-regular:d=4,n=1000000000",
        "erdos-renyi:n=1000000,p=0.5",
    ],
)
def test_more_agents_than_a_machine_holds(text):
    with pytest.raises(BadNetwork, match=r"links, and 20,000,000 are the most; name fewer agents"):
        parse(text)


def test_delta_in_a_file_is_finite():
    tables = {
        "problem": {"kind": "paper-polynomials"},
        "network": {"topology": "cycle:5"},
        "algorithm": {"name": "rss-nb", "delta": float("inf")},
        "run": {"rounds": 1},
    }
    with pytest.raises(BadConfig, match=r"delta = inf.*expected a number"):
        parse_config(tables, base=Path())


def test_a_number_and_names_that_agree_are_one_adversary():
    assert hk.audit(RING, colluders=2, coalition={1, 3}, rounds=3).coalition == (1, 3)
