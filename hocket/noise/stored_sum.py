"""An objective and all its noise as one sum of whole numbers, made once: f̂_j, of which all that is said is computed.

A certificate of differential privacy is about numbers that are added exactly. Floats are not: in ∇f(v) + ∇p(v), each
rounded by itself, the last bits can tell the true f from another. So coefficients are put on a public grid, record by
record: a record that moves to another member takes the same whole numbers with it. Noise is drawn as whole numbers of
the same grid, the sum is exact, and from then on nobody needs its parts: messages are computed of f̂_j alone, and what
floats do to them is done to f̂_j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from hocket.errors import BadAlgorithm, BadProblem
from hocket.noise.discrete_gaussian import Bits, discrete_gaussians
from hocket.noise.functions import Family
from hocket.noise.stds import values

Whole = Shaped[np.ndarray, " width"]
"""Python's own whole numbers, which cannot overflow, in units of the grid."""
RANGE = 1 << 53
"""Coefficients of f̂_j stay below this many units: a float64 holds them without rounding."""
FARTHEST = 40
"""Deviations beyond which no draw is believed: less likely than e^−800."""
ROUNDING = 4.0
"""Units by whose square the variance of a discrete Gaussian counts for less than it is: randomised rounding with a
deviation of ROUNDING/√2 turns normal noise of the rest into it, within 10^−60 (docs/privacy.md, "On a grid")."""
FINEST = 4.0
"""Units that a deviation has at least, times the root of how many agents there are: below, draws of several links do
not add up to what normal ones would."""


@dataclass(frozen=True)
class StoredSum:
    """How f̂_j is made: the family whose coefficients are hidden, the grid, and the noise."""

    family: Family
    unit: float
    """The public grid's: a power of two."""
    sd: Any
    """σ: of one directed draw, before a coefficient's own weight; a number, or what `deviations.hashable` makes of one
    by link. Noise is drawn `on_link`, where it is a number."""
    own: float = 0.0
    """τ: of what an agent draws for itself."""

    def on_link(self, sd: float) -> StoredSum:
        """The same on a link with this σ."""
        return replace(self, sd=sd)

    def link_variances(self, dim: int) -> list[int]:
        """σ² of each coefficient in square units, a whole number: never less than what was asked for."""
        return self._variances(self.sd, dim)

    def _variances(self, sd: float, dim: int) -> list[int]:
        relative = self.family.relative_variance(dim)
        weights = np.ones(self.family.width(dim)) if relative is None else relative
        return [math.ceil((sd / self.unit) ** 2 * weight) for weight in weights.tolist()]

    def counted_as(self, sd: float) -> float:
        """The deviation of normal noise of which this noise on the grid is no more than a rounding."""
        return math.sqrt(max(sd**2 - (ROUNDING * self.unit) ** 2, 0.0))

    def check(self, dim: int, agents: int) -> None:
        """Refuse a grid that is too coarse for its noise."""
        relative = self.family.relative_variance(dim)
        weight = 1.0 if relative is None else math.sqrt(relative.min())
        for name, sd in (("sd", min(values(self.sd))), ("own", self.own)):
            least = FINEST * math.sqrt(agents) * self.unit / weight
            if 0 < sd < least:
                finer = 2.0 ** math.floor(math.log2(self.unit * sd / least))
                raise BadAlgorithm(
                    f"grid = {self.unit:g} is too coarse for {name} = {sd:g} among {agents} agents: noise has at least "
                    f"{least / self.unit:.3g} units of the grid; take grid = 2**{int(math.log2(finer))}"
                )

    def of_link(self, bits: Bits, dim: int) -> tuple[Whole, Whole]:
        """What a link's two ends draw: its lower-numbered end's draw first."""
        variances = self.link_variances(dim)
        lower, higher = (_whole(discrete_gaussians(bits, variances)) for _ in range(2))
        self.check_dealt(np.concatenate([lower, higher]), dim)
        return lower, higher

    def of_own(self, bits: Bits, dim: int) -> Whole:
        """What one agent draws for itself."""
        return _whole(discrete_gaussians(bits, self._variances(self.own, dim)))

    def check_dealt(self, drawn: Shaped[np.ndarray, " numbers"], dim: int) -> None:
        """Refuse noise beyond the public range: enough of it on either side of a draw would round the draw away."""
        most = FARTHEST * math.isqrt(max(self.link_variances(dim))) + FARTHEST
        largest = max((abs(int(one)) for one in drawn), default=0)
        if largest > most:
            raise BadAlgorithm(
                f"noise of {largest * self.unit:.3g} was dealt, where the plan's sd = {self.sd:g} allows for "
                f"{most * self.unit:.3g} at most; deal noise within {FARTHEST} deviations"
            )

    def objective(self, records: Float[np.ndarray, "records width"]) -> Whole:
        """f_j in units of the grid: every record rounded by itself, so that it is the same wherever it lies."""
        units = np.rint(
            np.asarray(records, dtype=np.float64) / self.unit
        )  # dividing by a power of two is exact
        if not np.isfinite(units).all():
            raise BadProblem("an objective has coefficients that are not finite; look at its data")
        if (
            np.abs(units).sum(axis=0).max(initial=0.0) < 1 << 62
        ):  # then a machine's whole numbers hold the sum
            return _whole(units.astype(np.int64).sum(axis=0).tolist())
        return _whole([sum(map(int, column)) for column in units.T.tolist()])

    def records_of(self, objective: Any, data: Any, dim: int, name: str) -> np.ndarray:
        """What each record adds to an objective's coefficients; refused where they are not in the span."""
        records = self.family.coefficients(objective, data, dim)
        if records is None:
            raise BadProblem(
                f"the {type(objective).__name__} of {name} is not known to be in the span of its noise, which hides "
                f"{self.family.hides}: on a grid nothing else can be hidden; leave grid= away, or choose another family"
            )
        return records

    def checked(self, total: Whole) -> Whole:
        """f̂_j, refused where it leaves the public range; that tells of f̂_j, and of nothing behind it."""
        largest = max(abs(int(one)) for one in total)
        if largest >= RANGE:
            raise BadAlgorithm(
                f"a coefficient under noise has size {largest * self.unit:.3g}, and on a grid of {self.unit:g} they "
                f"stay below {RANGE * self.unit:.3g}; take a coarser grid, or scale the data"
            )
        return total

    def values(self, units: Shaped[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """Whole numbers of the grid as floats: exact within the range."""
        return np.asarray(units, dtype=np.float64) * self.unit

    def units(self, values: Any) -> Shaped[np.ndarray, "*any"]:
        """Floats on the grid as whole numbers; refused where they are not on it."""
        scaled = np.asarray(values, dtype=np.float64) / self.unit
        if not (np.isfinite(scaled) & (np.rint(scaled) == scaled)).all():
            raise BadAlgorithm(
                f"noise of your own lies beside the grid of {self.unit:g}; give multiples of it"
            )
        return _whole([int(one) for one in scaled.ravel().tolist()]).reshape(scaled.shape)


def check_unit(unit: Any) -> None:
    """A grid's unit is a power of two, so that floats meet it without rounding."""
    if not (isinstance(unit, float | int) and unit > 0 and math.frexp(unit)[0] == 0.5):
        raise BadAlgorithm(f"grid = {unit!r}; it is the unit of a public grid, a power of two such as 2**-20")


def _whole(numbers: list[int]) -> Whole:
    return np.array(numbers, dtype=object)
