"""Links that go one way: how they are read and weighed, whether all hear of all, and the named ones.

A pair (i, j) means that i sends to j. A link is kept once, lower number first, with the directions in which somebody
sends on it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Bool, Float

from hocket.errors import BadNetwork
from hocket.networks import topologies
from hocket.networks.topologies import DRAWS, Edges, Labels, Links

if TYPE_CHECKING:
    from hocket.networks.topologies import Graph

Sends = Bool[np.ndarray, "links 2"]
"""Whether the lower-numbered end of a link sends to the higher, and the higher to the lower."""


def read(graph: Graph | Edges, n: int | None = None) -> tuple[int, Links, Sends, Labels | None]:
    """Number of agents, links, who sends on them, and labels of a networkx graph or of ordered pairs.
    An undirected graph sends both ways on every link.
    """
    n, pairs, labels = topologies.read_pairs(graph, n)
    if hasattr(graph, "nodes") and not topologies.is_directed(graph):
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    codes = pairs @ [n, 1]
    found, count = np.unique(codes, return_counts=True)
    for code in found[count > 1]:
        i, j = (int(end) if labels is None else labels[end] for end in divmod(int(code), n))
        raise BadNetwork(f"link ({i!r}, {j!r}) is given twice in the same direction; give it once")
    ends = np.sort(pairs, axis=1)
    links, at = np.unique(ends @ [n, 1], return_inverse=True)
    sends = np.zeros((len(links), 2), dtype=bool)
    sends[at.reshape(-1), (pairs[:, 0] > pairs[:, 1]).astype(int)] = True
    return n, np.column_stack(np.divmod(links, n)), sends, labels


def push(
    n: int, links: Links, sends: Sends
) -> tuple[Float[np.ndarray, " agents"], Float[np.ndarray, "links 2"]]:
    """Every agent shares its message out equally among itself and those it sends to: 1/(1 + out-degree).
    Columns sum to one and rows need not, so that agents need to know nothing but how many listen to them.
    """
    share = 1 / (1 + np.bincount(links[sends], minlength=n))
    return share, share[links] * sends


def check_strongly_connected(n: int, links: Links, sends: Sends, labels: Labels | None = None) -> None:
    """Refuse links by which somebody's messages never reach somebody else: they would never agree on the sum."""
    sender, hearer = links[sends], links[:, ::-1][sends]
    ends = (np.ones(len(sender), dtype=np.int8), (sender, hearer))
    adjacency = scipy.sparse.coo_array(ends, shape=(n, n))
    found: tuple[int, np.ndarray] = scipy.sparse.csgraph.connected_components(
        adjacency, directed=True, connection="strong"
    )
    count, part = found
    if count == 1:
        return
    leaving = part[sender] != part[hearer]
    received = np.bincount(part[sender[leaving]], minlength=count) > 0
    hears = np.bincount(part[hearer[leaving]], minlength=count) > 0
    mute, deaf = int(np.flatnonzero(~received)[0]), int(np.flatnonzero(~hears)[0])
    shown = [topologies.abbreviate(np.flatnonzero(part == one), labels) for one in (mute, deaf)]
    raise BadNetwork(
        f"the directed graph is not strongly connected: no words leave {shown[0]}, and none reach {shown[1]} from "
        "others; add links out of the first and into the second"
    )


def cycle(n: int) -> Links:
    """A ring in which each agent sends to the next only."""
    if n < 3:
        raise BadNetwork(f"a directed cycle needs at least 3 agents, got {n}; path(2) links two")
    agent = np.arange(n)
    return np.column_stack([agent, (agent + 1) % n])


def exponential(n: int) -> Links:
    """Each agent sends to those 1, 2, 4, 8 … places further on."""
    if n < 2:
        raise BadNetwork(f"an exponential graph needs at least 2 agents, got {n}")
    agent, hops = np.arange(n), 2 ** np.arange((n - 1).bit_length())
    return np.concatenate([np.column_stack([agent, (agent + hop) % n]) for hop in hops])


def erdos_renyi(n: int, p: float, seed: int = 0) -> Links:
    """A strongly connected random graph in which each agent sends to each other one with probability p."""
    if n < 2 or not 0 < p <= 1:
        raise BadNetwork(f"a random directed graph needs n ≥ 2 and 0 < p ≤ 1, got n={n} and p={p}")
    rng = random.Random(seed)
    for _ in range(DRAWS):
        drawn = np.random.default_rng(rng.getrandbits(64)).random((n, n)) < p
        np.fill_diagonal(drawn, val=False)
        pairs = np.argwhere(drawn)
        try:
            check_strongly_connected(*read(pairs, n)[:3])
        except BadNetwork:
            continue
        return pairs
    raise BadNetwork(
        f"none of {DRAWS} random graphs drawn from seed {seed} is strongly connected; raise p from {p:g}"
    )
