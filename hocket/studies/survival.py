"""Kaplan-Meier curves and the log-rank test over all members, on a grid of times that the study declares.

Deaths and rows at risk are counted between times of the grid, so that nobody's own time is shown. If the grid holds
every time at which an event came, curve and test are those of the pooled rows; a coarser grid counts events at the
end of their interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from hocket.algorithm import Total
from hocket.studies.rows import Rows
from hocket.studies.study import SurvivalSection
from hocket.studies.together import Analysis


@dataclass(frozen=True)
class Curve:
    """The share that survives past each time of the grid, with its band."""

    label: str
    rows: int
    events: int
    at_risk: tuple[int | None, ...]
    """Rows at risk just before each time; None where too few to be shown."""
    survival: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]


@dataclass(frozen=True)
class Survivals:
    """All curves, and whether they differ."""

    grid: tuple[float, ...]
    curves: tuple[Curve, ...]
    log_rank: float | None = None
    """The test's χ², with one degree of freedom fewer than there are curves."""
    p: float | None = None


def survival_curves(rows: Rows, part: SurvivalSection, confidence: float = 0.95) -> Analysis[Survivals]:
    """Curves from one member's rows and one total."""
    kept, study = rows.surviving, rows.study
    time, event = rows.column(part.time, kept), rows.column(part.event, kept)
    levels = study.column(part.by).levels if part.by else ("all",)
    group = rows.column(part.by, kept) if part.by else np.zeros(len(time))
    counts = np.stack(
        [counted(time[group == g], event[group == g], np.array(part.grid)) for g in range(len(levels))]
    )
    sizes = np.array([(group == g).sum() for g in range(len(levels))], dtype=np.float64)
    total = yield Total(
        {"events and leavers": counts, "rows": sizes}, names={"rows": tuple(map(str, levels))}
    )
    deaths, leavers = total["events and leavers"][:, 0], total["events and leavers"][:, 1]
    gone = np.cumsum(deaths + leavers, axis=1)
    at_risk = total["rows"][:, None] - np.concatenate([np.zeros((len(levels), 1)), gone[:, :-1]], axis=1)
    least = study.disclosure.smallest_cell
    curves = tuple(
        _curve(_label(rows, part.by, str(level)), total["rows"][g], deaths[g], at_risk[g], confidence, least)
        for g, level in enumerate(levels)
    )
    if len(levels) == 1:
        return Survivals(part.grid, curves)
    chi, p = log_rank(deaths, at_risk)
    return Survivals(part.grid, curves, chi, p)


def _label(rows: Rows, by: str, level: str) -> str:
    return f"{rows.study.column(by).label or by} {level}" if by else level


def counted(
    time: Float[np.ndarray, " rows"], event: Float[np.ndarray, " rows"], grid: Float[np.ndarray, " times"]
) -> Float[np.ndarray, "two times"]:
    """Events, and rows that left without one, up to each time of the grid since the one before.

    Whoever leaves at a time of the grid was at risk there; whoever leaves between two counts as leaving before the
    later one, and so is not at risk at it.
    """
    deaths, leavers = np.zeros(len(grid)), np.zeros(len(grid))
    place = np.searchsorted(grid, time, side="left")  # the first time of the grid not before the row's own
    within = place < len(grid)
    np.add.at(deaths, place[within & (event == 1)], 1.0)
    # A leaver between grid times is gone before the next one; one that leaves on it is still at risk there.
    last = np.where(within & (grid[np.minimum(place, len(grid) - 1)] == time), place, place - 1)
    gone = within & (event == 0) & (last >= 0)
    np.add.at(leavers, last[gone], 1.0)
    return np.stack([deaths, leavers])


def _curve(
    label: str, rows: float, deaths: np.ndarray, at_risk: np.ndarray, confidence: float, least: int
) -> Curve:
    with np.errstate(divide="ignore", invalid="ignore"):
        survival = np.cumprod(np.where(at_risk > 0, 1 - deaths / at_risk, 1.0))
        greenwood = np.cumsum(np.where(at_risk > deaths, deaths / (at_risk * (at_risk - deaths)), 0.0))
        # On the scale of log(−log S), so that the band stays between 0 and 1 [Kalbfleisch and Prentice].
        reach = stats.norm.ppf((1 + confidence) / 2) * np.sqrt(greenwood) / np.log(survival)
        low, high = survival ** np.exp(-reach), survival ** np.exp(reach)
    shown = at_risk >= least

    def column(values: np.ndarray) -> tuple[float | None, ...]:
        return tuple(float(v) if ok and np.isfinite(v) else None for v, ok in zip(values, shown, strict=True))

    return Curve(
        label,
        round(float(rows)),
        round(float(deaths.sum())),
        tuple(round(float(v)) if ok else None for v, ok in zip(at_risk, shown, strict=True)),
        column(survival),
        column(low),
        column(high),
    )


def log_rank(
    deaths: Float[np.ndarray, "groups times"], at_risk: Float[np.ndarray, "groups times"]
) -> tuple[float, float]:
    """χ² and p of the test that all groups have the same hazard."""
    d, n = deaths.sum(axis=0), at_risk.sum(axis=0)
    use = (d > 0) & (n > 1)
    d, n, share = d[use], n[use], at_risk[:, use] / n[use]
    excess = (deaths[:, use] - d * share).sum(axis=1)
    spread = d * (n - d) / (n - 1)
    variance = np.diag((spread * share).sum(axis=1)) - (spread * share) @ share.T
    chi = float(excess[:-1] @ np.linalg.pinv(variance[:-1, :-1]) @ excess[:-1])
    return chi, float(stats.chi2(len(deaths) - 1).sf(chi))
