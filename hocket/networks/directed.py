"""Links that go one way: how they are read and weighed, whether all hear of all, and the named ones.

A pair (i, j) means that i speaks to j. A link is kept once, lower number first, with the directions in which somebody
speaks on it.
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

Speaks = Bool[np.ndarray, "links 2"]
"""Whether the lower-numbered end of a link speaks to the higher, and the higher to the lower."""


def read(graph: Graph | Edges, n: int | None = None) -> tuple[int, Links, Speaks, Labels | None]:
    """Number of agents, links, who speaks on them, and labels of a networkx graph or of ordered pairs.
    An undirected graph speaks both ways on every link.
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
    speaks = np.zeros((len(links), 2), dtype=bool)
    speaks[at.reshape(-1), (pairs[:, 0] > pairs[:, 1]).astype(int)] = True
    return n, np.column_stack(np.divmod(links, n)), speaks, labels


def push(
    n: int, links: Links, speaks: Speaks
) -> tuple[Float[np.ndarray, " agents"], Float[np.ndarray, "links 2"]]:
    """Every agent shares its word out equally among itself and those it speaks to: 1/(1 + out-degree).
    Columns sum to one and rows need not, so that agents need to know nothing but how many listen to them.
    """
    share = 1 / (1 + np.bincount(links[speaks], minlength=n))
    return share, share[links] * speaks


def check_strongly_connected(n: int, links: Links, speaks: Speaks, labels: Labels | None = None) -> None:
    """Refuse links by which somebody's words never reach somebody else: they would never agree on the sum."""
    speaker, hearer = links[speaks], links[:, ::-1][speaks]
    ends = (np.ones(len(speaker), dtype=np.int8), (speaker, hearer))
    adjacency = scipy.sparse.coo_array(ends, shape=(n, n))
    found: tuple[int, np.ndarray] = scipy.sparse.csgraph.connected_components(
        adjacency, directed=True, connection="strong"
    )
    count, part = found
    if count == 1:
        return
    leaving = part[speaker] != part[hearer]
    heard = np.bincount(part[speaker[leaving]], minlength=count) > 0
    hears = np.bincount(part[hearer[leaving]], minlength=count) > 0
    mute, deaf = int(np.flatnonzero(~heard)[0]), int(np.flatnonzero(~hears)[0])
    shown = [topologies.abbreviate(np.flatnonzero(part == one), labels) for one in (mute, deaf)]
    raise BadNetwork(
        f"the directed graph is not strongly connected: no words leave {shown[0]}, and none reach {shown[1]} from "
        "others; add links out of the first and into the second"
    )


def cycle(n: int) -> Links:
    """A ring in which each agent speaks to the next only."""
    if n < 3:
        raise BadNetwork(f"a directed cycle needs at least 3 agents, got {n}; path(2) links two")
    agent = np.arange(n)
    return np.column_stack([agent, (agent + 1) % n])


def exponential(n: int) -> Links:
    """Each agent speaks to those 1, 2, 4, 8 … places further on."""
    if n < 2:
        raise BadNetwork(f"an exponential graph needs at least 2 agents, got {n}")
    agent, hops = np.arange(n), 2 ** np.arange((n - 1).bit_length())
    return np.concatenate([np.column_stack([agent, (agent + hop) % n]) for hop in hops])


def erdos_renyi(n: int, p: float, seed: int = 0) -> Links:
    """A strongly connected random graph in which each agent speaks to each other one with probability p."""
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
