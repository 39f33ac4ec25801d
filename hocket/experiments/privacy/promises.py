"""What topologies promise under function sharing, and the cheapest that promise as much."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.networks.network import Network
from hocket.privacy.topology.guarantees import Guarantees, guarantees
from hocket.privacy.topology.planner import plan_topology

AGENTS = 8
COLLUDERS = (1, 2, 3)


@dataclass(frozen=True)
class Promise:
    """One topology against one, two and three colluders."""

    topology: str
    found: tuple[Guarantees, ...]

    @property
    def links(self) -> int:
        return self.found[0].links


def topologies() -> dict[str, Network]:
    """Eight agents linked in different ways; each Harary graph is the cheapest for some number of colluders."""
    halves = [(i, j) for half in (range(4), range(4, 8)) for i in half for j in half if i < j]
    cheapest = {plan.network.name: plan.network for plan in (plan_topology(AGENTS, f) for f in COLLUDERS)}
    return {
        "path:8": Network.path(AGENTS),
        "star:8": Network.star(AGENTS),
        "two cliques and a link": Network([*halves, (3, 4)]),
        "two cliques and two links": Network([*halves, (3, 4), (0, 7)]),
        "grid:2x4": Network.grid(2, 4),
        "hypercube:3": Network.hypercube(3),
        "complete:8": Network.complete(AGENTS),
        **cheapest,
    }


def promises() -> list[Promise]:
    """P1 and P2 of every topology, from the fewest links to the most."""
    found = [
        Promise(name, tuple(guarantees(network, f) for f in COLLUDERS))
        for name, network in topologies().items()
    ]
    return sorted(found, key=lambda promise: promise.links)


def fewest_links() -> dict[int, int]:
    """By number of colluders: with how few links P1 and P2 can be had at all."""
    return {f: plan_topology(AGENTS, f).links for f in COLLUDERS}
