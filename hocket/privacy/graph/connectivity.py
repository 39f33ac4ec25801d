"""Who still is connected without a coalition, and how many must leave before the others fall apart.

Vertex connectivity is found by flows: Even's scheme needs about one per agent, each in a graph thinned to the links
that can matter for small cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.networks.topologies import Links, components
from hocket.runs.view import check_coalition


def check_colluders(colluders: object, n: int) -> int:
    """A number of colluders is from 1 to n − 1."""
    if isinstance(colluders, bool) or not isinstance(colluders, int | np.integer) or colluders < 1:
        raise BadInput(f"colluders = {colluders!r}; plan for a whole number of them, 1 or more")
    if colluders >= n:
        raise BadInput(
            f"{colluders} colluders among {n} agents leave nobody honest; plan for at most {n - 2}"
        )
    return int(colluders)


def check_hiding(coalition: Iterable[int], n: int) -> frozenset[int]:
    """A coalition of known agents that leaves at least two others, so that one can hide behind the other."""
    members = check_coalition(coalition, n)
    if len(members) == n:
        raise BadInput(
            f"the coalition is all {n} agents, nobody is left to hide anything; leave two or more out"
        )
    if len(members) == n - 1:
        (alone,) = set(range(n)) - members
        raise BadInput(
            f"the coalition is everybody but agent {alone}, who has nothing left to hide behind: all its noise is "
            "shared with the coalition; leave two or more out"
        )
    return members


def honest_components(network: Network, coalition: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """The components of the graph without the coalition, from the lowest-numbered agent on.

    >>> from hocket import Network
    >>> honest_components(Network.cycle(7), {0, 3})
    ((1, 2), (4, 5, 6))
    """
    honest = everybody(network.n) & ~mask_of(coalition)
    return tuple(agents_in(part) for part in split(neighbour_masks(network.n, network.links), honest))


def leaving_links(network: Network, coalition: Iterable[int], agents: Iterable[int]) -> int:
    """How many links lead from these honest agents to other honest agents: what their noise can hide behind."""
    honest = ~np.isin(network.links, list(coalition)).any(axis=1)
    ends_inside = np.isin(network.links, list(agents)).sum(axis=1)
    return int(np.count_nonzero(honest & (ends_inside == 1)))


def mask_of(agents: Iterable[int]) -> int:
    """Agents as the bits of one number: sets as fast as Python has them."""
    return reduce(or_, (1 << agent for agent in agents), 0)


def everybody(n: int) -> int:
    """All agents as the bits of one number."""
    return (1 << n) - 1


def neighbour_masks(n: int, links: Links) -> list[int]:
    """Everybody's neighbours as the bits of one number each."""
    near = [0] * n
    for i, j in links.tolist():
        near[i] |= 1 << j
        near[j] |= 1 << i
    return near


def around(near: Sequence[int], agents: int) -> int:
    """Everybody with a link to one of these agents."""
    return reduce(or_, (near[agent] for agent in agents_in(agents)), 0)


def split(near: Sequence[int], agents: int) -> list[int]:
    """The components of the graph on these agents, from the lowest-numbered on."""
    parts = []
    while agents:
        part = frontier = agents & -agents
        while frontier:
            frontier = around(near, frontier) & agents & ~part
            part |= frontier
        parts.append(part)
        agents &= ~part
    return parts


def agents_in(mask: int) -> tuple[int, ...]:
    """The agents whose bits are set."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)


@dataclass(frozen=True)
class Connectivity:
    """How well a graph is connected."""

    value: int
    """κ, the fewest agents that must leave to cut the others apart; n − 1 where everybody is linked."""
    exact: bool
    """Whether κ equals `value`, rather than being at least that: nobody looked for larger cuts."""
    cut: tuple[int, ...] | None
    """`value` agents without whom the others fall apart; None where none were found or everybody is linked."""


def vertex_connectivity(n: int, links: Links, *, at_most: int | None = None) -> Connectivity:
    """κ of a graph with a smallest cut, or that κ is at least `at_most`.
    Choose `at_most` = f + 1 to learn no more than whether f colluders can cut the others apart: it is faster.

    >>> from hocket.networks.topologies import cycle
    >>> vertex_connectivity(5, cycle(5))
    Connectivity(value=2, exact=True, cut=(1, 4))
    """
    if len(components(n, links)) > 1:
        return Connectivity(0, True, ())
    near = neighbour_lists(n, links)
    degree = np.array([len(others) for others in near])
    weakest = int(degree.argmin())
    limit = n - 1 if at_most is None else at_most
    if degree[weakest] == n - 1:
        return Connectivity(min(n - 1, limit), limit >= n - 1, None)
    # Without its neighbours the weakest agent stands alone: the first cut to beat.
    cut = near[weakest] if degree[weakest] <= limit else None
    smallest = min(int(degree[weakest]), limit)
    order, kept = _thinned(near, smallest)
    for agents in _smaller_cuts(near, order, kept, smallest):
        cut, smallest = agents, len(agents)
    return Connectivity(smallest, cut is not None, None if cut is None else tuple(sorted(cut.tolist())))


def neighbour_lists(n: int, links: Links) -> list[Int[np.ndarray, " neighbours"]]:
    """Everybody's neighbours, in ascending order."""
    ends = np.concatenate([links, links[:, ::-1]])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    return np.split(ends[:, 1], np.searchsorted(ends[:, 0], np.arange(1, n)))


