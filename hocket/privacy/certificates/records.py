"""How far one record can move what noise is added to, from declared bounds on its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hocket.errors import BadInput


@dataclass(frozen=True)
class LeastSquaresRecord:
    """One record of ½(aᵀx − b)² with ‖a‖ ≤ `features` and |b| ≤ `target`, under noise on the full quadratic family.

    Objectives are sums over records, and noise has deviation σ on x_p x_q and x_p and σ/√2 on x_p²: in these units the
    record is ½aaᵀ, flattened to a vector of norm ‖a‖²/√2, beside −b a. Constants are not hidden, and no value is
    reported. Without the ½ everything doubles.

    >>> record = LeastSquaresRecord(features=1.0, target=1.0)
    >>> round(record.moved, 6), record.replaced
    (1.224745, 2.0)
    """

    features: float
    target: float

    def __post_init__(self) -> None:
        for name, value in (("features", self.features), ("target", self.target)):
            if not (math.isfinite(value) and value >= 0):
                raise BadInput(
                    f"{name} = {value!r} bounds a record's numbers; give a finite one, zero or more"
                )

    @property
    def moved(self) -> float:
        """S where a record moves from one agent to another: √(½R_a⁴ + R_a²R_b²)."""
        return self.features * math.sqrt(self.features**2 / 2 + self.target**2)

    @property
    def replaced(self) -> float:
        """S where one record takes another's place: R_a² + R_b² if R_b ≤ R_a, else 2 R_a R_b."""
        a, b = self.features, self.target
        return a**2 + b**2 if b <= a else 2 * a * b
