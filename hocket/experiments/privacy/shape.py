"""What the shape of bounded noise gives away beyond its variance, where a single link hides the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.experiments.privacy.setting import TARGET, regressions
from hocket.privacy.attacks import mean_attack, pitman_attack
from hocket.runs.run import Run

ATTACKS = {"mean": mean_attack, "Pitman": pitman_attack}


@dataclass(frozen=True, eq=False)
class Shape:
    """Two averages of the same residuals, in units of a typical gradient."""

    attack: str
    rounds: tuple[int, ...]
    foretold: Float[np.ndarray, " rounds"]
    measured: Float[np.ndarray, " rounds"]
    """Medians over problems."""


def shapes(run: Run, *, rounds: tuple[int, ...], times: int) -> list[Shape]:
    """A run of RSS-NB on the ring, tapped, with one of the target's two neighbours inside."""
    problems = regressions(times)
    view, truth = run.view({1}, threat="states"), problems.gradients[TARGET]
    found = []
    for name, attack in ATTACKS.items():
        tried = [attack(view.first_rounds(k + 1), TARGET) for k in rounds]
        foretold = [one.typical_sd / problems.prior for one in tried]
        measured = [float(np.median(problems.error(one.estimate, truth))) for one in tried]
        found.append(Shape(name, rounds, np.array(foretold), np.array(measured)))
    return found
