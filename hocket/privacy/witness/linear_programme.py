"""What a coalition can conclude from its view and from what it knows beforehand: a linear programme.

Without the noise that the coalition holds, agent j shows h_j = g_j + (net flow into j), a flow of at most 2b per
honest link and coefficient. Every set of objectives g and flows that fits is possible; nothing else is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Float, Int
from scipy.sparse import csr_array, eye_array, kron

from hocket.errors import BadInput
from hocket.privacy.wording import named

GRID = 65
"""Points of X at which a polynomial of degree above 2 must bend upwards to count as convex."""


@dataclass(frozen=True)
class Knowledge:
    """What a coalition knows of the honest agents' objectives beforehand, those of the agents asked about included.
    The more it knows, the narrower the intervals: put in what you would not bet on being secret.
    """

    convex: bool = False
    """All objectives bend upwards in every coordinate, all over X."""
    degree: int | None = None
    """No objective has a higher degree than this."""
    signs: Mapping[int, int] = field(default_factory=dict)
    """By power, the sign that its coefficient has in every objective: 1 or −1; zero fits both."""
    objectives: Mapping[int, Any] = field(default_factory=dict)
    """Objectives known in full: ascending coefficients by agent."""

    def __post_init__(self) -> None:
        for power, sign in self.signs.items():
            if power < 1 or sign not in (1, -1):
                raise BadInput(
                    f"signs has {sign} for power {power}; give 1 or -1 for powers from 1 on: constants never show"
                )
        if self.degree is not None and self.degree < 1:
            raise BadInput(f"degree = {self.degree}; known objectives have at least degree 1")

    def __bool__(self) -> bool:
        return self.convex or self.degree is not None or bool(self.signs) or bool(self.objectives)

    def __str__(self) -> str:
        facts = ["all are convex on X"] if self.convex else []
        facts += [f"none has a degree above {self.degree}"] if self.degree is not None else []
        for power, sign in sorted(self.signs.items()):
            facts.append(f"coefficients of x^{power} are not {'negative' if sign > 0 else 'positive'}")
        facts += [f"{named(self.objectives)} hold the objectives given"] if self.objectives else []
        return " and ".join(facts)


@dataclass(frozen=True, eq=False)
class Flows:
    """One coordinate of the honest agents' polynomials, seen through flows of bounded size.

    Powers 1, 2, … are columns 0, 1, …: a constant has no gradient and never shows.
    """

    incidence: csr_array
    """(agents, links): what each agent gains per unit that a link carries."""
    seen: Float[np.ndarray, "agents powers"]
    """h_j."""
    degree: int
    """The noise has no higher power: above it, what is seen is the objective itself."""
    limit: float
    """2b, the most that a link can carry in one coefficient."""

    @property
    def agents(self) -> int:
        return self.seen.shape[0]

    @property
    def powers(self) -> int:
        return self.seen.shape[1]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Constraints on all coefficients of all agents, agent by agent: matrix · g at most, or equal to, right."""

    matrix: csr_array
    right: Float[np.ndarray, " rows"]


def ranges(
    flows: Flows,
    agents: Sequence[int],
    knowing: Knowledge,
    known: Mapping[int, Float[np.ndarray, " powers"]],
    interval: tuple[float, float],
) -> list[tuple[float, float]]:
    """For every power the least and the largest possible sum of the agents' coefficients.

    `agents` and the keys of `known` are places in `flows`; `interval` is X in this coordinate.
    """
    shown = flows.seen.ravel()
    # g = h − M r with r the flows, powers within links: a row of constraints C g ≤ c becomes −C M r ≤ c − C h.
    moves = csr_array(kron(flows.incidence, np.eye(flows.powers)[:, : flows.degree]))
    most, fixed = _signed(flows, knowing, interval), _fixed(flows, knowing, known)
    constraints = {
        "A_ub": -(most.matrix @ moves),
        "b_ub": most.right - most.matrix @ shown,
        "A_eq": -(fixed.matrix @ moves),
        "b_eq": fixed.right - fixed.matrix @ shown,
        "bounds": (-flows.limit, flows.limit),
    }
    found = []
    for power in range(flows.powers):
        weights = np.zeros_like(flows.seen)
        weights[list(agents), power] = 1.0
        base, cost = float(weights.ravel() @ shown), -(weights.ravel() @ moves)
        if not len(cost):  # no links, no flows: what is seen is the objective
            found.append((base, base))
            continue
        down, up = (scipy.optimize.linprog(sign * cost, **constraints, method="highs") for sign in (1, -1))
        if down.status or up.status:
            raise BadInput(
                f"no objectives fit what was seen and what is supposed ({knowing}): one of the suppositions is wrong, "
                "or the noise of this run was not within its bound"
            )
        found.append((base + float(down.fun), base - float(up.fun)))
    return found


def curvature_points(powers: int, interval: tuple[float, float]) -> Float[np.ndarray, " points"]:
    """Where a polynomial must bend upwards: anywhere for a quadratic, on a grid of X otherwise."""
    if powers <= 2:
        return np.zeros(1)
    if not np.isfinite(interval).all():
        raise BadInput(
            "convexity above degree 2 is checked on a grid of X, and X is unbounded; bound X, or know a degree of 2"
        )
    return np.linspace(*interval, GRID)


def _signed(flows: Flows, knowing: Knowledge, interval: tuple[float, float]) -> _Rows:
    """Signs and convexity, as rows that must not be positive."""
    m = np.arange(1, flows.powers + 1)
    one_agent = [-sign * (m == power) for power, sign in knowing.signs.items()]
    if knowing.convex:
        effective = min(flows.powers, knowing.degree or flows.powers)
        points = curvature_points(effective, interval)[:, None]
        # −g'' ≤ 0, the second derivative of x^m being m (m − 1) x^(m−2).
        one_agent += list(-(m * (m - 1) * points ** np.maximum(m - 2, 0)))
    rows = np.array(one_agent, dtype=np.float64).reshape(-1, flows.powers)
    rows /= np.maximum(abs(rows).max(axis=1, keepdims=True), 1)  # powers of a wide X would drown the rest
    return _Rows(csr_array(kron(eye_array(flows.agents), rows)), np.zeros(flows.agents * len(rows)))


def _fixed(flows: Flows, knowing: Knowledge, known: Mapping[int, np.ndarray]) -> _Rows:
    """Degrees and objectives known in full, as equations."""
    absent = range(knowing.degree or flows.powers, flows.powers)
    pairs = {(agent, power): 0.0 for agent in range(flows.agents) for power in absent}
    pairs |= {(agent, power): row[power] for agent, row in known.items() for power in range(flows.powers)}
    columns = np.array([agent * flows.powers + power for agent, power in pairs], dtype=np.int64)
    matrix = csr_array(eye_array(flows.seen.size))[columns]
    return _Rows(matrix, np.array(list(pairs.values()), dtype=np.float64))


def places(agents: Sequence[int], among: Sequence[int]) -> Int[np.ndarray, " agents"]:
    """Where agents stand in an ascending list."""
    return np.searchsorted(np.asarray(among), np.asarray(agents))
