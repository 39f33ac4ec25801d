"""A run attacked: for every honest agent, the strongest attack that fits what was really said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.algorithms import FunctionSharing, RssLb
from hocket.privacy.attacks import (
    Attack,
    averaging_attacks,
    component_attack,
    difference_attack,
    lb_collusion_attack,
    strongest_average,
)
from hocket.privacy.honest import honest_components
from hocket.privacy.wording import named
from hocket.view import View

if TYPE_CHECKING:
    from hocket.run import Run


@dataclass(frozen=True, eq=False)
class Measurement:
    """The best that an attack made of a run, beside the truth, which only the auditor knows."""

    attack: Attack
    truth: float | None
    """Root mean square of the true gradient's coordinates where the run ended, if it is at hand."""
    error: float | None
    """Root mean square of what the estimate is off by."""

    def __str__(self) -> str:
        beside = (
            ""
            if self.error is None
            else f"; it is off by {self.error:.2g}, the truth being {self.truth:.2g} in size"
        )
        return f"{self.attack.name} attack on {named(self.attack.target)}: {self.attack.verdict}{beside}."

    def to_json(self) -> dict[str, Any]:
        """The measurement in numbers."""
        found = self.attack.to_json()
        kept = ("name", "target", "what", "identifiable", "exact", "why", "typical_sd")
        return {key: found[key] for key in kept} | {"error": self.error, "truth": self.truth}


def measure(run: Run, coalition: tuple[int, ...]) -> tuple[Measurement, ...]:
    """The strongest attack of a coalition on every honest agent of a run that kept its words."""
    view = run.view(coalition)
    averages = averaging_attacks(view, start=None if run.path is None else run.path[0])
    found = []
    for j in view.honest:
        best = min([averages[j], *_single_rounds(run, view, j)], key=lambda attack: attack.typical_sd)
        found.append(Measurement(best, *_beside_the_truth(run, best)))
    if isinstance(run.algorithm, FunctionSharing):
        parts = honest_components(run.network, coalition)
        found += [Measurement(component_attack(view, part), None, None) for part in parts]
    return tuple(found)


def _single_rounds(run: Run, view: View, target: int) -> list[Attack]:
    """Attacks that need the whole neighbourhood; one that heard too little has an infinite error."""
    if isinstance(run.algorithm, RssLb):
        return [lb_collusion_attack(view, target)]
    return [strongest_average(view, target), difference_attack(view, target)]


def _beside_the_truth(run: Run, attack: Attack) -> tuple[float | None, float | None]:
    """The size of the truth and of the error: at the run's end for averages, where it was taken for single rounds."""
    if run.problem is None or attack.estimate is None:
        return None, None
    (target,) = attack.target
    at = run.x[target] if attack.at is None else attack.at[-1]
    truth = np.asarray(run.problem.gradient(target, np.asarray(at)))
    return _rms(truth), _rms(attack.estimate[-1] - truth)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
