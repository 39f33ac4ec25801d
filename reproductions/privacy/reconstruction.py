"""How closely a gradient is reconstructed, against rounds: attacks on real runs, and what the plan alone foretells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from hocket.algorithms import RssLb
from hocket.engines.solver import solve
from hocket.privacy.attacks import (
    averaging_attack,
    difference_attack,
    lb_collusion_attack,
    mean_attack,
    pitman_attack,
)
from hocket.privacy.leakage.leakage import EXACT, leakage
from hocket.runs.run import Run
from reproductions.privacy.setting import (
    DIM,
    NETWORKS,
    STEP,
    TARGET,
    Sight,
    algorithm,
    regressions,
)

ATTACKS = {"mean": mean_attack, "Pitman": pitman_attack}


@dataclass(frozen=True, eq=False)
class Forecast:
    """What `leakage` says before any run, in units of a typical gradient."""

    rounds: Int[np.ndarray, " points"]
    error: Float[np.ndarray, " points"]
    """NaN where the gradient is known exactly."""
    identifiable: bool
    """By rank: whether patience would average all noise away."""

    def at(self, rounds: int) -> float:
        """The error after so many rounds, along the curve."""
        return float(np.exp(np.interp(np.log(rounds), np.log(self.rounds), np.log(self.error))))


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """One algorithm at one noise level, seen by one coalition."""

    sight: Sight
    delta: float
    algorithm: str
    attack: str
    exact: bool
    """Whether single rounds give the gradient away, so that only rounding is left."""
    rounds: tuple[int, ...]
    error: Float[np.ndarray, "problems rounds"]
    """Of the best linear attack on a real run, in units of a typical gradient."""
    forecast: Forecast

    @property
    def medians(self) -> Float[np.ndarray, " rounds"]:
        return np.median(self.error, axis=0)

    def agreement(self) -> Float[np.ndarray, " rounds"]:
        """Measured over predicted; NaN where the gradient is known exactly."""
        foretold = np.array([self.forecast.at(rounds) for rounds in self.rounds])
        return np.full(len(self.rounds), np.nan) if self.exact else self.medians / foretold


def played(name: str, network: str, delta: float, *, rounds: int, times: int) -> Run:
    """A run from the optimum on, with every message kept."""
    problems = regressions(times)
    return solve(
        problems.problem,
        NETWORKS[network],
        algorithm(name, network, delta, times=times),
        step=STEP,
        rounds=rounds + 1,  # a gradient shows in the next message
        start=problems.optimum,
        time_average=False,
        keep="transcript",
        progress=False,
    )


def reconstructed(
    run: Run, name: str, delta: float, sight: Sight, *, rounds: tuple[int, ...], times: int
) -> Reconstruction:
    """A run as somebody sees it: attacked after more and more rounds, beside what the plan alone says."""
    problems, view = regressions(times), run.view(sight.coalition, threat=sight.threat)
    # The gradient of round 1, taken at the public start; exact where no noise in it is unknown.
    first = lb_collusion_attack if isinstance(view.algorithm, RssLb) else difference_attack
    single = first(view.first_rounds(2), TARGET)
    if single.exact:
        assert single.at is not None
        truth = problems.problem.gradient(TARGET, single.at[0])
        off = problems.error(single.estimate, truth)
        attack, errors = single.name, np.tile(off[:, None], len(rounds))
    else:
        found = [
            averaging_attack(view.first_rounds(k + 1), TARGET, start=problems.optimum, prior=problems.prior)
            for k in rounds
        ]
        attack = found[0].name
        errors = np.stack([problems.error(one.estimate, problems.gradients[TARGET]) for one in found], axis=1)
    # Where the first round gives all away, later ones are not worth the time.
    foreseen = min(rounds) if single.exact else max(rounds)
    forecast = foretold(name, delta, sight, rounds=foreseen, prior=problems.prior)
    exact = bool(np.isnan(forecast.error[-1]))
    return Reconstruction(sight, delta, name, attack, exact, rounds, errors, forecast)


def foretold(name: str, delta: float, sight: Sight, *, rounds: int, prior: float) -> Forecast:
    """What the plan alone says about the target."""
    found = leakage(
        NETWORKS[sight.network],
        algorithm(name, sight.network, delta),
        rounds=rounds,
        coalition=sight.coalition,
        threat=sight.threat,
        prior=prior,
        step=STEP,
        dim=DIM,
    )
    sd = found.history["sd"][:, TARGET] / prior
    return Forecast(found.history["round"], np.where(sd < EXACT, np.nan, sd), TARGET in found.identifiable)


@dataclass(frozen=True, eq=False)
class Shape:
    """Two averages of the same residuals, in units of a typical gradient."""

    attack: str
    rounds: tuple[int, ...]
    foretold: Float[np.ndarray, " rounds"]
    measured: Float[np.ndarray, " rounds"]
    """Medians over problems."""


def shapes(run: Run, *, rounds: tuple[int, ...], times: int) -> list[Shape]:
    """A run of RSS-NB on the ring, eavesdropped, with one of the target's two neighbours inside."""
    problems = regressions(times)
    view, truth = run.view({1}, threat="states"), problems.gradients[TARGET]
    found = []
    for name, attack in ATTACKS.items():
        tried = [attack(view.first_rounds(k + 1), TARGET) for k in rounds]
        foretold = [one.typical_sd / problems.prior for one in tried]
        measured = [float(np.median(problems.error(one.estimate, truth))) for one in tried]
        found.append(Shape(name, rounds, np.array(foretold), np.array(measured)))
    return found
