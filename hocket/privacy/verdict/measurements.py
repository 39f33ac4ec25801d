"""What attacks made of a run, beside the truth that only the auditor knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

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
from hocket.privacy.attacks.attack import SAME_GRADIENT
from hocket.privacy.attacks.totals import NAME as TOTAL
from hocket.privacy.attacks.words import mixed
from hocket.privacy.plain_values import plain_values
from hocket.privacy.topology.connectivity import honest_components
from hocket.privacy.wording import known, listed, named, renamed
from hocket.runs.run import Run
from hocket.runs.view import View

SURPRISE = 4.0
"""Standard deviations of the predicted error beyond which it is no chance."""
EDGE = 1e-9
"""How close to the edge of X a state counts as moved back onto it."""
ROUNDING = 1e-5
"""Part of the truth by which an exact attack may be off."""
AVERAGING = "averaging"
CHANGES = {"sum": "how gradients change from the first round to the last"}
"""What is left where slopes stay open."""
BY_FORM = ("model", "sum", "projection")
OVER_RUNS = ("changed record", "changed graph", "mixed plans")
SUMS_ONLY = "agents say nothing but totals, of which only the sum over the honest is known (Theorem T)"
NO_STEP = "the only sum of a run of one round is that of the starts: no gradient is in it"
NOT_X = "messages of this algorithm are no states, so that a gradient is no difference of two of them"
"""Then only the linear estimate over the whole network is an attack: it reads the algorithm's own rounds."""
ONE_RUN = "this is one run; what several tell together, hocket.privacy.attacks.joint_attack and its kin say"


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
    def exact(self) -> bool:
        """Whether it is right up to rounding: as it says itself, and as the truth says where that is at hand."""
        if self.error is None or self.truth is None:
            return self.attack.exact
        return self.error <= ROUNDING * self.truth

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


@dataclass(frozen=True, eq=False)
class Attempt:
    """One kind of attack on a run, under its own name: what it came to, or why it does not apply."""

    name: str
    found: tuple[Measurement, ...] = ()
    """By target."""
    why: str = ""
    """Why it does not apply, or was not needed."""
    of: str = ""
    """What it is after, where that is not a gradient."""

    @property
    def useful(self) -> tuple[Measurement, ...]:
        """What was found of whom, where what the attack supposes is so."""
        return tuple(one for one in self.found if one.attack.estimate is not None and not one.surprising)

    def result(self, labels: Sequence[object] | None = None) -> str:
        """What it came to, over all whom it was tried on: agents by name where they have some."""
        if not self.found:
            return f"does not apply: {renamed(self.why, labels)}"
        if not self.useful:
            return f"{_whom(self.found, labels)}: of no use, since what it supposes is not so"
        exact = [one for one in self.useful if one.exact]
        rest = [one for one in self.useful if not one.exact]
        said = [f"{_whom(exact, labels)}: known exactly"] if exact else []
        if rest:
            truth = _over([one.truth for one in rest])
            how = known(_over([one.error for one in rest]) or 0.0, truth) if truth else "found"
            said.append(f"{_whom(rest, labels)}: {how}")
        return f"{self.of}{', ' if self.of else ''}{'; '.join(said)}"

    @property
    def predicted(self) -> str:
        """What it says itself that it is off by, and what it is off by in truth, over all whom it is of use against."""
        if not self.useful:
            return ""
        sd, error = (
            _over([one.attack.typical_sd for one in self.useful]),
            _over([one.error for one in self.useful]),
        )
        off = "" if error is None else f"; off by {error:.2g}"
        return f"{f'±{sd:.2g}' if sd else 'exactly'} predicted{off}"

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, labels: Sequence[object] | None = None) -> str:
        """The attempt in a line, agents by name where they have some."""
        said = f" ({self.predicted})" if self.predicted else ""
        return f"{self.name} attack: {self.result(labels)}{said}"

    def to_json(self) -> dict[str, Any]:
        """The attempt in numbers and words."""
        words = {"why": self.why or None, "result": self.result(), "predicted": self.predicted or None}
        return plain_values(self, "name", "found") | {"applies": bool(self.found)} | words


def _whom(found: Sequence[Measurement], labels: Sequence[object] | None) -> str:
    return listed({agent for one in found for agent in one.attack.target}, labels)


def _over(numbers: Sequence[float | None]) -> float | None:
    """The root mean square over several agents: the luck of one says nothing of the attack."""
    told = [one for one in numbers if one is not None]
    return _rms(np.array(told)) if len(told) == len(numbers) else None


class Measured(NamedTuple):
    """What attacks made of a run."""

    best: tuple[Measurement, ...] = ()
    """The strongest on every honest agent, and on sums where functions are shared."""
    tried: tuple[Attempt, ...] = ()
    """All of them, under their own names."""


