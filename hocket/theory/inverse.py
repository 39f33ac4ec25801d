"""The bounds asked the other way round: how much noise, or how many rounds, for a wanted gap."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Unpack

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import ALL, RssLb, RssNb
from hocket.errors import BadAlgorithm, BadInput
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.theory.bound import INVERSE_SQRT, Bound
from hocket.theory.finite_time import (
    Kind,
    bound_after,
    check_kind,
    gather_for,
    numbers_for,
    paper_constants,
    paper_value,
    spectral_terms,
    sums_after,
    sums_by_round,
)
from hocket.theory.quantities import Known, Quantities

FARTHEST = {"literal": 10**18, "corrected": 10**18, "spectral": 10**7}
"""Rounds searched unless told otherwise: the paper's constants are closed forms, spectral sums are not."""

DENSE = 100_000
"""Rounds looked at one by one: the paper's bounds first rise with T, so an early answer is not lost."""

PRECISION = 1e-9
"""Relative precision of the noise that is found."""


@dataclass(frozen=True)
class InverseBound:
    """What was asked for, or that the bound does not give it."""

    value: float | int | None
    """None where the bound stays above the gap."""
    bound: Bound
    """The bound at the answer, or where the search ended."""
    statement: str

    def __str__(self) -> str:
        return self.statement


def delta_for(
    gap: float,
    kind: Kind,
    problem: Problem | None = None,
    network: Network | list[Network] | None = None,
    algorithm: Algorithm | None = None,
    *,
    rounds: int,
    step: Any = INVERSE_SQRT,
    start: Any = None,
    grad_at: str = "mixed",
    **quantities: Unpack[Quantities],
) -> InverseBound:
    """The largest noise bound Δ with which the bound on the gap is at most `gap` after `rounds` rounds.

    For choosing the noise a wanted accuracy allows. An algorithm's own `delta` is set aside.
    """
    _check_question(gap, kind)
    for name in ("delta", "noise"):
        if name in quantities:
            raise BadInput(f"{name}= is what delta_for looks for; leave it out")
    if algorithm is not None and not _has_delta(type(algorithm)):
        able = " or ".join(kind.__name__ for kind in ALL if _has_delta(kind))
        raise BadAlgorithm(f"{type(algorithm).__name__} has no Δ to choose; ask with {able}")
    known = gather_for(
        kind, problem, network, algorithm, quantities, step=step, rounds=rounds, start=start, grad_at=grad_at
    )
    sums = None
    if kind == "spectral":
        sums = sums_after(known.step, known.need("lam", of="the spectral bound")["lam"], known.rounds)

    def bound(delta: float) -> Bound:
        return bound_after(kind, known.saying(delta=delta), known.rounds, sums)

    least = bound(0.0)
    if least.value > gap:
        return InverseBound(
            None,
            least,
            f"no Δ: after {rounds} rounds the {kind} bound is {least.value:.6g} even without noise, "
            f"above {gap:g}; run longer, or price rounds by simulation",
        )
    largest = _largest(lambda delta: bound(delta).value <= gap)
    statement = f"Δ = {largest:.6g} keeps the {kind} bound at {gap:g} after {rounds} rounds"
    return InverseBound(largest, bound(largest), statement)


def rounds_for(
    gap: float,
    kind: Kind,
    problem: Problem | None = None,
    network: Network | list[Network] | None = None,
    algorithm: Algorithm | None = None,
    *,
    most: int | None = None,
    step: Any = INVERSE_SQRT,
    start: Any = None,
    grad_at: str = "mixed",
    **quantities: Unpack[Quantities],
) -> InverseBound:
    """The fewest rounds after which the bound on the gap is at most `gap`, looking at up to `most`.

    For knowing what the theory promises; a run usually needs far fewer.
    """
    _check_question(gap, kind)
    farthest = FARTHEST[kind] if most is None else most
    known = gather_for(
        kind,
        problem,
        network,
        algorithm,
        quantities,
        step=step,
        rounds=farthest,
        start=start,
        grad_at=grad_at,
    )
    found = (_spectral_rounds if kind == "spectral" else _paper_rounds)(gap, kind, known)
    if found is None:
        end = bound_after(kind, known, farthest)
        return InverseBound(
            None,
            end,
            f"not within {farthest:,} rounds, where the {kind} bound is {end.value:.6g}, above {gap:g}; "
            "price rounds by simulation",
        )
    statement = f"the {kind} bound is at most {gap:g} at T = {found:,} rounds"
    return InverseBound(found, bound_after(kind, known, found), statement)


def _check_question(gap: Any, kind: str) -> None:
    check_kind(kind)
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 < float(gap) < math.inf:
        raise BadInput(f"gap = {gap!r}; ask for a positive, finite gap")


def _largest(fits: Callable[[float], bool]) -> float:
    """The largest number that fits, from below; 0 fits, and nothing above a misfit does."""
    low, high = 0.0, 1.0
    while fits(high):
        low, high = high, 2 * high
    while high - low > PRECISION * high and high > PRECISION**2:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _spectral_rounds(gap: float, kind: Kind, known: Known) -> int | None:
    numbers = numbers_for(kind, known)
    for first, sums in sums_by_round(known.step, numbers["lam"], known.rounds):
        reached = np.flatnonzero(sum(spectral_terms(sums, numbers).values()) <= gap)
        if reached.size:
            return first + int(reached[0])
    return None


def _paper_rounds(gap: float, kind: Kind, known: Known) -> int | None:
    numbers = numbers_for(kind, known)

    def value(rounds: Any) -> Any:
        return paper_value(rounds, paper_constants(rounds, numbers, corrected=kind == "corrected"))

    early = np.flatnonzero(value(np.arange(1, min(DENSE, known.rounds) + 1)) <= gap)
    if early.size:
        return int(early[0]) + 1
    # Late enough the bound falls like log T/√T: double until it is below, then halve the interval.
    above, below = DENSE, 2 * DENSE
    while value(min(below, known.rounds)) > gap:
        if below >= known.rounds:
            return None
        above, below = below, 2 * below
    between = range(above, min(below, known.rounds))
    return above + bisect_left(between, True, key=lambda rounds: bool(value(rounds) <= gap))


def _has_delta(kind: type[Algorithm]) -> bool:
    """Whether a bound knows the algorithm, with noise in what it says."""
    return kind in (RssNb, RssLb)
