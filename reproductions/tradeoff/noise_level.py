"""How the gap grows with the noise: on the polynomials, and where Theorem 3's rate really shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import RssLb, RssNb
from hocket.engines.sweep import Sweep, sweep
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.problems.standard import PAPER_POLYNOMIALS, polynomials
from hocket.report.tables import label_of
from hocket.steps import Power, Step
from hocket.theory.measured import totals
from reproductions.exponents import Exponent, exponent, late_half
from reproductions.polynomials.runs import START

INVERSE_SQRT = Power(1, 0, 0.5)
"""The step of Theorem 3."""
ALGORITHMS: tuple[Algorithm, ...] = (RssNb(1.0), RssLb(1.0))

DELTAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FITTED_LAST = (0.1, 10.0)
"""Δ over which the last iterate's exponent is fitted: farther on, noise fills X."""
FITTED_AVERAGE = (10.0, 100.0)
"""Δ over which the time average's exponent is fitted, on what it exceeds that of DGD by: below, little is left."""

BOUNDARY_DELTAS = (10.0, 30.0, 100.0)
"""Much smaller noise is absorbed by the boundary: such runs are exactly DGD."""

SMALL_POLYNOMIALS = {
    "kind": "polynomials",
    "coefficients": [list(map(float, row)) for row in PAPER_POLYNOMIALS],
    "box": [-1.0, 1.0],
}
"""The section of a configuration that stands for `small_polynomials`."""


def small_polynomials() -> Problem:
    """The paper's polynomials on [−1, 1], where L = 6 and N = 14."""
    return polynomials(PAPER_POLYNOMIALS, box=(-1, 1))


def boundary_problem() -> Problem:
    """f_j = x on [0, 1]: the optimum lies on the boundary, which turns noise of zero sum into drift."""
    return polynomials([[0, 1]] * 5, box=(0, 1))


@dataclass(frozen=True, eq=False)
class ByNoise:
    """Gaps after a fixed number of rounds, for every Δ."""

    algorithm: str
    rounds: int
    last: Float[np.ndarray, "deltas seeds"]
    average: Float[np.ndarray, "deltas seeds"]
    """Of the α-weighted time average, the subject of Theorem 3."""

    @property
    def last_exponent(self) -> Exponent:
        kept = _within(FITTED_LAST)
        return exponent(np.array(DELTAS)[kept], self.last[kept].T)

    @property
    def average_exponent(self) -> Exponent:
        """Of what the noise adds to the gap of DGD."""
        kept = _within(FITTED_AVERAGE)
        return exponent(np.array(DELTAS)[kept], (self.average[kept] - self.average[0]).T)


@dataclass(frozen=True, eq=False)
class ByRounds:
    """Gaps of the time average at the boundary, for every Δ and T."""

    algorithm: str
    rounds: tuple[int, ...]
    average: Float[np.ndarray, "deltas rounds seeds"]

    @property
    def rate(self) -> np.ndarray:
        """log T / √T."""
        T = np.array(self.rounds)
        return np.log(T) / np.sqrt(T)

    def exponent(self, place: int) -> Exponent:
        """p in gap ∝ (log T / √T)^p for one Δ, over the second half of the rounds; Theorem 3 says 1."""
        late = late_half(len(self.rounds))
        return exponent(self.rate[late], self.average[place, late].T)

    @property
    def noise_exponent(self) -> Exponent:
        """The exponent of Δ at the longest run."""
        return exponent(BOUNDARY_DELTAS, self.average[:, -1].T)


def by_noise(algorithm: Algorithm, *, rounds: int, seeds: int) -> ByNoise:
    """The polynomials on [−1, 1], with the step of Theorem 3."""
    problem = small_polynomials()
    # At projected points L = 6 and N = 14 hold, whatever the noise.
    runs = swept(problem, algorithm, rounds=rounds, seeds=seeds, delta=DELTAS, grad_at="projected")
    return ByNoise(label_of(type(algorithm).__name__), rounds, runs.gap, average_gap(problem, runs))


def by_rounds(algorithm: Algorithm, *, rounds: tuple[int, ...], seeds: int) -> ByRounds:
    """f_j = x on [0, 1], started at the optimum: DGD stays there, so that all of the gap is the noise's."""
    problem = boundary_problem()
    runs = partial(swept, problem, algorithm, seeds=seeds, start=0.0, delta=BOUNDARY_DELTAS)
    gaps = [average_gap(problem, runs(rounds=T)) for T in rounds]
    return ByRounds(label_of(type(algorithm).__name__), rounds, np.stack(gaps, axis=1))


def swept(
    problem: Problem,
    algorithm: Algorithm,
    *,
    seeds: int,
    step: Step = INVERSE_SQRT,
    start: Any = START,
    **asked: Any,
) -> Sweep:
    """Many runs on the ring, by default with the step of Theorem 3 from the usual start."""
    ring, numbers = Network.cycle(5), range(seeds)
    return sweep(problem, ring, algorithm, step=step, start=start, seeds=numbers, progress=False, **asked)


def average_gap(problem: Problem, runs: Sweep) -> np.ndarray:
    """max_j f(x̂_T^j) − f* of every run of a sweep."""
    average, best = runs.time_average, problem.best
    assert average is not None
    assert best is not None
    values = totals(problem, average.reshape(-1, problem.dim)).reshape(average.shape[:-1])
    return values.max(axis=-1) - best.value


def _within(limits: tuple[float, float]) -> np.ndarray:
    return np.array([limits[0] <= delta <= limits[1] for delta in DELTAS])
