"""How far one record can move an objective: what noise on its coefficients has to hide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from hocket.errors import BadInput, NoTheorem

Change = Literal["move", "replace"]


def least_squares_sensitivity(
    *,
    rows: float | Sequence[float],
    target: float,
    change: Change = "replace",
    half: bool = True,
    reduction: Literal["sum", "mean"] = "sum",
    grid: float | None = None,
    dim: int | None = None,
) -> float:
    """S: how far one record (a, b) with ‖a‖ ≤ `rows` and |b| ≤ `target` moves the coefficients of Σ ½ (aᵀx − b)².

    In units of the noise that the quadratic family puts on x_p x_q and x_p, 1/√2 of it being on x_p². `rows` is one
    number, or one for each column, with |a_p| at most that. `change` is a record that moves to another member, or one
    that is replaced by another; without the ½, `half=False`, all is twice as much. On a grid every record is rounded,
    which adds a little: give `grid` and `dim`.

    >>> least_squares_sensitivity(rows=1.0, target=1.0)
    2.0
    >>> round(least_squares_sensitivity(rows=1.0, target=1.0, change="move"), 6)
    1.224745
    """
    columns = [rows] if isinstance(rows, int | float) else list(rows)
    for name, value in [*(("rows", one) for one in columns), ("target", target)]:
        if not (math.isfinite(value) and value >= 0):
            raise BadInput(
                f"{name} = {value}; it bounds what a record may hold: give a finite number, zero or more"
            )
    if reduction != "sum":
        raise NoTheorem(
            "under reduction='mean' a record that comes or goes changes the weight of all others, and no number bounds "
            "what that moves; take the sum over records"
        )
    size = _least_squares(math.hypot(*columns), float(target), change)
    return (1 if half else 2) * size + _rounding(change, grid, dim)


def _least_squares(a: float, b: float, change: Change) -> float:
    if change == "move":
        return math.sqrt(a**4 / 2 + (a * b) ** 2)
    if change == "replace":
        # Two records of full length whose angle has the cosine (b/a)², or the same a with targets ±b.
        return a**2 + b**2 if b <= a else 2 * a * b
    raise BadInput(
        f"change = {change!r}; a record is moved to another member, 'move', or replaced by one, 'replace'"
    )


def _rounding(change: Change, grid: float | None, dim: int | None) -> float:
    """Half a unit in every coefficient, x_p² counting √2 times; of two records where one replaces another."""
    if grid is None:
        return 0.0
    if dim is None:
        raise BadInput(
            "what rounding adds depends on how many coefficients there are; give dim= beside grid="
        )
    return (1 if change == "move" else 2) * grid / 2 * math.sqrt(dim * (dim + 5) / 2)
