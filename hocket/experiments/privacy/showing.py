"""What is shown: results as JSON, data as CSV, the figure, and the page with everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hocket.config import parse_config
from hocket.experiments.outputs import PAGE, RESULTS, quantiles, write_csv, write_json
from hocket.experiments.privacy.anchors import Told
from hocket.experiments.privacy.figure import drawing
from hocket.experiments.privacy.findings import conclusion, notes, tables
from hocket.experiments.privacy.promises import fewest_links
from hocket.experiments.privacy.reconstruction import Reconstruction
from hocket.experiments.privacy.runs import Privacy
from hocket.experiments.privacy.setting import SHARE, STEP
from hocket.problems.standard import PAPER_POLYNOMIALS
from hocket.report.figures import Drawing
from hocket.report.page import Page


def data(found: Privacy) -> dict[str, Any]:
    """The results as one JSON object."""
    size, change = found.size, found.change
    return {
        "reconstruction": [
            {
                **_about(one),
                "attack": one.attack,
                "exact": one.exact,
                "identifiable": one.forecast.identifiable,
                "points": _points(one),
            }
            for one in found.reconstructions
        ],
        "shape": [
            {
                "attack": shape.attack,
                "K": list(shape.rounds),
                "foretold": shape.foretold.tolist(),
                "measured": shape.measured.tolist(),
            }
            for shape in found.shapes
        ],
        "anchors": _anchors([*found.over_rounds, *found.over_runs]),
        "bias": _biases(found),
        "change": {
            "rounds": change.rounds,
            "size": quantiles(change.size),
            "error": quantiles(change.error),
            "foretold": change.foretold,
            "gradient_error": quantiles(change.offset_error),
        },
        "witness": {"exact": found.witnesses.exact.to_json(), "floating": found.witnesses.floating.to_json()},
        "guarantees": [
            {"topology": promise.topology, **held.to_json()}
            for promise in found.promises
            for held in promise.found
        ],
        "fewest_links": {str(f): links for f, links in fewest_links().items()},
        "data_sets": size.problems,
        "step": str(STEP),
        "anchor": SHARE,
        "seconds": round(found.seconds, 1),
        "conclusion": conclusion(found),
    }


def write(found: Privacy, folder: Path) -> Path:
    """Figure, data, results and page; returns where the page lies."""
    figure = drawing(found)
    figure.save(folder, "privacy")
    for name, rows in _series(found).items():
        write_csv(folder / f"{name}.csv", rows)
    write_json(folder / RESULTS, data(found))
    return _page(found, figure).save(folder / PAGE)


def _about(one: Reconstruction) -> dict[str, Any]:
    return {"seen_by": one.sight.title, "delta": one.delta, "algorithm": one.algorithm}


def _points(one: Reconstruction) -> list[dict[str, Any]]:
    return [
        {
            "K": k,
            "foretold": 0.0 if one.exact else one.forecast.at(k),
            **quantiles(one.error[:, place]),
        }
        for place, k in enumerate(one.rounds)
    ]


def _anchors(all_told: list[Told]) -> list[dict[str, Any]]:
    return [
        {
            "step": told.step,
            "anchor": told.anchor,
            "scaled_by": told.scaling,
            "kept": told.kept,
            "K": told.rounds[place],
            "runs": told.runs[place],
            "foretold": float(told.foretold[place]),
            "measured": float(told.measured[place]),
        }
        for told in all_told
        for place in range(len(told.rounds))
    ]


def _biases(found: Privacy) -> list[dict[str, Any]]:
    return [
        {
            "delta": bias.delta,
            "step": bias.step,
            "rounds": bias.rounds,
            "algorithm": name,
            "gap": bias.last[name],
            "gap_of_average": None if bias.average is None else bias.average[name],
        }
        for bias in found.biases
        for name in bias.last
    ]


def _series(found: Privacy) -> dict[str, list[dict[str, Any]]]:
    """The data of every panel, a row per point."""
    foretold = [
        {**_about(one), "K": int(k), "foretold": float(error)}
        for one in found.reconstructions
        for k, error in zip(one.forecast.rounds, np.nan_to_num(one.forecast.error), strict=True)
    ]
    return {
        "reconstruction": [
            {**_about(one), "attack": one.attack, **point}
            for one in found.reconstructions
            for point in _points(one)
        ],
        "foretold": foretold,
        "anchors": _anchors([*found.over_rounds, *found.over_runs]),
        "bias": _biases(found),
    }


def _page(found: Privacy, figure: Drawing) -> Page:
    config = parse_config(
        {
            "problem": {
                "kind": "polynomials",
                "coefficients": [list(map(float, row)) for row in PAPER_POLYNOMIALS],
                "box": [-1.0, 1.0],
            },
            "network": {"topology": "cycle:5"},
            "algorithm": {"name": "rss-nb", "delta": 1.0, "anchor": SHARE},
            "step": {"a": float(STEP.a), "b": float(STEP.b), "p": float(STEP.p)},
            "run": {"rounds": found.size.rounds[-1], "keep": "transcript"},
        },
        base=Path(),
    )
    return Page(
        title="What insiders learn: attacks beside what was foretold",
        summary=[
            conclusion(found),
            "DGD hides nothing from whoever hears enough of it. Noise that is fresh in every round is averaged away by "
            "whoever hears the whole neighbourhood; noise that is drawn once, in functions or in anchors, is not. Who "
            "knows all noise of a target sees through every algorithm whose noise is shared.",
        ],
        tables=tables(found),
        notes=notes(found),
        figure=figure,
        caption="Above: reconstruction error of ∇f_0(x*) against rounds, in units of a typical gradient, for everybody "
        "who looks and two noise levels. Lines are foretold by hk.leakage from the plan alone, marks are medians of "
        "attacks on real runs with 10 to 90 % bars; exact attacks are set off below. Below: anchors, scaled rightly "
        "and wrongly; over many runs, kept and drawn anew; and the gap they leave at a constant step.",
        configuration=f"# A run to attack: anchored RSS-NB, every word kept\n\n{config.text()}",
        commands=["hocket reproduce privacy"],
    )
