"""What the shape of bounded noise gives away beyond its variance, where a single link hides the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.experiments.privacy.setting import NETWORKS, STEP, TARGET, algorithm, regressions
from hocket.privacy.attacks import mean_attack, pitman_attack
from hocket.solving import solve

ATTACKS = {"mean": mean_attack, "Pitman": pitman_attack}


@dataclass(frozen=True, eq=False)
class Shape:
    """Two averages of the same residuals, in units of a typical gradient."""

    attack: str
    rounds: tuple[int, ...]
    foretold: Float[np.ndarray, " rounds"]
    measured: Float[np.ndarray, " rounds"]
    """Medians over problems."""


def shapes(*, rounds: tuple[int, ...], times: int) -> list[Shape]:
    """RSS-NB at Δ = 1 on the ring, tapped, with one of the target's two neighbours inside."""
    problems = regressions(times)
    run = solve(
        problems.problem,
        NETWORKS["C5"],
        algorithm("RSS-NB", "C5", 1.0, times=times),
        step=STEP,
        rounds=max(rounds) + 1,
        start=problems.optimum,
        time_average=False,
        keep="transcript",
        progress=False,
    )
    view = run.view({1}, threat="states")
    truth = problems.gradients[TARGET]
    found = []
    for name, attack in ATTACKS.items():
        tried = [attack(view.first_rounds(k + 1), TARGET) for k in rounds]
        foretold = [one.typical_sd / problems.prior for one in tried]
        measured = [float(np.median(problems.error(one.estimate, truth))) for one in tried]
        found.append(Shape(name, rounds, np.array(foretold), np.array(measured)))
    return found
