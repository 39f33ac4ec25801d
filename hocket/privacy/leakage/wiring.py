"""The network as a listener knows it in one phase: weights among the honest, and whom it hears."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Bool, Float

from hocket.networks.neighbour_tables import NeighbourTables
from hocket.networks.network import Network
from hocket.runs.view import Threat

MANY, SPARSE = 200, 0.05
"""Agents from which on, and the part of all links up to which, zeros are not worth their multiplications."""


class Wired(NamedTuple):
    """The network in one phase, without those who have left."""

    own: Float[np.ndarray, "honest 1"]
    others: Float[np.ndarray, "honest honest"]
    """What each honest agent gives to the words of the others."""
    reached: np.ndarray
    """Places of the honest agents of whom a listener hears what they say to all."""
    told: tuple[np.ndarray, np.ndarray]
    """Places and slots of words to one neighbour that a listener hears."""
    summed: Float[np.ndarray, "parts honest"]
    """Of numbers that are summed over all: the honest agents whose sum a listener knows, a row for each such part."""

    def carried(self, words: Float[np.ndarray, "rounds honest columns"]) -> np.ndarray:
        """What comes of words that everybody hears."""
        if len(self.others) < MANY or np.count_nonzero(self.others) > SPARSE * self.others.size:
            return self.others @ words
        few = scipy.sparse.csr_matrix(self.others)
        return np.stack([few @ one for one in words])


def wired(
    network: Network,
    tables: NeighbourTables,
    phase: int,
    silenced: Bool[np.ndarray, " links"],
    honest: np.ndarray,
    threat: Threat,
) -> Wired:
    """One phase, in which some links have fallen silent for good."""
    active = network.active[phase] & ~silenced
    B = _weights(network, phase, active)[np.ix_(honest, honest)]
    listeners = np.arange(network.n)
    if threat == "coalition":
        listeners = np.setdiff1d(listeners, honest)
    near = active & np.isin(network.links, listeners).any(axis=1)
    overheard = tables.filled & active[tables.link] & np.isin(tables.neighbour, listeners)
    places, slots = np.nonzero(overheard[honest])
    return Wired(
        own=B.diagonal()[:, None].copy(),
        others=B - np.diag(B.diagonal()),
        reached=np.flatnonzero(np.isin(honest, network.links[near])),
        told=(places, slots),
        summed=_parts(network.links[active], honest, threat),
    )


def _parts(links: np.ndarray, honest: np.ndarray, threat: Threat) -> Float[np.ndarray, "parts honest"]:
    """Masks that honest agents share hide all but the sum over those who are connected; known masks hide nothing."""
    if threat == "states+noise":
        return np.eye(len(honest))
    among = links[np.isin(links, honest).all(axis=1)]
    place = np.searchsorted(honest, among)
    shape = (len(honest), len(honest))
    graph = scipy.sparse.coo_matrix((np.ones(len(place)), place.T), shape=shape)
    _, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return (part == np.unique(part)[:, None]).astype(np.float64)


def _weights(
    network: Network, phase: int, active: Bool[np.ndarray, " links"]
) -> Float[np.ndarray, "agents agents"]:
    """B_k, with the weight of links that were dropped moved to the diagonal."""
    (i, j), weight = network.links.T, network.weight[phase]
    B = np.diag(network.own[phase])
    np.add.at(B, (j, j), np.where(active, 0.0, weight[:, 0]))
    np.add.at(B, (i, i), np.where(active, 0.0, weight[:, 1]))
    B[j[active], i[active]], B[i[active], j[active]] = weight[active].T
    return B
