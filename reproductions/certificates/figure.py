"""The figure: what noise between neighbours saves, likelihood ratios beside theory, and DECOR beside plans."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from hocket.report.figures import Drawing
from hocket.report.panels import Guide, Note, Panel, PlotLine, sheet
from reproductions.certificates.runs import Certificates

QUANTILES = np.linspace(0.02, 0.98, 11)


def drawing(found: Certificates) -> Drawing:
    """Three panels."""
    rows = [[_over_central(found)], [_told(found), _gaps(found)]]
    return sheet(rows, size=(9.6, 9.0), alt=_alt(found))


def _over_central(found: Certificates) -> Panel:
    lines = [
        PlotLine(f"{one.network}, f = {one.colluders}", np.array(one.ratios), one.over, style=place)
        for place, one in enumerate(found.over)
    ]
    ends = np.array(found.over[0].ratios)[[0, -1]]
    guides = [
        Guide(ends, np.full(2, math.sqrt(agents)), f"local, n = {agents}")
        for agents in sorted({one.agents for one in found.over})
    ]
    return Panel(
        title="(a)  Noise on the average at equal ε, beside a trusted server's",
        across=r"$\sigma/\tau$: noise between neighbours over own noise",
        up="noise over central",
        lines=lines,
        guides=guides,
        lowest=0.0,
        linear="up",
        legend="lower left",
    )


def _told(found: Certificates) -> Panel:
    """Quantiles of likelihood ratios of the first world, standardised by theory alone."""
    normal = stats.norm.ppf(QUANTILES)
    lines = [
        PlotLine(
            f"{one.case.theorem}: μ = {one.certificate.mu:.3f}, fitted {one.told.mu:.3f}",
            normal,
            (np.quantile(one.told.first, QUANTILES) + one.certificate.mu**2 / 2) / one.certificate.mu,
            style=place,
        )
        for place, one in enumerate(found.held)
    ]
    return Panel(
        title=f"(b)  Likelihood ratios of {found.size.transcripts:,} real transcripts",
        across="normal quantile",
        up="quantile, in units of theory",
        lines=lines,
        guides=[Guide(normal[[0, -1]], normal[[0, -1]], "")],
        notes=[Note("dotted: theory", 0.97, 0.04, "right")],
        linear="both",
        legend="upper left",
    )


def _gaps(found: Certificates) -> Panel:
    names = list(
        dict.fromkeys((one.problem, one.network) for one in found.gaps if one.problem == "quadratics")
    )
    lines = []
    for place, name in enumerate(names):
        some = [one for one in found.gaps if (one.problem, one.network) == name]
        x = np.array([one.epsilon for one in some])
        order = np.argsort(x)
        both = (
            ("DECOR", [one.decor for one in some], False),
            ("planned", [one.planned for one in some], True),
        )
        lines += [
            PlotLine(f"{name[1]}, {label}", x[order], np.array(y)[order], style=place, strong=strong)
            for label, y, strong in both
        ]
    return Panel(
        title="(c)  DECOR's quadratics, at the same true ε",
        across="ε against 0, 1, 2 insiders",
        up=r"mean $\|x_j - x^*\|^2$",
        lines=lines,
        legend="lower left",
        lowest=min(one.planned for one in found.gaps if one.problem == "quadratics") / 30,
    )


def _alt(found: Certificates) -> str:
    ends = ", ".join(f"{one.over[-1]:.3f} on {one.network} against {one.colluders}" for one in found.over)
    fits = ", ".join(
        f"{one.case.theorem} {one.told.mu:.3f} for {one.certificate.mu:.3f}" for one in found.held
    )
    gaps = ", ".join(
        f"{one.network} with {one.insiders} insiders {one.decor:.3g} and {one.planned:.3g}"
        for one in found.gaps
        if one.problem == "quadratics"
    )
    return (
        "Three plots. First, noise over a trusted server's against noise between neighbours over own noise: it falls "
        f"to {ends}. Second, quantiles of likelihood ratios beside a line of slope one, fitted μ for μ: {fits}. Third, "
        f"distance from the optimum at the same true epsilon, DECOR's and planned: {gaps}."
    )
