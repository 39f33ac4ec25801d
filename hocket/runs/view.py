"""A coalition's view of a run: all that its members can pool, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.steps import Step

Link = tuple[int, int]
Threat = Literal["coalition", "states", "states+noise"]
"""What is seen beside what the members hold: nothing, all messages (a wiretap), or all messages and all pairwise noise.

Real links are encrypted and real noise never travels, so the last two are what that buys.
"""


@dataclass(frozen=True, eq=False)
class View:
    """What a coalition saw. Directed links are (sender, receiver)."""

    coalition: frozenset[int]
    threat: Threat
    network: Network
    """The topology and its weights are public."""
    words: tuple[dict[Link, np.ndarray], ...]
    """By array said in a round, in order: what was said to or by a member, a row per round; NaN on a silent link.
    With a wiretap, what was said on every link."""
    noise: dict[str, dict[Link, np.ndarray]]
    """By kind: pairwise draws on links that touch a member; with a wiretap on noise, on every link."""
    states: dict[int, np.ndarray]
    """The members' own states x_1 … x_{K+1}."""
    rounds: int
    """How many rounds were seen."""
    step: Step | None = field(default=None, repr=False)
    """The step sizes and the algorithm are part of the public plan; None if the run was loaded from disk."""
    algorithm: Any = field(default=None, repr=False)
    objectives: Any = field(default=None, repr=False)
    """The members' own objectives: a function (member, x) -> gradient, or None if the run was loaded from disk."""

    @property
    def honest(self) -> tuple[int, ...]:
        """Everybody else."""
        return tuple(j for j in range(self.network.n) if j not in self.coalition)

    def first_rounds(self, rounds: int) -> View:
        """What had been seen after fewer rounds."""
        if not 1 <= rounds <= self.rounds:
            raise BadInput(f"rounds = {rounds}; {self.rounds} were seen: choose 1 to {self.rounds}")

        def until(tables: dict[Link, np.ndarray]) -> dict[Link, np.ndarray]:
            return {link: rows[:rounds] for link, rows in tables.items()}

        return replace(
            self,
            words=tuple(map(until, self.words)),
            # What was drawn once has one row.
            noise={kind: until(draws) for kind, draws in self.noise.items()},
            states={member: path[: rounds + 1] for member, path in self.states.items()},
            rounds=rounds,
        )


def look(
    coalition: Iterable[int],
    threat: Threat,
    network: Network,
    path: np.ndarray,
    words: tuple[np.ndarray, ...],
    noise: dict[str, np.ndarray],
    **plan: Any,
) -> View:
    """Cut a coalition's view out of a transcript; `plan` holds the run's `problem`, `step` and `algorithm`."""
    members = check_watchers(coalition, threat, network.n)
    everywhere = [
        (link, direction, pair)
        for link, (low, high) in enumerate(network.links.tolist())
        for direction, pair in enumerate([(low, high), (high, low)])
    ]
    touching = [row for row in everywhere if members & set(row[2])]
    overheard = touching if threat == "coalition" else everywhere
    known = everywhere if threat == "states+noise" else touching
    # The slot in which a sender keeps a receiver: neighbours in ascending order.
    slot = {(j, i): s for j in range(network.n) for s, i in enumerate(sorted(network.neighbours(j)))}

    def said(table: np.ndarray, link: int, sender: int, receiver: int) -> np.ndarray:
        words = table[:, sender] if table.ndim == 3 else table[:, sender, slot[sender, receiver]]
        outgoing = network.active[np.arange(len(words)) % network.period, link]
        return words if outgoing.all() else np.where(outgoing[:, None], words, np.nan)

    def own_gradient(member: int, x: Any) -> Any:
        if member not in members:
            raise BadInput(
                f"agent {member} is not in the coalition {sorted(members)}: its objective was not seen"
            )
        return plan["problem"].gradient(member, x)

    return View(
        coalition=members,
        threat=threat,
        network=network,
        words=tuple({pair: said(table, link, *pair) for link, _, pair in overheard} for table in words),
        noise={
            kind: {pair: table[:, link, direction] for link, direction, pair in known}
            for kind, table in noise.items()
        },
        states={member: path[:, member] for member in sorted(members)},
        rounds=len(path) - 1,
        step=plan["step"],
        algorithm=plan["algorithm"],
        objectives=own_gradient if plan["problem"] is not None else None,
    )


def check_watchers(coalition: Iterable[int], threat: str, n: int) -> frozenset[int]:
    """A coalition and what it sees beside its own; a wiretap needs no member."""
    if threat not in get_args(Threat):
        raise BadInput(f"unknown threat {threat!r}; choose one of {', '.join(get_args(Threat))}")
    members = frozenset(coalition)
    return check_coalition(members, n) if members or threat == "coalition" else members


def named_agents(coalition: Any) -> list[Any]:
    """The agents of a coalition, whatever holds them; one number is none."""
    if not isinstance(coalition, Iterable):
        raise BadInput(f"coalition = {coalition!r}; give the agents' numbers, such as coalition={{1}}")
    return [*coalition]


def check_coalition(coalition: Any, n: int) -> frozenset[int]:
    """A coalition is a non-empty set of known agents."""
    coalition = named_agents(coalition)
    odd: list[Any] = [
        one for one in coalition if not isinstance(one, int | float | np.integer) or one % 1 != 0
    ]
    if odd:
        raise BadInput(f"agent {odd[0]!r} is no whole number; agents are numbered 0 to {n - 1}")
    members = frozenset(int(member) for member in coalition)
    for member in sorted(members):
        check_honest(member, frozenset(), n)
    if not members:
        raise BadInput("an empty coalition sees nothing; name at least one agent")
    return members


def check_honest(agent: int, coalition: frozenset[int], n: int) -> int:
    """Who is asked about is an agent of the network, outside the coalition."""
    if not 0 <= agent < n:
        raise BadInput(f"agent {agent} is unknown: this network has agents 0 to {n - 1}")
    if agent in coalition:
        raise BadInput(f"agent {agent} is in the coalition, which knows its objective; name an honest agent")
    return int(agent)
