"""What a certificate protects: the change between two neighbouring inputs that insiders cannot tell apart."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms.function_sharing import functions_of
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.noise.mechanism import Mechanism
from hocket.privacy.dp.looks import Look
from hocket.privacy.dp.reasons import Refusal
from hocket.privacy.questions import Neighbouring, known_agents, whole
from hocket.privacy.wording import Said, braced, counted

LEAST, MOST = 1e-70, 1e70
"""The smallest and the largest number beside zero that a certificate can be worked out from: their squares are doubles
too. Beyond them sums of squares become zero or infinite by themselves, and nothing hidden would look like everything
hidden."""


@dataclass(frozen=True)
class Cost:
    """The squared μ of a change, and who is affected most."""

    squared: float
    agents: tuple[int, ...] = ()
    reasons: tuple[Said, ...] = ()
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
                return Cost(np.inf, self.agents, (changed_sum(exposed, coalition),))
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
        sides = [look.honest(coalition) for look in looks]
        between = np.sum([honest.transfers() for honest in sides], axis=0)
        worst = np.unravel_index((between >= between.max() * (1 - 1e-9)).argmax(), between.shape)
        squared, pair = self.size**2 * float(between[worst]), tuple(sorted(int(one) for one in worst))
        if squared < np.inf:
            return Cost(squared, pair)
        parts = (tuple(honest.agents[part].tolist()) for honest in sides for part in honest.parts)
        part = next(part for part in parts if (pair[0] in part) != (pair[1] in part))
        return Cost(np.inf, pair, (changed_sum(part, coalition),))

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

    @property
    def least(self) -> float:
        """How much an agent's records change together, where that is least."""
        return self.size * (self.held if isinstance(self.held, int) else min(self.held.values()))

    def cost(self, looks: Sequence[Look], coalition: Collection[int]) -> Cost:
        kappa = np.sum([look.honest(coalition).records() for look in looks], axis=0)
        # Of agents that are alike the first, and not the one with the luckiest rounding.
        alike = kappa >= kappa.max() * (1 - 1e-9)
        who = (int(alike.argmax()),) if isinstance(self.held, int) else self.agents
        squared = float(self.squared(kappa))
        return Cost(squared, who, (Said(Refusal.RECORD_SHOWS),) if squared == np.inf else ())

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


def changed_sum(part: Collection[int], coalition: Collection[int]) -> Said:
    """Why a shift is exposed."""
    whom = f"coalition {braced(coalition)}" if coalition else "an eavesdropper on all links"
    return Said(Refusal.SUM_CHANGES, part=part, whom=whom)


def protected_of(
    network: Network,
    algorithm: str | Algorithm,
    mechanism: Mechanism | str,
    asked: Neighbouring,
    dim: int | None,
) -> Protected:
    """The change that was named, checked; a record of an algorithm that clips is known without it."""
    named, sensitivity = asked.named, asked.sensitivity
    if not named and isinstance(mechanism, Mechanism) and mechanism.sensitivity is not None:
        named, sensitivity = ["sensitivity"], mechanism.sensitivity
    if len(named) != 1:
        besides = "" if isinstance(mechanism, Mechanism) else f". Besides, {mechanism}"
        raise BadInput(
            f"a certificate hides one kind of change, and {' and '.join(named) or 'none'} was named; give one of "
            f"move=(i, j, c), shift={{agent: c}}, transfer=norm and sensitivity=S{besides}"
        )
    if asked.move is not None:
        found: Protected = _in_units(_moved(network.n, asked.move), algorithm, dim)
    elif asked.shift is not None:
        found = _in_units(as_shift(network.n, asked.shift), algorithm, dim)
    elif asked.transfer is not None:
        found = Transfer(_norm("transfer", asked.transfer))
    else:
        found = Record(_norm("sensitivity", sensitivity), _held(asked.records, network.n))
    _check_range(mechanism, found)
    return found