def measure(run: Run, coalition: tuple[int, ...]) -> Measured:
    """All attacks of a coalition on a run that kept its words, and the strongest on every honest agent."""
    if run.algorithm is not None and run.algorithm.only_totals:
        return _totals(run, coalition)
    view, everything = run.view(coalition), run.view(threat="states")
    formed = _with_the_form(run, view)
    nearby = {j: _nearby(run, view, j) for j in view.honest}
    by_model = next((one.found for one in formed if one.name == "model"), {})
    best = {j: _strongest(nearby[j], by_model.get(j)) for j in view.honest if nearby[j]}
    farther: dict[int, Attack] = {}
    if unknown := [j for j in view.honest if j not in best or best[j].estimate is None]:
        # Not for the others: it takes gradients to be the same from the first round on, which they seldom are.
        farther = averaging_attacks(view, start=None if run.path is None else run.path[0])
        best |= {j: farther[j] for j in unknown}

    def beside(attack: Attack) -> Measurement:
        return Measurement(attack, *_beside_the_truth(run, attack, everything))

    tried = [*_by_name(nearby, beside), _averaged(farther, beside)]
    if not any(nearby.values()):
        tried.insert(0, Attempt("difference", why=NOT_X))
    tried += [
        Attempt(one.name, tuple(map(beside, one.found.values())), one.why, CHANGES.get(one.name, ""))
        for one in formed
    ]
    found = [beside(attack) for attack in best.values()]
    if run.algorithm is not None and run.algorithm.functions is not None:
        if run.algorithm.plain:
            parts = honest_components(run.network, coalition)
            sums = [Measurement(component_attack(view, part), None, None) for part in parts]
            found += sums
            tried.append(Attempt("component", tuple(sums), of="their sum"))
        else:
            tried.append(Attempt("component", why=NOT_X))
    tried += [Attempt(name, why=ONE_RUN) for name in OVER_RUNS]
    return Measured(tuple(found), tuple(tried))


def _totals(run: Run, coalition: tuple[int, ...]) -> Measured:
    """Where nothing but totals is said there is one thing to attack: the sum over the honest."""
    others = dict.fromkeys(("difference", AVERAGING, *BY_FORM), SUMS_ONLY) | dict.fromkeys(OVER_RUNS, ONE_RUN)
    tried = [Attempt(name, why=why) for name, why in others.items()]
    if run.rounds < 2:
        return Measured((), (Attempt(TOTAL, why=NO_STEP), *tried))
    attack = total_attack(run.view(coalition))
    truth = error = None
    if run.problem is not None and attack.at is not None and attack.estimate is not None:
        at = np.asarray(attack.at[-1], dtype=np.float64)
        true = np.sum([run.problem.gradient(target, at) for target in attack.target], axis=0)
        truth, error = _rms(true), _rms(attack.estimate[-1] - true)
    found = Measurement(attack, truth, error)
    return Measured((found,), (Attempt(attack.name, (found,), of="their sum"), *tried))


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
        return Attempt(
            AVERAGING, why="those who hear everything that an agent mixes need no average over the network"
        )
    some = [one for one in farther.values() if one.estimate is not None]
    return Attempt(AVERAGING, tuple(map(beside, some)), "" if some else next(iter(farther.values())).why)


def _nearby(run: Run, view: View, target: int) -> list[Attack]:
    """Attacks that need the whole neighbourhood, those first that suppose least; without it they estimate nothing.

    Where messages do not stand for x there are none: the linear estimate over the network is the attack.
    """
    if run.algorithm is not None and not run.algorithm.plain:
        return []
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


def _with_the_form(run: Run, view: View) -> tuple[Tried, ...]:
    """Attacks that know the form of the objectives: the plan is public, and so is what is fitted."""
    why = ""
    if run.problem is None or run.path is None:
        why = "the run was kept without its problem or its path"
    elif run.problem.penalty is not None:
        why = "a penalty is taken by its proximal map, which no attack by form undoes"
    elif run.algorithm is None or not run.algorithm.plain:
        why = "a round is more than one word, a mix and a step along the gradient"
    if why or run.problem is None or run.path is None:
        return tuple(Tried(name, why=why) for name in BY_FORM)
    active = not np.all(run.problem.feasible.contains(run.path[1:].astype(np.float64), tol=-EDGE))
    return attacks_by_form(view, run.problem, active=active)


def _beside_the_truth(run: Run, attack: Attack, everything: View) -> tuple[float | None, float | None]:
    """The size of the truth and of the error: where the last gradient was taken, or the one that was attacked."""
    if run.problem is None or attack.estimate is None:
        return None, None
    (target,) = attack.target
    at = _last_point(run, everything, target) if attack.at is None else attack.at
    truth = np.asarray(run.problem.gradient(target, np.asarray(at[-1], dtype=np.float64)))
    if attack.name in CHANGES:
        truth = truth - np.asarray(run.problem.gradient(target, np.asarray(at[0], dtype=np.float64)))
    return _rms(truth), _rms(attack.estimate[-1] - truth)


def _last_point(run: Run, everything: View, target: int) -> np.ndarray:
    """Where an agent took its last gradient; its last state, where messages do not tell."""
    if run.algorithm is not None and not run.algorithm.plain:
        return run.x[target][None]
    return mixed(everything, target)[-1:]


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
