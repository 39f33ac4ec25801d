"""A coalition's view of a run: all that its members can pool, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hocket.errors import BadInput
from hocket.network import Network

Link = tuple[int, int]


@dataclass(frozen=True, eq=False)
class View:
    """What a coalition saw. Directed links are (sender, receiver)."""

    coalition: frozenset[int]
    network: Network
    """The topology and its weights are public."""
    words: tuple[dict[Link, np.ndarray], ...]
    """By array said in a round, in order: what was said to or by a member, a row per round; NaN on a silent link."""
    noise: dict[str, dict[Link, np.ndarray]]
    """By kind: pairwise draws on links that touch a member."""
    states: dict[int, np.ndarray]
    """The members' own states x_1 … x_{K+1}."""
    objectives: Any = field(default=None, repr=False)
    """The members' own objectives: a function (member, x) -> gradient, or None if the run was loaded from disk."""

    @property
    def rounds(self) -> int:
        """How many rounds were seen."""
        return len(next(iter(self.states.values()))) - 1

    @property
    def honest(self) -> tuple[int, ...]:
        """Everybody else."""
        return tuple(j for j in range(self.network.n) if j not in self.coalition)


def look(
    coalition: set[int],
    network: Network,
    path: np.ndarray,
    words: tuple[np.ndarray, ...],
    noise: dict[str, np.ndarray],
    problem: Any,
) -> View:
    """Cut a coalition's view out of a transcript."""
    members = check_coalition(coalition, network.n)
    touching = [
        (link, direction, pair)
        for link, (low, high) in enumerate(network.links.tolist())
        if low in members or high in members
        for direction, pair in enumerate([(low, high), (high, low)])
    ]
    slot = _slots(network)

    def said(table: np.ndarray, link: int, sender: int, receiver: int) -> np.ndarray:
        words = table[:, sender] if table.ndim == 3 else table[:, sender, slot[sender, receiver]]
        spoken = network.active[np.arange(len(words)) % network.period, link]
        return words if spoken.all() else np.where(spoken[:, None], words, np.nan)

    def own_gradient(member: int, x: Any) -> Any:
        if member not in members:
            raise BadInput(
                f"agent {member} is not in the coalition {sorted(members)}: its objective was not seen"
            )
        return problem.gradient(member, x)

    return View(
        coalition=members,
        network=network,
        words=tuple({pair: said(table, link, *pair) for link, _, pair in touching} for table in words),
        noise={
            kind: {pair: table[:, link, direction] for link, direction, pair in touching}
            for kind, table in noise.items()
        },
        states={member: path[:, member] for member in sorted(members)},
        objectives=own_gradient if problem is not None else None,
    )


def check_coalition(coalition: Any, n: int) -> frozenset[int]:
    """A coalition is a non-empty set of known agents."""
    members = frozenset(int(member) for member in coalition)
    unknown = sorted(member for member in members if not 0 <= member < n)
    if unknown:
        raise BadInput(f"agent {unknown[0]} is unknown: this network has agents 0 to {n - 1}")
    if not members:
        raise BadInput("an empty coalition sees nothing; name at least one agent")
    return members


def _slots(network: Network) -> dict[Link, int]:
    """The slot in which a sender keeps a receiver: neighbours in ascending order."""
    return {(j, i): slot for j in range(network.n) for slot, i in enumerate(sorted(network.neighbours(j)))}
