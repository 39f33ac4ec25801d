"""What is shown of learning: results as JSON, curves as CSV, the figure and the page."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from hocket.report.figures import Drawing
from hocket.report.page import Page
from hocket.report.panels import Guide, Note, Panel, PlotLine, sheet
from reproductions.experiment import Experiment
from reproductions.learning.cases import (
    CANCELLING,
    DGD,
    FS,
    FULL,
    INDEPENDENT,
    JOINT,
    LB,
    METHODS,
    NB,
    QUICK,
    SGD_C,
    Case,
    Size,
)
from reproductions.learning.outcomes import Found, name_of
from reproductions.learning.runs import play
from reproductions.learning.subjects import SUBJECTS, Subject
from reproductions.learning.tables import conclusion, notes, tables

SHOWN = 8
"""Points of a per cent that a panel shows."""
STYLES = {DGD: 0, NB: 1, LB: 2, FS: 3, SGD_C: 4, INDEPENDENT: 5, JOINT: 5}
"""Of lines: no panel has the last two."""


def data(found: Found) -> dict[str, Any]:
    """The results for JSON."""
    return {
        "experiment": found.subject.name,
        "stands_in": found.subject.stands_in,
        "results": [_result(found, case) for case in found.outcomes if case.seed == 0],
        "runs": len(found.outcomes),
        "seeds": found.size.seeds,
        "seconds": round(found.seconds, 1),
        "devices": sorted({outcome.device for outcome in found.outcomes.values()}),
    }


def _result(found: Found, case: Case) -> dict[str, Any]:
    """A case over all its seeds."""
    about = asdict(case)
    del about["seed"]
    summary = found.of(**{key: value for key, value in about.items() if key != "network" or value})
    assert summary is not None
    return about | {
        "accuracy": summary.mean,
        "spread": summary.spread,
        "accuracy_of_seeds": summary.reached.tolist(),
        "accuracy_early": summary.early,
        "accuracy_of_mean_model": summary.of_the_mean,
        "noise_over_gradient": summary.noise,
        "exchanges": summary.outcomes[0].exchanges,
    }


def curve_rows(found: Found) -> list[dict[str, Any]]:
    """Every run against epochs, a row per point."""
    return [
        asdict(case)
        | {
            "epoch": epoch,
            "accuracy": sum(accuracies) / len(accuracies),
            "worst_agent": min(accuracies),
            "best_agent": max(accuracies),
            "mean_model": mean,
        }
        for case, outcome in found.outcomes.items()
        for epoch, accuracies, mean in zip(
            outcome.epochs, outcome.accuracy, outcome.mean_accuracy, strict=True
        )
    ]


def page(found: Found) -> Page:
    """What this page says that no other does."""
    subject = found.subject
    return Page(
        title=f"{subject.title}: learning together under noise that cancels",
        summary=[
            "The second experiment of Gade and Vaidya (2017), Figure 2: five agents train one model, each on data of "
            "its own, and speak with their neighbours every 40 steps."
        ],
        caption="Accuracy on held-out data against epochs, on average over agents; below, accuracy at the end against "
        "the size of the noise.",
        configuration="\n".join(f"# {method.name} hides {method.hides}" for method in METHODS.values()),
        commands=[f"hocket reproduce {subject.name}" + ("" if subject.stands_in else " --data DIR")],
    )


def drawing(found: Found) -> Drawing | None:
    """A panel for each network, and one for the noise where that was varied; None where there is nothing to draw."""
    panels = [[_epochs(found, network) for network in found.size.networks], [_noise(found)]]
    rows = [drawn for row in panels if (drawn := [panel for panel in row if panel.lines])]
    if not rows:
        return None
    title = f"mean over agents; median and 10–90 % band of {found.size.seeds} seeds; thin: less noise, thick: more"
    return sheet(rows, size=(9.6, 4.6 * len(rows)), alt=_alt(found), title=title)


def _epochs(found: Found, network: str) -> Panel:
    lines = []
    compared = [
        (SGD_C, 0.0),
        (DGD, 0.0),
        (JOINT, 0.0),
        *((m, level) for m in CANCELLING for level in found.size.levels),
    ]
    for method, level in compared:
        summary = found.of(method, level, network=network)
        if summary is not None and summary.curves.shape[1] > 1:  # one that diverged at once has no curve
            curves = summary.curves[:, 1:]  # at the start everybody guesses
            lines.append(
                PlotLine.over_runs(
                    name_of(method, level),
                    np.array(summary.outcomes[0].epochs[1 : 1 + curves.shape[1]]),
                    curves,
                    style=STYLES[method],
                    strong=level != found.size.levels[0],
                )
            )
    return Panel(
        title=f"{found.subject.title}, {network}, equal shards",
        across="epochs",
        up="accuracy on held-out data, %",
        lines=lines,
        lowest=_lowest(lines),
        linear="both",
    )


def _noise(found: Found) -> Panel:
    lines = []
    for method in (*CANCELLING, INDEPENDENT):
        levels = found.levels(method)
        if len(levels) > 2:
            reached = np.stack([s.reached for level in levels if (s := found.of(method, level)) is not None])
            lines.append(PlotLine.over_runs(method, np.array(levels), reached.T, style=STYLES[method]))
    plain = found.of(DGD)
    guides = []
    if lines and plain is not None:
        guides = [Guide(lines[0].x[[0, -1]], np.full(2, plain.mean), "DGD")]
    lowest = _lowest(lines)
    steep = any(line.y.min() < lowest for line in lines)
    return Panel(
        title=f"Accuracy against noise, {found.size.networks[0]}",
        across="noise per coordinate and local step, over the rms of a gradient",
        up="accuracy at the end, %",
        lines=lines,
        guides=guides,
        notes=[Note("lines that leave the panel: see the table", 0.98, 0.03, "right")] if steep else [],
        lowest=lowest,
        linear="up",
        legend="lower left",
    )


def _lowest(lines: list[PlotLine]) -> float:
    """Some points below the best that was reached, so that ends can be told apart; what fails leaves the panel."""
    return max((float(line.y.max()) for line in lines), default=100.0) - SHOWN


def _alt(found: Found) -> str:
    ends = [
        f"{name_of(method, level)} {summary.mean:.2f} %"
        for method in (SGD_C, DGD, JOINT, *CANCELLING)
        for level in (found.size.levels if method in CANCELLING else (0.0,))
        if (summary := found.of(method, level)) is not None
    ]
    return (
        f"Accuracy against epochs on {found.subject.title}, five agents. At the end, on "
        f"{found.size.networks[0]}: {'; '.join(ends)}. Below, accuracy against noise."
    )


def learning(subject: Subject) -> Experiment[Size, Found]:
    """The experiment on one subject."""
    return Experiment(
        name=subject.name,
        doing="Training",
        full=FULL,
        quick=QUICK,
        play=partial(play, subject),
        tables=tables,
        notes=notes,
        conclusion=conclusion,
        data=data,
        series=lambda found: {subject.name: curve_rows(found)},
        figure=drawing,
        page=page,
    )


LEARNING = {name: learning(subject) for name, subject in SUBJECTS.items()}
