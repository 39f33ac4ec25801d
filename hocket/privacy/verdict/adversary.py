"""Against whom an audit is: so many members, or a coalition by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.privacy.topology.connectivity import check_colluders, check_hiding
from hocket.privacy.topology.guarantees import Exposure
from hocket.privacy.verdict.findings import Finding
from hocket.privacy.wording import braced, counted

FEWEST = 3
"""Agents: one to listen, and two so that one can hide behind the other."""


def adversary(
    network: Network, colluders: int | None, coalition: Iterable[int] | None
) -> tuple[int, tuple[int, ...] | None]:
    """How many collude and, if they were named, who."""
    if network.n < FEWEST:
        raise BadInput(
            f"{network.name} has {counted(network.n, 'agent')}: with one of them listening nobody is left for another "
            f"to hide behind; an audit takes {FEWEST} or more"
        )
    if coalition is None:
        return _number(network, colluders), None
    members = tuple(sorted(check_hiding(coalition, network.n)))
    if colluders is not None and colluders != len(members):
        raise BadInput(
            f"{counted(colluders, 'colluder')} and the coalition {braced(members)} disagree; pass one of them"
        )
    return len(members), members


def _number(network: Network, colluders: int | None) -> int:
    if colluders is None:
        raise BadInput("an audit is against somebody: pass colluders=, a number, or coalition=, their names")
    f = check_colluders(colluders, network.n)
    if f == network.n - 1:
        raise BadInput(
            f"{f} colluders among {network.n} agents leave one, with nothing to hide behind; plan for at most {f - 1}"
        )
    return f


def worst_of(findings: Sequence[Finding], cut: Exposure | None, f: int) -> tuple[int, ...]:
    """Against all coalitions of a size, a run is attacked by the worst: the smallest cut, or who estimates best."""
    if cut is not None and len(cut.coalition) == f:
        return cut.coalition
    return min(findings, key=lambda one: (one.threat != "coalition", one.least)).coalition
