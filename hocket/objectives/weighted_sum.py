"""Weighted sums of different objectives."""

from __future__ import annotations

from typing import Any

from jaxtyping import PyTree, Shaped

from hocket.objectives.objective import Objective
from hocket.sets import FeasibleSet


class WeightedSum(Objective):
    """Σ_g share_g · f_g(x), with shares that sum to one.

    What agents with objectives of different kinds are pooled into. Data: (shares, one entry per part).
    """

    parts: tuple[Objective, ...]

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        shares, entries = data
        return sum(shares[g] * part.value(x, entries[g]) for g, part in enumerate(self.parts))

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        shares, entries = data
        return sum(shares[g] * part.gradient(x, entries[g]) for g, part in enumerate(self.parts))

    def convex(self, data: PyTree, feasible: FeasibleSet, dim: int) -> bool | None:
        known = [part.convex(entry, feasible, dim) for part, entry in zip(self.parts, data[1], strict=True)]
        # A part that bends down may be outweighed by the others.
        return True if all(known) else None

    def constants(self, data: PyTree, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        bounds = [
            part.constants(entry, feasible, dim) for part, entry in zip(self.parts, data[1], strict=True)
        ]
        slopes, bends = zip(*bounds, strict=True)
        return largest_known(slopes), largest_known(bends)


def largest_known(bounds: tuple[float | None, ...]) -> float | None:
    """What bounds every term; None as soon as one is unknown."""
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) else None
