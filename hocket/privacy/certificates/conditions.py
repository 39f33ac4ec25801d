"""What a certificate rests on, in sentences: each condition, and whether it was checked. What takes one away is in
`refusals`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.protected import Protected, Record, Shift
from hocket.privacy.certificates.vouched import is_ours
from hocket.privacy.estimate.recursion import Release
from hocket.problems import Objective
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem
from hocket.steps import Step

SECRET = (
    "supposed: noise between two honest agents, and of each by itself, is secret from all others, normal and "
    "independent, also of other runs: a seed is secret, and no other run uses it, save one on the same data under "
    "noise that is kept; it is pseudorandom, so this is a promise against whoever cannot break the generator"
)
MASKS = (
    "supposed: masks between two honest agents are secret from all others and uniform in a finite group, so that "
    "nothing is shown but the sum over honest agents that hang together (Theorem T); they are pseudorandom, so this is "
    "a promise against whoever cannot break the generator. Own noise is normal, secret and independent, also of other "
    "runs: no other run uses its seed"
)
LIARS = (
    "covered: members may lie, wait for others' words, and deal noise on their own links as they please; that is about "
    "privacy, and not about the answer"
)
PUBLIC_START = "supposed: the start is public"
PUBLISHED_START = (
    "supposed: agents start from what they published in earlier runs, which follows from words that were said there, "
    "and never from a raw x; those runs count beside this one"
)
ALL_RECORDS = "that objective is over all records, in every step"
NO_VALUE = "no value of an objective is reported, for constants are not hidden: agents get gradients alone"
SUMS = "objectives are sums over records and not means, so that what moves leaves the total as it is"
NO_RAW_X = "supposed: no raw x is ever released; publish what one more exchange makes of it"
EVERY_ROUND = "supposed: every agent takes part in every round: after a pause noise is that of a later step"
DIVISOR = "what a record contributes to a step is clipped, and sums are divided by a public constant"
COINS = (
    "supposed: every record takes part in a round by a coin of its own, with probability {rate:.6g} or less, and "
    "nobody else learns who or how many did; S bounds what a record contributes, too, as twice a clip over b does"
)
FRESH_RUNS = (
    "supposed: each run draws noise of its own, with a seed that no other run uses; then runs compose, and with one "
    "seed twice nothing of this holds"
)
RANGE = "supposed: dealt noise and words outside a public range are refused"


@dataclass(frozen=True)
class Circumstances:
    """What else is known of a run that a certificate is asked for."""

    release: Release = "nothing"
    linear: bool = True
    """Whether what moves between agents is a linear function."""
    batches: bool = False
    rate: float = 1.0
    """How likely a record is to take part in a round, in secret."""
    runs: int = 1
    kept: bool = False
    problem: Problem | None = None
    algorithm: Algorithm | None = None
    """The algorithm itself, where more than its key was given."""
    setting: Setting | None = None
    step: Step | None = None
    """The step, where anybody said which."""
    dim: int = 1
    said_dim: int | None = None
    """How many numbers a state has, where anybody said so."""
    rounded: bool = True
    """Whether what is hidden counts what rounding to a grid adds to it."""
    objectives: ObjectiveClass | None = None
    """The class of all objectives, as declared or as the problem's form says; None where nobody said."""

    @property
    def bare(self) -> list[str]:
        """What is published without noise."""
        shown = {"raw": "a raw last x is", "means": "sums of raw states are"}.get(self.release)
        cure = "publish what one more exchange makes of the last x"
        return [] if shown is None else [f"{shown} released, which no noise covers; {cure}"]


