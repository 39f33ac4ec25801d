"""The price of privacy: cancelling noise beside independent noise of the same size, and differential privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, IndependentNoise, PrivateDgd, RssLb, RssNb
from hocket.engines.sweep import Sweep, sweep
from hocket.experiments.fits import Exponent, exponent, late_half
from hocket.experiments.tradeoff.level import START, small_polynomials
from hocket.networks.network import Network
from hocket.steps import Power

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


def _sweep(algorithm: Algorithm, *, rounds: int, seeds: int, **numbers: Any) -> Sweep:
    return sweep(
        small_polynomials(),
        Network.cycle(5),
        algorithm,
        step=STEP,
        rounds=rounds,
        start=list(START),
        seeds=range(seeds),
        time_average=False,
        progress=False,
        **numbers,
    )
