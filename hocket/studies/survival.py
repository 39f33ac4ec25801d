"""Kaplan-Meier curves and the log-rank test over all members, on a grid of times that the study declares.

Deaths and rows at risk are counted between times of the grid, so that nobody's own time is shown, and the grid is made
coarser where few would be left (`time_grid`). If it holds every time at which an event came, curve and test are those
of the pooled rows; a coarser grid counts events at the end of their interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import chdtrc, ndtri

from hocket.studies.rows import Rows
from hocket.studies.study import SurvivalSection
from hocket.studies.time_grid import Followed, joint_intervals
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
    coarser: bool = False
    """Whether times of the declared grid were left out, since few rows would be between them."""


def survival_curves(rows: Rows, part: SurvivalSection, confidence: float = 0.95) -> Analysis[Survivals]:
    """Curves from one member's rows, and totals from coarse to fine."""
    kept, study = rows.surviving, rows.study
    levels = study.column(part.by).levels if part.by else ("all",)
    prefix = f"{rows.study.column(part.by).label or part.by} " if part.by else ""
    labels = [f"{prefix}{level}" for level in levels]
    group = rows.column(part.by, kept) if part.by else np.zeros(int(kept.sum()))
    own = Followed(rows.column(part.time, kept), rows.column(part.event, kept), group, len(levels))
    sizes, intervals = yield from joint_intervals(own, part.grid, labels, study.disclosure)
    deaths, before, ended = np.stack([one.counts for one in intervals], axis=2).transpose(1, 0, 2)
    gone = np.cumsum(deaths + before + ended, axis=1)
    at_risk = sizes[:, None] - np.concatenate([np.zeros((len(levels), 1)), gone[:, :-1]], axis=1) - before
    curves = tuple(
        _curve(label, sizes[g], deaths[g], at_risk[g], confidence, study.disclosure.smallest_cell)
        for g, label in enumerate(labels)
    )
    grid = tuple(part.grid[one.last - 1] for one in intervals)
    coarser = grid != part.grid
    if len(levels) == 1:
        return Survivals(grid, curves, coarser=coarser)
    chi, p = log_rank(deaths, at_risk)
    return Survivals(grid, curves, chi, p, coarser)


def _curve(
    label: str, rows: float, deaths: np.ndarray, at_risk: np.ndarray, confidence: float, least: int
) -> Curve:
    with np.errstate(divide="ignore", invalid="ignore"):
        survival = np.cumprod(np.where(at_risk > 0, 1 - deaths / at_risk, 1.0))
        greenwood = np.cumsum(np.where(at_risk > deaths, deaths / (at_risk * (at_risk - deaths)), 0.0))
        # On the scale of log(−log S), so that the band stays between 0 and 1 [Kalbfleisch and Prentice].
        reach = ndtri((1 + confidence) / 2) * np.sqrt(greenwood) / np.log(survival)
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
    return chi, float(chdtrc(len(deaths) - 1, chi))
