"""The example in the paper's proof of Theorem 2, in exact arithmetic and over a long run in floating point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hocket.algorithms import FunctionSharing
from hocket.engines.solver import solve
from hocket.networks.network import Network
from hocket.privacy.witness.witness import Witness, witness
from hocket.problems.problem import Problem
from hocket.problems.standard import polynomials
from hocket.steps import Power

HALF = Fraction(1, 2)
SEVEN_AGENTS = (
    *((0, 1), (0, 2), (0, 3), (0, 4)),  # the spanning tree of the honest agents
    *((1, 2), (2, 3), (3, 4)),
    *((1, 5), (4, 5), (5, 6), (1, 6), (3, 6), (4, 6)),
)
"""The paper describes the graph and prints no picture of it: reconstructed from the words, agents counted from 0."""
COLLUDERS = frozenset({5, 6})
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
    return Witnesses(*(witness(run, COLLUDERS, FALSE_OBJECTIVES, fill="least") for run in (exact, long)))
