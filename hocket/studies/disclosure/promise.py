"""What a study with an ε promises of any one row, and the noise that each member adds for it.

Every member adds a discrete Gaussian of its own to each number of a total. A coalition of f takes its own shares off
again, so that those of the h = n − f others must do. With S the distance by which one row that is replaced moves all
numbers of a total together, and τ the deviation of one share, the sum over the honest is μ-GDP with

    μ² = S² κ,   κ = 1/(h τ²),

Theorem A2 for a total, where pairwise noise is uniform on a group (Theorem T) and only own noise is left. Numbers and
noise lie on one grid, and their sum is exact. A sum of discrete Gaussians counts as normal noise of a variance that is
smaller by (4 units)² a share (docs/privacy.md, "On a grid"); shares here have a thousand units and more. By Kairouz,
Liu and Steinke (2021) such a sum is within 10 Σ_{k<h} exp(−2π² s² k/(k+1)) of one discrete Gaussian, s the share's
deviation in units: below 10^−1000000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from scipy.special import ndtr

from hocket.errors import BadStudy
from hocket.noise.stored_sum import ROUNDING
from hocket.privacy.dp import gdp
from hocket.privacy.dp.certificate import in_practice
from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import counted
from hocket.secagg.noise_share import GRID_BITS

UNIT = 2.0**-GRID_BITS
HIDES = 2.0
"""μ up to which noise counts as hiding a row: who guesses which of two rows it is is right in 84 % of cases, Φ(μ/2)."""
FEWEST_UNITS = 1024
"""Units of the grid that a share's deviation has at least."""


@dataclass(frozen=True)
class Among:
    """How many members there are, and how many of them may work together against the others."""

    members: int
    colluders: int = 0
    names: tuple[str, ...] = ()
    """Who they are, where that is known."""

    @property
    def honest(self) -> int:
        """Members whose noise nobody takes off."""
        return self.members - self.colluders

    def strangers(self, now: Among) -> int:
        """How many of them take no part now, and count as colluding; where names were not kept, all but one."""
        if not now.names:
            return 0
        return len({*self.names} - {*now.names}) if self.names else self.members - 1


ALONE = Among(1)
"""One member by itself, who looks at its own table."""


@dataclass(frozen=True)
class Promise:
    """An ε and a δ for all totals of a study together, and among whom."""

    epsilon: float
    delta: float
    among: Among
    parts: int = 1
    """Parts of the study, each with a total of its own: μ² is shared out among them alike."""

    @property
    def mu(self) -> float:
        """The μ of Gaussian differential privacy that ε and δ stand for, exactly."""
        return gdp.mu(self.epsilon, self.delta)

    def against(self, among: Among) -> Promise:
        """What the same noise promises where others collude: μ² is as one over those whose noise is left."""
        mu = self.mu * math.sqrt(self.among.honest / among.honest)
        return replace(self, epsilon=gdp.epsilon(mu, self.delta), among=among)

    def share_variance(self, sensitivity: float) -> int:
        """σ² of one member's noise in units of the grid, squared, for a total that one row moves by `sensitivity`."""
        part = self.mu / math.sqrt(self.parts)
        std = sensitivity / (part * math.sqrt(self.among.honest)) / UNIT
        if std < FEWEST_UNITS:
            raise BadStudy(
                f"[privacy] epsilon = {self.epsilon:g} asks for so little noise that it has fewer than {FEWEST_UNITS} "
                "units of the grid; without noise there is nothing to promise: leave [privacy] out"
            )
        return math.ceil(std**2 + ROUNDING**2)

    def noise_sd(self, sensitivity: float) -> float:
        """The deviation of all members' noise together, as everybody is shown it."""
        return math.sqrt(self.among.members * self.share_variance(sensitivity)) * UNIT

    @property
    def statement(self) -> str:
        """What is promised, and by which theorem."""
        f, n = self.among.colluders, self.among.members
        return (
            f"Theorem A2 for totals, κ = 1/(hτ²): what any {counted(f, 'colluder')} of {n} members learn of one row is "
            f"(ε = {self.epsilon:g}, δ = {self.delta:g})-differentially private, μ = {self.mu:.4g}, over all totals "
            "of this study; the row may be replaced by any other within the declared ranges: "
            f"{in_practice(self.epsilon, float(ndtr(self.mu / 2)))}. The results carry "
            f"{math.sqrt(n / self.among.honest):.3g} times the noise of a trusted centre."
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it rests on."""
        return (
            f"At least {counted(self.among.honest, 'member')} draw their noise as this program does, and are connected "
            "without the others; masks are pseudorandom, so the promise is a computational one.",
            "Ranges, levels, conditions and the formula were chosen without a look at the rows; cells beyond a range "
            "count as its nearer end.",
            "Nobody is dropped on the way, and no total is begun anew.",
            "A row is one line of one table: somebody with k lines is promised kμ. Whether a member takes part is "
            "not hidden, nor what its own check refuses.",
            "Other studies and runs on the same rows add up: μ² is the sum of theirs. One without noise promises "
            "nothing.",
        )

    def to_json(self) -> dict[str, Any]:
        """The promise in plain values."""
        promised, among = (
            plain_values(self, "epsilon", "delta", "mu"),
            plain_values(self.among, "members", "colluders"),
        )
        return promised | among | plain_values(self, "statement", "assumptions")


def mu_against(promise: Promise, now: Among) -> float:
    """μ of an earlier study where as many collude as now, and all its members who take no part now: they take their
    noise off again. Infinite where nobody's noise is left."""
    before, colluders = promise.among, now.colluders + promise.among.strangers(now)
    if colluders <= before.colluders:
        return promise.mu
    left = before.members - colluders
    return promise.mu * math.sqrt(before.honest / left) if left > 0 else math.inf
