"""What is shown: results as JSON, data as CSV, the figure, and the page with everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hocket.config import parse_config
from hocket.experiments.outputs import PAGE, RESULTS, quantiles, write_csv, write_json
from hocket.experiments.tradeoff.figure import drawing
from hocket.experiments.tradeoff.level import BOUNDARY_DELTAS, DELTAS, START
from hocket.experiments.tradeoff.price import STEP
from hocket.experiments.tradeoff.runs import Tradeoff
from hocket.experiments.tradeoff.tables import (
    MECHANISM,
    bound_table,
    bounds,
    conclusion,
    noise_table,
    notes,
    price_table,
)
from hocket.problems.standard import PAPER_POLYNOMIALS
from hocket.report.figures import Drawing
from hocket.report.page import Page


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
                "exponent_of_delta": run.noise_exponent.data(),
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
