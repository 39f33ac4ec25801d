"""Every coalition of one size: which of them single somebody out, and which is the worst."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hocket.networks.network import Network
from hocket.privacy.plain_values import plain_values
from hocket.privacy.topology.connectivity import (
    agents_in,
    check_colluders,
    everybody,
    mask_of,
    neighbour_lists,
    neighbour_masks,
    split,
    vertex_connectivity,
)
from hocket.privacy.topology.guarantees import Exposure
from hocket.privacy.wording import counted, named

WORK = 3_000_000
"""Agents visited by default before a search ends: a few seconds."""

Coalition = tuple[int, ...]


@dataclass(frozen=True)
class CoalitionSearch:
    """What coalitions of f agents can single out under function sharing, as far as they were searched."""

    colluders: int
    searched: int
    total: int
    proved: bool
    """Whether nothing had to be searched, since the vertex connectivity rules every cut out."""
    surrounding: int
    """How many of those searched surround somebody (P1 fails)."""
    cutting: int
    """How many of those searched cut the honest agents apart (P2 fails)."""
    surrounded_by: dict[int, Coalition]
    """For each agent that f others can surround, the neighbours who do: complete, however little was searched."""
    worst: Exposure | None
    """The coalition found that surrounds most, and among these cuts the others into most parts."""

    @property
    def complete(self) -> bool:
        """Whether the answer is about all coalitions."""
        return self.proved or self.searched == self.total

    def __str__(self) -> str:
        size = counted(self.colluders, "agent")
        if self.proved:
            return f"none of the {counted(self.total, 'coalition')} of {size} cuts the others apart: P2 holds"
        lines = [
            f"searched {self.searched:,} of {counted(self.total, 'coalition')} of {size}"
            + ("" if self.complete else "; what was not searched may be worse"),
            f"{self.surrounding:,} surround somebody, {self.cutting:,} cut the others apart",
        ]
        if self.surrounded_by:
            lines.append(f"can be surrounded: {named(self.surrounded_by)}")
        if self.worst is not None:
            lines.append(f"worst: {self.worst}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers."""
        search = plain_values(self, "colluders", "searched", "total", "complete", "proved")
        found = plain_values(self, "surrounding", "cutting", "worst")
        by = {str(agent): list(coalition) for agent, coalition in self.surrounded_by.items()}
        return search | found | {"surrounded_by": by}


def search_coalitions(
    network: Network, colluders: int, *, work: int = WORK, seed: int = 0
) -> CoalitionSearch:
    """Look at all coalitions of `colluders` agents, or at as many as `work` visits of an agent allow.
    For how common and how bad breaches are; whether there is one at all, `guarantees` says exactly.

    Where not all can be looked at, the neighbours of weak agents and a smallest cut come first, then coalitions
    drawn at random from `seed`.

    >>> from hocket import Network
    >>> print(search_coalitions(Network.cycle(6), 2))
    searched 15 of 15 coalitions of 2 agents
    6 surround somebody, 9 cut the others apart
    can be surrounded: agents 0, 1, 2, 3, 4 and 5
    worst: coalition {0, 2}: P2 fails and so does P1; exposed are the objectives of agent 1 and the sum over {3, 4, 5}
    """
    f = check_colluders(colluders, network.both_ways("a search of coalitions").n)
    n, near = network.n, neighbour_lists(network.n, network.links)
    total = math.comb(n, f)
    surrounded_by = {j: tuple(others.tolist()) for j, others in enumerate(near) if len(others) <= f}
    found = vertex_connectivity(n, network.links, at_most=f + 1)
    if found.value > f:
        return CoalitionSearch(f, 0, total, True, 0, 0, {}, None)
    suspects = [*surrounded_by.values(), *([found.cut] if found.cut else [])]
    affordable = max(work // n, 1)
    searched = surrounding = cutting = 0
    worst, badness = None, (0, 1)
    masks, all_agents = neighbour_masks(n, network.links), everybody(n)
    chosen = itertools.combinations(range(n), f) if total <= affordable else _drawn(n, f, suspects, seed)
    for coalition in itertools.islice(chosen, affordable):
        parts = split(masks, all_agents & ~mask_of(coalition))
        alone = sum(1 for part in parts if part & (part - 1) == 0)
        searched += 1
        surrounding += alone > 0
        cutting += len(parts) > 1
        if (alone, len(parts)) > badness:
            badness = alone, len(parts)
            worst = Exposure(coalition, tuple(agents_in(part) for part in parts))
    return CoalitionSearch(f, searched, total, False, surrounding, cutting, surrounded_by, worst)


def _drawn(n: int, f: int, suspects: list[Coalition], seed: int) -> Iterator[Coalition]:
    """Different coalitions of f agents, for ever: first those that hold a suspect group, then any."""
    rng = random.Random(seed)
    known: set[Coalition] = set()
    for group in itertools.chain(suspects, itertools.repeat(())):
        others = [agent for agent in range(n) if agent not in group] if group else range(n)
        coalition = tuple(sorted([*group, *rng.sample(others, f - len(group))]))
        if coalition not in known:
            known.add(coalition)
            yield coalition
