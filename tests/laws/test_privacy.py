"""Theorem 2 on any graph: guarantees agree with the definitions, witnesses with what they replace."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hocket as hk
from hocket.errors import NoTheorem
from hocket.privacy import Knowledge, ambiguity, exposure, guarantees, repair, search_coalitions, witness
from hocket.privacy.graph.connectivity import vertex_connectivity

COEFFICIENTS = st.fractions(-4, 4, max_denominator=4)


@st.composite
def graphs(draw: st.DrawFn, least: int = 3, most: int = 9) -> nx.Graph:
    """A random tree, and then some more links."""
    n = draw(st.integers(least, most))
    graph = nx.Graph([(draw(st.integers(0, j - 1)), j) for j in range(1, n)])
    pairs = list(itertools.combinations(range(n), 2))
    graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), max_size=2 * n)))
    return nx.Graph(sorted(tuple(sorted(edge)) for edge in graph.edges))


@st.composite
def coalitions(draw: st.DrawFn, n: int) -> frozenset[int]:
    """Some agents, at least two others left."""
    return frozenset(draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n - 2)))


@dataclass(frozen=True)
class Instance:
    """A run of function sharing, a coalition, and what some honest agents might have held instead."""

    graph: nx.Graph
    coalition: frozenset[int]
    degree: int
    objectives: list[list[Fraction]]
    false: dict[int, list[Fraction]]
    seed: int
    fill: str
    rounds: int
    dim: int

    def run(self) -> hk.Run:
        return hk.solve(
            hk.polynomials(self.objectives, box=(-2, 2), dim=self.dim),
            hk.Network(self.graph),
            hk.FunctionSharing(self.degree, 2.0),
            step=hk.Power(Fraction(1, 8), 1),
            start=Fraction(1, 2),
            rounds=self.rounds,
            seed=self.seed,
            engine="exact",
        )

    @property
    def honest_components(self) -> list[set[int]]:
        return list(nx.connected_components(self.graph.subgraph(set(self.graph) - self.coalition)))

    def why_not(self) -> set[str]:
        """Why no witness exists, from the definitions alone; empty where one does."""
        found = set()
        for agent, row in self.false.items():
            if any(a != b for a, b in _aligned(row, self.objectives[agent])[self.degree + 1 :]):
                found.add("degree")
        for part in self.honest_components:
            if part <= self.false.keys():
                sums = _aligned(_sum(self.false[j] for j in part), _sum(self.objectives[j] for j in part))
                if any(a != b for a, b in sums[1:]):
                    found.add("component")
        return found


def _aligned(one: list[Fraction], other: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    return list(itertools.zip_longest(one, other, fillvalue=Fraction(0)))


def _sum(rows: Any) -> list[Fraction]:
    return [sum(column, Fraction(0)) for column in itertools.zip_longest(*rows, fillvalue=Fraction(0))]


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    graph = draw(graphs(most=7))
    n = len(graph)
    coalition = draw(coalitions(n))
    honest = sorted(set(range(n)) - coalition)
    terms = draw(st.integers(2, 5))
    polynomials = st.lists(COEFFICIENTS, min_size=terms, max_size=terms)
    objectives = [draw(polynomials) for _ in range(n)]
    if draw(st.booleans()):
        most = max(len(honest) - 1, 1)
        changed = draw(st.sets(st.sampled_from(honest), min_size=1, max_size=most))
        false = {j: draw(polynomials) for j in changed}
    else:  # the same objectives in other hands: whole components are fine, unless some cross from one to another
        false = dict(zip(honest, draw(st.permutations([objectives[j] for j in honest])), strict=True))
    return Instance(
        graph,
        coalition,
        degree=max(terms - 1 - draw(st.sampled_from([0, 0, 0, 1])), 1),
        objectives=objectives,
        false=false,
        seed=draw(st.integers(0, 2**32)),
        fill=draw(st.sampled_from(["random", "least"])),
        rounds=draw(st.integers(1, 4)),
        dim=draw(st.sampled_from([1, 1, 2])),
    )


def check_witness(instance: Instance) -> None:
    """The two views are equal, number by number in rational arithmetic, or the refusal is right."""
    run, why_not = instance.run(), instance.why_not()
    try:
        found = witness(run, instance.coalition, instance.false, fill=instance.fill, seed=instance.seed)
    except NoTheorem as refusal:
        named = "component" if "component" in str(refusal) or "surrounded" in str(refusal) else "degree"
        assert named in why_not
        return
    assert not why_not
    assert found.exact
    assert found.equal
    assert found.same_states
    assert found.same_functions
    held = found.other.functions.objectives
    for agent, row in instance.false.items():
        assert all(a == b for a, b in _aligned(row, held[agent, :, 0].tolist()))
    for part in instance.honest_components:
        true = _sum(instance.objectives[j] for j in part)
        assert all(a == b for a, b in _aligned(true, held[sorted(part), :, 0].sum(axis=0).tolist())[1:])
    for member in instance.coalition:
        assert all(a == b for a, b in _aligned(instance.objectives[member], held[member, :, 0].tolist()))


@settings(max_examples=10)
@given(instance=instances())
def test_a_witness_looks_the_same_or_there_is_none(instance):
    check_witness(instance)


@pytest.mark.slow
@settings(max_examples=250)  # of which more than a hundred have a witness
@given(instance=instances())
def test_a_witness_looks_the_same_or_there_is_none_a_hundred_times(instance):
    check_witness(instance)


@given(graph=graphs(), at_most=st.none() | st.integers(1, 6))
def test_connectivity_and_cuts_are_networkxs(graph, at_most):
    kappa = nx.node_connectivity(graph)
    found = vertex_connectivity(len(graph), hk.Network(graph).links, at_most=at_most)
    assert found.value == min(kappa, at_most or kappa)
    assert found.exact or kappa >= found.value == at_most
    if found.cut is None:
        assert not found.exact or kappa == len(graph) - 1
    else:
        assert len(found.cut) == kappa
        assert not nx.is_connected(graph.subgraph(set(graph) - set(found.cut)))


@given(graph=graphs(least=4), data=st.data())
def test_guarantees_are_what_they_mean_for_every_coalition(graph, data):
    """P1 holds iff nobody can be surrounded, P2 iff the others stay connected, for all coalitions of up to f."""
    n = len(graph)
    f = data.draw(st.integers(1, n - 2))
    found, network = guarantees(hk.Network(graph), f), hk.Network(graph)
    verdicts = {
        coalition: exposure(network, coalition)
        for size in range(1, f + 1)
        for coalition in itertools.combinations(range(n), size)
    }
    assert found.p1 == all(verdict.p1 for verdict in verdicts.values())
    assert found.p2 == all(verdict.p2 for verdict in verdicts.values())
    assert set(found.exposed) == {j for verdict in verdicts.values() for j in verdict.surrounded}
    searched, largest = search_coalitions(network, f), [v for c, v in verdicts.items() if len(c) == f]
    assert searched.surrounding == sum(not verdict.p1 for verdict in largest)
    assert searched.cutting == sum(not verdict.p2 for verdict in largest)


@given(graph=graphs(least=4), data=st.data())
def test_exposure_is_networkxs_components(graph, data):
    coalition = data.draw(coalitions(len(graph)))
    found = exposure(hk.Network(graph), coalition)
    honest = graph.subgraph(set(graph) - coalition)
    assert {frozenset(part) for part in found.components} == set(
        map(frozenset, nx.connected_components(honest))
    )
    assert set(found.surrounded) == {j for j in honest if set(graph[j]) <= coalition}


@given(instance=instances(), data=st.data())
def test_intervals_hold_the_truth(instance, data):
    """Knowing nothing, the linear programme gives the closed form; and suppositions that are true never exclude it."""
    run, network = instance.run(), hk.Network(instance.graph)
    honest = sorted(set(instance.graph) - instance.coalition)
    agents = data.draw(st.sets(st.sampled_from(honest), min_size=1))
    supposed = [
        None,
        Knowledge(degree=len(instance.objectives[0]) - 1),
        Knowledge(objectives={honest[0]: instance.objectives[honest[0]]}),
    ]
    free, programme, informed = (
        ambiguity(network, instance.coalition, agents, run=run, knowing=knowing) for knowing in supposed
    )
    true = _sum(instance.objectives[j] for j in agents) + [Fraction(0)] * 6
    for interval, same, narrower in zip(free.intervals, programme.intervals, informed.intervals, strict=True):
        # HiGHS keeps constraints to 1e-7; numbers here are below 100.
        assert abs(interval.low - same.low) < 1e-5
        assert abs(interval.high - same.high) < 1e-5
        assert interval.low - 1e-9 <= true[interval.power] <= interval.high + 1e-9
        assert interval.low - 1e-5 <= narrower.low <= true[interval.power] + 1e-5
        assert true[interval.power] - 1e-5 <= narrower.high <= interval.high + 1e-5
        hidden = interval.power <= instance.degree
        assert interval.width == pytest.approx(free.width if hidden else 0.0, abs=1e-9)


@given(instance=instances(), share=st.fractions(-2, 2, max_denominator=100))
def test_the_width_is_where_witnesses_leave_the_bound(instance, share):
    """Two honest agents, one link: a coefficient may move until the link carries 2b, and no further."""
    assume(instance.dim == 1)
    i, j = sorted(instance.graph.edges)[0]
    coalition = set(instance.graph) - {i, j}
    run = instance.run()
    link = run.network.links.tolist().index([i, j])
    forward, backward = run.transcript.noise["function"][0, link, :, 1]
    row = [*instance.objectives[j]]
    row[1] += forward - backward - share * 4  # 2b with b = 2: what the link is to carry instead
    found = witness(run, coalition, {j: row}, fill="least")
    assert found.equal
    assert found.within_bound == (abs(share) <= 1)
    interval = ambiguity(run.network, coalition, {j}, run=run).intervals[0]
    slack = 1e-9  # the interval is in floating point, numbers below 20
    assert found.within_bound == (interval.low - slack <= row[1] <= interval.high + slack)


@given(graph=graphs(least=4), data=st.data())
def test_a_repair_holds_and_no_fewer_links_than_claimed_do(graph, data):
    n = len(graph)
    f = data.draw(st.integers(1, min(n - 2, 3)))
    network = hk.Network(graph)
    mended = repair(network, f)
    assert nx.node_connectivity(mended.network.graph) > f
    assert len(mended.added) >= mended.needed
    free = sorted(set(itertools.combinations(range(n), 2)) - set(map(tuple, network.links.tolist())))
    fewer = itertools.islice(itertools.combinations(free, max(mended.needed - 1, 0)), 200)
    if mended.needed:
        assert not any(nx.node_connectivity(nx.Graph([*graph.edges, *links])) > f for links in fewer)
