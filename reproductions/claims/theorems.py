"""Claims of the theorems on convergence, and the remark on differential privacy."""

from __future__ import annotations

from functools import partial

import numpy as np

from hocket.algorithms import Dgd, RssNb
from hocket.problems.standard import heterogeneous_polynomials
from hocket.theory import finite_time
from reproductions.claims.cases import RING, START, many, monitors, played, tightest
from reproductions.claims.ledger import Finding, Group
from reproductions.exponents import signed
from reproductions.tradeoff.noise_level import by_noise, by_rounds, small_polynomials
from reproductions.tradeoff.runs import falling, private

THEOREMS = Group("Theorems and remarks on convergence")
PLACES = (("paper", "C5"), ("paper", "K5"), ("heterogeneous", "C5"), ("heterogeneous", "K5"))
FALL = 0.5
"""Over the last decade of rounds a gap that vanishes like the step squared falls thirtyfold; half is plenty."""


@THEOREMS.claim("dgd", "Algorithm 0, citing prior work", "DGD solves Problem 1.")
def dgd() -> Finding:
    """DGD on agents that want different things."""
    run = played(heterogeneous_polynomials(), Dgd())
    first, last = _decade(run.history["round"], run.history["gap"])
    return Finding(
        last < FALL * first, f"heterogeneous problem, C5: gap {first:.2g} at k = 10³, {last:.2g} at 10⁴"
    )


def _theorem1(name: str) -> Finding:
    """The worst of 100 executions, on every problem and network."""
    parts, holds, numbers = [], True, {}
    for problem, network in PLACES:
        history = many(name, problem, network).history
        first, last = _decade(history["round"], history["gap"].max(axis=0))
        holds &= last < FALL * first
        numbers[f"{problem}, {network}"] = last
        parts.append(f"{problem}, {network}: {first:.2g} and {last:.2g}")
    return Finding(holds, "largest gap of 100 executions at k = 10³ and 10⁴: " + "; ".join(parts), numbers)


for short, algorithm in (("nb", "RSS-NB"), ("lb", "RSS-LB"), ("fs", "FS")):
    THEOREMS.claim(f"theorem-1-{short}", "Theorem 1", f"{algorithm} solves Problem 1, in every execution.")(
        partial(_theorem1, algorithm)
    )


@THEOREMS.claim("biased-noise", "Abstract", "Correct despite noise of non-zero mean.")
def biased_noise() -> Finding:
    """Noise that always points the same way on every link still cancels."""
    noise = RssNb(0.0, given=lambda sender, receiver, k: 0.5 if sender < receiver else -0.5)
    run = played(heterogeneous_polynomials(), noise)
    first, last = _decade(run.history["round"], run.history["gap"])
    return Finding(
        last < FALL * first,
        f"s = ±0.5 by direction in every round, so that no agent's noise has zero mean: gap {first:.2g} at k = 10³, "
        f"{last:.2g} at 10⁴",
    )


@THEOREMS.claim(
    "theorem-3",
    "Theorem 3 and its constants",
    "f(x̂_T) − f* ≤ (C11 + C12 log T)/√T + (C8 + (C9 + C10) log T)/2√T.",
    corrected="f is nL-Lipschitz, not L-Lipschitz, and C11 lacks the term nθL(L+Δ)C1.",
)
def theorem3() -> Finding:
    """The bound as printed, as its proof gives it, and beside runs; f has a larger Lipschitz constant than L."""
    holds, ratio = tightest("Theorem 3, corrected")
    problem = small_polynomials()
    slope = float(abs(sum(problem.gradient(j, np.ones(1))[0] for j in range(problem.n))))
    bounds = {
        kind: finite_time(
            kind, problem, RING, RssNb(1.0), rounds=10_000, start=list(START), grad_at="projected"
        )
        for kind in ("literal", "corrected", "spectral")
    }
    values = {kind: bound.value for kind, bound in bounds.items()}
    return Finding(
        holds and 6 < slope <= 30,
        f"on [−1, 1] f has slopes up to {slope:g}, above L = 6 and within nL = 30. At T = 10⁴, Δ = 1 on C5: printed "
        f"{values['literal']:,.0f}, corrected {values['corrected']:,.0f}, our spectral bound {values['spectral']:.0f}; "
        f"all say nothing, since any point of X satisfies {bounds['literal'].trivial:g}. Never violated in "
        f"{len(monitors())} runs; the closest comes within a factor {ratio:.3g}",
        values | {"slope": slope},
    )


