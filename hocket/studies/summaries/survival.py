"""Kaplan-Meier curves and the log-rank test over all members, on a grid of times that the study declares.

Events and leavers are counted between times of the grid, and merged where few would be shown (`time_grid`). Where all
events of an interval come at its end and everybody who left before is counted, its factor is that of the pooled
Kaplan-Meier curve. Otherwise the curve is a life table: of those who leave in the same interval half count as at risk.
With d events among n who may be at risk, of whom c may have left, the factor of an interval lies between
1 − d/(n − c) and 1 − d/n wherever they left in truth; the products of these are printed beside the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import chdtrc, ndtri

from hocket.studies.data.rows import Rows
from hocket.studies.spec.study import SurvivalSection
from hocket.studies.summaries.time_grid import FollowUp, Intervals, Stretch, joint_intervals
from hocket.studies.together import Analysis

HALF = 1e-12
"""How near to one half a share counts as it: rounding of a product."""


@dataclass(frozen=True)
class Curve:
    """The share without the event past each time of the grid, with its confidence band, and with bounds.

    The band is about chance: other rows of the same kind. The bounds are about these rows: the Kaplan-Meier curve of
    the pooled rows lies between them for certain.
    """

    label: str
    rows: int
    events: int
    """Up to the last time."""
    at_risk: tuple[int | None, ...]
    """Rows at risk at each time, at most: who leaves in a stretch of time that is not over yet is counted. None where
    nobody is at risk any more."""
    came: tuple[int, ...]
    """Events since the time before."""
    left: tuple[tuple[float, float | None, int | None], ...]
    """Who left without the event: from a time, until before another (None: until after the grid), and how many; None
    for a count that is too small to be shown."""
    survival: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    least: tuple[float | None, ...]
    """No Kaplan-Meier curve of these rows is below."""
    most: tuple[float | None, ...]
    """Nor above."""
    exact: bool
    """Whether it is the Kaplan-Meier curve of the pooled rows; a life table otherwise."""
    confidence: float
    """What the band from `low` to `high` is for."""
    median: tuple[float | None, float | None]
    """After which time, and by which, the Kaplan-Meier curve falls to one half; twice the same where that is exact."""

    @property
    def within(self) -> float:
        """How far it may be from the Kaplan-Meier curve of the pooled rows, at most."""
        known = [
            max(s - low, high - s)
            for s, low, high in zip(self.survival, self.least, self.most, strict=True)
            if s is not None and low is not None and high is not None
        ]
        return max(known, default=0.0)


@dataclass(frozen=True)
class Survivals:
    """All curves, and whether they differ."""

    grid: tuple[float, ...]
    curves: tuple[Curve, ...]
    log_rank: float | None = None
    """The test's χ², with one degree of freedom fewer than there are curves."""
    p: float | None = None
    log_rank_exact: bool = True
    """Whether the test is that of the pooled rows followed up to the last time. Curves may be without the test being: a
    group in which nothing happens has no factor, but is compared."""
    coarser: bool = False
    """Whether times of the declared grid were left out, since few rows would be between them."""
    kind: str = "Kaplan-Meier"
    """'Kaplan-Meier' where every curve is that of the pooled rows, 'life table' otherwise."""
    within: float = 0.0
    """How far any curve may be from the Kaplan-Meier curve of the pooled rows, at most."""

    @property
    def exact(self) -> bool:
        """Whether all curves are those of the pooled rows."""
        return all(curve.exact for curve in self.curves)


@dataclass(frozen=True, eq=False)
class AtRisk:
    """One group's rows at risk in each interval: at most, at least, and as they count."""

    most: Float[np.ndarray, " intervals"]
    least: Float[np.ndarray, " intervals"]
    counted: Float[np.ndarray, " intervals"]
    compared: Bool[np.ndarray, " intervals"]
    """Where it is known at the one time at which events of the interval come, in whichever group: what a test needs."""

    @property
    def known(self) -> Bool[np.ndarray, " intervals"]:
        """Where it is known exactly."""
        return self.most == self.least


def survival_curves(rows: Rows, part: SurvivalSection, confidence: float = 0.95) -> Analysis[Survivals]:
    """Curves from one member's rows, and secure sums from coarse to fine."""
    kept, study = rows.surviving, rows.study
    levels = study.column(part.by).levels if part.by else ("all",)
    prefix = f"{rows.study.column(part.by).label or part.by} " if part.by else ""
    labels = [f"{prefix}{level}" for level in levels]
    group = rows.column(part.by, kept) if part.by else np.zeros(int(kept.sum()))
    own = FollowUp(rows.column(part.time, kept), rows.column(part.event, kept), group, len(levels))
    found = yield from joint_intervals(own, part.grid, labels, study.disclosure)
    deaths = np.stack([one.counts for one in found.events], axis=1)
    risks = [at_risk(found, g, part.grid) for g in range(len(levels))]
    grid = tuple(part.grid[one.last - 1] for one in found.events)
    curves = tuple(
        _curve(label, deaths[g], risks[g], found, g, (grid, part.grid), confidence)
        for g, label in enumerate(labels)
    )
    chi, p = (None, None)
    if len(levels) > 1:
        chi, p = log_rank(deaths, np.stack([one.counted for one in risks]))
    exact = all(curve.exact for curve in curves)
    return Survivals(
        grid,
        curves,
        chi,
        p,
        all(bool(one.compared.all()) for one in risks),
        grid != part.grid,
        "Kaplan-Meier" if exact else "life table",
        0.0 if exact else max(curve.within for curve in curves),
    )


