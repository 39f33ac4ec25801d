"""How close a run came to each bound, as a value and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Margin:
    """How close a run came to one bound."""

    name: str
    ratio: float
    """The smallest bound/actual over all rounds; infinite where there was nothing but rounding to bound."""
    round: int
    """The round with that ratio; for products of weight matrices, their length."""
    bound: float
    actual: float
    final: float
    """bound/actual in the last round."""
    holds: bool
    """Whether the bound holds in every round, up to rounding."""


@dataclass(frozen=True)
class Monitor:
    """A run beside the theory: one margin for every bound that could be checked."""

    margins: tuple[Margin, ...]
    skipped: Mapping[str, str]
    """What could not be checked, and why."""
    rounds: int
    quantities: Mapping[str, float]
    """L, N and Δ as used, where they are known."""

    @property
    def holds(self) -> bool:
        """Whether every bound that was checked holds in every round."""
        return all(margin.holds for margin in self.margins)

    def __getitem__(self, name: str) -> Margin:
        for margin in self.margins:
            if margin.name == name:
                return margin
        names = ", ".join(repr(margin.name) for margin in self.margins)
        raise KeyError(self.skipped.get(name, f"{name!r} was not checked; there are {names}"))

    def __str__(self) -> str:
        rows = [["", "bound/actual", "at round", "bound", "actual", "at the end", ""]]
        for m in self.margins:
            ratio, *others = (f"{value:.4g}" for value in (m.ratio, m.bound, m.actual, m.final))
            rows.append([m.name, ratio, f"{m.round:,}", *others, "" if m.holds else "VIOLATED"])
        first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip() for row in rows]
        used = ", ".join(f"{name} = {value:.6g}" for name, value in self.quantities.items())
        lines.append(f"tightest of {self.rounds:,} rounds" + (f", with {used}" if used else ""))
        return "\n".join([*lines, *(f"not checked: {name}: {why}" for name, why in self.skipped.items())])


def tightest(
    name: str, bound: Float[np.ndarray, " rounds"], actual: Float[np.ndarray, " rounds"], rounding: Any
) -> Margin:
    """The round in which `actual` comes closest to `bound`; what is below `rounding` is not compared."""
    violated = actual > bound + rounding
    ratio = np.where(violated, 0.0, np.inf)
    np.divide(bound, actual, out=ratio, where=(violated | (actual > rounding)) & (actual != 0))
    at = int(ratio.argmin())
    return Margin(
        name=name,
        ratio=float(ratio[at]),
        round=at + 1,
        bound=float(bound[at]),
        actual=float(actual[at]),
        final=float(ratio[-1]),
        holds=not violated.any(),
    )
