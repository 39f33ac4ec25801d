"""Noise of every round as whole numbers of a public grid, drawn without rounding.

What a message hides is put on the same grid, so that their sum is exact: whatever floats do to a message is done to
that sum. Both ends of a link draw the same numbers from bits that they share; a run in one place draws all of them on
the host, before its first round, since no compiled code draws a discrete Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.discrete_gaussian import Bits, bits_of, discrete_gaussians
from hocket.noise.draws import Gaussian, Paired
from hocket.noise.stds import values
from hocket.noise.stored_sum import FARTHEST, FINEST, RANGE, ROUNDING
from hocket.noise.threefry import derive

Numbers = Float[np.ndarray, " width"]
MOST = 10_000_000
"""Numbers that a run in one place draws at most: some minutes of them."""


@dataclass(frozen=True)
class RoundGrid:
    """A grid, and the noise that is drawn on it in every round."""

    unit: float
    """A power of two."""
    sd: Any
    """σ: of one directed draw; a number, or what `deviations.hashable` makes of one by link. Noise is drawn `on_link`,
    where it is a number."""
    own: float = 0.0
    """τ: of what an agent draws for itself."""

    def on_link(self, sd: float) -> RoundGrid:
        """The same on a link with this σ."""
        return replace(self, sd=sd)

    def of_link(self, bits: Bits, width: int) -> tuple[Numbers, Numbers]:
        """What a link's two ends draw in a round: its lower-numbered end's draw first."""
        return self._drawn(bits, self.sd, width), self._drawn(bits, self.sd, width)

    def of_own(self, bits: Bits, width: int) -> Numbers:
        """What one agent draws for itself in a round."""
        return self._drawn(bits, self.own, width)

    def counted_as(self, sd: float) -> float:
        """The deviation of normal noise of which this noise on the grid is no more than a rounding."""
        return math.sqrt(max(sd**2 - (ROUNDING * self.unit) ** 2, 0.0))

    def check(self, network: Network, clip: float) -> None:
        """Refuse a grid that is too coarse for its noise, or so fine that sums would not be exact."""
        least = FINEST * math.sqrt(network.n) * self.unit
        for name, sd in (("sd", min(values(self.sd))), ("own", self.own)):
            if 0 < sd < least:
                raise BadAlgorithm(
                    f"grid = {self.unit:g} is too coarse for {name} = {sd:g} among {network.n} agents: noise has at "
                    f"least {least / self.unit:.3g} units of the grid; take a finer one"
                )
        largest = FARTHEST * (2 * int(network.degrees.max()) * max(values(self.sd)) + self.own) + clip
        if largest >= RANGE * self.unit:
            raise BadAlgorithm(
                f"grid = {self.unit:g} is so fine that noise and gradients, of {largest:.3g} at most, have more units "
                f"than the {RANGE:.3g} that a float holds; take a coarser one"
            )

    def _drawn(self, bits: Bits, sd: float, width: int) -> Numbers:
        variance = math.ceil((sd / self.unit) ** 2)
        return np.array(discrete_gaussians(bits, [variance] * width), dtype=np.float64) * self.unit


class GridPaired(Paired):
    """Pairwise noise on a grid, afresh in every round and in the exchange after the last; drawn beforehand."""

    grid: RoundGrid = eqx.field(static=True, kw_only=True)
    rounds: int = eqx.field(static=True, kw_only=True)

    def settled(self, key: tuple[Any, Any], network: Network) -> Paired:
        table = self.given
        if table is None:
            table = np.zeros((self.rounds + 1, len(network.links), 2, self.width))
            _check_count(table.size)
            stream, scale = derive(key, self.label), np.asarray(self.scale).tolist()
            for k in range(max(self.first, 1), self.rounds + 2):
                for link in np.flatnonzero(network.active[(k - 1) % network.period]).tolist():
                    bits = bits_of(stream, k * len(network.links) + link)
                    grid = self.grid.on_link(scale[(k - 1) % len(scale)][link])
                    table[k - 1, link] = grid.of_link(bits, self.width)
        return Paired(
            self.scale, width=self.width, label=self.label, first=self.first, normal=True, given=table
        )


class GridOwn(Gaussian):
    """What agents draw for themselves on a grid, afresh in every round; drawn beforehand."""

    grid: RoundGrid = eqx.field(static=True, kw_only=True)
    rounds: int = eqx.field(static=True, kw_only=True)

    def settled(self, key: tuple[Any, Any], network: Network) -> Gaussian:
        table = self.given
        if table is None:
            table = np.zeros((self.rounds + 1, network.n, self.width))
            _check_count(table.size)
            stream = derive(key, self.label)
            for k in range(1, self.rounds + 2):
                for agent in range(network.n):
                    table[k - 1, agent] = self.grid.of_own(bits_of(stream, k * network.n + agent), self.width)
        return Gaussian(self.sigma, width=self.width, label=self.label, given=table)


def _check_count(count: int) -> None:
    if count > MOST:
        raise BadAlgorithm(
            f"{count:,} numbers on a grid would be drawn one by one; in a run in one place take fewer rounds, or leave "
            "grid= out for the real-arithmetic model"
        )
