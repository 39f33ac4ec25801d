"""What is attacked: each algorithm with noise of a stated size, the deviation of one coordinate in units of a gradient.

The bounds that give it are closed forms on regular networks with equal weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, FunctionSharing, RssLb, RssNb

Made = Callable[[float, int, int], Algorithm]
"""The algorithm for a standard deviation, a dimension and a degree."""


def paired(sd: float, dim: int, degree: int) -> Algorithm:
    """2·degree uniform draws, each within Δ/(2·degree·√D)."""
    return RssNb(sd * math.sqrt(6 * degree * dim))


def balanced(sd: float, dim: int, degree: int) -> Algorithm:
    """γPu with P = I − 11ᵀ/degree: variance γ²(1 − 1/degree)/3, and ‖P‖_∞ = 2(1 − 1/degree)."""
    return RssLb(sd * 2 * math.sqrt(3 * (1 - 1 / degree) * dim))


def shared(sd: float, dim: int, degree: int) -> Algorithm:
    """Linear noise functions: 2·degree uniform draws within the bound, kept for the whole run."""
    return FunctionSharing(1, sd * math.sqrt(3 / (2 * degree)), family="linear")


PLAIN = "DGD"
HIDING: dict[str, Made] = {"RSS-NB": paired, "RSS-LB": balanced, "FS": shared}


def attacked(levels: tuple[float, ...]) -> dict[str, tuple[Made, float]]:
    """Everything that is attacked, by the name of its column, with its noise over the rms of a gradient."""
    plain: dict[str, tuple[Made, float]] = {PLAIN: (lambda *_: Dgd(), 0.0)}
    return plain | {
        f"{name}, noise {level:g}": (made, level) for name, made in HIDING.items() for level in levels
    }