def assumptions(mechanism: Mechanism, protected: Protected, about: Circumstances) -> tuple[str, ...]:
    """What must be so, each marked as checked, covered or supposed."""
    said = [MASKS if mechanism.masked else SECRET, LIARS, RANGE]
    said += (
        _of_objectives(protected, about)
        if mechanism.on == "objective"
        else _of_gradients(mechanism, protected, about)
    )
    if isinstance(protected, Shift) and protected.left_over:
        said.append(
            f"supposed: the sum of what shifts, {protected.left_over:.3g} beside {np.abs(protected.rows).max():.3g},"
            " is rounding of what was given and stands for zero"
        )
    if about.runs > 1:
        if not about.kept:
            said.append(FRESH_RUNS)
        elif mechanism.on == "objective":
            said.append("supposed: the data are the same in all runs, which keep their noise")
        else:  # the same noise under two gradients shows their difference bare
            said.append(
                "supposed: the data are the same in all runs, which keep their anchors alone: noise of rounds is drawn "
                "anew in each, under a seed of its own"
            )
    said.append(
        "checked: what is hidden and what hides it are whole numbers on one public grid, and all words follow from "
        "their stored sum"
        if mechanism.exact and about.rounded
        else "supposed: numbers are real; rounding of floating-point sums can void this (real-arithmetic model)"
    )
    return tuple(said)


def _of_objectives(protected: Protected, about: Circumstances) -> list[str]:
    code, problem = about.algorithm is not None, about.problem
    said = [
        f"{_how(code)}: all that an agent says follows from its objective plus noise function, from words and coins",
        f"{_how(problem is not None)}: {ALL_RECORDS}",
        "supposed: start, step, smoothness and stopping rule are public or follow from what was said",
        f"{_how(code)}: {NO_VALUE}",
        f"{_how(code and _derived(about))}: what changes lies in the span of the noise functions",
        "supposed: what changes is counted in units in which each coefficient's noise has the stated deviation",
        "covered: projection, publication of x, and any method inside that is fed the noisy objective alone",
    ]
    if isinstance(protected, Record):
        said.append(
            "supposed: noise of an agent's own is drawn once with its noise function, and never redrawn"
        )
    else:
        summed = problem is not None and all(group.objective.reduction == "sum" for group in problem.groups)
        said.append(f"{_how(summed)}: {SUMS}")
    return said


def _of_gradients(mechanism: Mechanism, protected: Protected, about: Circumstances) -> list[str]:
    how = _how(about.algorithm is not None)
    said = [
        PUBLIC_START if mechanism.start == "public" else PUBLISHED_START,
        f"{how}: an agent mixes the noisy word that it said, never its clean state",
        f"{how}: nothing is carried from round to round but the state: no momentum, no adaptive optimiser",
        f"{how}: the word after the last step is masked like all others",
        NO_RAW_X,
        EVERY_ROUND,
    ]
    if isinstance(protected, Record):
        said += [
            _clipped(mechanism, protected, about),
            "covered: gradients that depend on all words heard before; projection",
        ]
        if mechanism.anchor_sd is not None:
            said.append("covered: noise kept over rounds does not count for records, and is left out")
        if about.rate < 1:
            said.append(COINS.format(rate=about.rate))
    else:
        said.append(
            "supposed: what moves is a linear function, the same in every round, and agents take one step along their "
            "whole gradient between two exchanges"
        )
        if about.problem is None and about.algorithm is None:
            said.append(
                "supposed: the set is the whole space, or what was mixed is projected before the step"
            )
    return said


def _clipped(mechanism: Mechanism, protected: Record, about: Circumstances) -> str:
    """By what a record's part in a step is bounded, and who divides it by what."""
    held = protected.held if isinstance(protected.held, int) else min(protected.held.values())
    if mechanism.sensitivity is not None and protected.size * held >= mechanism.sensitivity * (1 - 1e-9):
        ours = about.algorithm is None or is_ours(type(about.algorithm))
        return f"{_how(ours)}: the whole way of every step is cut to a length, whatever sums in it are divided by"
    problem = about.problem
    if problem is not None and not about.batches:
        sampled = any(group.objective.reduction is not None for group in problem.groups)
        if all(type(group.objective).local is Objective.local for group in problem.groups):
            most = f"{_how(sampled)}: none as large as those of this problem moves a gradient by more than S"
            return f"checked: all records take part in every step; {most}, wherever messages lead"
    return f"supposed: {DIVISOR}"


def _derived(about: Circumstances) -> bool:
    """Whether the class of objectives follows from their form, and not from anybody's word."""
    problem = about.problem
    return problem is not None and about.objectives is not None and problem.declared_objectives is None


def _how(seen: bool) -> str:
    return "checked" if seen else "supposed"
