"""What attacks made of a run, beside the truth that only the auditor knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.privacy.attacks import (
    Attack,
    averaging_attacks,
    component_attack,
    difference_attack,
    lb_collusion_attack,
    model_attacks,
    strongest_average,
)
from hocket.privacy.attacks.attack import SAME_GRADIENT
from hocket.privacy.attacks.words import mixed
from hocket.privacy.topology.connectivity import honest_components
from hocket.privacy.wording import known, named
from hocket.runs.run import Run
from hocket.runs.view import View

SURPRISE = 4.0
"""Standard deviations of the predicted error beyond which it is no chance."""
EDGE = 1e-9
"""How close to the edge of X a state counts as moved back onto it."""
ROUNDING = 1e-5
"""Part of the truth by which an exact attack may be off."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """The best that an attack made of a run, beside the truth, which only the auditor knows."""

    attack: Attack
    truth: float | None
    """Root mean square of the true gradient's coordinates where the run ended, if it is at hand."""
    error: float | None
    """Root mean square of what the estimate is off by."""

    @property
    def surprising(self) -> bool:
        """Whether the estimate is farther off than chance allows: something that the attack supposes is not so."""
        if self.error is None or self.truth is None:
            return False
        return self.error > max(SURPRISE * self.attack.typical_sd, ROUNDING * self.truth)

    @property
    def known(self) -> str:
        """How well the attack knows the truth, in words; empty where no truth is at hand."""
        if self.error is None or self.truth is None:
            return ""
        if not self.truth:
            return "known exactly" if not self.error else "off, the truth being zero"
        # What is left of an exact attack is rounding.
        return known(0.0 if self.error <= ROUNDING * self.truth else self.error, self.truth)

    def __str__(self) -> str:
        attack = self.attack
        words = f"{attack.name} attack on {named(attack.target)}: "
        if self.error is None:
            return f"{words}{attack.verdict}."
        beside = f"off by {self.error:.2g}, the truth in the end being {self.truth:.2g} in size"
        if not self.surprising:
            return f"{words}{attack.verdict}; it is {beside}: {self.known}."
        return (
            f"{words}{attack.what}, {beside}. It predicts {attack.typical_sd:.2g}, supposing that "
            f"{' and '.join(attack.supposing)}, which is not so here."
        )

    def to_json(self) -> dict[str, Any]:
        """The measurement in numbers."""
        found = self.attack.to_json()
        kept = ("name", "target", "what", "identifiable", "exact", "why", "typical_sd")
        return {key: found[key] for key in kept} | {
            "error": self.error,
            "truth": self.truth,
            "known": self.known or None,
        }


def measure(run: Run, coalition: tuple[int, ...]) -> tuple[Measurement, ...]:
    """The strongest attack of a coalition on every honest agent of a run that kept its words."""
    view = run.view(coalition)
    formed = _with_the_form(run, view)
    best = {j: _strongest(_nearby(run, view, j), formed.get(j)) for j in view.honest}
    if any(attack.estimate is None for attack in best.values()):
        # Not for the others: it takes gradients to be the same from the first round on, which they seldom are.
        farther = averaging_attacks(view, start=None if run.path is None else run.path[0])
        best |= {j: farther[j] for j, attack in best.items() if attack.estimate is None}
    everything = run.view(threat="states")
    found = [Measurement(attack, *_beside_the_truth(run, attack, everything)) for attack in best.values()]
    if run.algorithm is not None and run.algorithm.functions is not None:
        parts = honest_components(run.network, coalition)
        found += [Measurement(component_attack(view, part), None, None) for part in parts]
    return tuple(found)


def _nearby(run: Run, view: View, target: int) -> list[Attack]:
    """Attacks that need the whole neighbourhood, those first that suppose least; without it they estimate nothing."""
    if run.algorithm is not None and run.algorithm.tells:
        return [lb_collusion_attack(view, target)]
    return [difference_attack(view, target), strongest_average(view, target)]


def _strongest(nearby: list[Attack], formed: Attack | None) -> Attack:
    """The attack that predicts the smallest error; no average over gradients that the form shows to differ."""
    if formed is not None and formed.estimate is not None:
        moved = np.ptp(formed.estimate, axis=0).max()
        same = [one for one in nearby if SAME_GRADIENT not in one.supposing or moved < one.typical_sd]
        nearby = [*same, formed]
    return min(nearby, key=lambda attack: attack.typical_sd)


def _with_the_form(run: Run, view: View) -> dict[int, Attack]:
    """Attacks that know the form of the objectives, by target: the plan is public, and so is what is fitted."""
    if run.problem is None or run.algorithm is None or run.path is None or not run.algorithm.plain:
        return {}
    active = not np.all(run.problem.feasible.contains(run.path[1:].astype(np.float64), tol=-EDGE))
    return model_attacks(view, run.problem, active=active)


def _beside_the_truth(run: Run, attack: Attack, everything: View) -> tuple[float | None, float | None]:
    """The size of the truth and of the error: where the last gradient was taken, or the one that was attacked."""
    if run.problem is None or attack.estimate is None:
        return None, None
    (target,) = attack.target
    at = mixed(everything, target)[-1] if attack.at is None else attack.at[-1]
    truth = np.asarray(run.problem.gradient(target, np.asarray(at, dtype=np.float64)))
    return _rms(truth), _rms(attack.estimate[-1] - truth)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
