"""How much noise each link should carry: the least altogether with which a wanted certificate holds.

What a coalition can tell, of a record at j or of a move between i and j, is the energy eᵀ (L(g) + τ²I)⁺ e, where L(g)
is the Laplacian of the honest agents with a conductance g = 2σ² per link: a convex function of g. So the least Σ g that
keeps the worst of them within a limit is a convex programme, and each slope met on the way is a cut from which a linear
programme tells how far from the best one may still be.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.privacy.wording import counted

MOST = 4_000
"""Coalitions that are looked at, one by one, in every step."""
STEPS = 12
NEAR = 0.02
"""Energies within this part of the worst are taken up as limits: they would become the worst ones next."""
TAKEN = 150
"""Limits that are taken up at once, at most."""
AVERAGED = 20_000
"""Limits of which a mean is taken, at most."""
WORTH = 1.05
"""How many times the variance equal noise must take for σ by link to be worth its many numbers."""
MOST_LINKS = 64
"""Links up to which σ is chosen for each without being asked to."""
ENOUGH = 1e-3
"""Once conductances are proved to be within this part of the best, no better ones are looked for."""


NEARLY = 1e-6
"""Part of a limit below which no noise on links is sure to bring the worst energy."""

Limit = tuple[int, int, int]
"""A coalition by its number, and the two agents between whom it looks; for records, one agent twice."""


@dataclass(frozen=True, eq=False)
class EdgeNoise:
    """Conductances 2σ² by link, in the order of `net.links`, for a limit on the worst energy."""

    conductance: Float[np.ndarray, " links"]
    equal: float
    """What every link would have if all had the same."""
    least: float
    """No conductances that keep the limit sum to less, by duality."""

    @property
    def sigma(self) -> Float[np.ndarray, " links"]:
        """The deviation of one directed draw, by link."""
        return np.sqrt(self.conductance / 2)

    @property
    def total(self) -> float:
        """All variance that links move, together."""
        return float(self.conductance.sum())

    def scaled(self, factor: float) -> EdgeNoise:
        """All of it so many times as large."""
        return EdgeNoise(self.conductance * factor, self.equal * factor, self.least * factor)

    @property
    def gain(self) -> float:
        """How many times as much variance equal noise on all links takes."""
        return self.equal * len(self.conductance) / self.total


def optimise_links(
    network: Network,
    colluders: int,
    *,
    limit: float,
    protect: Literal["transfer", "record"] = "transfer",
    own: float = 0.0,
) -> EdgeNoise:
    """The least noise on links, altogether, with which no coalition of so many has an energy above the limit.

    The energy is the squared μ of a unit: moved between any two honest agents, or changed at one of them, which takes
    `own` noise, τ. On graphs whose links are all alike equal noise is the best; elsewhere bridges get more.

    >>> best = optimise_links(Network.complete(4), 1, limit=1.0)
    >>> bool(abs(best.gain - 1) < 1e-4)
    True
    """
    every = _Energies(network.both_ways("noise on links"), colluders, protect, own)
    equal = _equal(every, limit)
    g = best = np.full(len(network.links), equal)
    cuts, limits, least = _Cuts(), set[Limit](), 0.0
    for _ in range(STEPS):
        worst = every.nearly_worst(g)
        near = worst[:TAKEN]
        limits.update(near)
        cuts.add(g, *every.with_slopes(near, g))
        if TAKEN < len(worst) <= AVERAGED:
            # What holds for each holds for their mean: on graphs whose links are alike that alone shows the best.
            cuts.add(g, *(one.mean(axis=0, keepdims=True) for one in every.with_slopes(worst, g)))
        least = max(least, cuts.least(limit))
        if best.sum() <= least * (1 + ENOUGH):
            break
        g = _solve(every, sorted(limits), limit, g)
        raised = g * _raised(every, g, limit)
        best = raised if raised.sum() < best.sum() else best
    return EdgeNoise(best, equal, min(least, float(best.sum())))


def takes_seconds(network: Network, colluders: int) -> bool:
    """Whether noise by link is found in seconds."""
    return len(network.links) <= MOST_LINKS and math.comb(network.n, colluders) <= MOST


class _Energies:
    """All coalitions of a size, and what each can tell."""

    def __init__(self, network: Network, colluders: int, protect: str, own: float):
        if protect not in ("transfer", "record"):
            raise BadInput(f"protect = {protect!r}; links are chosen for 'transfer' or for 'record'")
        if protect == "record" and not own > 0:
            raise BadInput(
                "a record changes the sum, which links alone never hide; give independent=, above zero"
            )
        count = math.comb(network.n, colluders)
        if count > MOST:
            raise BadInput(
                f"{count:,} coalitions of {counted(colluders, 'agent')} are too many to look at one by one, and "
                f"{MOST:,} are the most; take equal noise on all links"
            )
        self.n, self.links, self.record, self.own = network.n, network.links, protect == "record", own
        coalitions = np.array(list(itertools.combinations(range(self.n), colluders)), dtype=int)
        self.honest = np.ones((count, self.n), dtype=bool)
        np.put_along_axis(self.honest, coalitions, False, axis=1)
        self.kept = np.logical_and(*self.honest.T[self.links.T]).T
        """By coalition, the links among the honest."""

    def inverses(self, g: np.ndarray, some: np.ndarray | None = None) -> np.ndarray:
        """Σ⁺ by coalition; zero in rows of members."""
        chosen = np.arange(len(self.honest)) if some is None else some
        (i, j), moved = self.links.T, self.kept[chosen] * g
        matrix = np.zeros((len(chosen), self.n, self.n))
        every: Any = slice(None)
        for row, column, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            np.add.at(matrix, (every, row, column), sign * moved)
        honest = self.honest[chosen]
        both = honest[:, :, None] & honest[:, None]
        # Without own noise the sum is in no difference of two rows, so that it may be given any variance.
        size = np.maximum(matrix.trace(axis1=1, axis2=2), 1e-300)[:, None, None]
        hidden = self.own**2 * np.eye(self.n) * both if self.record else size / self.n**2 * both
        alone = ~honest[:, :, None] * np.eye(self.n)
        return np.linalg.inv(matrix + hidden + alone) * both

    def all(self, g: np.ndarray) -> np.ndarray:
        """Every energy: by coalition and agent, or by coalition and pair."""
        inverse = self.inverses(g)
        diagonal = inverse.diagonal(axis1=1, axis2=2)
        if self.record:
            return diagonal[:, None]
        between = diagonal[:, :, None] + diagonal[:, None] - 2 * inverse
        return np.triu(between * self.honest[:, :, None] * self.honest[:, None])

    def largest(self, g: np.ndarray) -> float:
        return float(self.all(g).max())

    def nearly_worst(self, g: np.ndarray) -> list[Limit]:
        """Coalitions and what they look at, where that is nearly as bad as the worst: agent twice for a record."""
        energies = self.all(g)
        found = np.argwhere(energies >= (1 - NEAR) * energies.max())
        order = np.argsort(-energies[tuple(found.T)], kind="stable")
        return [(c, j if self.record else i, j) for c, i, j in found[order].tolist()]

    def with_slopes(self, limits: Sequence[Limit], g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some energies, and their slopes: minus the square of the potential across each link."""
        coalition, i, j = np.array(limits).T
        distinct, where = np.unique(coalition, return_inverse=True)
        inverse, each = self.inverses(g, distinct)[where], np.arange(len(limits))
        potential = inverse[each, :, j] - (0.0 if self.record else inverse[each, :, i])
        value = potential[each, j] - (0.0 if self.record else potential[each, i])
        across = potential[:, self.links[:, 0]] - potential[:, self.links[:, 1]]
        return value, -(across**2) * self.kept[coalition]


