"""Who is left without a coalition, and which of them still hang together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.networks.topologies import Links
from hocket.runs.view import check_coalition


def check_colluders(colluders: int, n: int) -> int:
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
    mask = 0
    for agent in agents:
        mask |= 1 << agent
    return mask


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


def around(near: list[int], agents: int) -> int:
    """Everybody with a link to one of these agents."""
    reached = 0
    for agent in agents_in(agents):
        reached |= near[agent]
    return reached


def split(near: list[int], agents: int) -> list[int]:
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
