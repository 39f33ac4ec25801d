"""What a view is worth: so many looks at the agents' numbers, each under normal noise of a known covariance.

Anybody who knows all noise on links that touch a coalition A is left, of a vector with one row per honest agent, with
that vector plus N(0, L + τ²I): L is the Laplacian of the links among the honest, and a link on which two directed draws
of deviation σ are dealt has the conductance 2σ². All certificates are about such looks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.noise.mechanism import Mechanism

CANCELS = 4 * float(np.finfo(np.float64).eps)
"""What a sum may be off as a part of its terms, and still count as zero: numbers that users write in decimals."""

WORST_CONDITION = 1e11
"""Of a covariance, beyond which its inverse has fewer than five digits left."""


@dataclass(frozen=True, eq=False)
class Look:
    """One look at a vector under noise."""

    links: Int[np.ndarray, "links 2"]
    n: int
    conductance: Float[np.ndarray, " links"]
    """The variance of what a link moves from one end to the other; zero where nothing is dealt."""
    own: float
    """The variance of what each agent adds by itself."""
    times: int = 1
    """How often it is seen, each time under fresh noise."""
    share: float = 1.0
    """The part of it that one round is: many rounds under independent noise are put together to one look."""

    def honest(self, coalition: Collection[int]) -> Honest:
        """What is left of it against a coalition that knows all noise on its own links."""
        return Honest(self, frozenset(coalition))

    @property
    def dealt(self) -> Int[np.ndarray, "dealt 2"]:
        """The links on which noise is dealt."""
        return self.links[self.conductance > 0]

    @property
    def least(self) -> float:
        """The smallest conductance that is dealt; zero where none is."""
        return float(self.conductance[self.conductance > 0].min(initial=np.inf)) if len(self.dealt) else 0.0


class Honest:
    """A look, against one coalition: noise on the links among the honest, and their own."""

    def __init__(self, look: Look, coalition: frozenset[int]):
        self.look, self.coalition = look, coalition
        self.agents = np.array([j for j in range(look.n) if j not in coalition], dtype=int)
        place = np.full(look.n, -1)
        place[self.agents] = np.arange(len(self.agents))
        ends = place[look.links]
        kept = (ends >= 0).all(axis=1) & (look.conductance > 0)
        self._ends, self._conductance = ends[kept], look.conductance[kept]
        h = len(self.agents)
        found = connected_components(
            csr_array((self._conductance, tuple(self._ends.T)), shape=(h, h)), directed=False
        )
        self.parts = [np.flatnonzero(found[1] == part) for part in range(found[0])]
        """Places of honest agents that are connected by links with noise."""

    @property
    def laplacian(self) -> Float[np.ndarray, "honest honest"]:
        matrix = np.zeros((len(self.agents), len(self.agents)))
        (i, j), g = self._ends.T, self._conductance
        for row, column, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            np.add.at(matrix, (row, column), sign * g)
        return matrix

    def changed_sum(self, shift: Float[np.ndarray, "agents width"]) -> tuple[int, ...] | None:
        """Honest agents that are connected and whose sum changes with nothing to hide it; None if there are none."""
        if self.look.own > 0:
            return None
        for part in self.parts:
            rows = shift[self.agents[part]]
            if (np.abs(rows.sum(axis=0)) > CANCELS * np.abs(rows).sum(axis=0)).any():
                return tuple(self.agents[part].tolist())
        return None

    def energy(self, shift: Float[np.ndarray, "agents width"]) -> float:
        """tr(δᵀ Σ⁺ δ): the squared μ of telling a shift δ from none; infinite outside the range of Σ."""
        if self.changed_sum(shift) is not None:
            return np.inf
        total = 0.0
        for part, inverse in self._centred():
            rows = shift[self.agents[part]]
            mean = np.array([math.fsum(column) / len(part) for column in rows.T])
            rest = rows - mean
            total += float(np.sum(rest * (inverse @ rest)))
            if self.look.own > 0:  # else it is rounding: `changed_sum` has looked
                total += len(part) * float(mean @ mean) / self.look.own
        return self.look.times * total

    def records(self) -> Float[np.ndarray, " agents"]:
        """κ_j of every agent: the squared μ of changing its row by a unit; zero for members of the coalition."""
        cost = np.zeros(self.look.n)
        cost[self.agents] = np.inf
        if self.look.own > 0:
            for part, inverse in self._centred():
                cost[self.agents[part]] = inverse.diagonal() + 1 / (len(part) * self.look.own)
        return self.look.times * cost

    def transfers(self) -> Float[np.ndarray, "agents agents"]:
        """The squared μ of moving a unit between any two agents; zero where a member takes part."""
        h, own = len(self.agents), self.look.own
        inverse, means, number = np.zeros((h, h)), np.full(h, np.inf), np.zeros(h, dtype=int)
        for place, (part, block) in enumerate(self._centred()):
            inverse[np.ix_(part, part)], number[part] = block, place
            means[part] = 1 / (len(part) * own) if own > 0 else np.inf
        between = inverse.diagonal()[:, None] + inverse.diagonal() - 2 * inverse
        between += np.where(
            number[:, None] == number, 0.0, means[:, None] + means
        )  # means of one part cancel
        cost = np.zeros((self.look.n, self.look.n))
        cost[np.ix_(self.agents, self.agents)] = between
        return self.look.times * cost

    def _centred(self) -> Iterator[tuple[np.ndarray, Float[np.ndarray, "part part"]]]:
        """Places of agents that are connected, and the inverse of their covariance on what sums to zero.

        The mean is apart, exactly: beside little own noise it would drown all else in rounding.
        """
        laplacian = self.laplacian
        for part in self.parts:
            size = len(part)
            if size == 1:
                yield part, np.zeros((1, 1))
                continue
            block = laplacian[np.ix_(part, part)] + self.look.own * np.eye(size)
            scale, mean = float(block.diagonal().mean()), np.full((size, size), 1 / size)
            regular = block + (scale - self.look.own) * mean  # on the mean it is `scale`
            inverse = scipy.linalg.inv(regular)
            if np.linalg.norm(regular, 1) * np.linalg.norm(inverse, 1) > WORST_CONDITION:
                raise BadInput(
                    f"noise on links differs so much, from {self._conductance.min():.2g} to "
                    f"{self._conductance.max():.2g} in variance, that a certificate would be lost in rounding; bring "
                    "them closer together"
                )
            yield part, inverse - mean / scale


def looks_at_objectives(network: Network, mechanism: Mechanism, *, runs: int, kept: bool) -> tuple[Look, ...]:
    """Function sharing and its kind: all that is ever sent follows from one look at the noisy objectives."""
    sd = mechanism.link_sd[0]
    if (mechanism.link_sd != sd).any():
        raise BadInput(
            f"noise on objectives differs between the {len(mechanism.link_sd)} phases of {network.name}, and is dealt "
            "once; give every link one deviation"
        )
    return (Look(network.links, network.n, 2 * sd**2, mechanism.own_sd**2, times=1 if kept else runs),)


def looks_at_gradients(
    network: Network,
    mechanism: Mechanism,
    *,
    rounds: int,
    runs: int,
    kept: bool,
    constant: bool,
) -> tuple[Look, ...]:
    """Fresh noise in every round: one look per phase of the network at gradients 1 … K, in messages 2 … K + 1.

    Noise of each is as large beside its gradient as in any other. Looks at the same vector under independent noise add
    up to one; so for a `constant` shift, to which noise that is kept over rounds counts too, and for records, for which
    it never does.
    """
    period, sd = network.period, np.broadcast_to(mechanism.link_sd, (network.period, len(network.links)))
    sd = np.where(network.active, sd, 0.0)
    if (sd == sd[0]).all():
        period, sd = 1, sd[:1]
    persistent = mechanism.persistent_sd if constant and period == 1 and network.constant_support else None
    again = runs if kept and persistent is not None and np.any(persistent) else 1
    looks = []
    for phase in range(period):
        # Gradient k is sent in message k + 1, under the noise of that round's links.
        weight = float(again * ((rounds - phase) // period + (phase > 0)))
        if not weight:
            continue
        conductance = 2 * sd[phase] ** 2 / weight
        if persistent is not None:
            conductance = conductance + 2 * np.asarray(persistent) ** 2
        looks.append(
            Look(
                network.links,
                network.n,
                conductance,
                mechanism.own_sd**2 / weight,
                times=1 if again > 1 else runs,
                share=1 / weight,
            )
        )
    return tuple(looks)