def at_risk(found: Intervals, group: int, grid: Sequence[float]) -> AtRisk:
    """Who is at risk in each interval, from events before it and from blocks of those who leave.

    Who leaves in a block that is over when the interval begins is not at risk; who leaves in one that has begun before
    it ends may not be. Where all events come at the interval's end, it is the blocks that are over by then that count.
    Between these bounds leavers count as if they left evenly over their block, and events came half-way: half of a
    block that lies over the interval alone.
    """
    ends, blocks = np.array([0.0, *grid, grid[-1]]), found.blocks[group]
    begin, end = (ends[[getattr(one, side) for one in blocks]] for side in ("first", "last"))
    firsts, lasts = (np.array([getattr(one, side) for one in blocks]) for side in ("first", "last"))
    leavers = np.array([float(one.most) for one in blocks])
    rows, left = list[tuple[float, float, float, float]](), float(found.sizes[group])
    for one in found.events:
        at_end = _tied(found, group, one)
        most = left - leavers[lasts <= (one.last if at_end else one.first)].sum()
        least = left - leavers[firsts < one.last].sum() if one.counts[group] else most
        when = ends[one.last] if at_end else (ends[one.first] + ends[one.last]) / 2
        share = np.clip((when - begin) / np.where(end > begin, end - begin, np.inf), 0, 1)
        counted = float(np.clip(left - (leavers * share).sum(), least, most))
        at_one_time = one.last - one.first == 1 and bool(found.on_time.all())
        unsure = leavers[(firsts < one.last) & (lasts > one.last)].sum() > 0
        compared = not one.counts.any() or (at_one_time and not unsure)
        rows.append((most, least, counted, float(compared)))
        left -= float(one.counts[group])
    most, least, counted, compared = np.array(rows).T
    return AtRisk(most, least, counted, compared == 1)


def _tied(found: Intervals, group: int, one: Stretch) -> bool:
    """Whether all of a group's events in an interval come at its end."""
    return bool(found.on_time[group]) and one.last - one.first == 1


def _factors(deaths: np.ndarray, at_risk: np.ndarray) -> Float[np.ndarray, " intervals"]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.cumprod(np.where(at_risk > 0, 1 - deaths / at_risk, 1.0))


def _curve(
    label: str,
    deaths: np.ndarray,
    risk: AtRisk,
    found: Intervals,
    group: int,
    grids: tuple[Sequence[float], Sequence[float]],
    confidence: float,
) -> Curve:
    n, exact = risk.counted, bool(risk.known.all())
    survival, least, most = (_factors(deaths, one) for one in (n, risk.least, risk.most))
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(np.where(n > deaths, deaths / (n * (n - deaths)), 0.0))
        # On the scale of log(−log S), so that the band stays between 0 and 1 [Kalbfleisch and Prentice].
        reach = ndtri((1 + confidence) / 2) * np.sqrt(greenwood) / np.log(survival)
        low, high = survival ** np.exp(-reach), survival ** np.exp(reach)
    shown, (grid, asked) = risk.most > 0, grids

    def column(values: np.ndarray) -> tuple[float | None, ...]:
        return tuple(float(v) if ok and np.isfinite(v) else None for v, ok in zip(values, shown, strict=True))

    return Curve(
        label,
        round(float(found.sizes[group])),
        round(float(deaths.sum())),
        tuple(round(float(v)) if ok else None for v, ok in zip(risk.most, shown, strict=True)),
        tuple(round(float(v)) for v in deaths),
        tuple(
            ((0.0, *asked)[one.first], (0.0, *asked, None)[one.last], one.leavers)
            for one in found.blocks[group]
        ),
        column(survival),
        column(low),
        column(high),
        column(least),
        column(most),
        exact,
        confidence,
        _median(grid, least, most, [exact and _tied(found, group, one) for one in found.events]),
    )


def _median(
    grid: Sequence[float], least: np.ndarray, most: np.ndarray, exact: Sequence[bool]
) -> tuple[float | None, float | None]:
    """Between which times the curve falls to one half; both None where it is above one half throughout, for certain."""
    may, must = np.flatnonzero(least <= 0.5 + HALF), np.flatnonzero(most <= 0.5 + HALF)
    if not len(may):
        return None, None
    latest = float(grid[must[0]]) if len(must) else None
    if latest is not None and exact[must[0]]:
        return latest, latest
    return (0.0 if may[0] == 0 else float(grid[may[0] - 1])), latest


def log_rank(
    deaths: Float[np.ndarray, "groups times"], at_risk: Float[np.ndarray, "groups times"]
) -> tuple[float, float]:
    """χ² and p of the test that all groups have the same hazard, on the intervals and risk sets of the curves."""
    d, n = deaths.sum(axis=0), at_risk.sum(axis=0)
    use = (d > 0) & (n > 1)
    d, n, share = d[use], n[use], at_risk[:, use] / n[use]
    excess = (deaths[:, use] - d * share).sum(axis=1)
    spread = d * (n - d) / (n - 1)
    variance = np.diag((spread * share).sum(axis=1)) - (spread * share) @ share.T
    chi = float(excess[:-1] @ np.linalg.pinv(variance[:-1, :-1]) @ excess[:-1])
    return chi, float(chdtrc(len(deaths) - 1, chi))
