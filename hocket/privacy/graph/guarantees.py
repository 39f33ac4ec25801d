"""What a graph alone promises under function sharing: P1, P2, and what a coalition can single out.

P1: no single objective is exposed. P2: no sum over some of the honest agents is exposed, save over all that hang
together without the coalition, since nothing can hide that one [paper, Theorem 2]. The links of all phases count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import FunctionSharing
from hocket.claims import foreign, only_sums
from hocket.errors import NoTheorem
from hocket.networks.network import Network
from hocket.privacy.graph.connectivity import (
    check_colluders,
    check_hiding,
    honest_components,
    vertex_connectivity,
)
from hocket.privacy.plain_values import plain_values
from hocket.privacy.profile import uncovered
from hocket.privacy.stand_ins import TYPICAL
from hocket.privacy.wording import counted, grouped, listed, named

SCOPE = (
    "both are about function sharing, separable polynomials no higher in degree than its noise, and widths its bound "
    "buys"
)
WORK = 10_000_000
"""Flows times links up to which κ is found exactly, however large it is: a few seconds."""

COVERED = FunctionSharing.name
"""What Theorem 2 is about."""


@dataclass(frozen=True)
class Exposure:
    """What one coalition can single out under function sharing."""

    coalition: tuple[int, ...]
    components: tuple[tuple[int, ...], ...]
    """The honest agents that are connected without the coalition; the sum over each component is exposed."""

    @property
    def surrounded(self) -> tuple[int, ...]:
        """Agents all of whose neighbours collude: their objectives are exposed exactly."""
        return tuple(part[0] for part in self.components if len(part) == 1)

    @property
    def p1(self) -> bool:
        """Whether no single objective is exposed."""
        return not self.surrounded

    @property
    def p2(self) -> bool:
        """Whether nothing but the sum over all honest agents is exposed."""
        return len(self.components) == 1 and not self.surrounded

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, labels: Sequence[object] | None = None, *, part: str = "objective") -> str:
        """What the coalition singles out, agents by their names where they have some; `part` is what each has."""
        who = f"coalition {grouped(self.coalition, labels)}"
        if self.p2:
            return f"{who}: P1 and P2 hold; only the sum over all {len(self.components[0])} honest agents is exposed"
        groups = [grouped(part, labels) for part in self.components if len(part) > 1]
        exposed = [f"the {part}s of {listed(self.surrounded, labels)}"] if self.surrounded else []
        exposed += [f"the sum over {group}" for group in groups]
        return f"{who}: P2 fails{'' if self.p1 else ' and so does P1'}; exposed are {' and '.join(exposed)}"

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers."""
        return plain_values(self, "coalition", "p1", "p2", "surrounded", "components")


@dataclass(frozen=True)
class Guarantees:
    """What a graph promises against every coalition of up to f agents under function sharing."""

    agents: int
    links: int
    colluders: int
    min_degree: int
    vertex_connectivity: int
    connectivity_exact: bool
    """Whether the connectivity equals the number given, rather than being at least that."""
    exposed: tuple[int, ...]
    """Agents with at most f neighbours: these, if they collude, know the agent's objective exactly."""
    smallest_cut: Exposure | None
    """A smallest coalition that cuts the others apart; None where none was found or everybody is linked."""

    @property
    def p1(self) -> bool:
        """Whether no coalition of f learns a single objective: everybody has at least f + 1 neighbours."""
        return self.min_degree > self.colluders

    @property
    def p2(self) -> bool:
        """Whether no coalition of f cuts the others apart: the vertex connectivity is at least f + 1."""
        return self.vertex_connectivity > self.colluders

    def __str__(self) -> str:
        against = counted(self.colluders, "colluder")
        at_least = "" if self.connectivity_exact else "at least "
        lines = [
            f"P1 {'holds' if self.p1 else 'fails'} against {against}: the smallest degree is {self.min_degree}",
            f"P2 {'holds' if self.p2 else 'fails'} against {against}: "
            f"the vertex connectivity is {at_least}{self.vertex_connectivity}",
        ]
        if self.exposed:
            lines.append(f"exposed to their neighbours, should they collude: {named(self.exposed)}")
        if not self.p2 and self.smallest_cut is not None:
            lines.append(f"for example, {self.smallest_cut}")
        elif not self.p2:
            lines.append("so many colluders leave a single agent, with nothing left to hide behind")
        return "\n".join([*lines, SCOPE])

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers."""
        graph = ("agents", "links", "colluders", "min_degree", "vertex_connectivity", "connectivity_exact")
        return plain_values(self, *graph, "p1", "p2", "exposed", "smallest_cut")


def guarantees(network: Network, colluders: int, *, algorithm: str | Algorithm | None = None) -> Guarantees:
    """P1 and P2 against every coalition of up to `colluders` agents, with the reasons.
    The first question about a topology; for one named coalition ask `exposure`.

    >>> from hocket import Network
    >>> print(guarantees(Network.cycle(5), 1))
    P1 holds against 1 colluder: the smallest degree is 2
    P2 holds against 1 colluder: the vertex connectivity is 2
    both are about function sharing, separable polynomials no higher in degree than its noise, and widths its bound buys
    """
    refuse_without_theorem(algorithm)
    f = check_colluders(colluders, network.both_ways("a guarantee of privacy").n)
    degree = np.bincount(network.links.ravel(), minlength=network.n)
    least = int(degree.min())
    flows = network.n + least**2 / 2
    affordable = flows * min(len(network.links), network.n * least) <= WORK
    found = vertex_connectivity(network.n, network.links, at_most=None if affordable else f + 1)
    return Guarantees(
        agents=network.n,
        links=len(network.links),
        colluders=f,
        min_degree=least,
        vertex_connectivity=found.value,
        connectivity_exact=found.exact,
        exposed=tuple(np.flatnonzero(degree <= f).tolist()),
        smallest_cut=None if not found.cut else exposure(network, found.cut),
    )


def exposure(
    network: Network, coalition: Iterable[int], *, algorithm: str | Algorithm | None = None
) -> Exposure:
    """Who is surrounded by a coalition, and into which components it cuts the honest agents.
    For one coalition by name; against all of a size ask `guarantees`.

    >>> from hocket import Network
    >>> print(exposure(Network.cycle(5), {1, 4}))
    coalition {1, 4}: P2 fails and so does P1; exposed are the objectives of agent 0 and the sum over {2, 3}
    """
    refuse_without_theorem(algorithm)
    members = check_hiding(coalition, network.both_ways("a guarantee of privacy").n)
    return Exposure(tuple(sorted(members)), honest_components(network, members))


def refuse_without_theorem(algorithm: str | Algorithm | None) -> None:
    """P1 and P2 are proved for function sharing and for totals; without an algorithm function sharing is meant."""
    if algorithm is None or (isinstance(algorithm, str) and algorithm == COVERED):
        return
    kind = TYPICAL.get(algorithm) if isinstance(algorithm, str) else algorithm
    if only_sums(kind):
        return
    name = algorithm if isinstance(algorithm, str) else uncovered(algorithm)
    if not isinstance(algorithm, str) and (why := foreign(algorithm)):
        name = f"{type(algorithm).__name__}, for {why}"
    if not name:
        return
    raise NoTheorem(
        f"P1 and P2 are Theorem 2, which is about function sharing; no theorem covers {name}: "
        "ask hocket.leakage what a coalition can estimate instead"
    )