class _Cuts:
    """Tangents of energies: wherever one is above the limit, so is the energy."""

    def __init__(self) -> None:
        self.slopes: list[np.ndarray] = []
        self.offsets: list[np.ndarray] = []

    def add(self, at: np.ndarray, energies: np.ndarray, slopes: np.ndarray) -> None:
        self.slopes.append(slopes)
        self.offsets.append(energies - slopes @ at)

    def least(self, limit: float) -> float:
        """The least sum of conductances that keeps all tangents within the limit; a little less, for rounding."""
        slopes, right = np.vstack(self.slopes), limit - np.concatenate(self.offsets)
        # A cut where links had hardly any noise is a million times as steep.
        unit = np.abs(slopes).max(axis=1)
        found = scipy.optimize.linprog(
            np.ones(slopes.shape[1]), slopes / unit[:, None], right / unit, bounds=(0, None), method="highs"
        )
        return float(found.fun) * (1 - 1e-6) if found.success else 0.0


def _solve(every: _Energies, limits: Sequence[Limit], limit: float, first: np.ndarray) -> np.ndarray:
    """The best conductances for some limits, in units in which they are near one."""
    unit = float(first.mean())
    found = scipy.optimize.minimize(
        lambda x: x.mean(),
        first / unit,
        jac=lambda x: np.full(len(x), 1 / len(x)),
        method="SLSQP",
        bounds=[(1e-6, None)] * len(first),
        constraints={
            "type": "ineq",
            "fun": lambda x: 1 - every.with_slopes(limits, unit * x)[0] / limit,
            "jac": lambda x: -unit * every.with_slopes(limits, unit * x)[1] / limit,
        },
        options={"maxiter": 60, "ftol": 1e-9},
    )
    return unit * np.maximum(found.x, 1e-6)


def _raised(every: _Energies, g: np.ndarray, limit: float) -> float:
    """By how much all conductances must grow, or may shrink, for the worst energy to meet the limit."""
    low, high = 1e-3, 1.0
    while every.largest(high * g) > limit:
        low, high = high, 2 * high
        if high > 1e12:
            return math.inf
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if every.largest(middle * g) > limit else (low, middle)
    return high


def _equal(every: _Energies, limit: float) -> float:
    """The least conductance that keeps the limit, if every link has the same."""
    ones = np.ones(len(every.links))
    floor = every.largest(1e9 * ones)
    if not floor < limit * (1 - NEARLY):
        raise BadInput(
            f"no noise on links brings the worst energy below {floor:.4g}, and {limit:.4g} is asked for; add links, "
            "plan for fewer colluders, or take more own noise"
        )
    first = 1 / limit
    return first * _raised(every, first * ones, limit)
