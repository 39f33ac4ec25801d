"""What is run: the price of each kind of privacy, and how the gap grows with the noise."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, IndependentNoise, PrivateDgd, RssLb, RssNb
from hocket.engines.sweep import Sweep
from hocket.steps import Power
from reproductions.experiment import Watch, all_kinds, unwatched
from reproductions.exponents import Exponent, exponent, late_half
from reproductions.tradeoff.noise_level import (
    ALGORITHMS,
    ByNoise,
    ByRounds,
    by_noise,
    by_rounds,
    small_polynomials,
    swept,
)

STEP = Power(2.0, 20, 1)
"""α_k ∝ 1/k, so that noise whose variance must grow with T, as that of a fixed ε does, leaves a flat floor."""
SIGMA = 0.3
"""Realised standard deviation of the noise, in units of a gradient, that every contender is given."""
EPSILONS = (1.0, 10.0, 100.0)
CLIP = 1.0
PILOT = 100
"""Rounds of the run that measures how much noise Δ = 1 is."""
CONTENDERS: dict[str, Callable[[float], Algorithm]] = {
    "DGD": lambda delta: Dgd(),
    "RSS-NB": RssNb,
    "RSS-LB": RssLb,
    "independent noise": IndependentNoise,
}
"""What is compared, by its noise bound Δ."""


@dataclass(frozen=True, eq=False)
class Falling:
    """One algorithm's gap against rounds."""

    algorithm: str
    delta: float
    rounds: np.ndarray
    gap: Float[np.ndarray, "seeds points"]
    noise_rms: float
    """As realised."""

    @property
    def slope(self) -> Exponent:
        """The exponent of k in the last two fifths of the run, on a logarithmic axis."""
        late = self.rounds >= self.rounds[-1] ** 0.6
        return exponent(self.rounds[late] + 1, self.gap[:, late])


@dataclass(frozen=True, eq=False)
class Private:
    """Differentially private DGD at one ε: every T is a run of its own, since its noise depends on T."""

    epsilon: float
    failure: float
    clip: float
    rounds: tuple[int, ...]
    sigma: tuple[float, ...]
    gap: Float[np.ndarray, "seeds points"]

    @property
    def floor(self) -> float:
        """The smallest median gap at any T: no plan gets below it."""
        return float(np.median(self.gap, axis=0).min())

    @property
    def best_rounds(self) -> int:
        return self.rounds[int(np.median(self.gap, axis=0).argmin())]

    @property
    def slope(self) -> Exponent:
        """The exponent of T over the second half of the plans."""
        late = late_half(len(self.rounds))
        return exponent(self.rounds[late], self.gap[:, late])


def falling(name: str, *, rounds: int, seeds: int) -> Falling:
    """One contender, its Δ chosen so that its noise has the size of the others'."""
    contender = CONTENDERS[name]
    if name == "DGD":
        delta, seeds = 0.0, 1  # nothing in DGD is random
    else:
        delta = SIGMA / _rms(_sweep(contender(1.0), rounds=PILOT, seeds=seeds))  # noise is proportional to Δ
    runs = _sweep(contender(delta), rounds=rounds, seeds=seeds)
    return Falling(name, delta, runs.history["round"], runs.history["gap"], _rms(runs))


def private(*, rounds: tuple[int, ...], seeds: int) -> list[Private]:
    """Differentially private DGD at every ε, planned for every T."""
    plans = [PrivateDgd(1.0, CLIP, T) for T in rounds]
    sweeps = [_sweep(plan, rounds=plan.releases, seeds=seeds, epsilon=EPSILONS) for plan in plans]
    gaps = np.stack([runs.gap for runs in sweeps], axis=2)
    return [
        Private(
            epsilon,
            plans[0].failure,
            CLIP,
            rounds,
            tuple(PrivateDgd(epsilon, CLIP, T).sigma for T in rounds),
            gaps[place],
        )
        for place, epsilon in enumerate(EPSILONS)
    ]


def _rms(runs: Sweep) -> float:
    # Round 1 of RSS-NB is silent.
    return float(np.sqrt(np.mean(runs.history["noise_rms"][..., 1:] ** 2)))


def _sweep(algorithm: Algorithm, **asked: Any) -> Sweep:
    return swept(small_polynomials(), algorithm, step=STEP, time_average=False, **asked)


@dataclass(frozen=True)
class Size:
    """How much to run."""

    price_rounds: int = 10**5
    price_seeds: int = 100
    private_rounds: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5)
    private_seeds: int = 60
    noise_rounds: tuple[int, int] = (1000, 10**4)
    """The T at which the gap is taken for every Δ; the first shows how it falls with T."""
    noise_seeds: int = 100
    boundary_rounds: tuple[int, ...] = (100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5)
    boundary_seeds: int = 50


FULL = Size()
QUICK = Size(
    price_rounds=3000,
    price_seeds=40,
    private_rounds=(10, 100, 1000),
    private_seeds=40,
    noise_rounds=(100, 1000),
    noise_seeds=20,
    boundary_rounds=(100, 300, 1000),
    boundary_seeds=10,
)


@dataclass(frozen=True)
class Tradeoff:
    """Everything the experiment found."""

    size: Size
    falling: list[Falling]
    private: list[Private]
    by_noise: list[ByNoise]
    """At the longer T."""
    by_noise_early: list[ByNoise]
    by_rounds: list[ByRounds]
    seconds: float


def play(size: Size = FULL, watch: Watch = unwatched) -> Tradeoff:
    """Run everything, the longest pieces first."""
    began, (early, late) = time.monotonic(), size.noise_rounds
    price = {"rounds": size.price_rounds, "seeds": size.price_seeds}
    boundary = {"rounds": size.boundary_rounds, "seeds": size.boundary_seeds}
    noise = {"rounds": size.noise_rounds, "seeds": size.noise_seeds}
    pieces = {
        "private": [partial(private, rounds=size.private_rounds, seeds=size.private_seeds)],
        "falling": [partial(falling, name, **price) for name in CONTENDERS],
        "by_rounds": [partial(by_rounds, algorithm, **boundary) for algorithm in ALGORITHMS],
        "by_noise": [partial(_by_noise, algorithm, **noise) for algorithm in ALGORITHMS],
    }
    found = all_kinds(pieces, watch)
    return Tradeoff(
        size=size,
        falling=found["falling"],
        private=found["private"][0],
        by_noise=[one[late] for one in found["by_noise"]],
        by_noise_early=[one[early] for one in found["by_noise"]],
        by_rounds=found["by_rounds"],
        seconds=time.monotonic() - began,
    )


def _by_noise(algorithm: Any, *, rounds: tuple[int, ...], seeds: int) -> dict[int, ByNoise]:
    """One after the other, so that both share one compilation."""
    return {T: by_noise(algorithm, rounds=T, seeds=seeds) for T in rounds}
