"""Every lemma and bound, checked in every round of a kept run, and how close it came to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack, get_args

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms.function_sharing import functions_of
from hocket.errors import BadInput, NoTheorem, NotRecorded
from hocket.networks.network import Network
from hocket.runs.run import Run
from hocket.theory.bound import refuse_broken
from hocket.theory.finite_time import (
    Kind,
    numbers_for,
    paper_constants,
    paper_value,
    spectral_terms,
    sums_by_round,
)
from hocket.theory.lemmas import Mixing, disagreement_numbers, disagreement_terms, growth, iterate_numbers
from hocket.theory.measured import Measured, measure, mixed_noise, totals
from hocket.theory.quantities import Known, Quantities, added_constants, gather

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""What float64 may lose in the sums below, relative to the largest number in them."""
SMALLEST = 1e-290
"""Below this, products of weights leave the range in which float64 keeps its digits."""


@dataclass(frozen=True)
class Margin:
    """How close a run came to one bound."""

    name: str
    ratio: float
    """The smallest bound/actual over all rounds; infinite where there was nothing but rounding to bound."""
    round: int
    """The round with that ratio; for products of weight matrices, their length."""
    bound: float
    actual: float
    final: float
    """bound/actual in the last round."""
    holds: bool
    """Whether the bound holds in every round, up to rounding."""


@dataclass(frozen=True)
class Monitor:
    """A run beside the theory: one margin for every bound that could be checked."""

    margins: tuple[Margin, ...]
    skipped: Mapping[str, str]
    """What could not be checked, and why."""
    rounds: int
    quantities: Mapping[str, float]
    """L, N and Δ as used, where they are known."""

    @property
    def holds(self) -> bool:
        """Whether every bound that was checked holds in every round."""
        return all(margin.holds for margin in self.margins)

    def __getitem__(self, name: str) -> Margin:
        for margin in self.margins:
            if margin.name == name:
                return margin
        names = ", ".join(repr(margin.name) for margin in self.margins)
        raise KeyError(self.skipped.get(name, f"{name!r} was not checked; there are {names}"))

    def __str__(self) -> str:
        rows = [["", "bound/actual", "at round", "bound", "actual", "at the end", ""]]
        for m in self.margins:
            ratio, *others = (f"{value:.4g}" for value in (m.ratio, m.bound, m.actual, m.final))
            rows.append([m.name, ratio, f"{m.round:,}", *others, "" if m.holds else "VIOLATED"])
        first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip() for row in rows]
        used = ", ".join(f"{name} = {value:.6g}" for name, value in self.quantities.items())
        lines.append(f"tightest of {self.rounds:,} rounds" + (f", with {used}" if used else ""))
        return "\n".join([*lines, *(f"not checked: {name}: {why}" for name, why in self.skipped.items())])


def tightest(
    name: str, bound: Float[np.ndarray, " rounds"], actual: Float[np.ndarray, " rounds"], rounding: Any
) -> Margin:
    """The round in which `actual` comes closest to `bound`; what is below `rounding` is not compared."""
    violated = actual > bound + rounding
    ratio = np.where(violated, 0.0, np.inf)
    np.divide(bound, actual, out=ratio, where=(violated | (actual > rounding)) & (actual != 0))
    at = int(ratio.argmin())
    return Margin(
        name=name,
        ratio=float(ratio[at]),
        round=at + 1,
        bound=float(bound[at]),
        actual=float(actual[at]),
        final=float(ratio[-1]),
        holds=not violated.any(),
    )


Compared = tuple[Any, Any, Any]
"""The bound and what it bounds in every round, and how much of that is rounding."""


def monitor(run: Run, **quantities: Unpack[Quantities]) -> Monitor:
    """Hold a run kept with keep="path" or "transcript" against the theory, round by round.

    For seeing that the bounds hold, and how loose each is. A transcript adds the bound at the realised noise.
    Pass plain numbers, such as L, where the problem knows none.
    """
    refuse_broken(run.claim.assumptions, "every bound")
    seen = measure(run)
    known = _known(run, seen, quantities)
    checks: dict[str, Callable[[], Compared]] = {
        "Lemma 1": lambda: _lemma1(seen, known),
        "Lemma 2": lambda: _lemma2(seen, known),
        "|Φ − 1/n| ≤ θβ^(k−s+1)": lambda: _transitions(seen, known),
        "ξ² ≤ η²": lambda: (seen.distance[:-1], seen.mixed_distance, ROUNDING * seen.size),
        **{f"Theorem 3, {kind}": partial(_theorem3, kind, seen, known) for kind in get_args(Kind)},
        "Theorem 3, spectral, noise as realised": lambda: _theorem3(
            "spectral", seen, known.saying(noise=float(mixed_noise(run, seen.alpha).max()))
        ),
    }
    margins: list[Margin] = []
    skipped: dict[str, str] = {}
    for name, check in checks.items():
        try:
            margins.append(tightest(name, *check()))
        except (BadInput, NoTheorem, NotRecorded) as error:
            skipped[name] = str(error)
    found = {name: known.find(name) for name in ("L", "N", "delta")}
    used = {name: value for name, value in found.items() if value is not None}
    return Monitor(tuple(margins), skipped, seen.rounds, used)


