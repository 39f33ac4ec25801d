"""The figure: what each kind of noise costs at a glance, and below it how the cost grows with the noise."""

from __future__ import annotations

import numpy as np

from hocket.report.figures import Drawing
from hocket.report.panels import Guide, Note, Panel, PlotLine, sheet
from hocket.report.tables import plain
from reproductions.tradeoff.noise_level import BOUNDARY_DELTAS, DELTAS, ByNoise, ByRounds
from reproductions.tradeoff.runs import SIGMA, Falling, Tradeoff

LOWEST = 1e-12
"""Where the price panel ends below: DGD alone falls farther."""


def drawing(found: Tradeoff) -> Drawing:
    """Three panels: gap against rounds, gap against Δ, and the rate of Theorem 3 where it shows."""
    rows = [[_price(found)], [_by_noise(found.by_noise), _by_rounds(found.by_rounds[0])]]
    return sheet(rows, size=(9.6, 9.2), alt=_alt(found))


def _price(found: Tradeoff) -> Panel:
    lines = [
        PlotLine.over_runs(
            f"{run.algorithm}: $T^{{{run.slope.value:.2f}}}$",
            run.rounds + 1,
            run.gap,
            style=place,
            strong=place == 1,
        )
        for place, run in enumerate(found.falling)
    ]
    lines += [
        PlotLine.over_runs(
            f"private DGD, ε = {run.epsilon:g}: floor {plain(run.floor)}",
            np.array(run.rounds),
            run.gap,
            style=4 + place % 2,
            strong=place < 2,
        )
        for place, run in enumerate(found.private)
    ]
    last = found.falling[0].rounds[-1] + 1
    return Panel(
        title=f"(a)  What privacy costs: noise of the same size (σ = {SIGMA:g}), and differential privacy at fixed ε",
        across=r"rounds $T$",
        up=r"$\max_j\ f(x_{T}^j) - f^*$   (units of $f$)",
        lines=lines,
        guides=[_slope(found.falling[1], -2, last, 6.0), _slope(found.falling[3], -1, last, 6.0)],
        notes=[
            Note("a budget ε for all T rounds: a floor that no T gets below", 0.99, 0.95, "right"),
            Note("DGD goes on below", 0.66, 0.03),
        ],
        lowest=LOWEST,
        legend="lower left",
    )


def _slope(run: Falling, power: int, last: int, above: float) -> Guide:
    """A straight line of a whole slope, a little above a curve."""
    x = np.array([last / 30, last])
    return Guide(x, above * float(np.median(run.gap[:, -1])) * (x / last) ** power, f"$T^{{{power}}}$")


def _by_noise(runs: list[ByNoise]) -> Panel:
    noisy = slice(1, None)  # Δ = 0 has no place on a logarithmic axis
    x = np.array(DELTAS[noisy])
    lines = []
    for place, run in enumerate(runs, start=1):
        last, average = run.last[noisy].T, run.average[noisy].T
        exponent = f"$\\Delta^{{{run.last_exponent.value:.2f}}}$"
        lines.append(PlotLine.over_runs(f"{run.algorithm}, last iterate: {exponent}", x, last, style=place))
        lines.append(
            PlotLine.over_runs(f"{run.algorithm}, time average", x, average, style=place, strong=False)
        )
    rounds = runs[0].rounds
    dgd = float(np.median(runs[0].average[0]))
    return Panel(
        title=f"(b)  Gap against noise, T = {rounds:,}",
        across=r"noise bound $\Delta$   (units of a gradient)",
        up=r"gap   (units of $f$)",
        lines=lines,
        guides=[Guide(x[[0, -1]], np.full(2, dgd), "DGD,\naverage")],
        legend="upper left",
    )


def _by_rounds(run: ByRounds) -> Panel:
    T = np.array(run.rounds)
    lines, guides = [], []
    for place, delta in enumerate(BOUNDARY_DELTAS):
        median = np.median(run.average[place], axis=1)
        lines.append(
            PlotLine.over_runs(
                f"Δ = {delta:g}: (log T/√T)$^{{{run.exponent(place).value:.2f}}}$",
                T,
                run.average[place].T,
                style=1 + place,
            )
        )
        guides.append(Guide(T, median[-1] * run.rate / run.rate[-1], ""))
    return Panel(
        title=f"(c)  $f_j = x$ on [0, 1], time average, {run.algorithm}",
        across=r"rounds $T$",
        up=r"$\max_j\ f(\hat{x}_T^j) - f^*$   (units of $f$)",
        lines=lines,
        guides=guides,
        notes=[Note("dotted: log T/√T", 0.97, 0.93, "right")],
        legend="lower left",
    )


def _alt(found: Tradeoff) -> str:
    falls = [f"{run.algorithm} like T to the power {run.slope.value:.2f}" for run in found.falling[1:]]
    floors = [f"{plain(run.floor)} for ε = {run.epsilon:g}" for run in found.private]
    last = [f"{run.algorithm} like Δ to the power {run.last_exponent.value:.2f}" for run in found.by_noise]
    rate = [
        f"(log T/√T) to the power {found.by_rounds[0].exponent(place).value:.2f} for Δ = {delta:g}"
        for place, delta in enumerate(BOUNDARY_DELTAS)
    ]
    return (
        f"Three plots, all axes logarithmic. First, gap against rounds: {', '.join(falls)}; differentially private DGD "
        f"stops at floors of {', '.join(floors)}. Second, gap of the last iterate against noise: {', '.join(last)}. "
        f"Third, gap of the time average at a boundary against rounds: {', '.join(rate)}."
    )
