"""What is counted: theirs beside ours, and what the auditor finds left under hocket's algorithms."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, FunctionSharing, RssLb, RssNb
from hocket.networks.network import Network
from hocket.privacy.leakage.leakage import leakage
from reproductions.experiment import Watch, all_kinds, unwatched
from reproductions.reconstruction.counts import (
    Gossip,
    Graph,
    Known,
    descended,
    reconstructed,
    reconstructible,
)
from reproductions.reconstruction.graphs import ego, florentine, random_graphs
from reproductions.reconstruction.reference import DESCENT, EGO, ERDOS_RENYI, GOSSIP

ALGORITHMS: tuple[type[Algorithm], ...] = (Dgd, RssNb, RssLb, FunctionSharing)
GRAPHS = 20
"""Random graphs of each kind."""
EGO_SEED = 1
EGO_ROUNDS = (10, 4)
"""The second where a value comes out wrong after the first."""
GOSSIPING, DESCENDING = "gossip", "descent"
FLORENTINE, EGO_414 = "Florentine families", "Facebook ego 414"

Case = tuple[str, str, Graph, tuple[int, ...], int]
"""A graph's title, the attackers' title, the graph, the attackers and rounds."""


@dataclass(frozen=True)
class Size:
    """How much to count."""

    agents: tuple[int, ...] = (20, 40, 60, 80, 100)
    degrees: tuple[int, ...] = (4, 6)
    every: int = 1
    """The ego network's attackers are taken in steps of this."""
    audited: tuple[int, ...] = (60, 2, 0, 111)
    """Attackers of the ego network under whom algorithms are compared."""


FULL = Size()
QUICK = Size(agents=(20, 40), degrees=(4,), every=37, audited=(111,))


@dataclass(frozen=True)
class Comparison:
    """One setting of theirs, counted by them, by us as they do, and exactly."""

    graph: str
    attack: str
    attackers: str
    rounds: str
    agents: int
    theirs: tuple[int, ...]
    """A count for each attacker or graph."""
    ours: tuple[int, ...]
    exact: tuple[int, ...]

    @property
    def equal(self) -> int:
        """How many counts of ours are theirs."""
        return sum(one == other for one, other in zip(self.ours, self.theirs, strict=True))


@dataclass(frozen=True)
class Left:
    """What is left of one attack under an algorithm, whose gradients stay the same: counts of honest agents."""

    graph: str
    attackers: str
    rounds: int
    honest: int
    algorithm: str
    exact: int
    """Known without error."""
    averaged: int
    """Not known, but exposed to averaging over more and more rounds."""


@dataclass(frozen=True)
class Reconstruction:
    """All that was counted."""

    size: Size
    comparisons: tuple[Comparison, ...]
    left: tuple[Left, ...]
    absent: bool
    """Whether the ego network was left out for want of its file."""
    seconds: float


def play(size: Size, watch: Watch = unwatched, *, data: Path | None = None) -> Reconstruction:
    """Count everything."""
    began, circle = time.perf_counter(), ego(data)
    pieces: dict[str, list[Callable[[], object]]] = {"ego": [], "left": [], "rest": []}
    if circle is not None:
        places = tuple(range(0, len(circle), size.every))
        pieces["ego"] = [partial(_ego_count, circle, place) for place in places]
    pieces["left"] = [partial(_left, *case) for case in _cases(size, circle)]
    pieces["rest"] = [partial(_gossip, rounds) for rounds in GOSSIP]
    pieces["rest"] += [partial(_descent, rounds) for rounds in DESCENT]
    pieces["rest"] += [
        partial(_random, *key) for key in ERDOS_RENYI if key[2] in size.agents and key[0] in size.degrees
    ]
    found = all_kinds(pieces, watch)
    comparisons = list(found["rest"])
    if circle is not None:
        comparisons.append(_ego(len(circle), size.every, found["ego"]))
    left = tuple(one for part in found["left"] for one in part)
    return Reconstruction(size, tuple(comparisons), left, circle is None, time.perf_counter() - began)


