"""What is shown of the privacy experiment: results as JSON, data as CSV, and the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from hocket.privacy.plain_values import plain_values
from hocket.report.page import Page
from reproductions.experiment import Experiment, on_ring, quantiles
from reproductions.privacy.anchors import Told
from reproductions.privacy.figure import drawing
from reproductions.privacy.reconstruction import Reconstruction, Shape
from reproductions.privacy.runs import FULL, QUICK, Privacy, play
from reproductions.privacy.setting import SHARE, STEP
from reproductions.privacy.tables import conclusion, notes, tables
from reproductions.privacy.theorem2 import fewest_links
from reproductions.tradeoff.noise_level import SMALL_POLYNOMIALS


def data(found: Privacy) -> dict[str, Any]:
    """The results for JSON."""
    shown, change = found.witnesses, found.change
    return {
        "reconstruction": [_reconstruction(one) for one in found.reconstructions],
        "shape": [_shape(shape) for shape in found.shapes],
        "anchors": _anchors([*found.over_rounds, *found.over_runs]),
        "bias": _biases(found),
        "change": {
            "rounds": change.rounds,
            "size": quantiles(change.size),
            "error": quantiles(change.error),
            "foretold": change.foretold,
            "gradient_error": quantiles(change.offset_error),
        },
        "witness": {"exact": shown.exact.to_json(), "floating": shown.floating.to_json()},
        "guarantees": [
            {"topology": promise.topology, **held.to_json()}
            for promise in found.promises
            for held in promise.found
        ],
        "fewest_links": {str(f): links for f, links in fewest_links().items()},
        "data_sets": found.size.problems,
        "step": str(STEP),
        "persistent": SHARE,
        "seconds": round(found.seconds, 1),
    }


def _reconstruction(one: Reconstruction) -> dict[str, Any]:
    known = {"identifiable": one.forecast.identifiable, "points": _points(one)}
    return _about(one) | plain_values(one, "attack", "exact") | known


def _shape(shape: Shape) -> dict[str, Any]:
    errors = {"foretold": shape.foretold.tolist(), "measured": shape.measured.tolist()}
    return {"attack": shape.attack, "K": list(shape.rounds)} | errors


def _about(one: Reconstruction) -> dict[str, Any]:
    return {"seen_by": one.sight.title, "delta": one.delta, "algorithm": one.algorithm}


def _points(one: Reconstruction) -> list[dict[str, Any]]:
    return [
        {"K": k, "foretold": 0.0 if one.exact else one.forecast.at(k), **quantiles(one.error[:, place])}
        for place, k in enumerate(one.rounds)
    ]


def _anchors(all_told: list[Told]) -> list[dict[str, Any]]:
    return [
        {
            "step": told.step,
            "persistent": told.persistent,
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
        plain_values(bias, "delta", "step", "rounds")
        | {
            "algorithm": name,
            "gap": bias.last[name],
            "gap_of_average": None if bias.average is None else bias.average[name],
        }
        for bias in found.biases
        for name in bias.last
    ]


def series(found: Privacy) -> dict[str, list[dict[str, Any]]]:
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


def page(found: Privacy) -> Page:
    """What this page says that no other does."""
    persistent = {"name": "rss-nb", "delta": 1.0, "persistent": SHARE}
    config = on_ring(
        SMALL_POLYNOMIALS, persistent, step=STEP, rounds=found.size.rounds[-1], keep="transcript"
    )
    return Page(
        title="What insiders learn: attacks beside what was predicted",
        summary=[
            "DGD hides nothing from anybody who receives enough of it. Noise that is fresh in every round "
            "is averaged away by "
            "anybody who receives the whole neighbourhood; noise that is drawn once, in functions or in "
            "persistent noise, is not. Who "
            "knows all noise of a target sees through every algorithm whose noise is shared."
        ],
        caption="Above: reconstruction error of ∇f_0(x*) against rounds, in units of a typical gradient, for everybody "
        "who looks and two noise levels. Lines are predicted by hk.leakage from the plan alone, marks are medians of "
        "attacks on real runs with 10 to 90 % bars; exact attacks are set off below. Below: persistent "
        "noise, scaled rightly "
        "and wrongly; over many runs, kept and drawn anew; and the gap they leave at a constant step.",
        configuration=f"# A run to attack: RSS-NB with persistent noise, every message kept\n\n{config.text()}",
        commands=["hocket reproduce privacy"],
    )


PRIVACY = Experiment(
    name="privacy",
    doing="Running and attacking",
    full=FULL,
    quick=QUICK,
    play=play,
    tables=tables,
    notes=notes,
    conclusion=conclusion,
    data=data,
    series=series,
    figure=drawing,
    page=page,
)