@THEOREMS.claim("rate", "Theorem 3", "The time average converges like log T/√T.")
def rate() -> Finding:
    """The gap of the time average over log T/√T, where that rate is attained."""
    run = by_rounds(RssNb(1.0), rounds=(1000, 3000, 10_000), seeds=20)
    ratios = np.median(run.average, axis=2)[:2] / run.rate
    spread = float((ratios.max(axis=1) / ratios.min(axis=1)).max())
    return Finding(
        spread < 1.2,
        "f_j = x on [0, 1]: gap of the time average over log T/√T at T = 10³, 3·10³, 10⁴ is "
        + " and ".join(
            f"{', '.join(f'{value:.2f}' for value in row)} for Δ = {delta}"
            for row, delta in zip(ratios, (10, 30), strict=True)
        ),
        {"spread": spread},
    )


@THEOREMS.claim("quadratic", "Theorem 3", "The gap is quadratic in the noise bound Δ, as an upper bound.")
def quadratic() -> Finding:
    """Exponents of Δ: of the bound for large Δ, of the last iterate, and of the time average."""
    bound = partial(finite_time, "corrected", rounds=3000, n=5, rho=0.25, L=6, N=14)
    few, many = (bound(delta=delta, diameter=2, start_norm=1, start_spread=1).value for delta in (1e4, 1e5))
    run = by_noise(RssNb(1.0), rounds=3000, seeds=40)
    last, average = run.last_exponent, run.average_exponent
    return Finding(
        abs(last.value - 2) < 0.05 and average.low <= 2 and abs(np.log10(many / few) - 2) < 0.01,
        f"exponent of Δ: of the bound for large Δ {np.log10(many / few):.2f}, of the last iterate at T = 3,000 {last}, "
        f"of the time average above DGD's {average}. Quadratic is the most it can be",
        {"bound": float(np.log10(many / few)), "last": last.value, "average": average.value},
    )


@THEOREMS.claim(
    "no-error",
    "Remark after Theorem 3",
    "RSS slows convergence but adds no error, unlike ε-differential privacy, whose error is O(1/ε²).",
)
def no_error() -> Finding:
    """RSS beside independent noise of the same size and differential privacy."""
    runs = {name: falling(name, rounds=10_000, seeds=50) for name in ("RSS-NB", "independent noise")}
    floors = private(rounds=(100, 1000, 10_000), seeds=40)
    ours = float(np.median(runs["RSS-NB"].gap[:, -1]))
    slopes = {name: run.slope.value for name, run in runs.items()}
    kept = floors[1:]  # at ε = 1 noise fills X
    power = float(np.log(kept[0].floor / kept[1].floor) / np.log(kept[1].epsilon / kept[0].epsilon))
    return Finding(
        slopes["RSS-NB"] < -1.8 and all(run.floor > 1000 * ours for run in floors),
        f"T = 10⁴: RSS-NB {ours:.1e} and falling like T^{signed(slopes['RSS-NB'])}, independent noise of the same size "
        f"like T^{signed(slopes['independent noise'])}; (ε, 10⁻⁵)-private DGD stops at "
        + ", ".join(f"{run.floor:.2g} for ε = {run.epsilon:g}" for run in floors)
        + f", that is like ε^−{power:.1f} from 10 to 100 (ε^−2 in the limit of small ε)",
        {f"floor_{run.epsilon:g}": run.floor for run in floors} | slopes,
    )


def _decade(rounds: np.ndarray, gap: np.ndarray) -> tuple[float, float]:
    """The values at a tenth of the run and at its end."""
    return float(gap[int(np.searchsorted(rounds, rounds[-1] // 10))]), float(gap[-1])
