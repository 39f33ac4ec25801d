"""Where agents stand when their graph is drawn: rings as rings, anything else as far apart as it is linked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist, pdist

from hocket.networks.network import Network

RADIUS = 16
"""Of an agent, in units of the drawing; a unit is a pixel where the page has room for them all."""
APART = 2.8 * RADIUS
"""Between the centres of any two agents."""
LONG_PATH = 16
"""Agents up to which a path is drawn straight; a longer one would not fit a page and is bent into a ring."""
RING = 48
"""Agents up to which a ring is a plain circle; the agents of a longer one take turns on several."""
RINGS = 4
NAMED = 30
"""Agents up to which their names are written beside them; names of more would hide the links."""
NAMED_APART = 6 * RADIUS
"""Between agents with names beside them: a name is wider than an agent."""
MARGIN = 1.8 * RADIUS

Points = Float[np.ndarray, "agents 2"]


@dataclass(frozen=True)
class GraphDrawing:
    """A graph on paper."""

    points: Points
    width: float
    height: float
    radius: float
    named: bool
    """Whether there is room for names beside the agents."""


def draw_graph(network: Network) -> GraphDrawing:
    """The same picture for the same network, every time.

    >>> from hocket import Network
    >>> drawing = draw_graph(Network.cycle(4))
    >>> drawing.points.round().tolist()
    [[179.0, 29.0], [329.0, 179.0], [179.0, 329.0], [29.0, 179.0]]
    """
    named = network.labels is not None and network.n <= NAMED
    order = _ring_order(network)
    points = _spread(network) if order is None else _circle(order)
    if named and network.n > 1:
        points = points * max(1, NAMED_APART / pdist(points).min())
    low, high = points.min(axis=0) - MARGIN, points.max(axis=0) + MARGIN
    if named:
        low, high = low - np.array([2 * RADIUS, 0]), high + np.array([2 * RADIUS, RADIUS])
    width, height = (high - low).tolist()
    return GraphDrawing(points - low, width, height, RADIUS, named)


def _ring_order(network: Network) -> list[int] | None:
    """The agents around a circle, if that is what the graph looks like: a cycle, a long path, or more than a cycle
    whose agents are numbered around it, as Harary graphs and complete ones are."""
    n = network.n
    near = [network.neighbours(j) for j in range(n)]
    if n > 2 and all((j + 1) % n in near[j] for j in range(n)):
        return list(range(n))
    ends = [j for j in range(n) if len(near[j]) == 1]
    if max(map(len, near)) > 2 or (ends and n <= LONG_PATH):
        return None
    order = [min(ends, default=0)]
    while len(order) < n:
        order.append(next(j for j in near[order[-1]] if j not in order[-2:]))
    return order


def _circle(order: list[int]) -> Points:
    """From the top, clockwise; those of a long ring stand on several circles in turn."""
    n = len(order)
    rings = min(RINGS, -(-n // RING))
    radius = max(150, n * APART / (2 * np.pi * rings)) + APART * (np.arange(n) % rings)
    angle = 2 * np.pi * np.arange(n) / n
    points = np.empty((n, 2))
    points[order] = radius[:, None] * np.column_stack([np.sin(angle), -np.cos(angle)])
    return points


def _spread(network: Network) -> Points:
    """Distances on paper as near as can be to the numbers of links between agents, the widest side across.

    Stress majorisation with weights 1/distance² [Gansner, Koren and North 2004], from classical scaling.
    """
    n = network.n
    if n == 1:
        return np.zeros((1, 2))
    steps = shortest_path(
        csr_array((np.ones(len(network.links)), network.links.T), shape=(n, n)),
        directed=False,
        unweighted=True,
    )
    points = _scaled(steps)
    weight = 1 / (steps + np.eye(n)) ** 2 - np.eye(n)
    # A graph's Laplacian is singular by the one direction in which all move together; adding it changes no distance.
    balance = np.linalg.inv(np.diag(weight.sum(axis=1)) - weight + 1 / n)
    wanted = weight * steps
    for _ in range(60):
        pull = wanted / np.maximum(cdist(points, points), 1e-9)
        points = balance @ (pull.sum(axis=1)[:, None] * points - pull @ points)
    _, axes = np.linalg.eigh(points.T @ points)
    points = points @ axes[:, ::-1]
    points *= np.where(points[0] > 0, -1, 1)  # agent 0 towards the top left
    nearest = np.sort(cdist(points, points), axis=1)[:, 1]
    room = APART * max(1, 3 - n / 20)  # a small graph may take its ease
    return _separated(points * (room / np.median(nearest)))


def _scaled(steps: Float[np.ndarray, "agents agents"]) -> Points:
    """Classical scaling to two dimensions; a little noise parts agents that a symmetric graph puts in one place."""
    n = len(steps)
    centre = np.eye(n) - 1 / n
    values, vectors = eigh(-centre @ steps**2 @ centre / 2, subset_by_index=(n - 2, n - 1))
    noise = np.random.default_rng(0).normal(scale=1e-3, size=(n, 2))
    return vectors * np.sqrt(np.maximum(values, 0)) + noise


def _separated(points: Points) -> Points:
    """Nobody hides behind another: push those too near apart, a little at a time."""
    points = points.copy()
    for _ in range(500):
        one, other = KDTree(points).query_pairs(0.99 * APART, output_type="ndarray").T
        if not len(one):
            break
        away = points[one] - points[other]
        push = away * (0.5 * APART / np.linalg.norm(away, axis=1, keepdims=True) - 0.5)
        np.add.at(points, one, push)
        np.add.at(points, other, -push)
    return points
