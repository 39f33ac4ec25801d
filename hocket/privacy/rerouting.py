"""Other noise functions with the same effect: the system of equations in the proof of Theorem 2, solved on a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from hocket.network import Network
from hocket.privacy.functions import gains

Component = Sequence[int]
Nets = Shaped[np.ndarray, "links terms dim"]
"""Per link (i, j), i < j: what it carries from i to j on balance, s^{i,j} − s^{j,i}."""
Forest = list[tuple[int, int, int]]
"""Trees as (parent, child, link), parents first."""


def inner_links(network: Network, components: Sequence[Component]) -> Int[np.ndarray, " inner"]:
    """The links that join two agents of these components."""
    inside = np.zeros(network.n, dtype=bool)
    inside[[agent for part in components for agent in part]] = True
    return np.flatnonzero(inside[network.links].all(axis=1))


def spanning_forest(network: Network, components: Sequence[Component]) -> Forest:
    """A tree in each component, grown from its lowest agent on."""
    at: list[list[tuple[int, int]]] = [[] for _ in range(network.n)]
    for link in inner_links(network, components).tolist():
        i, j = network.links[link].tolist()
        at[i].append((j, link))
        at[j].append((i, link))
    forest: Forest = []
    for part in components:
        root = min(part)
        reached, queue = {root}, [root]
        for parent in queue:
            for child, link in at[parent]:
                if child not in reached:
                    reached.add(child)
                    queue.append(child)
                    forest.append((parent, child, link))
    return forest


def solve_on_trees(
    network: Network,
    forest: Forest,
    wanted: Shaped[np.ndarray, "agents terms dim"],
    nets: Nets,
) -> Nets:
    """The nets with those of the trees replaced so that every agent gains what is wanted.

    Solvable where the wanted gains of each component sum to zero [paper, proof of Theorem 2, eq. for G_ST]. Exact
    where the numbers are fractions: only sums are taken, from the leaves to the root.
    """
    nets = nets.copy()
    nets[[link for _, _, link in forest]] = 0
    missing = wanted - gains(network, nets)
    for parent, child, link in reversed(forest):
        upwards = network.links[link, 1] == child  # a net runs from the lower to the higher number
        nets[link] = missing[child] if upwards else -missing[child]
        missing[parent] = missing[parent] + missing[child]
    return nets


def smallest_nets(
    network: Network, components: Sequence[Component], wanted: Shaped[np.ndarray, "agents terms dim"]
) -> Float[np.ndarray, "links terms dim"]:
    """Nets that give every agent what is wanted, the largest as small as possible; by linear programme, in floats."""
    links = inner_links(network, components)
    agents = np.array([agent for part in components for agent in part])
    incidence = gain_matrix(network, links)[agents]
    nets = np.zeros((len(network.links), *wanted.shape[1:]))
    for term, coordinate in np.ndindex(*wanted.shape[1:]):
        gain = wanted[agents, term, coordinate].astype(np.float64)
        if gain.any():
            nets[links, term, coordinate] = _least_largest(incidence, gain, len(links))
    return nets


def gain_matrix(network: Network, links: Int[np.ndarray, " inner"]) -> csr_array:
    """What every agent gains per unit that each of these links carries: +1 at its higher end, −1 at its lower."""
    ends, column = network.links[links], np.arange(len(links))
    rows, columns = np.concatenate([ends[:, 1], ends[:, 0]]), np.concatenate([column, column])
    signs = np.repeat([1.0, -1.0], len(links))
    return csr_array(coo_array((signs, (rows, columns)), shape=(network.n, len(links))))


def _least_largest(incidence: csr_array, gain: np.ndarray, links: int) -> Float[np.ndarray, " links"]:
    """The flow r with incidence · r = gain whose largest |r| is least: minimise m under −m ≤ r ≤ m."""
    one, m = eye_array(links), np.ones((links, 1))
    answer = linprog(
        c=np.append(np.zeros(links), 1.0),
        A_ub=vstack([hstack([one, -m]), hstack([-one, -m])]),
        b_ub=np.zeros(2 * links),
        A_eq=hstack([incidence, csr_array((len(gain), 1))]),
        b_eq=gain,
        bounds=(None, None),
        method="highs",
    )
    return answer.x[:links]
