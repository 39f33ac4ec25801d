"""Columns brought to one size by all members together, so that fixed point holds them and steps are sound.

One total gives counts, sums and sums of squares. Any common scale would do for the results, which are brought back to
the columns' own units; so what is lost here to fewer bits after the point is not lost there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithm import SecureSum
from hocket.errors import NotEstimable
from hocket.studies.data.design_matrix import Design
from hocket.studies.disclosure.steering import Declared, refuse_sums
from hocket.studies.together import Analysis

BITS = 44
"""Bits after the point: numbers up to 10²⁵ over all members, in steps of 6e-14."""
FAINT = 1e6 * 2.0**-BITS
"""Sums of squares below this have lost digits after the sixth."""
FLAT = 1e-7
"""A column whose deviation is a smaller part of its size is called constant."""

Ends = tuple[Float[np.ndarray, " columns"], Float[np.ndarray, " columns"]]
"""The lower and the upper end of each column's range; infinite where none is declared."""


def unbounded(columns: int) -> Ends:
    """No range for any column."""
    return np.full(columns, -np.inf), np.full(columns, np.inf)


@dataclass(frozen=True)
class Scaling:
    """Where each column is centred, and by what it is divided."""

    centre: Float[np.ndarray, " columns"]
    size: Float[np.ndarray, " columns"]
    mean: Float[np.ndarray, " columns"]
    """Joint means of the columns, centred there or not."""
    rows: int
    intercept: bool
    """Whether the first column is all ones."""
    also: Mapping[str, np.ndarray]
    """Other sums that were asked for in the same total."""
    others: Declared
    """What the other members' scaled columns come to."""

    def apply(self, X: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
        """Columns of about the same size."""
        return (X - self.centre) / self.size

    @property
    def back(self) -> Float[np.ndarray, "columns columns"]:
        """The matrix that takes coefficients of scaled columns to those of columns as they are."""
        matrix = np.diag(1 / self.size)
        if self.intercept:
            matrix[0] -= self.centre / self.size  # the intercept takes the centres up
            matrix[0, 0] = 1.0
        return matrix


def sums_of(X: Float[np.ndarray, "rows columns"]) -> dict[str, np.ndarray]:
    """What one member gives to the joint scale."""
    return {
        "rows": np.array([len(X)], dtype=np.float64),
        "sum": X.sum(axis=0),
        "squares": (X**2).sum(axis=0),
    }


def refuse_faint(name: str, present: float, squares: float, centred: float) -> None:
    """Refuse to call a deviation that of the pooled rows, where fixed point has lost its digits.

    `present` are the rows that are not 0, and `centred` the sum of squares around the mean: 0 of a column that is
    constant, which is right where the column is not small itself.
    """
    if present and centred < FAINT and (centred > 0 or squares < FAINT):
        raise NotEstimable(
            f"{name} is so small, or varies by so little, that its sum of squares is below {FAINT:.1g} over the joint "
            "rows: sums over members lose its digits. Give it in other units"
        )


def joint_scaling(
    design: Design,
    also: Mapping[str, np.ndarray] | None = None,
    *,
    centred: bool | None = None,
    ends: Ends | None = None,
) -> Analysis[Scaling]:
    """The scale that all members have in common; one total.

    `centred` by default where there is an intercept to take the centres up; `also` is summed beside; `ends` are where
    the columns' declared ranges end, against which the others' sums are held.
    """
    also = {} if also is None else dict(also)
    names = {"rows": ("rows",), "sum": design.names, "squares": design.names}
    own = sums_of(design.X)
    total = yield SecureSum(own | {"also": also}, bits=BITS, names=names)
    others = {name: np.asarray(total[name]) - own[name] for name in own}
    low, high = unbounded(len(design.names)) if ends is None else ends
    refuse_sums(design.names, others, low, high)
    rows = float(total["rows"][0])
    if rows == 0:
        raise NotEstimable(
            "no member has any row left; look at missing values and conditions with study check"
        )
    mean, square = total["sum"] / rows, total["squares"] / rows
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    centred = design.intercept if centred is None else centred
    first = 1 if design.intercept else 0
    for name, std, size in zip(design.names[first:], spread[first:], np.sqrt(square[first:]), strict=True):
        if (centred and std <= FLAT * size) or size == 0:
            raise NotEstimable(
                f"{name} is constant over the joint rows (or varies by less than a 1e-7th of its size, or by "
                "1e-7 or less): leave it out of the formula, count it from another origin, or give it in other units"
            )
    size = np.where(spread > 0, spread, 1.0) if centred else np.sqrt(square)
    centre = mean if centred else np.zeros_like(mean)
    if design.intercept:
        size[0], centre = 1.0, np.concatenate([[0.0], centre[1:]])
    return Scaling(
        centre,
        size,
        mean,
        round(rows),
        design.intercept,
        total["also"],
        Declared(
            float(others["rows"][0]),
            (others["squares"] - 2 * centre * others["sum"] + centre**2 * others["rows"][0]) / size**2,
            (low - centre) / size,
            (high - centre) / size,
        ),
    )
