"""The search for few links with which a graph stays connected whichever f agents leave."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from operator import itemgetter

import numpy as np

from hocket.networks.network import Network
from hocket.networks.topologies import Links
from hocket.privacy.graph.connectivity import (
    Connectivity,
    agents_in,
    around,
    everybody,
    mask_of,
    neighbour_masks,
    split,
    vertex_connectivity,
)
from hocket.privacy.wording import counted

REARRANGED = 500
"""Agents rearranged by all greedy attempts together: ten agents get fifty attempts, a thousand get one."""
SETS = 5000
"""Sets of links that a proof by exhaustion may look at."""
WORK = 1_000_000
"""Agents visited for a lower bound."""

Link = tuple[int, int]


def fewest_needed(network: Network, f: int) -> tuple[int, str]:
    """How many links are needed at least so that P2 holds, and the reason.

    A group of agents with fewer than f + 1 neighbours, and others beyond these, needs a link for each neighbour it
    lacks, and a link serves two disjoint groups at most. And agents that one cut leaves in b parts need b − 1 links.
    """
    degree = np.bincount(network.links.ravel(), minlength=network.n)
    lacking = np.maximum(f + 1 - degree, 0)
    weak = int(np.count_nonzero(lacking))
    reasons = [(math.ceil(lacking.sum() / 2), f"{counted(weak, 'agent')} have fewer than {f + 1} neighbours")]
    most_parts, groups = _weak_groups(network, f)
    reasons.append((most_parts - 1, f"{counted(f, 'agent')} can cut the others into {most_parts} parts"))
    sized = [(group.bit_count(), -lacks, group) for group, lacks in groups.items()]
    for order in (itemgetter(0, 1), itemgetter(1, 0)):  # the smallest first, or those that lack most
        disjoint = _disjoint([(group, -lacks) for _, lacks, group in sorted(sized, key=order)])
        why = f"{counted(len(disjoint), 'separate group')} of agents have fewer than {f + 1} neighbours"
        reasons.append((math.ceil(sum(disjoint.values()) / 2), why))
    return max(reasons, key=lambda reason: reason[0])


def search(
    network: Network, candidates: Links, f: int, *, least: int, seed: int
) -> tuple[tuple[Link, ...], bool]:
    """The fewest links found that make P2 hold, and whether fewer are proved not to do."""
    rng = random.Random(seed)
    best = None
    for _ in range(max(REARRANGED // network.n, 1)):
        added = _greedy(network, candidates, f, rng)
        added = added if len(added) == least else _pruned(network, added, f, rng)
        best = added if best is None or len(added) < len(best) else best
        if len(best) == least:
            return tuple(sorted(best)), True
    assert best is not None
    smaller = range(least, len(best))
    if sum(math.comb(len(candidates), size) for size in smaller) > SETS:
        return tuple(sorted(best)), False
    for size in smaller:
        for links in itertools.combinations(map(tuple, candidates.tolist()), size):
            if _holds(network, links, f):
                return links, True
    return tuple(sorted(best)), True


def _disjoint(groups: list[tuple[int, int]]) -> dict[int, int]:
    """Every group that has nobody in common with those taken before."""
    taken, chosen = 0, {}
    for group, lacks in groups:
        if not group & taken:
            taken |= group
            chosen[group] = lacks
    return chosen


def _weak_groups(network: Network, f: int) -> tuple[int, dict[int, int]]:
    """The most parts into which f agents can cut the others, and groups with the number of neighbours they lack."""
    near, most = neighbour_masks(network.n, network.links), 1
    groups: dict[int, int] = {}
    for coalition in _cuts(network, f):
        parts = split(near, everybody(network.n) & ~mask_of(coalition))
        most = max(most, len(parts))
        for part in parts if len(parts) > 1 else []:
            # A group that nearly everybody belongs to cannot have more neighbours than there are others.
            enough = min(f + 1, network.n - part.bit_count())
            groups[part] = enough - (around(near, part) & ~part).bit_count()
    return most, groups


def _cuts(network: Network, f: int) -> Iterable[tuple[int, ...]]:
    """All coalitions of f agents where these are few, else a smallest cut."""
    if math.comb(network.n, f) * network.n <= WORK:
        return itertools.combinations(range(network.n), f)
    cut = _connectivity(network, (), f).cut
    return [] if cut is None else [cut]


def _greedy(network: Network, candidates: Links, f: int, rng: random.Random) -> list[Link]:
    """Give everybody f + 1 neighbours, then join the parts of every cut that is left."""
    near, free = neighbour_masks(network.n, network.links), neighbour_masks(network.n, candidates)
    added: list[Link] = []

    def add(i: int, j: int) -> None:
        for one, other in ((i, j), (j, i)):
            near[one] |= 1 << other
            free[one] &= ~(1 << other)
        added.append((min(i, j), max(i, j)))

    while weak := [agent for agent in range(network.n) if near[agent].bit_count() <= f]:
        weakest = min(weak, key=lambda agent: (near[agent].bit_count(), rng.random()))
        # To one who lacks links too, and as far away as possible: links across mend cuts as well.
        wanted = free[weakest] & mask_of(weak) or free[weakest]
        add(weakest, rng.choice(agents_in(_farthest(near, weakest, wanted))))
    while (cut := _connectivity(network, added, f)).value <= f:
        add(*_across(near, free, cut.cut or (), rng))
    return added


def _farthest(near: list[int], agent: int, wanted: int) -> int:
    """Those of the wanted who are the most links away."""
    reached = layer = 1 << agent
    last = wanted
    while layer:
        layer = around(near, layer) & ~reached
        reached |= layer
        last = layer & wanted or last
    return last


def _across(near: list[int], free: list[int], cut: tuple[int, ...], rng: random.Random) -> Link:
    """A free link from the smallest part that a cut leaves to another part, between agents with few links."""
    left = everybody(len(near)) & ~mask_of(cut)
    smallest = min(split(near, left), key=int.bit_count)
    pairs = [(i, j) for i in agents_in(smallest) for j in agents_in(free[i] & left & ~smallest)]
    return min(pairs, key=lambda pair: (sum(near[end].bit_count() for end in pair), rng.random()))


def _pruned(network: Network, added: list[Link], f: int, rng: random.Random) -> list[Link]:
    """The links without those that the others make superfluous."""
    for link in rng.sample(added, len(added)):
        fewer = [other for other in added if other != link]
        if _holds(network, fewer, f):
            added = fewer
    return added


def _holds(network: Network, added: Sequence[Link], f: int) -> bool:
    """Whether P2 holds with these links; a look at the degrees spares most flows."""
    ends = np.concatenate([network.links.ravel(), np.array(added, dtype=np.int64).ravel()])
    return bool(np.bincount(ends).min() > f) and _connectivity(network, added, f).value > f


def _connectivity(network: Network, added: Sequence[Link], f: int) -> Connectivity:
    links = np.concatenate([network.links, np.array(added, dtype=np.int64).reshape(-1, 2)])
    return vertex_connectivity(network.n, links, at_most=f + 1)
