"""What one algorithm leaves open to one kind of listener: by theorem, by estimate, or by attack on a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import COMPARED
from hocket.errors import NoTheorem
from hocket.networks.network import Network
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
from hocket.privacy.estimate.leakage import Leakage, leakage
from hocket.privacy.estimate.levels import stands_for
from hocket.privacy.estimate.worst_case import worst_leakage
from hocket.privacy.topology.connectivity import honest_components
from hocket.privacy.topology.guarantees import Exposure, exposure, refuse_without_theorem
from hocket.privacy.wording import named
from hocket.runs.run import Run
from hocket.runs.view import Threat, View

SOON = 3
"""Rounds after which a tap on words and noise knows all that pairwise noise ever hid."""
SURPRISE = 4.0
"""Standard deviations of the predicted error beyond which it is no chance."""
EDGE = 1e-9
"""How close to the edge of X a state counts as moved back onto it."""
ROUNDING = 1e-5
"""Part of the truth by which an exact attack may be off."""


@dataclass(frozen=True)
class Option:
    """An algorithm to audit, with its noise level if it is given by name."""

    algorithm: str | Algorithm
    sigma: float = 1.0
    anchor_sigma: float = 0.0

    @property
    def stands_for(self) -> Algorithm:
        """The algorithm itself, or one that stands for its name."""
        return stands_for(self.algorithm, anchored=self.anchor_sigma > 0)


@dataclass(frozen=True, eq=False)
class Finding:
    """One line of a verdict."""

    option: Option
    label: str
    threat: Threat
    basis: Literal["theorem", "estimate"]
    coalition: tuple[int, ...]
    """The coalition it is about: the one named, or the worst that was found."""
    searched: tuple[int, int] | None
    """How many coalitions were searched, and of how many; None where one was named."""
    exact: tuple[int, ...]
    """Agents whose gradients, or objectives, are known exactly."""
    averaged: tuple[int, ...]
    """Agents whose noise averages out as rounds go by."""
    hidden: tuple[int, ...]
    """Agents of whom only sums with others are known."""
    leakage: Leakage
    least: float
    """The smallest standard deviation with which an honest gradient is known."""

    @property
    def weakest(self) -> int:
        """The honest agent who is known best."""
        return min(self.leakage.honest, key=lambda j: self.leakage.sd[j])

    @property
    def words(self) -> str:
        """The line in words."""
        parts = []
        if self.exact:
            parts.append(f"{named(self.exact)} known exactly")
        if self.averaged:
            parts.append(f"the noise of {named(self.averaged)} averages out in time")
        if self.hidden and self.basis == "theorem":
            parts.append(f"{named(self.hidden)} hidden but for sums")
        elif self.hidden:
            parts.append(f"{named(self.hidden)} not identifiable")
        return "; ".join(parts)

    @property
    def searched_words(self) -> str:
        """How far the search went."""
        if self.searched is None:
            return ""
        done, total = self.searched
        return f"all {total:,} searched" if done == total else f"searched {done:,} of {total:,}"

    @property
    def cell(self) -> str:
        """The line in a few characters."""
        groups = [("exact", self.exact), ("averaging", self.averaged), ("hidden", self.hidden)]
        return ", ".join(f"{len(who)} {what}{self._known_to(who)}" for what, who in groups if who)

    def _known_to(self, agents: tuple[int, ...]) -> str:
        least = min(self.leakage.sd[j] for j in agents)
        return f" ±{least:.2g}" if least else ""

    def to_json(self) -> dict[str, Any]:
        """The line in numbers."""
        return {
            "algorithm": self.label,
            "threat": self.threat,
            "basis": self.basis,
            "coalition": list(self.coalition),
            "searched": None if self.searched is None else list(self.searched),
            "exact": list(self.exact),
            "averaged": list(self.averaged),
            "hidden": list(self.hidden),
            "least_sd": self.least,
            "sd": self.leakage.sd.tolist(),
        }


def find(
    network: Network,
    option: Option,
    *,
    colluders: int,
    coalition: tuple[int, ...] | None,
    searched: tuple[int, int] | None,
    covered: bool,
    threat: Threat,
    rounds: int,
    **plan: Any,
) -> Finding:
    """One line of a verdict: about the coalition named, or about the worst of its size that can be found.
    `covered` says that Theorem 2 has a word on it; `searched` how far an earlier search went for this coalition.
    """
    plan |= {"sigma": option.sigma, "anchor_sigma": option.anchor_sigma, "threat": threat}
    soon = threat == "states+noise" and option.stands_for.soon_open
    plan["rounds"] = min(rounds, SOON) if soon else rounds
    if coalition is None:
        worst = worst_leakage(network, option.algorithm, colluders, **plan)
        found, searched = worst.leakage, (worst.searched, worst.total)
    else:
        found = leakage(network, option.algorithm, coalition=coalition, **plan)
    return _finding(option, found, exposure(network, found.coalition) if covered else None, searched)


def _finding(
    option: Option, found: Leakage, exposure: Exposure | None, searched: tuple[int, int] | None
) -> Finding:
    """What a leakage means; `exposure` is Theorem 2's word where it applies."""
    label = option.stands_for.effective().title
    exact = found.exact if exposure is None else exposure.surrounded
    averaged = tuple(j for j in found.identifiable if j not in exact) if exposure is None else ()
    return Finding(
        option=option,
        label=label,
        threat=found.threat,
        basis="estimate" if exposure is None else "theorem",
        coalition=found.coalition,
        searched=searched,
        exact=exact,
        averaged=averaged,
        hidden=tuple(j for j in found.honest if j not in {*exact, *averaged}),
        leakage=found,
        least=float(found.sd[list(found.honest)].min()),
    )


def standard_options(sigma: float) -> Sequence[Option]:
    """Everything there is to choose from, at the same bound per link: half of it anchored, or all of it fresh."""
    options = []
    for key, anchored in COMPARED.items():
        options += [Option(key, sigma / 2, sigma / 2)] if anchored else []
        options.append(Option(key, sigma))
    return options


def has_theorem(algorithm: str | Algorithm, run: Run | None) -> bool:
    """Whether Theorem 2 covers the algorithm and, of a run, the objectives: polynomials that its noise can match."""
    try:
        refuse_without_theorem(algorithm)
    except NoTheorem:
        return False
    if run is None or run.problem is None or isinstance(algorithm, str):
        return True
    degree, hidden = run.problem.degree, getattr(algorithm, "degree", 0)
    return degree is not None and degree <= hidden


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

    def __str__(self) -> str:
        attack = self.attack
        words = f"{attack.name} attack on {named(attack.target)}: "
        if self.error is None:
            return f"{words}{attack.verdict}."
        beside = f"off by {self.error:.2g}, the truth in the end being {self.truth:.2g} in size"
        if not self.surprising:
            return f"{words}{attack.verdict}; it is {beside}."
        return (
            f"{words}{attack.what}, {beside}. It predicts {attack.typical_sd:.2g}, supposing that "
            f"{' and '.join(attack.supposing)}, which is not so here."
        )

    def to_json(self) -> dict[str, Any]:
        """The measurement in numbers."""
        found = self.attack.to_json()
        kept = ("name", "target", "what", "identifiable", "exact", "why", "typical_sd")
        return {key: found[key] for key in kept} | {"error": self.error, "truth": self.truth}


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
