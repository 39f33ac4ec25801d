"""What is shown: tables, words, and the folder with everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithms import RssNb
from hocket.config import parse_config
from hocket.experiments.outputs import PAGE, RESULTS, quantiles, write_csv, write_json
from hocket.experiments.tradeoff.figure import drawing
from hocket.experiments.tradeoff.level import BOUNDARY_DELTAS, DELTAS, INVERSE_SQRT, START, small_polynomials
from hocket.experiments.tradeoff.price import SIGMA, STEP
from hocket.experiments.tradeoff.runs import Tradeoff
from hocket.network import Network
from hocket.report.figures import Drawing
from hocket.report.numbers import plain
from hocket.report.page import Page
from hocket.report.tables import Table
from hocket.standard_problems import PAPER_POLYNOMIALS
from hocket.theory import Bound, finite_time

MECHANISM = (
    "Private DGD: gradients clipped to norm {clip:g}, normal noise on each, one release per round; adjacent are two "
    "problems that differ in one agent's whole objective; T releases composed by zero-concentrated differential "
    "privacy to (ε, {failure:g})."
)


def price_table(found: Tradeoff) -> Table:
    """Cancelling and independent noise of one size, and differential privacy."""
    rows = [
        (
            run.algorithm,
            f"{run.noise_rms:.3f}",
            plain(float(np.median(run.gap[:, -1]))),
            str(run.slope) if run.noise_rms else "faster than any power here",
        )
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
    rows = []
    for late, early, boundary in zip(found.by_noise, found.by_noise_early, found.by_rounds, strict=True):
        falls = np.log(np.median(late.average[0]) / np.median(early.average[0])) / np.log(
            late.rounds / early.rounds
        )
        rows += [
            (f"{late.algorithm}: last iterate, exponent of Δ", str(late.last_exponent), "2"),
            (
                f"{late.algorithm}: time average, exponent of Δ in what exceeds DGD",
                str(late.average_exponent),
                "≤ 2",
            ),
            (f"{late.algorithm}: time average at Δ = 0, exponent of T", f"{falls:.2f}", "≤ −1/2"),
        ]
        rows += [
            (
                f"{late.algorithm}: f_j = x on [0, 1], Δ = {delta:g}, exponent of log T/√T",
                str(boundary.exponent(place)),
                "1",
            )
            for place, delta in enumerate(BOUNDARY_DELTAS)
        ]
        steps = zip(BOUNDARY_DELTAS, BOUNDARY_DELTAS[1:], boundary.noise_exponents(), strict=False)
        rows += [
            (
                f"{late.algorithm}: f_j = x on [0, 1], exponent of Δ from {low:g} to {high:g}",
                f"{power:.2f}",
                "≤ 2",
            )
            for low, high, power in steps
        ]
    return Table(
        ("", "measured [95 % interval]", "Theorem 3"), tuple(rows), "How the gap grows with the noise"
    )


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
        f"1/√k, the step of Theorem 3, for the rest. Every noise of the first table has σ = {SIGMA:g} in units of a "
        "gradient, as realised, except that of private DGD, which is calibrated.",
        MECHANISM.format(clip=private.clip, failure=private.failure)
        + " Every T is a run of its own: the budget is for the whole run, so that σ grows like √T. The floor is the "
        "smallest median at any T. A finer accountant moves it, but not to zero.",
        "The two promise different things: differential privacy hides an objective from everybody, also in the "
        "answer; cancelling noise hides who holds what from a coalition, and leaves the answer as it is.",
        "Where f_j = x on [0, 1], the boundary absorbs noise below Δ = 10 entirely; from 10 on it turns noise of zero "
        "sum into drift, and the gap of the time average falls like log T/√T. At Δ = 100 noise first fills [0, 1].",
        "The printed proof of Theorem 3 takes f for L-Lipschitz; it is nL-Lipschitz, and C11 lacks a term. All three "
        "bounds hold and none says anything here: price rounds by simulation.",
    ]


def conclusion(found: Tradeoff) -> str:
    """What was seen, in one plain sentence."""
    nb, independent = found.falling[1], found.falling[3]
    floors = ", ".join(f"{plain(run.floor)} at ε = {run.epsilon:g}" for run in found.private)
    return (
        f"Cancelling noise falls like T^{nb.slope.value:.2f}, independent noise of the same size like "
        f"T^{independent.slope.value:.2f}, and differential privacy stops at a floor ({floors}); the gap grows with "
        f"Δ^{found.by_noise[0].last_exponent.value:.2f}."
    )


def data(found: Tradeoff) -> dict[str, Any]:
    """The results as one JSON object."""
    size = found.size
    return {
        "price": [
            {
                "algorithm": run.algorithm,
                "delta": run.delta,
                "noise_rms": run.noise_rms,
                "gap": quantiles(run.gap[:, -1]),
                "exponent_of_T": run.slope.data(),
            }
            for run in found.falling
        ],
        "floors": [
            {
                "epsilon": run.epsilon,
                "failure": run.failure,
                "clip": run.clip,
                "floor": run.floor,
                "at_T": run.best_rounds,
                "exponent_of_T": run.slope.data(),
                "sigma": dict(zip(map(str, run.rounds), run.sigma, strict=True)),
            }
            for run in found.private
        ],
        "noise": [
            {
                "algorithm": run.algorithm,
                "rounds": run.rounds,
                "last_iterate_exponent": run.last_exponent.data(),
                "time_average_exponent": run.average_exponent.data(),
            }
            for run in found.by_noise
        ],
        "boundary": [
            {
                "algorithm": run.algorithm,
                "exponent_of_rate": {
                    f"{delta:g}": run.exponent(place).data() for place, delta in enumerate(BOUNDARY_DELTAS)
                },
                "exponents_of_delta": run.noise_exponents(),
            }
            for run in found.by_rounds
        ],
        "bounds": {bound.kind: bound.value for bound in bounds(found.by_noise[0].rounds)},
        "seeds": {
            "price": size.price_seeds,
            "private": size.private_seeds,
            "noise": size.noise_seeds,
            "boundary": size.boundary_seeds,
        },
        "seconds": round(found.seconds, 1),
        "conclusion": conclusion(found),
    }


def write(found: Tradeoff, folder: Path) -> Path:
    """Figure, data, results and page; returns where the page lies."""
    figure = drawing(found)
    figure.save(folder, "tradeoff")
    for name, rows in _tables(found).items():
        write_csv(folder / f"{name}.csv", rows)
    write_json(folder / RESULTS, data(found))
    return _page(found, figure).save(folder / PAGE)


def _tables(found: Tradeoff) -> dict[str, list[dict[str, Any]]]:
    """The data of every panel, a row per point."""
    price = [
        {"algorithm": run.algorithm, "epsilon": "", "T": int(T) + 1, **quantiles(run.gap[:, place])}
        for run in found.falling
        for place, T in enumerate(run.rounds)
    ]
    price += [
        {"algorithm": "private DGD", "epsilon": run.epsilon, "T": T, **quantiles(run.gap[:, place])}
        for run in found.private
        for place, T in enumerate(run.rounds)
    ]
    noise = [
        {
            "algorithm": run.algorithm,
            "T": run.rounds,
            "delta": delta,
            "gap_of": which,
            **quantiles(values[place]),
        }
        for run in [*found.by_noise_early, *found.by_noise]
        for which, values in (("last iterate", run.last), ("time average", run.average))
        for place, delta in enumerate(DELTAS)
    ]
    boundary = [
        {"algorithm": run.algorithm, "delta": delta, "T": T, **quantiles(run.average[row, column])}
        for run in found.by_rounds
        for row, delta in enumerate(BOUNDARY_DELTAS)
        for column, T in enumerate(run.rounds)
    ]
    return {"price": price, "noise": noise, "boundary": boundary}


def _page(found: Tradeoff, figure: Drawing) -> Page:
    private = found.private[1]
    config = parse_config(
        {
            "problem": {
                "kind": "polynomials",
                "coefficients": [list(map(float, row)) for row in PAPER_POLYNOMIALS],
                "box": [-1.0, 1.0],
            },
            "network": {"topology": "cycle:5"},
            "algorithm": {
                "name": "private-dgd",
                "epsilon": private.epsilon,
                "clip": private.clip,
                "releases": private.rounds[-1],
            },
            "step": {"a": float(STEP.a), "b": float(STEP.b), "p": float(STEP.p)},
            "run": {"rounds": private.rounds[-1], "start": list(START)},
        },
        base=Path(),
    )
    return Page(
        title="The price of privacy: rounds, noise and a floor",
        summary=[
            conclusion(found),
            "Random noise that cancels over the network slows the last digits down but does not move the answer; "
            "noise that does not cancel costs half of the slope, and a fixed budget of differential privacy costs the "
            "answer itself.",
        ],
        tables=[price_table(found), noise_table(found), bound_table(found)],
        notes=notes(found),
        figure=figure,
        caption="(a) Gap of the worst agent against rounds. "
        + MECHANISM.format(clip=private.clip, failure=private.failure)
        + " (b) Gap after a fixed number of rounds against Δ, for the last iterate and the time average. (c) The "
        "regime in which the rate of Theorem 3 really shows. Medians and 10 to 90 % bands, all axes logarithmic.",
        configuration=f"# One of these runs: differentially private DGD\n\n{config.text()}",
        commands=["hocket reproduce tradeoff"],
    )
