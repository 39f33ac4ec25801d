"""What is shown of the trade-off: tables, messages, results as JSON, data as CSV, and the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from hocket.algorithms import RssNb
from hocket.networks.network import Network
from hocket.privacy.plain_values import plain_values
from hocket.report.page import Page
from hocket.report.tables import Table, plain
from hocket.theory import Bound, finite_time
from reproductions.experiment import Experiment, on_ring, quantiles
from reproductions.exponents import signed
from reproductions.tradeoff.figure import drawing
from reproductions.tradeoff.noise_level import (
    BOUNDARY_DELTAS,
    DELTAS,
    INVERSE_SQRT,
    SMALL_POLYNOMIALS,
    START,
    ByNoise,
    ByRounds,
    small_polynomials,
)
from reproductions.tradeoff.runs import FULL, QUICK, SIGMA, STEP, Falling, Private, Tradeoff, play

MECHANISM = (
    "Private DGD: gradients clipped to norm {clip:g}, normal noise on each, one release per round; adjacent are two "
    "problems that differ in one agent's whole objective; T releases composed by zero-concentrated differential "
    "privacy to (ε, {failure:g})."
)


def price_table(found: Tradeoff) -> Table:
    """Cancelling and independent noise of one size, and differential privacy."""
    rows = [
        (run.algorithm, f"{run.noise_rms:.3f}", plain(float(np.median(run.gap[:, -1]))), str(run.slope))
        for run in found.falling
    ]
    rows += [
        (
            f"private DGD, ε = {run.epsilon:g}",
            f"{run.sigma[-1]:.4g}",
            f"{plain(float(np.median(run.gap[:, -1])))}; floor {plain(run.floor)} at T = {run.best_rounds:,}",
            str(run.slope),
        )
        for run in found.private
    ]
    head = ("", "noise σ", f"median gap at T = {found.size.price_rounds:,}", "exponent of T [95 % interval]")
    return Table(head, tuple(rows), "What privacy costs", numeric=frozenset({1}))


def noise_table(found: Tradeoff) -> Table:
    """Exponents of Δ and of the rate of Theorem 3."""
    late, early, boundary = found.by_noise, found.by_noise_early, found.by_rounds
    rows = [
        ("exponent of Δ, last iterate", *(str(run.last_exponent) for run in late), "nothing"),
        (
            "exponent of Δ, time average, above DGD's",
            *(str(run.average_exponent) for run in late),
            "at most 2",
        ),
        ("exponent of T, time average, Δ = 1", *map(_falls, early, late), "at most −1/2"),
    ]
    rows += [
        (
            f"exponent of log T/√T, f_j = x, Δ = {delta:g}",
            *(str(run.exponent(place)) for run in boundary),
            "at least 1",
        )
        for place, delta in enumerate(BOUNDARY_DELTAS)
    ]
    few, many = BOUNDARY_DELTAS[0], BOUNDARY_DELTAS[-1]
    rows.append(
        (
            f"exponent of Δ from {few:g} to {many:g}, f_j = x",
            *(str(run.noise_exponent) for run in boundary),
            "at most 2",
        )
    )
    head = ("", *(run.algorithm for run in late), "Theorem 3, for large T")
    return Table(head, tuple(rows), "How the gap grows with the noise and falls with T")


def _falls(early: ByNoise, late: ByNoise) -> str:
    place = DELTAS.index(1.0)
    ratio = np.median(late.average[place]) / np.median(early.average[place])
    return signed(float(np.log(ratio) / np.log(late.rounds / early.rounds)))


def bounds(rounds: int) -> list[Bound]:
    """Theorem 3 in numbers for RSS-NB at Δ = 1, as printed, as its proof gives it, and ours."""
    return [
        finite_time(
            kind,
            small_polynomials(),
            Network.cycle(5),
            RssNb(1.0),
            rounds=rounds,
            step=INVERSE_SQRT,
            start=list(START),
            grad_at="projected",
        )
        for kind in ("literal", "corrected", "spectral")
    ]


def bound_table(found: Tradeoff) -> Table:
    """The bounds beside what was measured."""
    run = found.by_noise[0]
    measured = float(np.median(run.average[DELTAS.index(1.0)]))
    rows = [
        (bound.kind, f"{bound.value:,.0f}", "says nothing" if bound.vacuous else "")
        for bound in bounds(run.rounds)
    ]
    rows.append(("any point of X", f"{bounds(1)[0].trivial:,.0f}", ""))
    rows.append(("measured, median", plain(measured), ""))
    head = (f"RSS-NB, Δ = 1, T = {run.rounds:,}, time average", "gap at most", "")
    return Table(head, tuple(rows), "The bounds of Theorem 3 beside the run", numeric=frozenset({1}))


def notes(found: Tradeoff) -> list[str]:
    """How to read the tables."""
    private = found.private[0]
    return [
        f"Five agents on the ring, the paper's polynomials on [−1, 1]; α_k = 2/(k+20) for the price of privacy, "
        f"1/√k, the step of Theorem 3, for the rest, there with gradients taken at P_X(v), so that L = 6 and N = 14. "
        f"Every noise of the first table has σ = {SIGMA:g} in units of a "
        "gradient, as realised, except that of private DGD, which is calibrated.",
        MECHANISM.format(clip=private.clip, failure=private.failure)
        + " Every T is a run of its own: the budget is for the whole run, so that σ grows like √T. The floor is the "
        "smallest median at any T. A finer accountant moves it, but not to zero. At ε = 1 noise fills X: the answer is "
        "no better than a random point.",
        "The two promise different things: differential privacy hides an objective from everybody, also in the "
        "answer; cancelling noise hides who holds what from a coalition, and leaves the answer as it is.",
        "Where f_j = x on [0, 1], the boundary absorbs small noise entirely; from Δ = 10 on it turns noise of zero "
        "sum into drift, and the gap of the time average falls like log T/√T. At Δ = 100 noise first fills [0, 1].",
        "The printed proof of Theorem 3 takes f for L-Lipschitz; it is nL-Lipschitz, and C11 lacks a term. All three "
        "bounds hold and none says anything here: price rounds by simulation.",
    ]


def conclusion(found: Tradeoff) -> str:
    """What was seen, in one plain sentence."""
    nb, independent = found.falling[1], found.falling[3]
    floors = ", ".join(f"{plain(run.floor)} at ε = {run.epsilon:g}" for run in found.private)
    return (
        f"Under cancelling noise the gap falls like T^{signed(nb.slope.value)}, under independent noise of the same "
        f"size like T^{signed(independent.slope.value)}, and differential privacy stops at a floor ({floors}); "
        f"the gap grows with Δ^{found.by_noise[0].last_exponent.value:.2f}."
    )


def data(found: Tradeoff) -> dict[str, Any]:
    """The results for JSON."""
    parts = ("price", "private", "noise", "boundary")
    return {
        "price": [_falling(run) for run in found.falling],
        "floors": [_floor(run) for run in found.private],
        "noise": [_exponents(run) for run in found.by_noise],
        "boundary": [_boundary(run) for run in found.by_rounds],
        "bounds": {bound.kind: bound.value for bound in bounds(found.by_noise[0].rounds)},
        "seeds": {part: getattr(found.size, f"{part}_seeds") for part in parts},
        "seconds": round(found.seconds, 1),
    }


def _falling(run: Falling) -> dict[str, Any]:
    reached = {"gap": quantiles(run.gap[:, -1]), "exponent_of_T": asdict(run.slope)}
    return plain_values(run, "algorithm", "delta", "noise_rms") | reached


def _floor(run: Private) -> dict[str, Any]:
    sigma = dict(zip(map(str, run.rounds), run.sigma, strict=True))
    about = {"at_T": run.best_rounds, "exponent_of_T": asdict(run.slope), "sigma": sigma}
    return plain_values(run, "epsilon", "failure", "clip", "floor") | about


def _exponents(run: ByNoise) -> dict[str, Any]:
    last, average = asdict(run.last_exponent), asdict(run.average_exponent)
    fitted = {"last_iterate_exponent": last, "time_average_exponent": average}
    return plain_values(run, "algorithm", "rounds") | fitted


def _boundary(run: ByRounds) -> dict[str, Any]:
    rates = {f"{delta:g}": asdict(run.exponent(place)) for place, delta in enumerate(BOUNDARY_DELTAS)}
    fitted = {"exponent_of_rate": rates, "exponent_of_delta": asdict(run.noise_exponent)}
    return {"algorithm": run.algorithm} | fitted


def series(found: Tradeoff) -> dict[str, list[dict[str, Any]]]:
    """The data of every panel, a row per point."""
    boundary = [
        {"algorithm": run.algorithm, "delta": delta, "T": T, **quantiles(run.average[row, column])}
        for run in found.by_rounds
        for row, delta in enumerate(BOUNDARY_DELTAS)
        for column, T in enumerate(run.rounds)
    ]
    return {"price": _price_rows(found), "noise": _noise_rows(found), "boundary": boundary}


def _price_rows(found: Tradeoff) -> list[dict[str, Any]]:
    curves = [(run.algorithm, "", [int(k) + 1 for k in run.rounds], run.gap) for run in found.falling]
    curves += [("private DGD", run.epsilon, run.rounds, run.gap) for run in found.private]
    return [
        {"algorithm": name, "epsilon": epsilon, "T": T, **quantiles(gap[:, place])}
        for name, epsilon, rounds, gap in curves
        for place, T in enumerate(rounds)
    ]


def _noise_rows(found: Tradeoff) -> list[dict[str, Any]]:
    return [
        {"algorithm": run.algorithm, "T": run.rounds, "delta": delta, "gap_of": which}
        | quantiles(values[place])
        for run in [*found.by_noise_early, *found.by_noise]
        for which, values in (("last iterate", run.last), ("time average", run.average))
        for place, delta in enumerate(DELTAS)
    ]


def page(found: Tradeoff) -> Page:
    """What this page says that no other does."""
    private = found.private[1]
    last = private.rounds[-1]
    plan = {"name": "private-dgd", "epsilon": private.epsilon, "clip": private.clip, "releases": last}
    config = on_ring(SMALL_POLYNOMIALS, plan, step=STEP, rounds=last, start=list(START))
    return Page(
        title="The price of privacy: rounds, noise and a floor",
        summary=[
            "Random noise that cancels over the network slows the last digits down but does not move the answer; "
            "noise that does not cancel costs half of the slope, and a fixed budget of differential privacy costs the "
            "answer itself."
        ],
        caption="(a) Gap of the worst agent against rounds. "
        + MECHANISM.format(clip=private.clip, failure=private.failure)
        + " (b) Gap after a fixed number of rounds against Δ, for the last iterate and the time average. (c) The "
        "regime in which the rate of Theorem 3 really shows. Medians and 10 to 90 % bands, all axes logarithmic.",
        configuration=f"# One of these runs: differentially private DGD\n\n{config.text()}",
        commands=["hocket reproduce tradeoff"],
    )


TRADEOFF = Experiment(
    name="tradeoff",
    doing="Running sweeps",
    full=FULL,
    quick=QUICK,
    play=play,
    tables=lambda found: [price_table(found), noise_table(found), bound_table(found)],
    notes=notes,
    conclusion=conclusion,
    data=data,
    series=series,
    figure=drawing,
    page=page,
)