def _thinned(near: list[np.ndarray], k: int) -> tuple[Int[np.ndarray, " agents"], Links]:
    """An order of the agents, and at most k(n − 1) links that fall apart without fewer than k agents just as all do.

    The next agent is always one with most links to those before it, and of an agent's links to them the first k
    are kept [Nagamochi and Ibaraki 1992].
    """
    n = len(near)
    met = np.zeros(n, dtype=np.int64)
    order, kept = np.empty(n, dtype=np.int64), []
    for place in range(n):
        agent = order[place] = met.argmax()
        later = near[agent][met[near[agent]] >= 0]
        wanted = later[met[later] < k]
        kept.append(np.column_stack([np.full_like(wanted, agent), wanted]))
        met[later] += 1
        met[agent] = -n
    return order, np.concatenate(kept)


def _smaller_cuts(
    near: list[np.ndarray], order: np.ndarray, kept: Links, smallest: int
) -> Iterator[Int[np.ndarray, " cut"]]:
    """Cuts of fewer than `smallest` agents, each smaller than the one before; the last is a smallest of all.

    If a cut leaves two of the first agents apart, a flow between these two finds it. Otherwise look at the first
    agent j that it separates from those before: a flow from all of them together to j finds it [Even 1975].
    """
    n = len(near)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    graph = _SplitGraph(n, place[kept], wide=smallest)
    for j, agent in enumerate(order):
        linked = place[near[agent]]
        if j < smallest:
            sources = [n + i for i in range(j) if i not in linked]
        elif np.count_nonzero(linked < j) < smallest:
            sources = [graph.everyone_before(j)]
        else:  # so many links to those before are as many ways around any smaller cut
            sources = []
        for source in sources:
            cut = graph.cut(source, j, smallest)
            if cut is not None:
                smallest = len(cut)
                yield order[cut]


class _SplitGraph:
    """Each agent j as an arc of capacity 1 from its entrance j to its exit n + j; links join exits to entrances."""

    def __init__(self, n: int, links: Links, *, wide: int):
        self.n, self.wide = n, wide
        agent, (low, high) = np.arange(n), links.T
        tail = np.concatenate([agent, n + low, n + high, np.full(n, 2 * n)])
        head = np.concatenate([n + agent, high, low, agent])
        room = np.concatenate([np.ones(n), np.full(2 * len(links), wide), np.zeros(n)])
        sort = np.lexsort((head, tail))
        starts = np.searchsorted(tail[sort], np.arange(2 * n + 2))
        self.arcs = csr_array(
            (room[sort].astype(np.int32), head[sort].astype(np.int32), starts.astype(np.int32)),
            shape=(2 * n + 1, 2 * n + 1),
        )

    def everyone_before(self, j: int) -> int:
        """A source that leads to the entrances of agents 0 to j − 1."""
        source = 2 * self.n
        first = self.arcs.indptr[source]
        self.arcs.data[first : first + j] = self.wide
        return source

    def cut(self, source: int, sink: int, smallest: int) -> Int[np.ndarray, " cut"] | None:
        """The agents whose arcs stop the flow, if there are fewer than `smallest`."""
        found = maximum_flow(self.arcs, source, sink)
        if found.flow_value >= smallest:
            return None
        room_left = self.arcs - found.flow
        room_left.eliminate_zeros()
        reached = np.zeros(2 * self.n + 1, dtype=bool)
        reached[breadth_first_order(room_left, source, return_predecessors=False)] = True
        return np.flatnonzero(reached[: self.n] & ~reached[self.n : 2 * self.n])