def _gossip(rounds: int) -> Comparison:
    graph, _ = florentine()
    gossip, draw = Gossip.metropolis(graph), np.random.RandomState(0)
    ours = tuple(
        _size(reconstructed(gossip, [a], rounds=rounds, values=_values(draw, len(graph)))) for a in graph
    )
    exact = tuple(len(reconstructible(gossip, [a], rounds=rounds)) for a in graph)
    each = f"each of {len(graph)}"
    return Comparison(FLORENTINE, GOSSIPING, each, str(rounds), len(graph), GOSSIP[rounds], ours, exact)


def _descent(rounds: int) -> Comparison:
    graph, _ = florentine()
    ours = tuple(len(descended(Gossip.laplacian(graph), [a], rounds=rounds)) for a in graph)
    each = f"each of {len(graph)}"
    return Comparison(FLORENTINE, DESCENDING, each, str(rounds), len(graph) - 1, DESCENT[rounds], ours, ours)


def _random(degree: int, attackers: int, n: int) -> Comparison:
    """The first graphs on which no value comes out wrong."""
    rounds, who = random_rounds(degree, attackers, n), range(attackers)
    ours: list[int] = []
    exact: list[int] = []
    for seed, graph in random_graphs(n, degree):
        gossip, values = Gossip.metropolis(graph), _values(np.random.RandomState(seed), n)
        known = reconstructed(gossip, who, rounds=rounds, values=values)
        if known is not None:
            ours.append(len(known))
            exact.append(len(reconstructible(gossip, who, rounds=rounds)))
        if len(ours) == GRAPHS:
            break
    return Comparison(
        f"Erdős-Rényi {n}, degree {degree}",
        GOSSIPING,
        f"{attackers} ({GRAPHS} graphs)",
        str(rounds),
        n,
        ERDOS_RENYI[degree, attackers, n],
        tuple(ours),
        tuple(exact),
    )


def random_rounds(degree: int, attackers: int, n: int) -> int:
    """How long they listen: n p / attackers rounds, where p is the chance of a link among 20 agents."""
    return int(min(n * degree / 20 / attackers, n / 2))


def _ego_count(graph: Graph, attacker: int) -> tuple[int, int]:
    """Ours and the exact count."""
    gossip, draw = Gossip.metropolis(graph), np.random.RandomState(EGO_SEED)
    known = None
    for rounds in EGO_ROUNDS:
        known = known or reconstructed(gossip, [attacker], rounds=rounds, values=_values(draw, len(graph)))
    return _size(known), len(reconstructible(gossip, [attacker], rounds=EGO_ROUNDS[0]))


def _ego(n: int, every: int, counts: Sequence[tuple[int, int]]) -> Comparison:
    ours, exact = zip(*counts, strict=True)
    each = f"each of {n}" if every == 1 else f"{len(counts)} of {n}"
    return Comparison(EGO_414, GOSSIPING, each, "10 or 4", n, EGO[::every], ours, exact)


def _cases(size: Size, circle: Graph | None) -> list[Case]:
    """Graphs, attackers and rounds under which algorithms are compared; the largest first."""
    graph, names = florentine()
    cases: list[Case] = []
    if circle is not None:
        cases = [
            (EGO_414, f"member {a} ({circle.degree[a]} links)", circle, (a,), EGO_ROUNDS[0])
            for a in size.audited
        ]
    degree = size.degrees[0]
    for n in reversed(size.agents):
        _, drawn = next(islice(random_graphs(n, degree), 1))
        for count in (1, 2, 3):
            who, rounds = tuple(range(count)), random_rounds(degree, count, n)
            cases.append((f"Erdős-Rényi {n}, degree {degree}", f"{count} of {n}", drawn, who, rounds))
    return cases + [(FLORENTINE, name, graph, (a,), max(GOSSIP)) for a, name in enumerate(names)]


def _left(title: str, attackers: str, graph: Graph, who: tuple[int, ...], rounds: int) -> list[Left]:
    network = Network(graph, weights="metropolis", name=title)
    found = [(kind, leakage(network, kind.name, rounds=rounds, coalition=who)) for kind in ALGORITHMS]
    return [
        Left(
            title,
            attackers,
            rounds,
            len(one.honest),
            kind.title,
            len(one.exact),
            len({*one.identifiable} - {*one.exact}),
        )
        for kind, one in found
    ]


def _values(draw: np.random.RandomState, n: int) -> np.ndarray:
    return draw.randint(2, size=n).astype(float)


def _size(known: Known | None) -> int:
    return 0 if known is None else len(known)
