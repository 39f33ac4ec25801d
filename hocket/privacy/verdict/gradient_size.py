"""How large a gradient is: what every uncertainty in a verdict is held against."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hocket.errors import BadInput
from hocket.privacy.attacks.words import mixed
from hocket.privacy.wording import SUPPOSED
from hocket.rationals import is_number
from hocket.runs.run import Run

SAMPLED = 8
"""Rounds of a run at which gradients are looked at."""


@dataclass(frozen=True)
class GradientSize:
    """The root mean square of a typical gradient's coordinates, and how it came to be known."""

    size: float
    words: str

    @staticmethod
    def of(declared: float | None, run: Run | None = None) -> GradientSize:
        """As it was declared; else as a run had it; else supposed to be 1.

        >>> GradientSize.of(None).words
        'supposing gradients of size 1 per coordinate'
        """
        if declared is not None:
            if not (is_number(declared) and 0 < declared < math.inf):
                raise BadInput(
                    f"gradient_size = {declared!r}; give the root mean square of a typical gradient's coordinates, "
                    "a positive number"
                )
            return GradientSize(
                float(declared), f"gradients being of size {declared:g} per coordinate, as declared"
            )
        measured = None if run is None else typical_gradient(run)
        if measured is not None:
            return GradientSize(
                measured, f"gradients having been of size {measured:.3g} per coordinate in this run"
            )
        return GradientSize(SUPPOSED, f"supposing gradients of size {SUPPOSED:g} per coordinate")


def typical_gradient(run: Run) -> float | None:
    """The root mean square over all agents along a run, which the auditor knows; None without its problem, or if zero.
    A mean over rounds: at the end of a run gradients may vanish, and whoever listens has heard the earlier ones too.
    """
    if run.problem is None or run.transcript is None:
        return None
    everything, found = run.view(threat="states"), []
    for agent in range(run.network.n):
        path = np.asarray(mixed(everything, agent), dtype=np.float64)
        rows = np.unique(np.linspace(0, len(path) - 1, SAMPLED).round().astype(int))
        found += [np.asarray(run.problem.gradient(agent, path[row])) for row in rows]
    return float(np.sqrt(np.mean(np.square(found)))) or None