def _known(run: Run, seen: Measured, quantities: Quantities) -> Known:
    """Where this run's numbers come from: its problem, its settings and, where it was kept, its noise."""
    algorithm = run.algorithm
    own_noise = getattr(algorithm, "given", None) is not None
    if algorithm is not None and functions_of(algorithm) is not None:
        derived, wanted = _with_functions(run, seen, algorithm), {"L", "N"}
    else:
        derived, wanted = Quantities(), {"delta"}
        if own_noise and run.transcript is not None:  # all that the proofs need is ‖e_k^j‖ ≤ Δ, as realised
            derived["delta"] = float(mixed_noise(run, seen.alpha).max())
    given: Quantities = {**derived, **quantities}
    if own_noise and not wanted <= given.keys():
        raise BadInput(
            f"the noise of this run was the user's own, so {' and '.join(sorted(wanted))} cannot be derived; "
            "pass them, or run it again with keep='transcript'"
        )
    return gather(
        "the monitor",
        seen.problem,
        seen.network,
        algorithm,
        given,
        step=seen.step,
        rounds=seen.rounds,
        start=seen.path[0],
        grad_at=run.settings["grad_at"],
    )


def _with_functions(run: Run, seen: Measured, algorithm: Algorithm) -> Quantities:
    """L and N with the noise functions that were really drawn, where they were kept."""
    found, constants = Quantities(), seen.problem.constants()
    if run.transcript is None:
        return found
    drawn = np.asarray(run.transcript.noise["function"][0], dtype=np.float64)
    plan = Setting(seen.network, seen.problem.dim, seen.step, seen.rounds)
    slope, bend = added_constants(algorithm, plan, seen.problem.feasible, drawn)
    if constants.L is not None:
        found["L"] = constants.L + slope
    if constants.N is not None:
        found["N"] = constants.N + bend
    return found


def _lemma1(seen: Measured, known: Known) -> Compared:
    terms = disagreement_terms(seen.alpha, disagreement_numbers(known))
    return sum(terms.values()), seen.spread[1:], ROUNDING * np.sqrt((seen.path**2).sum(axis=2).max())


def _lemma2(seen: Measured, known: Known) -> Compared:
    alpha, distance = seen.alpha, seen.distance
    F, H = growth(alpha, seen.spread[:-1], iterate_numbers(known))
    value, best = seen.value_at_mean, float(totals(seen.problem, seen.optimum[None])[0])
    bound = (1 + F) * distance[:-1] - 2 * alpha * (value - best) + H
    return bound, distance[1:], ROUNDING * (seen.size + 2 * alpha * (abs(value) + abs(best)))


def _transitions(seen: Measured, known: Known) -> Compared:
    mixing = Mixing.of(**known.need("n", "rho", of="the bound on products of weights"))
    length = np.arange(1, seen.rounds + 1)
    return mixing.theta * np.exp(-mixing.decay * length), _deviation(seen.network, seen.rounds), 0.0


def _deviation(network: Network, rounds: int) -> Float[np.ndarray, " rounds"]:
    """max |Φ(k, s) − 1/n| over entries and starts s, for every length k − s + 1.

    Φ − 11ᵀ/n is the product of the B_k − 11ᵀ/n, which keeps its digits however small it becomes.
    """
    factors = [network.B_at(k) - 1 / network.n for k in range(1, network.period + 1)]
    largest = np.zeros(rounds)
    for first in range(network.period):
        product = factors[first]
        for length in range(rounds):
            size = float(abs(product).max())
            if size < SMALLEST:
                break
            largest[length] = max(largest[length], size)
            product = factors[(first + length + 1) % network.period] @ product
    return largest


def _theorem3(kind: Kind, seen: Measured, known: Known) -> Compared:
    numbers = numbers_for(kind, known)
    best = seen.problem.best
    if best is None:
        raise BadInput("the optimum f* is not known; declare optimum= on the problem")
    if kind == "spectral":
        blocks = sums_by_round(seen.step, numbers["lam"], seen.rounds)
        bound = np.concatenate([sum(spectral_terms(sums, numbers).values()) for _, sums in blocks])
    else:
        rounds = np.arange(1, seen.rounds + 1)
        bound = paper_value(rounds, paper_constants(rounds, numbers, corrected=kind == "corrected"))
    value = seen.value_of_average
    return bound, value - best.value, ROUNDING * (abs(value) + abs(best.value))
