"""Figures of a study: a forest plot, ROC and calibration, survival curves; for screen, print and the colour-blind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hocket.report.figures import INK, STYLES, Drawing, drawn
from hocket.studies.models.evaluate import Evaluation
from hocket.studies.models.fit import RegressionFit
from hocket.studies.summaries.survival import Survivals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 0.34
"""Inches that a coefficient takes in a forest plot."""
BLUE = STYLES[1][0]
Floats = tuple[float, ...]
LONGEST = 40
"""Characters of a label."""
WIDEST = 1e4
"""Ratios beyond this, or its inverse, are drawn at the edge."""


def forest(fit: RegressionFit, labels: dict[str, str]) -> Drawing | None:
    """Every coefficient but the intercept with its interval; as ratios on a logarithmic axis where they are ratios."""
    shown = {
        name: one for name, one in fit.coefficients.items() if name != "Intercept" and one.low is not None
    }
    if not shown:
        return None
    scale = np.exp if fit.ratio else np.asarray
    limit = np.log(WIDEST) if fit.ratio else np.inf
    numbers = [(one.estimate, one.low or 0.0, one.high or 0.0) for one in shown.values()]
    rows = scale(np.clip(numbers, -limit, limit)).tolist()
    return _forest(
        fit.ratio, fit.confidence, tuple(labels.get(name, name) for name in shown), *zip(*rows, strict=True)
    )


@lru_cache(maxsize=1)
def _forest(
    ratio: str | None, confidence: float, names: Sequence[str], middle: Floats, low: Floats, high: Floats
) -> Drawing:
    """Drawn once: a member writes its page when it has the results, and again when all have signed them."""
    what = ratio or "coefficient"

    def lay_out(figure: Figure) -> None:
        axes = figure.subplots()
        places = np.arange(len(names))[::-1]
        axes.axvline(1.0 if ratio else 0.0, color=INK, linewidth=1, alpha=0.6)
        axes.hlines(places, low, high, color=BLUE, linewidth=2)
        axes.plot(middle, places, "s", color=BLUE, markersize=6)
        axes.set_yticks(places, [_drawable(name) for name in names])
        if ratio:
            axes.set_xscale("log")
            _plain_ticks(axes, min(low), max(high))
        axes.set_ylim(-0.7, len(names) - 0.3)
        axes.set_xlabel(f"{what}, with its {confidence:.0%} interval" + (", logarithmic" if ratio else ""))
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.grid(True, axis="x", color=INK, alpha=0.12, linewidth=0.6)

    parts = "; ".join(
        f"{name} {m:.3g} ({lo:.3g} to {hi:.3g})"
        for name, m, lo, hi in zip(names, middle, low, high, strict=True)
    )
    return drawn(
        lay_out,
        size=(9.6, 1.2 + LINE * len(names)),
        alt=f"A forest plot: {what} and interval of each term. {parts}.",
    )


def _drawable(text: str) -> str:
    """Words of a study as a figure may have them: not so long that nothing else fits, and no formula to be set."""
    return (text if len(text) <= LONGEST else text[: LONGEST - 1] + "…").replace("$", r"\$")


def _plain_ticks(axes: Axes, low: float, high: float) -> None:
    """Ticks at 1, 2, 5 and their multiples by ten, or closer ones around 1, written as people write them."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    powers = np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    bases = (1,) if high / low > 1000 else (1, 2, 5)
    ticks = [base * 10.0**power for power in powers for base in bases]
    if high / low < 5:
        unit = 0.1 if high / low < 2.5 else 0.2
        ticks = [unit * step for step in range(1, int(high / unit) + 2)]
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if low * 0.8 <= tick <= high * 1.25]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _auc(found: Evaluation) -> str:
    return f"AUC {found.auc:.3f} (binning moves it by {found.auc_within:.3f} at most)"


def performance(found: Evaluation) -> Drawing:
    """ROC and calibration side by side."""

    def lay_out(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        x, y = np.array(found.roc).T
        left.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=":", label="chance")
        left.plot(
            x,
            y,
            color=BLUE,
            linewidth=1.8,
            label=_auc(found),
        )
        left.set(xlabel="share of rows without it, taken for a yes", ylabel="share of rows with it, found")
        left.set_title("ROC", loc="left", fontweight="bold", fontsize=11)
        left.legend(loc="lower right")
        predicted, true, _ = np.array(found.calibration).T
        right.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=":", label="perfect")
        right.plot(
            predicted, true, color=BLUE, linewidth=1.4, marker="s", markersize=5, label="groups of rows"
        )
        right.set(xlabel="mean prediction", ylabel="share that has it")
        right.set_title("Calibration", loc="left", fontweight="bold", fontsize=11)
        right.legend(loc="upper left")
        for axes in (left, right):
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")

    return drawn(
        lay_out,
        size=(9.6, 4.8),
        alt=f"Two plots on {found.rows} held-out rows: the ROC curve, with an area of {found.auc:.3f} under it, and "
        f"calibration in {len(found.calibration)} groups, from a mean prediction of {found.calibration[0][0]:.2g} with "
        f"{found.calibration[0][1]:.0%} yes to {found.calibration[-1][0]:.2g} with {found.calibration[-1][1]:.0%}.",
    )


def curves(found: Survivals) -> Drawing:
    """Survival curves in steps, each with its band; a life table with its bounds in thin lines."""

    def lay_out(figure: Figure) -> None:
        axes = figure.subplots()
        for place, curve in enumerate(found.curves):
            colour, line, _ = STYLES[(place + 1) % len(STYLES)]
            known = [value is not None for value in curve.survival]
            time = np.array([0.0, *np.array(found.grid)[known]])
            value = np.array([1.0, *(one for one in curve.survival if one is not None)])
            low = np.array(
                [1.0, *(1.0 if one is None else one for one in np.array(curve.low, dtype=object)[known])]
            )
            high = np.array(
                [1.0, *(1.0 if one is None else one for one in np.array(curve.high, dtype=object)[known])]
            )
            axes.fill_between(time, low, high, step="post", color=colour, alpha=0.14, linewidth=0)
            for bound in () if found.exact else (curve.least, curve.most):
                edge = [1.0, *(one for one in bound if one is not None)]
                axes.step(time, edge, where="post", color=colour, linestyle=line, linewidth=0.7)
            axes.step(
                time,
                value,
                where="post",
                color=colour,
                linestyle=line,
                linewidth=1.8,
                label=_drawable(curve.label),
            )
        axes.set(
            xlabel="time", ylabel="share without the event", ylim=(-0.02, 1.02), xlim=(0, max(found.grid))
        )
        axes.grid(True, color=INK, alpha=0.12, linewidth=0.6)
        if len(found.curves) > 1:
            axes.legend(loc="lower left", handlelength=3.4)

    title = "Kaplan-Meier curves" if found.exact else "Life tables"
    ends = "; ".join(
        f"{curve.label} ends at {[one for one in (1.0, *curve.survival) if one is not None][-1]:.3g}"
        for curve in found.curves
    )
    return drawn(lay_out, size=(9.6, 4.6), alt=f"{title} against time, with bands: {ends}.")
