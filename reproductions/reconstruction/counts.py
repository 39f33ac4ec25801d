"""Whose values attackers work out: agents whose unit vector lies in the row space of all that the attackers received.

As Mrini, Cyffers and Bellet count ("Privacy Attacks in Decentralized Learning", ICML 2024): gossip averaging from
private values, or gradient descent with gradients that stay the same. Counted twice: in double precision with their
tolerances, which gives their numbers, and exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import truediv
from typing import Any

import networkx as nx
import numpy as np
from jaxtyping import Float, Int

ZERO = 1e-8
"""Their tolerance: a number below it is no pivot, and no part of a row."""
SMALL = 1e-6
"""What their elimination leaves below this is cleared."""
MISSED = 0.05
"""A value that is found this far off gives the whole reconstruction up."""
PRIME = 2**31 - 1
"""Modulo it "exact" is exact, unless it divides a minor by chance: about one in two thousand million."""

Graph = nx.Graph
Known = tuple[int, ...]


@dataclass(frozen=True)
class Gossip:
    """A graph with nodes 0 … n − 1 and its averaging weights, one over a whole number on every link."""

    received: tuple[tuple[int, ...], ...]
    """Of every node, whom it receives: its neighbours."""
    parts: Int[np.ndarray, "agents agents"]
    """d where a node gives 1/d to a neighbour's message; 0 where there is no link."""

    @classmethod
    def metropolis(cls, graph: Graph) -> Gossip:
        """1/(1 + larger degree), as they average values."""
        return cls._of(graph, lambda i, j: 1 + max(graph.degree[i], graph.degree[j]))

    @classmethod
    def laplacian(cls, graph: Graph) -> Gossip:
        """1/(largest degree of all), as they average models."""
        most = max(degree for _, degree in graph.degree)
        return cls._of(graph, lambda i, j: most)

    @classmethod
    def _of(cls, graph: Graph, part: Callable[[int, int], int]) -> Gossip:
        parts = np.zeros((len(graph), len(graph)), np.int64)
        for i, j in graph.edges:
            parts[i, j] = parts[j, i] = part(i, j)
        return cls(tuple(tuple(graph[node]) for node in range(len(graph))), parts)

    @property
    def doubles(self) -> Float[np.ndarray, "agents agents"]:
        """The weights in double precision."""
        weights = np.divide(1.0, self.parts, out=np.zeros(self.parts.shape), where=self.parts > 0)
        for node, others in enumerate(self.received):
            weights[node, node] = 1 - sum(weights[node, other] for other in others)
        return weights

    @property
    def residues(self) -> Int[np.ndarray, "agents agents"]:
        """The weights modulo the prime."""
        inverse = {int(d): pow(int(d), -1, PRIME) for d in np.unique(self.parts[self.parts > 0])}
        weights = np.array([[inverse.get(int(d), 0) for d in row] for row in self.parts], np.int64)
        weights[np.diag_indices(len(weights))] = (1 - weights.sum(axis=1)) % PRIME
        return weights

    def listened(self, attackers: Sequence[int]) -> list[int]:
        """Whose messages attackers have: their own and their neighbours'."""
        return sorted({*attackers, *(other for node in attackers for other in self.received[node])})


def reconstructed(
    gossip: Gossip, attackers: Sequence[int], *, rounds: int, values: Float[np.ndarray, " agents"]
) -> Known | None:
    """Nodes whose values attackers work out in double precision, their own among them; None if one came out wrong."""
    knowledge = _heard_in_doubles(gossip.doubles, attackers, gossip.listened(attackers), rounds)
    rows, transform = _reduced(knowledge)
    found = transform @ (knowledge @ values)
    known: set[int] = set()
    for row, number in zip(rows, found, strict=True):
        places = np.flatnonzero(np.abs(row) > ZERO)
        if len(places) == 1:
            (node,) = places
            if not np.isclose(values[node], number / row[node], atol=MISSED):
                return None
            known.add(int(node))  # rounding may leave two rows of one node
    return tuple(sorted(known))


