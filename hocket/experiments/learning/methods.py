"""What is compared, each method at a noise of stated size.

All noise is given as the standard deviation of one coordinate in units of a gradient, so that one number means the same
for every method; here it becomes the bound that each algorithm takes. C5 and K5 are regular with equal weights, for
which the deviations are closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hocket.algorithm import Algorithm
from hocket.algorithms import Centralised, Dgd, IndependentNoise
from hocket.learning import Alone
from hocket.learning.attacks.trials import balanced, paired, shared


@dataclass(frozen=True)
class Method:
    """One way to learn together, or not."""

    name: str
    hides: str
    """What it hides from whom, in a few words."""
    algorithm: Callable[[float, int, int], Algorithm]
    """The algorithm for a standard deviation, a dimension and a degree."""
    level: Literal["none", "noise", "epsilon"] = "none"
    """What a case's level is: nothing, noise over the rms of a gradient, or ε."""
    connected: bool = True
    """Whether agents speak at all: without a network all networks are one case."""

    def at(self, level: float) -> str:
        """The method's name with its level."""
        match self.level:
            case "none":
                return self.name
            case "noise":
                return f"{self.name}, noise {level:.2g}"
            case "epsilon":
                return f"{self.name}, ε = {level:g}"


def independent(sd: float, dim: int, degree: int) -> Algorithm:
    """One uniform draw within Δ/√D."""
    return IndependentNoise(sd * math.sqrt(3 * dim))


SGD_C, DGD, ALONE, DP_SGD = "SGD-C", "DGD", "alone", "DP-SGD"
NB, LB, FS, INDEPENDENT = "RSS-NB", "RSS-LB", "FS", "independent noise"
METHODS = {
    method.name: method
    for method in (
        Method(
            SGD_C,
            "nothing from the server, which holds all data",
            lambda *_: Centralised(),
            connected=False,
        ),
        Method(DGD, "nothing from neighbours", lambda *_: Dgd()),
        Method(ALONE, "everything: nobody says a word", lambda *_: Alone(), connected=False),
        Method(NB, "who holds what, from a coalition", paired, "noise"),
        Method(LB, "who holds what, unless all neighbours collude", balanced, "noise"),
        Method(FS, "a constant offset of each agent's gradient", shared, "noise"),
        Method(INDEPENDENT, "what neighbours hear, until averaged", independent, "noise"),
        Method(DP_SGD, "each sample, from everybody, also in the model", lambda *_: Dgd(), "epsilon"),
    )
}
CANCELLING = (NB, LB, FS)
"""The paper's three."""
