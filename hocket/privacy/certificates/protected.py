"""What a certificate protects: the change between two worlds that insiders cannot tell apart."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.privacy.certificates.looks import Look
from hocket.privacy.wording import braced, counted


@dataclass(frozen=True)
class Cost:
    """The squared μ of a change, and who is affected most."""

    squared: float
    agents: tuple[int, ...] = ()
    reason: str = ""
    """Why it is infinite."""


class Protected(ABC):
    """A change of the honest agents' data."""

    constant: bool = True
    """Whether it is the same in every round, wherever gradients are taken."""
    agents: tuple[int, ...] = ()
    """Who takes part by name, and is honest."""

    @abstractmethod
    def cost(self, looks: Sequence[Look], coalition: Collection[int]) -> Cost:
        """The squared μ against one coalition."""

    @property
    @abstractmethod
    def words(self) -> str:
        """As the object of a sentence: whether …"""


@dataclass(frozen=True, eq=False)
class Shift(Protected):
    """The honest objectives shift by a row of coefficients each."""

    rows: Float[np.ndarray, "agents width"]
    agents: tuple[int, ...] = ()
    said: str = ""

    def cost(self, looks: Sequence[Look], coalition: Collection[int]) -> Cost:
        total = 0.0
        for look in looks:
            honest = look.honest(coalition)
            exposed = honest.changed_sum(self.rows)
            if exposed is not None:
                return Cost(np.inf, self.agents, changed_sum(exposed, coalition))
            total += honest.energy(self.rows)
        return Cost(total, self.agents)

    @property
    def words(self) -> str:
        return self.said

    @property
    def left_over(self) -> float:
        """The largest sum over all agents, without rounding; zero where nothing is left of it."""
        return max((abs(math.fsum(column)) for column in self.rows.T), default=0.0)


@dataclass(frozen=True)
class Transfer(Protected):
    """Coefficients of a norm move from one honest agent to another, whichever two they are."""

    size: float

    def cost(self, looks: Sequence[Look], coalition: Collection[int]) -> Cost:
        between = np.sum([look.honest(coalition).transfers() for look in looks], axis=0)
        worst = np.unravel_index((between >= between.max() * (1 - 1e-9)).argmax(), between.shape)
        squared, pair = self.size**2 * float(between[worst]), tuple(sorted(int(one) for one in worst))
        if squared < np.inf:
            return Cost(squared, pair)
        part = next(
            part
            for look in looks
            for part in _parts(look, coalition)
            if (pair[0] in part) != (pair[1] in part)
        )
        return Cost(np.inf, pair, changed_sum(part, coalition))

    @property
    def words(self) -> str:
        return f"coefficients of norm {self.size:g} moved from one honest agent to another"


@dataclass(frozen=True)
class Record(Protected):
    """Records are replaced, each of which changes an agent's row by no more than a norm."""

    size: float
    held: Mapping[int, int] | int = 1
    """How many records: at one agent, whichever it is, or by agent."""
    constant: bool = False

    @property
    def agents(self) -> tuple[int, ...]:  # type: ignore[override]
        return () if isinstance(self.held, int) else tuple(sorted(self.held))

    def cost(self, looks: Sequence[Look], coalition: Collection[int]) -> Cost:
        kappa = np.sum([look.honest(coalition).records() for look in looks], axis=0)
        # Of agents that are alike the first, and not the one with the luckiest rounding.
        alike = kappa >= kappa.max() * (1 - 1e-9)
        who = (int(alike.argmax()),) if isinstance(self.held, int) else self.agents
        squared = float(self.squared(kappa))
        if squared == np.inf:
            return Cost(
                np.inf,
                who,
                "the sum over each honest component is exposed exactly, and a record that is replaced changes it: "
                "without noise of each agent's own nothing hides that; give own=",
            )
        return Cost(squared, who)

    def squared(self, kappa: Float[np.ndarray, "... agents"]) -> Float[np.ndarray, "..."]:
        """The squared μ, from every agent's κ."""
        if not self.size:
            return np.zeros(kappa.shape[:-1])  # whatever is exposed, nothing changes
        if isinstance(self.held, int):
            return (self.size * self.held) ** 2 * kappa.max(axis=-1)
        roots = np.sqrt(np.maximum(kappa, 0.0))
        each = [count * roots[..., agent] for agent, count in self.held.items()]
        return (self.size * np.sum(each, axis=0)) ** 2

    @property
    def words(self) -> str:
        if isinstance(self.held, int):
            what = "one record" if self.held == 1 else f"{self.held} records of one agent"
        else:
            what = f"{counted(sum(self.held.values()), 'record')} of {counted(len(self.held), 'agent')}"
        it = "it" if self.held == 1 else "each"
        return f"{what} replaced, where {it} changes what its agent contributes by at most {self.size:g}"


