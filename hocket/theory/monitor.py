"""A run beside the theory: every lemma and bound checked in every round, with the tightest margin of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from hocket.algorithms import FunctionSharing
from hocket.errors import BadInput, NoTheorem, NotRecorded
from hocket.network import Network
from hocket.run import Run
from hocket.theory.assumptions import refuse_broken
from hocket.theory.finite_time import numbers_for, paper_constants, paper_value
from hocket.theory.lemmas import Mixing, disagreement_numbers, disagreement_terms, growth, iterate_numbers
from hocket.theory.measured import Measured, algorithm_of, measure, mixed_noise
from hocket.theory.noise_functions import added_constants
from hocket.theory.quantities import Known, Quantities, gather
from hocket.theory.spectral import spectral_terms, sums_by_round

ROUNDING = 64 * np.finfo(np.float64).eps
"""What float64 may lose in the sums below, relative to the largest number in them."""


@dataclass(frozen=True)
class Margin:
    """How close a run came to one bound."""

    name: str
    ratio: float
    """The smallest bound/actual over all rounds; infinite where nothing but rounding was there to bound."""
    round: int
    """The round with that ratio; for matrix products their length."""
    bound: float
    actual: float
    holds: bool
    """Whether the bound holds in every round, up to rounding."""


@dataclass(frozen=True)
class Monitor:
    """All checks of one run."""

    margins: tuple[Margin, ...]
    skipped: Mapping[str, str]
    """What could not be checked, and why."""
    rounds: int
    quantities: Mapping[str, float]
    """L, N and Δ as used."""

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
        rows = [("", "bound/actual", "at round", "bound", "actual", "")] + [
            (m.name, f"{m.ratio:.4g}", str(m.round), f"{m.bound:.4g}", f"{m.actual:.4g}", "" if m.holds else "VIOLATED")
            for m in self.margins
        ]
        widths = [max(len(row[c]) for row in rows) for c in range(6)]
        lines = [
            "  ".join(cell.ljust(width) if c in (0, 5) else cell.rjust(width) for c, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in rows
        ]
        used = ", ".join(f"{name} = {value:.6g}" for name, value in self.quantities.items())
        lines.append(f"tightest of {self.rounds:,} rounds" + (f", with {used}" if used else ""))
        lines += [f"not checked: {name}: {why}" for name, why in self.skipped.items()]
        return "\n".join(lines)
