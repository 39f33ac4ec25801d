"""Bounds that hold against every coalition of f agents, without a search.

Two facts about a graph G whose honest part is H = G − A with |A| = f. If G is κ-connected and m = κ − f ≥ 1, Menger
gives any two honest agents m disjoint paths in H with at most n − f − 2 inner agents altogether, and the harmonic mean
of their lengths is no more than the arithmetic one: R ≤ (n − f − 2 + m)/m² for unit conductances. And a vector on H
that sums to zero does so on G too, where each of f agents that come back adds at most the largest conductance to its
energy: λ₂(H) ≥ λ₂(G) − f max conductance [Fiedler 1973]. A Laplacian dominates the one with its smallest conductance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hocket.privacy.dp.looks import Look
from hocket.privacy.dp.protected import Protected, Record, Shift, Transfer
from hocket.privacy.graph.connectivity import vertex_connectivity

How = Literal["disjoint paths", "algebraic connectivity", "own noise alone"]


@dataclass(frozen=True)
class Bounded:
    """A squared μ that no coalition of the size exceeds, and which bound says so."""

    squared: float
    how: tuple[str, ...]


@dataclass(frozen=True)
class Reach:
    """What the two facts say of a look against f colluders."""

    look: Look
    colluders: int
    resistance: float
    """Between any two honest agents, by disjoint paths; infinite where a coalition of f cuts the graph."""
    gap: float
    """A lower bound on λ₂ of the honest Laplacian; zero where there is none."""

    @classmethod
    def of(cls, look: Look, colluders: int, pair: tuple[int, ...] = ()) -> Reach:
        """Between any two honest agents, or between a pair of them: these may be joined by more paths than others."""
        n, f, dealt = look.n, colluders, look.dealt
        ways = paths_between(look, *pair) if len(pair) == 2 else vertex_connectivity(n, dealt).value
        spare = ways - f if len(dealt) else 0
        resistance = (n - f - 2 + spare) / spare**2 / look.least if spare >= 1 else math.inf
        gap = max(
            _second(n, look.links, look.conductance) - f * look.conductance.max(initial=0.0),
            look.least * (_second(n, dealt, np.ones(len(dealt))) - f),
        )
        return cls(look, f, resistance, max(0.0, gap) if gap > 1e-9 * look.least else 0.0)

    @property
    def honest(self) -> int:
        return self.look.n - self.colluders

    def transfer(self) -> dict[How, float]:
        """(e_i − e_j)ᵀ Σ⁺ (e_i − e_j) for any two honest agents."""
        own = self.look.own
        return {
            "disjoint paths": self.resistance,
            "algebraic connectivity": _inverse(self.gap + own) * 2 if self.gap else math.inf,
            "own noise alone": 2 * _inverse(own),
        }

    def record(self) -> dict[How, float]:
        """κ_j for any honest agent: a share of the mean, and of what is left of it."""
        own, h = self.look.own, self.honest
        mean, rest = _inverse(h * own), 1 - 1 / h
        return {
            "disjoint paths": mean + rest * self.resistance if h > 1 else mean,
            "algebraic connectivity": mean + rest * _inverse(self.gap + own) if self.gap else math.inf,
            "own noise alone": _inverse(own),
        }

    def shift(self, rows: np.ndarray) -> dict[How, float]:
        """tr(δᵀ Σ⁺ δ): the mean by itself, and a rest that sums to zero."""
        own, h = self.look.own, self.honest
        total = left_over(rows, own)
        mean = float(total @ total) * _inverse(h * own) if total.any() else 0.0
        squares = max(0.0, float(np.sum(rows**2)) - float(total @ total) / h)
        # A rest that sums to zero is so much moved between pairs; the root of an energy is a norm.
        moved = (np.abs(rows).sum(axis=0) + np.abs(total)) / 2
        return {
            "disjoint paths": mean + float(moved @ moved) * self.resistance,
            "algebraic connectivity": mean + squares * _inverse(self.gap + own) if self.gap else math.inf,
            "own noise alone": float(np.sum(rows**2)) * _inverse(own),
        }


def left_over(rows: np.ndarray, own: float) -> np.ndarray:
    """What a shift sums to. Without own noise rounding stands for zero, and all else was refused before; beside it
    whatever is left is a change of the mean, which little own noise hides badly."""
    total = np.array([math.fsum(column) for column in rows.T])
    zero = own == 0 and (np.abs(total) <= 1e-12 * np.abs(rows).sum(axis=0)).all()
    return np.zeros_like(total) if zero else total


def bounded(protected: Protected, looks: tuple[Look, ...], colluders: int) -> Bounded:
    """The best of the bounds for every look, added up."""
    total, how = 0.0, []
    for look in looks:
        # What a pair has left over is shared by all who are connected with it, whom its own paths do not tell.
        between = isinstance(protected, Shift) and not left_over(protected.rows, look.own).any()
        pair = protected.agents if isinstance(protected, Shift) and between else ()
        found = _of(protected, Reach.of(look, colluders, pair))
        best = min(found, key=lambda one: found[one])
        total += look.times * found[best]
        how.append(best)
    return Bounded(total, tuple(dict.fromkeys(how)))


def paths_between(look: Look, i: int, j: int) -> int:
    """How many paths with noise lead from one agent to another that share nobody else [Menger]."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(look.n))
    graph.add_edges_from(look.dealt.tolist())
    direct = graph.has_edge(i, j)
    if direct:  # nobody stands on it: flows are for agents that are not linked
        graph.remove_edge(i, j)
    return int(direct) + int(nx.node_connectivity(graph, i, j))


def _of(protected: Protected, reach: Reach) -> dict[How, float]:
    match protected:
        case Shift(rows=rows):
            return reach.shift(rows)
        case Transfer(size=size):
            return {how: size**2 * one for how, one in reach.transfer().items()}
        case Record(size=size, held=held):
            records = held if isinstance(held, int) else sum(held.values())
            return {how: (records * size) ** 2 * one for how, one in reach.record().items()}
        case _:
            raise TypeError(protected)


def _inverse(variance: float) -> float:
    return 1 / variance if variance > 0 else math.inf


def _second(n: int, links: np.ndarray, conductance: np.ndarray) -> float:
    """λ₂ of a weighted graph, the smallest eigenvalue but one."""
    matrix = np.zeros((n, n))
    (i, j) = links.T
    for row, column, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
        np.add.at(matrix, (row, column), sign * conductance)
    return float(np.linalg.eigvalsh(matrix)[1]) if n > 1 else 0.0