def _heard_in_doubles(
    weights: np.ndarray, attackers: Sequence[int], listened: Sequence[int], rounds: int
) -> Float[np.ndarray, "words agents"]:
    """What every message is made of: rows of the identity, of W, of W², …"""
    rows, power = [np.eye(len(weights))[[*attackers, *listened]]], weights
    for _ in range(1, rounds):
        rows.append(power[list(listened)])
        power = weights @ power
    return np.concatenate(rows)


def _reduced(
    matrix: Float[np.ndarray, "words agents"],
) -> tuple[Float[np.ndarray, "words agents"], Float[np.ndarray, "words words"]]:
    """The reduced row echelon form by Gauss and Jordan without a search for large pivots, and what it was made by."""
    words, agents = matrix.shape
    both = _eliminated(np.hstack([matrix, np.eye(words)]), agents, ZERO, truediv, lambda rows: rows)
    both[np.abs(both) < SMALL] = 0.0
    return both[:, :agents], both[:, agents:]


def _eliminated(
    rows: np.ndarray,
    columns: int,
    zero: float,
    divided: Callable[[Any, Any], Any],
    reduced: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Gauss and Jordan, in whatever numbers: the first that is not `zero` is a pivot."""
    place = 0
    for column in range(columns):
        pivots = np.flatnonzero(np.abs(rows[place:, column]) > zero)
        if not len(pivots):
            continue
        rows[[place, place + pivots[0]]] = rows[[place + pivots[0], place]]
        rows[place] = divided(rows[place], rows[place, column])
        factors = rows[:, column].copy()
        factors[place] = 0
        changed = np.flatnonzero(np.abs(factors) > zero)
        rows[changed] = reduced(rows[changed] - reduced(factors[changed, None] * rows[place]))
        place += 1
        if place == len(rows):
            break
    return rows


def reconstructible(gossip: Gossip, attackers: Sequence[int], *, rounds: int) -> Known:
    """Nodes whose values exact attackers work out from gossip averaging, their own among them."""
    weights, listened = gossip.residues, gossip.listened(attackers)
    rows = [np.eye(len(weights), dtype=np.int64)[listened]]
    for _ in range(1, rounds):
        rows.append(_product(rows[-1], weights))
    return _alone(np.concatenate(rows))


def descended(gossip: Gossip, attackers: Sequence[int], *, rounds: int) -> Known:
    """Nodes whose gradients exact attackers work out from gradient descent, if gradients stay the same.

    What attackers said themselves is known and taken off, so that only the others' gradients are unknown.
    """
    others = [node for node in range(len(gossip.received)) if node not in attackers]
    weights = gossip.residues[np.ix_(others, others)]
    listened = [others.index(node) for node in gossip.listened(attackers) if node in others]
    one = np.eye(len(others), dtype=np.int64)
    made, rows = one, [one[listened]]
    for _ in range(1, rounds):
        made = (_product(weights, made) + one) % PRIME
        rows.append(made[listened])
    return tuple(others[node] for node in _alone(np.concatenate(rows)))


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A product of matrices modulo the prime; terms are added one by one, since two already fill 63 bits."""
    total = np.zeros((len(left), right.shape[1]), np.int64)
    for place in range(len(right)):
        total = (total + left[:, place, None] * right[place]) % PRIME
    return total


def _alone(matrix: np.ndarray) -> Known:
    """Columns whose unit vector is a combination of the rows, modulo the prime."""
    rows = _eliminated(
        matrix.copy(),
        matrix.shape[1],
        0,
        lambda row, pivot: row * pow(int(pivot), -1, PRIME) % PRIME,
        lambda rows: rows % PRIME,
    )
    single = rows[np.count_nonzero(rows, axis=1) == 1]
    return tuple(sorted(int(np.flatnonzero(row)[0]) for row in single))
