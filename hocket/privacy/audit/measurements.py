"""What attacks made of a run, beside the truth that only the auditor knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from hocket.algorithms.function_sharing import functions_of
from hocket.claims import only_sums
from hocket.privacy.attacks import (
    Attack,
    Tried,
    attacks_by_form,
    averaging_attacks,
    component_attack,
    difference_attack,
    lb_collusion_attack,
    strongest_average,
    total_attack,
)
from hocket.privacy.attacks.attack import Assumed, Why
from hocket.privacy.attacks.by_form import MODEL, PROJECTION, SUM
from hocket.privacy.attacks.messages import mixed
from hocket.privacy.graph.connectivity import honest_components
from hocket.privacy.profile import profile
from hocket.privacy.wording import Said
from hocket.runs.run import Run
from hocket.runs.view import View

SURPRISE = 4.0
"""Standard deviations of the predicted error beyond which it is no chance."""
EDGE = 1e-9
"""How close to the edge of X a state counts as moved back onto it."""
ROUNDING = 1e-5
"""Part of the truth by which an exact attack may be off."""
AVERAGING = "averaging"
BY_FORM = (MODEL, SUM, PROJECTION)
OVER_RUNS = ("changed record", "changed graph", "mixed plans")


class After(Enum):
    """What an attack is after."""

    GRADIENT = "gradients"
    THEIR_SUM = "their sum"
    CHANGE = "how gradients change from the first round to the last"


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
        """Whether the estimate is farther off than chance allows: something that the attack assumes is not so."""
        if self.error is None or self.truth is None:
            return False
        return self.error > max(SURPRISE * self.attack.typical_sd, ROUNDING * self.truth)

    @property
    def exact(self) -> bool:
        """Whether it is right up to rounding: as it says itself, and as the truth says where that is at hand."""
        if self.error is None or self.truth is None:
            return self.attack.exact
        return self.error <= ROUNDING * self.truth

    def to_json(self) -> dict[str, Any]:
        """The measurement in numbers."""
        found = self.attack.to_json()
        kept = ("name", "target", "what", "identifiable", "exact", "why", "typical_sd")
        return {key: found[key] for key in kept} | {"error": self.error, "truth": self.truth}


@dataclass(frozen=True, eq=False)
class Attempt:
    """One kind of attack on a run, under its own name: what it came to, or why it does not apply."""

    name: str
    found: tuple[Measurement, ...] = ()
    """By target."""
    why: Said | None = None
    """Why it does not apply, or was not needed."""
    after: After = After.GRADIENT

    @property
    def useful(self) -> tuple[Measurement, ...]:
        """What was found of whom, where what the attack assumes is so."""
        return tuple(one for one in self.found if one.attack.estimate is not None and not one.surprising)

    def to_json(self) -> dict[str, Any]:
        """The attempt in numbers."""
        found = [one.to_json() for one in self.found]
        why = None if self.why is None else str(self.why)
        return {"name": self.name, "found": found, "applies": bool(self.found), "why": why}


class Measured(NamedTuple):
    """What attacks made of a run."""

    best: tuple[Measurement, ...] = ()
    """The strongest on every honest agent, and on sums where functions are shared."""
    tried: tuple[Attempt, ...] = ()
    """All of them, under their own names."""


def measure(run: Run, coalition: tuple[int, ...]) -> Measured:
    """All attacks of a coalition on a run that kept its messages, and the strongest on every honest agent."""
    if run.algorithm is not None and only_sums(run.algorithm):
        return _of_sums(run, coalition)
    view, everything = run.view(coalition), run.view(threat="states")
    plain = run.algorithm is None or profile(run.algorithm).plain

    def beside(attack: Attack) -> Measurement:
        return Measurement(attack, *_beside_the_truth(run, attack, everything))

    formed = _with_the_form(run, view)
    nearby = {j: _nearby(run, view, j) if plain else [] for j in view.honest}
    by_model = next((one.found for one in formed if one.name == MODEL), {})
    best = {j: _strongest(nearby[j], by_model.get(j)) for j in view.honest if nearby[j]}
    farther: dict[int, Attack] = {}
    if unknown := [j for j in view.honest if j not in best or best[j].estimate is None]:
        # Not for the others: it takes gradients to be the same from the first round on, which they seldom are.
        farther = averaging_attacks(view, start=None if run.path is None else run.path[0])
        best |= {j: farther[j] for j in unknown}

    tried = [] if plain else [Attempt("difference", why=Said(Why.NO_STATE))]
    tried += [*_by_name(nearby, beside), _averaged(farther, beside)]
    for one in formed:
        after = After.CHANGE if one.name == SUM else After.GRADIENT
        tried.append(Attempt(one.name, tuple(map(beside, one.found.values())), one.why, after))
    found = [beside(attack) for attack in best.values()]
    if run.algorithm is not None and functions_of(run.algorithm) is not None:
        parts = honest_components(run.network, coalition) if plain else ()
        sums = tuple(Measurement(component_attack(view, part), None, None) for part in parts)
        found += sums
        tried.append(Attempt("component", sums, None if plain else Said(Why.NO_STATE), After.THEIR_SUM))
    tried += [Attempt(name, why=Said(Why.ONE_RUN)) for name in OVER_RUNS]
    return Measured(tuple(found), tuple(tried))


def _of_sums(run: Run, coalition: tuple[int, ...]) -> Measured:
    """Where agents send nothing but secure sums there is one thing to attack: the sum over the honest."""
    tried = [Attempt(name, why=Said(Why.SUMS_ONLY)) for name in ("difference", AVERAGING, *BY_FORM)]
    tried += [Attempt(name, why=Said(Why.ONE_RUN)) for name in OVER_RUNS]
    if run.rounds < 2:
        return Measured((), (Attempt("total", why=Said(Why.NO_STEP)), *tried))
    attack = total_attack(run.view(coalition))
    truth = error = None
    if run.problem is not None and attack.at is not None and attack.estimate is not None:
        at = np.asarray(attack.at[-1], dtype=np.float64)
        true = np.sum([run.problem.gradient(target, at) for target in attack.target], axis=0)
        truth, error = rms(true), rms(attack.estimate[-1] - true)
    found = Measurement(attack, truth, error)
    return Measured((found,), (Attempt(attack.name, (found,), after=After.THEIR_SUM), *tried))


def _by_name(nearby: Mapping[int, list[Attack]], beside: Callable[[Attack], Measurement]) -> list[Attempt]:
    """Attacks that need a whole neighbourhood, by their names."""
    every: dict[str, list[Attack]] = {}
    for attack in (one for some in nearby.values() for one in some):
        every.setdefault(attack.name, []).append(attack)
    return [
        Attempt(name, tuple(beside(one) for one in some if one.estimate is not None), some[0].why)
        for name, some in every.items()
    ]


def _averaged(farther: Mapping[int, Attack], beside: Callable[[Attack], Measurement]) -> Attempt:
    if not farther:
        return Attempt(AVERAGING, why=Said(Why.NOT_NEEDED))
    some = [one for one in farther.values() if one.estimate is not None]
    return Attempt(AVERAGING, tuple(map(beside, some)), None if some else next(iter(farther.values())).why)


def _nearby(run: Run, view: View, target: int) -> list[Attack]:
    """Attacks that need the whole neighbourhood, those first that assume least; without it they estimate nothing."""
    if run.algorithm is not None and profile(run.algorithm).per_neighbour:
        return [lb_collusion_attack(view, target)]
    return [difference_attack(view, target), strongest_average(view, target)]


def _strongest(nearby: Sequence[Attack], formed: Attack | None) -> Attack:
    """The attack that predicts the smallest error; no average over gradients that the form shows to differ."""
    if formed is not None and formed.estimate is not None:
        moved = np.ptp(formed.estimate, axis=0).max()
        same = [one for one in nearby if not one.assumes(Assumed.SAME_GRADIENT) or moved < one.typical_sd]
        nearby = [*same, formed]
    return min(nearby, key=lambda attack: attack.typical_sd)


def _with_the_form(run: Run, view: View) -> tuple[Tried, ...]:
    """Attacks that know the form of the objectives: the plan is public, and so is what is fitted."""
    problem, why = run.problem, None
    if problem is None or run.path is None:
        why = Why.NO_PROBLEM
    elif problem.penalty is not None:
        why = Why.PENALTY
    elif run.algorithm is None or not profile(run.algorithm).plain:
        why = Why.MORE_THAN_STEP
    if why is not None or problem is None or run.path is None:
        return tuple(Tried(name, why=Said(why or Why.NO_PROBLEM)) for name in BY_FORM)
    active = not np.all(problem.feasible.contains(run.path[1:].astype(np.float64), tol=-EDGE))
    return attacks_by_form(view, problem, active=active)


def _beside_the_truth(run: Run, attack: Attack, everything: View) -> tuple[float | None, float | None]:
    """The size of the truth and of the error: where the last gradient was taken, or the one that was attacked."""
    if run.problem is None or attack.estimate is None:
        return None, None
    (target,) = attack.target
    at = attack.at
    if at is None:  # where it took its last gradient; its last state, where messages do not tell
        plain = run.algorithm is None or profile(run.algorithm).plain
        at = mixed(everything, target)[-1:] if plain else run.x[target][None]
    truth = np.asarray(run.problem.gradient(target, np.asarray(at[-1], dtype=np.float64)))
    if attack.name == SUM:  # what is left where slopes stay open
        truth = truth - np.asarray(run.problem.gradient(target, np.asarray(at[0], dtype=np.float64)))
    return rms(truth), rms(attack.estimate[-1] - truth)


def rms(values: np.ndarray) -> float:
    """The root mean square."""
    return float(np.sqrt(np.mean(values**2)))
