"""The cheapest topology for a number of colluders, and the fewest links that mend an existing one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.errors import BadNetwork
from hocket.networks.network import Network
from hocket.networks.topologies import Links
from hocket.networks.weights import Weights
from hocket.privacy.graph.connectivity import check_colluders, honest_components, vertex_connectivity
from hocket.privacy.graph.link_search import Link, fewest_needed, search
from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import braced, counted, linked


@dataclass(frozen=True)
class TopologyPlan:
    """A topology that keeps P1 and P2 against f colluders with as few links as any."""

    colluders: int
    network: Network

    @property
    def links(self) -> int:
        """How many links it has: ⌈(f + 1) n / 2⌉, since everybody needs f + 1 neighbours."""
        return len(self.network.links)

    def __str__(self) -> str:
        return (
            f"{self.network.name}: {counted(self.links, 'link')} among {counted(self.network.n, 'agent')}, the fewest "
            f"with which P1 and P2 hold against {counted(self.colluders, 'colluder')}"
        )

    def to_json(self) -> dict[str, Any]:
        """The plan in numbers."""
        about = {"colluders": self.colluders, "agents": self.network.n, "topology": self.network.name}
        return about | plain_values(self.network, "links")


@dataclass(frozen=True)
class Repair:
    """Links that make P1 and P2 hold where they did not."""

    colluders: int
    added: tuple[Link, ...]
    needed: int
    """What any repair needs at least; equal to what was added where the repair is known to be smallest."""
    why: str
    """The reason for `needed`."""
    network: Network
    """The network with the links added."""

    @property
    def minimal(self) -> bool:
        """Whether fewer links are proved not to do."""
        return len(self.added) == self.needed

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, labels: Sequence[object] | None = None) -> str:
        """What to add, agents by their names where they have some."""
        against = f"P1 and P2 hold against {counted(self.colluders, 'colluder')}"
        if not self.added:
            return f"nothing to add: {against} already"
        fewest = "no fewer do" if self.minimal else f"at least {self.needed} are needed"
        links = linked(self.added, labels)
        return f"add {counted(len(self.added), 'link')} and {against}: {links}; {fewest}, since {self.why}"

    def to_json(self) -> dict[str, Any]:
        """The repair in numbers."""
        repair = plain_values(self, "colluders", "added", "needed", "why", "minimal")
        return repair | plain_values(self.network, "links")


def plan_topology(n: int, colluders: int, *, weights: Weights = "paper") -> TopologyPlan:
    """The topology with fewest links on which f colluders learn no single objective and no sum of some.
    For planning from scratch; `repair` mends what exists.

    >>> print(plan_topology(7, 2))
    harary:k=3,n=7: 11 links among 7 agents, the fewest with which P1 and P2 hold against 2 colluders
    """
    f = _enough_agents(colluders, n)
    return TopologyPlan(f, Network.harary(f + 1, n, weights=weights))


def repair(
    network: Network,
    colluders: int,
    *,
    forbidden: Iterable[Link] = (),
    weights: Weights = "paper",
    seed: int = 0,
) -> Repair:
    """As few links as can be found that make P2, and with it P1, hold against f colluders.
    For an existing topology; links that cannot be had are `forbidden`. It says whether fewer would do.

    >>> from hocket import Network
    >>> print(repair(Network.path(4), 1))
    add 1 link and P1 and P2 hold against 1 colluder: 0-3; no fewer do, since 2 agents have fewer than 2 neighbours
    """
    f = _enough_agents(colluders, network.both_ways("a repair").n)
    candidates = _candidates(network, forbidden)
    if vertex_connectivity(network.n, network.links, at_most=f + 1).value > f:
        return Repair(f, (), 0, "P2 holds already", network)
    _check_possible(network, candidates, f)
    least, why = fewest_needed(network, f)
    added, proved = search(network, candidates, f, least=least, seed=seed)
    if proved and len(added) > least:
        least, why = len(added), "all smaller sets of links were tried"
    return Repair(f, added, least, why, _with_links(network, added, weights))


def _enough_agents(colluders: int, n: int) -> int:
    f = check_colluders(colluders, n)
    if f > n - 2:
        raise BadNetwork(
            f"no topology of {n} agents hides anybody from {f} colluders: a single agent would be left; plan for at "
            f"most {n - 2}, or with at least {f + 2} agents"
        )
    return f


def check_forbidden(forbidden: Iterable[Link], n: int) -> tuple[Link, ...]:
    """Links that may not be added, each between two agents of the network."""
    links = tuple(forbidden)
    for i, j in links:
        if not (0 <= i < n and 0 <= j < n) or i == j:
            raise BadNetwork(
                f"the forbidden link {i}-{j} does not join two of the agents 0 to {n - 1}; mend it"
            )
    return links


def _candidates(network: Network, forbidden: Iterable[Link]) -> Links:
    """Every link that could still be added."""
    free = np.triu(np.ones((network.n, network.n), dtype=bool), 1)
    free[network.links[:, 0], network.links[:, 1]] = False
    for i, j in check_forbidden(forbidden, network.n):
        free[min(i, j), max(i, j)] = False
    return np.argwhere(free)


def _check_possible(network: Network, candidates: Links, f: int) -> None:
    """Refuse where even all the links that may be added do not help."""
    everything = np.concatenate([network.links, candidates])
    best = vertex_connectivity(network.n, everything, at_most=f + 1)
    if best.value > f:
        return
    assert best.cut is not None  # it is not complete, since then P2 would hold
    parts = honest_components(Network(everything, n=network.n), best.cut)
    raise BadNetwork(
        f"with these links forbidden, {braced(best.cut)} cut {' from '.join(map(braced, parts))} whatever is added; "
        f"allow a link between these, or plan for {counted(best.value - 1, 'colluder')}"
    )


def _with_links(network: Network, added: tuple[Link, ...], weights: Weights) -> Network:
    """The network with more links, under the same labels."""
    links = [*map(tuple, network.links.tolist()), *added]
    name = f"{network.name} + {counted(len(added), 'link')}"
    found = Network(links, weights=weights, n=network.n, name=name)
    return found if network.labels is None else found.called(network.labels)


def repair_or_reason(network: Network, f: int, forbidden: Iterable[Link]) -> tuple[Repair | None, str]:
    """The links to add, or why none do."""
    try:
        return repair(network, f, forbidden=forbidden), ""
    except BadNetwork as error:
        return None, str(error)