def _in_units(shift: Shift, algorithm: str | Algorithm, dim: int | None) -> Shift:
    """A shift in units of noise, where some coefficients have less of it than others: of those that are not known by
    their place, all count as if they had the least."""
    functions = functions_of(algorithm) if isinstance(algorithm, Algorithm) else None
    relative = None if functions is None else functions.family.relative_variance(dim or 1)
    if relative is None:
        return shift
    known = shift.rows.shape[1] == len(relative)
    return replace(shift, rows=shift.rows / np.sqrt(relative if known else relative.min()))


def as_shift(n: int, shift: Mapping[int, object], words: str = "") -> Shift:
    """Rows of coefficients by agent, all of one width."""
    if not shift:
        raise BadInput("shift is empty; map agents to the coefficients by which their objectives change")
    odd = [agent for agent in shift if not _is_whole(agent)]
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


def _moved(n: int, move: tuple[int, int, object]) -> Shift:
    """c taken from one agent and given to another."""
    giver, taker, amount = move
    for agent in (giver, taker):
        if not _is_whole(agent):
            raise BadInput(
                f"agent {str(agent)[:40]!r} of move is no whole number; agents are numbered 0 to {n - 1}"
            )
    if giver == taker:
        raise BadInput(f"move goes from agent {giver} to itself; name two agents")
    row = _row(amount)
    words = f"coefficients of norm {np.linalg.norm(row):g} moved from agent {giver} to agent {taker}"
    return as_shift(n, {giver: -row, taker: row}, words)


def _is_whole(agent: object) -> bool:
    if isinstance(agent, bool) or not isinstance(agent, int | float | np.integer | np.floating):
        return False
    return float(agent).is_integer()


def _row(coefficients: object) -> Float[np.ndarray, " width"]:
    try:
        return np.atleast_1d(np.asarray(coefficients, dtype=float))
    except (TypeError, ValueError):
        raise BadInput(f"{str(coefficients)[:40]!r} is no row of coefficients; give numbers") from None


def _held(records: int | Mapping[int, int], n: int) -> int | dict[int, int]:
    if not isinstance(records, Mapping):
        return whole("records", records)
    if not records:
        raise BadInput(
            "records is empty; map agents to how many of their records are replaced, or give a number"
        )
    known_agents(records, n)
    return {int(agent): whole(f"records of agent {agent}", count) for agent, count in records.items()}


def _norm(name: str, value: Any) -> float:
    number = np.shape(value) == () and np.asarray(value).dtype.kind in "fiu"
    if not (number and np.isfinite(value) and value >= 0):
        raise BadInput(f"{name} = {value!r} is a norm; give a number that is zero or more")
    return float(value)


def _check_range(mechanism: Mechanism | str, protected: Protected) -> None:
    """Refuse noise, or a change, that would be lost in the range of doubles."""
    if isinstance(mechanism, Mechanism):
        kept = 0.0 if mechanism.persistent_sd is None else mechanism.persistent_sd
        check_range("noise between neighbours", mechanism.link_sd)
        check_range("independent noise", mechanism.own_sd)
        check_range("persistent noise", kept)
    match protected:
        case Shift(rows=rows):
            check_range("what moves", rows)
        case Transfer(size=size):
            check_range("what moves", size)
        case Record(size=size, held=held):
            several = held if isinstance(held, int) else sum(held.values())
            check_range("what a record changes", [size, size * several])
        case _:
            pass


def check_range(name: str, values: Any) -> None:
    """Refuse a number that is neither zero nor of a size that can be squared."""
    sizes = np.abs(np.asarray(values, dtype=float)).ravel()
    odd = sizes[(sizes != 0) & ~((sizes >= LEAST) & (sizes <= MOST))]
    if len(odd):
        raise BadInput(
            f"{name} is {odd[0]:.3g}, and squares of numbers below {LEAST:g} or above {MOST:g} are lost in doubles; "
            "count in other units"
        )