def changed_sum(part: Collection[int], coalition: Collection[int]) -> str:
    """Why a shift is exposed."""
    whom = f"coalition {braced(coalition)}" if coalition else "whoever hears all words"
    return (
        f"the sum over {braced(part)} changes, and {whom} learns that sum exactly: pairwise noise cancels over "
        "honest agents that hang together"
    )


def as_shift(n: int, shift: Mapping[int, object], words: str = "") -> Shift:
    """Rows of coefficients by agent, all of one width."""
    if not shift:
        raise BadInput("shift is empty; map agents to the coefficients by which their objectives change")
    odd = [agent for agent in shift if not _whole(agent)]
    if odd:
        raise BadInput(f"agent {odd[0]!r} is no whole number; agents are numbered 0 to {n - 1}")
    rows = {int(agent): _row(row) for agent, row in shift.items()}
    for agent in rows:
        if not 0 <= agent < n:
            raise BadInput(f"agent {agent} is shifted but unknown: this network has agents 0 to {n - 1}")
    widths = {row.shape for row in rows.values()}
    if len(widths) > 1 or len(next(iter(widths))) != 1:
        raise BadInput(f"rows of a shift have shapes {sorted(widths)}; give each agent as many coefficients")
    table = np.zeros((n, next(iter(widths))[0]))
    for agent, row in rows.items():
        table[agent] = row
    if not np.isfinite(table).all():
        raise BadInput("a shift has coefficients that are not finite; give numbers")
    return Shift(table, tuple(sorted(rows)), words or f"the objectives of {braced(rows)} shifted as stated")


def as_move(n: int, move: tuple[int, int, object]) -> Shift:
    """c taken from one agent and given to another."""
    try:
        giver, taker, amount = move
    except (TypeError, ValueError):
        raise BadInput(
            f"move = {move!r}; give (from, to, coefficients), such as (1, 4, [0.6, -0.8])"
        ) from None
    for agent in (giver, taker):
        if not _whole(agent):
            raise BadInput(
                f"agent {str(agent)[:40]!r} of move is no whole number; agents are numbered 0 to {n - 1}"
            )
    if giver == taker:
        raise BadInput(f"move goes from agent {giver} to itself; name two agents")
    row = _row(amount)
    size = float(np.linalg.norm(row))
    return as_shift(
        n,
        {giver: -row, taker: row},
        f"coefficients of norm {size:g} moved from agent {giver} to agent {taker}",
    )


def _whole(agent: object) -> bool:
    if isinstance(agent, bool) or not isinstance(agent, int | float | np.integer | np.floating):
        return False
    return float(agent).is_integer()


def _row(coefficients: object) -> Float[np.ndarray, " width"]:
    try:
        return np.atleast_1d(np.asarray(coefficients, dtype=float))
    except (TypeError, ValueError):
        raise BadInput(f"{str(coefficients)[:40]!r} is no row of coefficients; give numbers") from None


def _parts(look: Look, coalition: Collection[int]) -> list[tuple[int, ...]]:
    honest = look.honest(coalition)
    return [tuple(honest.agents[part].tolist()) for part in honest.parts]
