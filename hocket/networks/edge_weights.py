"""Weights that a networkx graph has on its edges: taken for B where that is asked for, never left out in silence."""

from __future__ import annotations

from typing import Any

import numpy as np

from hocket.errors import BadNetwork

EDGES = "edges"
"""The rule by which they are taken."""


def edge_weights(graph: Any, n: int, links: np.ndarray, labels: Any, rule: Any) -> Any:
    """What to weigh a graph by: a matrix of its edges' weights where `rule` says so, else the rule itself.

    An agent keeps what its links leave of 1. Weights other than 1 under another rule's name are refused: the averages
    would be others than the author of the graph had in mind.
    """
    if not isinstance(rule, str):
        return rule
    given = _given(graph, n, links, labels)
    if rule == EDGES:
        if given is None:
            raise BadNetwork(
                f"weights={EDGES!r} needs a networkx graph with a weight on every edge; set them, or name a rule"
            )
        matrix = np.zeros((n, n))
        matrix[links[:, 0], links[:, 1]] = matrix[links[:, 1], links[:, 0]] = given
        np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
        return matrix
    if given is not None and np.any(given != 1.0):
        at = int(np.argmax(given != 1.0))
        ends = tuple(_name(labels, agent) for agent in links[at])
        raise BadNetwork(
            f"edge {ends} has weight {given[at]:g}, which the rule {rule!r} does not look at; pass weights={EDGES!r} "
            "to average by these weights, or leave them out with networkx.Graph(graph.edges())"
        )
    return rule


def refuse_edge_weights(graph: Any) -> None:
    """Of directed links: columns must sum to one, which weights on edges do not say of an agent's own message."""
    if not (hasattr(graph, "edges") and hasattr(graph, "nodes")):
        return
    for u, v, value in graph.edges(data="weight"):
        if value is not None and value != 1:
            raise BadNetwork(
                f"edge {(u, v)} has weight {value}, which directed links do not look at; pass weights= as a matrix "
                "whose columns sum to 1, or leave them out with networkx.DiGraph(graph.edges())"
            )


def _given(graph: Any, n: int, links: np.ndarray, labels: Any) -> np.ndarray | None:
    """The weights in the order of the links; None where no edge has one."""
    if not (hasattr(graph, "edges") and hasattr(graph, "nodes")):
        return None
    found = {(u, v): value for u, v, value in graph.edges(data="weight") if value is not None}
    if not found:
        return None
    number = {_name(labels, agent): agent for agent in range(n)}
    by_link = {tuple(sorted((number[u], number[v]))): value for (u, v), value in found.items()}
    missing = [link for link in map(tuple, links.tolist()) if link not in by_link]
    if missing:
        ends = tuple(_name(labels, agent) for agent in missing[0])
        raise BadNetwork(f"edge {ends} has no weight and others have one; give each a weight, or none")
    try:
        return np.array([float(by_link[link]) for link in map(tuple, links.tolist())])
    except (TypeError, ValueError) as error:
        raise BadNetwork(f"a weight on an edge is no number: {error}; give numbers, or none") from None


def _name(labels: Any, agent: int) -> Any:
    return labels[agent] if labels else int(agent)
