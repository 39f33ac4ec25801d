"""A description from one total with noise: counts, sums and squares of columns within their declared ranges.

A row gives, of a number z scaled to [−1, 1], (1, 0, z, z²), or (0, 1, 0, 0) where it is missing: two rows differ by 4
at most, squared. Of levels, tables and bars it gives a 1 in one place, of which two rows differ by 2. S² is the sum
over all that is described, so that one noise hides a row in all of it together. Quantiles are read off the bars.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from hocket.algorithm import SecureSum
from hocket.secagg.noise_share import GRID_BITS
from hocket.studies.data.rows import Rows
from hocket.studies.disclosure.promise import Promise
from hocket.studies.models.private_linear import STEPS, Bounds
from hocket.studies.spec.study import DescribeSection, Study
from hocket.studies.summaries.describe import Description, Summary, labels_of
from hocket.studies.together import Analysis

NUMBER, ONE_PLACE = 4.0, 2.0
"""Squared distances of what two rows give."""
BARS = 16
"""Bars that quantiles are read off, where no histogram is asked for."""
CLEAR = 3.0
"""Deviations of noise that a count must exceed, for a mean to be made by it."""


def bars(part: DescribeSection) -> int:
    """Into how many bars a range is cut."""
    return part.histograms or (BARS if part.quantiles else 0)


def sensitivity(study: Study, part: DescribeSection) -> float:
    """S: by how much a row that is replaced moves all numbers together, at most."""
    numbers = NUMBER + (ONE_PLACE if bars(part) else 0.0)
    squared = [numbers if study.column(name).numeric else ONE_PLACE for name in study.described]
    return float(np.sqrt(sum(squared) + ONE_PLACE * len(part.cross)))


def own_sums(rows: Rows, part: DescribeSection) -> dict[str, np.ndarray]:
    """What one member's rows come to, on the grid of the noise."""
    found: dict[str, np.ndarray] = {}
    for name in rows.study.described:
        column, values = rows.study.column(name), rows.column(name, rows.described)
        there = values[~np.isnan(values)]
        missing = float(len(values) - len(there))
        if column.numeric:
            found |= _of_number(name, column.range or (0.0, 1.0), there, missing, bars(part))
        else:
            found[f"levels of {name}"] = np.array(
                [*_places(there, len(labels_of(rows.study, name))), missing]
            )
    for one, other in part.cross:
        first, second = rows.column(one, rows.described), rows.column(other, rows.described)
        down, across = len(labels_of(rows.study, one)), len(labels_of(rows.study, other))
        both = ~(np.isnan(first) | np.isnan(second))
        cells = _places(first[both] * across + second[both], down * across)
        found[f"cells of {one} and {other}"] = cells.reshape(down, across)
    return found


def _of_number(
    name: str, ends: tuple[float, float], there: np.ndarray, missing: float, count: int
) -> dict[str, np.ndarray]:
    low, high = ends
    z = Bounds((low + high) / 2, (high - low) / 2).scaled(there)
    sums = [float(len(there)), missing, int(z.sum()) / STEPS, int((z**2).sum()) / 2.0**GRID_BITS]
    found = {f"sums of {name}": np.array(sums)}
    if count:
        edges = np.linspace(low, high, count + 1)
        found[f"bars of {name}"] = np.histogram(np.clip(there, low, high), edges)[0].astype(np.float64)
    return found


def _places(values: np.ndarray, places: int) -> Float[np.ndarray, " places"]:
    return np.bincount(values.astype(int), minlength=places).astype(np.float64)


def private_describe(rows: Rows, part: DescribeSection, promise: Promise) -> Analysis[Description]:
    """The description, from one member's rows and one total."""
    study, S = rows.study, sensitivity(rows.study, part)
    own = own_sums(rows, part)
    variance = promise.share_variance(S)
    total = yield SecureSum(own, noise=dict.fromkeys(own, variance))
    sd = promise.noise_sd(S)
    columns = {name: _summary(study, part, name, total, sd) for name in study.described}
    cross = {
        f"{one} × {other}": {
            "rows": labels_of(study, one),
            "columns": labels_of(study, other),
            "cells": [[_count(cell) for cell in row] for row in total[f"cells of {one} and {other}"]],
        }
        for one, other in part.cross
    }
    return Description(columns, cross, sd)


def _count(value: float) -> int:
    return max(round(float(value)), 0)


def _summary(
    study: Study, part: DescribeSection, name: str, total: Mapping[str, np.ndarray], sd: float
) -> Summary:
    if not study.column(name).numeric:
        counts = [_count(one) for one in total[f"levels of {name}"]]
        labels = labels_of(study, name)
        return Summary(sum(counts[:-1]), counts[-1], levels=dict(zip(labels, counts[:-1], strict=True)))
    count, missing, first, second = map(float, total[f"sums of {name}"])
    low, high = study.column(name).range or (0.0, 1.0)
    middle, reach = (low + high) / 2, (high - low) / 2
    if count <= CLEAR * sd:
        return Summary(_count(count), _count(missing))
    z = min(max(first / count, -1.0), 1.0)
    spread = max(second / count - z**2, 0.0) * count / max(count - 1, 1.0)
    heights = total.get(f"bars of {name}")
    edges = np.linspace(low, high, bars(part) + 1)
    quantiles = None
    if heights is not None and part.quantiles:
        quantiles = {f"{share:g}": _quantile(heights, edges, share) for share in part.quantiles}
    histogram = None
    if heights is not None and part.histograms:
        histogram = tuple(map(float, edges)), tuple(map(_count, heights))
    return Summary(
        _count(count),
        _count(missing),
        middle + reach * z,
        reach * float(np.sqrt(spread)),
        quantiles,
        histogram=histogram,
        mean_noise=reach * sd * float(np.sqrt(1 + z**2)) / count,
    )


def _quantile(heights: np.ndarray, edges: np.ndarray, share: float) -> float:
    """Where the bars, added up and never falling, come to a share of them all."""
    rising = np.concatenate([[0.0], np.maximum.accumulate(np.maximum(np.cumsum(heights), 0.0))])
    if rising[-1] <= 0:
        return float((edges[0] + edges[-1]) / 2)
    return float(np.interp(share * rising[-1], rising, edges))
