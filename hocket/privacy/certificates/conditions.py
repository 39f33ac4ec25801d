"""The conditions of the theorems: what takes a certificate away, and what is taken for granted, in sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.conduct import masks_last, unfit
from hocket.privacy.certificates.protected import Protected, Record, Shift, Transfer
from hocket.privacy.certificates.vouched import unvouched
from hocket.privacy.estimate.recursion import Release
from hocket.privacy.verdict.theorem import privacy_claim
from hocket.problems import Objective
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere

SECRET = (
    "supposed: noise between two honest agents is secret from all others, normal and independent; it is pseudorandom, "
    "so this is a promise against whoever cannot break the generator"
)
MASKS = (
    "supposed: masks between two honest agents are secret from all others and uniform in a finite group, so that "
    "nothing is shown but the sum over honest agents that hang together (Theorem T); they are pseudorandom, so this is "
    "a promise against whoever cannot break the generator. Own noise is normal, independent and secret"
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
DIVISOR = "what a record contributes to a step is clipped, and sums are divided by a public constant"
COINS = (
    "supposed: every record takes part in a round by a coin of its own, with probability {rate:.6g} or less, and "
    "nobody else learns who or how many did; S bounds what a record contributes, too, as twice a clip over b does"
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
    dim: int = 1
    rounded: bool = True
    """Whether what is hidden counts what rounding to a grid adds to it."""

    @property
    def bare(self) -> list[str]:
        """What is published without noise."""
        shown = {"raw": "a raw last x is", "means": "sums of raw states are"}.get(self.release)
        cure = "publish what one more exchange makes of the last x"
        return [] if shown is None else [f"{shown} released, which no noise covers; {cure}"]


def voided(mechanism: Mechanism, protected: Protected, about: Circumstances) -> tuple[str, ...]:
    """Everything that takes a certificate away."""
    found = _voided(mechanism, protected, about)
    if found or about.algorithm is None or about.setting is None:
        return found
    found = tuple(dict.fromkeys(unvouched(about.algorithm, about.setting, mechanism)))
    if found or mechanism.on == "objective" or masks_last(about.algorithm, about.setting):
        return found
    return ("the word after the last step has no noise in it, and shows the last gradient bare",)


def _voided(mechanism: Mechanism, protected: Protected, about: Circumstances) -> tuple[str, ...]:
    """What is known to take it away, before anybody asks whose code it is."""
    found = [*mechanism.void]
    batches = about.batches or (about.problem is not None and _looks_at_some(about.problem))
    if mechanism.on == "objective":
        if batches:
            found.append(
                "noise is on the objective over all records, and a step along some of them shows what the noise was "
                "never added to"
            )
        groups = () if about.problem is None else about.problem.groups
        averages = any(getattr(group.objective, "reduction", None) == "mean" for group in groups)
        if isinstance(protected, Transfer) and averages:
            found.append(
                "objectives are means over records: a record that moves changes the weight of all others, so that the "
                'total changes; use reduction="sum"'
            )
        return (*found, *_outside_span(protected, about))
    found += about.bare
    if isinstance(protected, Record) and mechanism.sensitivity is None and _unbounded(about.problem):
        found.append("nothing clips a record's gradient, which grows with x: no number bounds it; take clip=")
    if not isinstance(protected, Record):
        if not about.linear:
            found.append(
                "what moves is not linear, and whoever hears all words adds them up, free of noise: curvatures and "
                "all that is not a slope are read exactly, however much noise there is (the sum attack)"
            )
        found += projected(mechanism, about)
        found += one_whole_step(mechanism, about, batches=batches)
    if about.algorithm is not None and about.setting is not None:
        found += unfit(about.algorithm, about.setting)
    return tuple(found)


def one_whole_step(mechanism: Mechanism, about: Circumstances, *, batches: bool) -> tuple[str, ...]:
    """Why what moves shows in a sum over honest agents: gradients that are cut short, or of some records only."""
    cut = (
        "gradients are clipped, which is not linear: what moves changes the sum over honest agents, and pairwise noise "
        "does not hide that",
    )
    some = (
        "a step looks at some records only: what moves may show at one agent and not at the other, and then the sum "
        "over honest agents changes, which pairwise noise does not hide",
    )
    return (*(cut if mechanism.sensitivity is not None else ()), *(some if batches else ()))


def projected(mechanism: Mechanism, about: Circumstances) -> tuple[str, ...]:
    """Why a projection takes away what is certified of a move; empty if it does not."""
    if mechanism.projects != "after the step" or _everywhere(about.problem):
        return ()
    if about.problem is not None and about.problem.penalty is not None:
        return (
            "the proximal map of a penalty follows the step, and is not linear: what moves changes the sum over honest "
            "agents, which pairwise noise does not hide; leave the penalty out, or take project='mixed'",
        )
    return (
        "states are projected after the step: one on the edge of the set is known, and shows its noise bare; project "
        "what was mixed, before the step, or pass a problem= on the whole space",
    )


def _outside_span(protected: Protected, about: Circumstances) -> tuple[str, ...]:
    """Why a record is not hidden by noise functions: what of it they do not span stays exposed, cross terms say."""
    if not isinstance(protected, Record) or about.problem is None or about.algorithm is None:
        return ()
    claim = privacy_claim(about.algorithm, about.problem.objective_class, dim=about.problem.dim)
    return () if claim else (f"what noise functions do not span stays exposed: {claim.reason}",)


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
        said.append(
            "supposed: the data are the same in all runs, which keep their noise"
            if about.kept
            else "covered: each run draws noise of its own, and runs compose"
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
        "supposed: what changes lies in the span of the noise functions, and is counted in units in which each "
        "coefficient's noise has the stated deviation",
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
    held = protected.held if isinstance(protected.held, int) else sum(protected.held.values())
    if mechanism.sensitivity is not None and protected.size * held >= mechanism.sensitivity * (1 - 1e-9):
        return "checked: the whole way of every step is cut to a length, whatever sums in it are divided by"
    if about.problem is not None and not about.batches and not _looks_at_some(about.problem):
        return "checked: all records take part in every step; supposed: none moves a gradient by more than S"
    return f"supposed: {DIVISOR}"


def _how(seen: bool) -> str:
    return "checked" if seen else "supposed"


def _looks_at_some(problem: Problem) -> bool:
    """Whether agents descend along anything but their exact gradients."""
    return any(type(group.objective).local is not Objective.local for group in problem.groups)


def _unbounded(problem: Problem | None) -> bool:
    """Whether gradients of single records grow beyond all bounds: squares and higher powers, with x free."""
    if problem is None or not _everywhere(problem) or (problem.objective_class.degree or 0) <= 1:
        return False
    return any(group.objective.reduction is not None for group in problem.groups)


def _everywhere(problem: Problem | None) -> bool:
    return problem is not None and isinstance(problem.feasible, Everywhere) and problem.penalty is None
