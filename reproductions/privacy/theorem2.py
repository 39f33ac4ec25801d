"""Theorem 2: what topologies promise under function sharing, and the example in the paper's proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hocket.algorithms import FunctionSharing
from hocket.engines.solver import solve
from hocket.networks.network import Network
from hocket.privacy.graph.guarantees import Guarantees, guarantees
from hocket.privacy.graph.planner import plan_topology
from hocket.privacy.witness.witness import Witness, witness
from hocket.problems.problem import Problem
from hocket.problems.standard import polynomials
from hocket.steps import Power

AGENTS = 8
COLLUDERS = (1, 2, 3)
HALF = Fraction(1, 2)
SEVEN_AGENTS = (
    *((0, 1), (0, 2), (0, 3), (0, 4)),  # the spanning tree of the honest agents
    *((1, 2), (2, 3), (3, 4)),
    *((1, 5), (4, 5), (5, 6), (1, 6), (3, 6), (4, 6)),
)
"""The paper describes the graph and prints no picture of it: reconstructed from the messages, agents counted from 0."""
SEVEN_COLLUDERS = frozenset({5, 6})
OBJECTIVES = (
    (0, -1, 1, 0, HALF),
    (0, 1, 2),
    (0, 0, 1, 0, 1),
    (0, 2, 3, 0, HALF),
    (0, -HALF, 1),
    (0, 1, 1, 0, 1),
    (0, -2, 2),
)
FALSE_OBJECTIVES = {1: (0, -3, 1, 0, HALF), 2: (0, 2, HALF)}
STEP = Power(Fraction(1, 10), 1)
NOISE = FunctionSharing(degree=4, bound=4.0)
EXACT_ROUNDS = 6
"""The length of the numbers triples every round."""


@dataclass(frozen=True)
class Promise:
    """One topology against one, two and three colluders."""

    topology: str
    found: tuple[Guarantees, ...]

    @property
    def links(self) -> int:
        return self.found[0].links


def topologies() -> dict[str, Network]:
    """Eight agents linked in different ways; each Harary graph is the cheapest for some number of colluders."""
    halves = [(i, j) for half in (range(4), range(4, 8)) for i in half for j in half if i < j]
    cheapest = {plan.network.name: plan.network for plan in (plan_topology(AGENTS, f) for f in COLLUDERS)}
    return {
        "path:8": Network.path(AGENTS),
        "star:8": Network.star(AGENTS),
        "two cliques and a link": Network([*halves, (3, 4)]),
        "two cliques and two links": Network([*halves, (3, 4), (0, 7)]),
        "grid:2x4": Network.grid(2, 4),
        "hypercube:3": Network.hypercube(3),
        "complete:8": Network.complete(AGENTS),
        **cheapest,
    }


def promises() -> list[Promise]:
    """P1 and P2 of every topology, from the fewest links to the most."""
    found = [
        Promise(name, tuple(guarantees(network, f) for f in COLLUDERS))
        for name, network in topologies().items()
    ]
    return sorted(found, key=lambda promise: promise.links)


def fewest_links() -> dict[int, int]:
    """By number of colluders: with how few links P1 and P2 can be had at all."""
    return {f: plan_topology(AGENTS, f).links for f in COLLUDERS}


@dataclass(frozen=True)
class Witnesses:
    """The same question answered twice."""

    exact: Witness
    floating: Witness


def seven_agents() -> tuple[Problem, Network]:
    """Seven agents of whom two collude, and what they hold."""
    network = Network(SEVEN_AGENTS, name="the paper's seven agents, reconstructed")
    return polynomials([list(row) for row in OBJECTIVES], box=(-2, 2)), network


def witnesses(*, rounds: int) -> Witnesses:
    """Two honest agents could have held something else: a proof over a few rounds, and a measurement over many."""
    problem, network = seven_agents()
    exact = solve(
        problem, network, NOISE, step=STEP, rounds=EXACT_ROUNDS, start=Fraction(1, 2), engine="exact"
    )
    long = solve(
        problem, network, NOISE, step=STEP, rounds=rounds, start=0.5, keep="transcript", progress=False
    )
    return Witnesses(
        *(witness(run, SEVEN_COLLUDERS, FALSE_OBJECTIVES, fill="least") for run in (exact, long))
    )
