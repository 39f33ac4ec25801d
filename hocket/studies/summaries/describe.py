"""What the joint rows look like: counts, means, quantiles, levels, tables and histograms, without small cells.

What is too small to be shown is left out of results; members' own programs see each joint count before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import SecureSum
from hocket.errors import NotEstimable
from hocket.studies.data.rows import Rows
from hocket.studies.data.scaling import BITS, refuse_faint
from hocket.studies.disclosure.rules import suppressed
from hocket.studies.disclosure.steering import CULPRIT, SLACK
from hocket.studies.spec.study import DescribeSection, Study
from hocket.studies.summaries.quantiles import joint_quantiles
from hocket.studies.together import Analysis, together

REACH = 3.0
"""Standard deviations to either side that a histogram spans where no range is declared."""


SOLVED = 3
"""Different numbers whose counts follow from how many rows there are, their mean and their standard deviation."""
FEW_NUMBERS = f"members with more than {SOLVED} numbers", f"members with few rows of one of {SOLVED} numbers"


@dataclass(frozen=True)
class Summary:
    """One column over all joint rows."""

    rows: int | None
    """None where it would tell how many are missing, and these are too few to be shown."""
    missing: int | None
    """None where too few to be shown."""
    mean: float | None = None
    sd: float | None = None
    quantiles: dict[str, float] | None = None
    quantiles_within: dict[str, float] | None = None
    """How far each quantile may be from that of the pooled rows, at most."""
    levels: dict[str, int | None] | None = None
    histogram: tuple[tuple[float, ...], tuple[int | None, ...]] | None = None
    """Edges, and a count between each two; the outer bars hold what lies beyond them too."""
    mean_noise: float | None = None
    """The deviation that noise gives the mean, where the study promises an ε."""


@dataclass(frozen=True)
class Description:
    """All columns, and tables of two."""

    columns: dict[str, Summary]
    cross: dict[str, dict[str, Any]]
    noise: float | None = None
    """The deviation of the noise on every count, where the study promises an ε."""


def describe(rows: Rows, part: DescribeSection) -> Analysis[Description]:
    """Every column side by side: as many totals as the longest bisection."""
    names = rows.study.described
    jobs: dict[str, Analysis[Any]] = {f"column {name}": _summary(rows, part, name) for name in names}
    for one, other in part.cross:
        jobs[f"table {one} × {other}"] = _crossed(rows, one, other)
    found = yield from together(jobs)
    return Description(
        {name: found[f"column {name}"] for name in names},
        {f"{one} × {other}": found[f"table {one} × {other}"] for one, other in part.cross},
    )


def labels_of(study: Study, name: str) -> list[str]:
    """What a column's levels are called, in order; a yes or no has two."""
    levels = study.column(name).coded
    return [str(level) for level in levels] if levels else ["0", "1"]


def _summary(rows: Rows, part: DescribeSection, name: str) -> Analysis[Summary]:
    values = rows.column(name, rows.described)
    there = values[~np.isnan(values)]
    if rows.study.column(name).numeric:
        return (yield from _numbers(rows, part, name, there, len(values) - len(there)))
    labels = labels_of(rows.study, name)
    counts = np.array([(there == place).sum() for place in range(len(labels))], dtype=np.float64)
    total = yield SecureSum(
        {"levels": counts, "missing": np.array([float(len(values) - len(there))])}, names={"levels": labels}
    )
    row = suppressed(np.concatenate([total["levels"], total["missing"]])[None], rows.study.disclosure)[0]
    whole = _shown_rows(float(total["levels"].sum()), row[-1])
    return Summary(whole, row[-1], levels=dict(zip(labels, row[:-1], strict=True)))


def _shown_rows(count: float, missing: int | None) -> int | None:
    """Rows that have a cell, unless these and all rows together give a small number of missing cells away."""
    return None if missing is None else round(count)


def _numbers(
    rows: Rows, part: DescribeSection, name: str, values: Float[np.ndarray, " rows"], missing: int
) -> Analysis[Summary]:
    rules = rows.study.disclosure
    neither = not np.isin(values, (0, 1)).all()
    sizes = np.unique(values, return_counts=True)[1]
    rare = neither and len(sizes) <= SOLVED and bool((sizes < rules.smallest_cell).any())
    held = np.array(
        [len(values), missing, (values != 0).sum(), neither, len(sizes) > SOLVED, rare], dtype=np.float64
    )
    counts = yield SecureSum(
        {"rows": held},
        names={
            "rows": (
                "rows there",
                "rows missing",
                "rows not 0",
                "members with others than 0 and 1",
                *FEW_NUMBERS,
            )
        },
    )
    count, absent, some, others, several, few_of_one = map(float, counts["rows"])
    shown = suppressed(np.array([[absent]]), rules)[0][0]
    few = 0 < some < rules.smallest_cell or (others == 0 and 0 < count - some < rules.smallest_cell)
    few = few or (several < 0.5 < few_of_one)
    if count < max(rules.smallest_cell, 2) or few:
        # A sum would be that of a few rows; or of a yes or no, or of up to three numbers, would tell how few have one.
        return Summary(None, None)
    first = yield SecureSum({"sum": np.array([values.sum()])}, bits=BITS, names={"sum": (name,)})
    mean = float(first["sum"][0]) / count
    second = yield SecureSum(
        {"squares": np.array([((values - mean) ** 2).sum()])}, bits=BITS, names={"squares": (name,)}
    )
    squares = float(second["squares"][0])
    _refuse_made_up(name, counts["rows"] - held, squares - float(((values - mean) ** 2).sum()), squares)
    refuse_faint(name, some, squares + count * mean**2, squares)
    sd = float(np.sqrt(squares / (count - 1)))
    jobs: dict[str, Analysis[Any]] = {}
    if sd > 0 and part.quantiles:
        jobs["quantiles"] = joint_quantiles(
            values, part.quantiles, rows=count, mean=mean, sd=sd, smallest=rules.smallest_cell
        )
    if sd > 0 and part.histograms:
        low, high = rows.study.column(name).range or (mean - REACH * sd, mean + REACH * sd)
        jobs["histogram"] = _histogram(rows, values, np.linspace(low, high, part.histograms + 1), absent)
    found = yield from together(jobs)
    places = found.get("quantiles", [])
    names = [f"{share:g}" for share in part.quantiles]
    return Summary(
        _shown_rows(count, shown),
        shown,
        mean,
        sd,
        dict(zip(names, [value for value, _ in places], strict=False)) or None,
        dict(zip(names, [within for _, within in places], strict=False)) or None,
        histogram=found.get("histogram"),
    )


def _refuse_made_up(name: str, others: np.ndarray, squares: float, total: float) -> None:
    """Refuse counts and squares of the others that no rows have."""
    if (others < -0.5).any() or others[2] > others[0] + 0.5 or squares < -SLACK * max(1.0, abs(total)):
        raise NotEstimable(f"the others' counts or squares of {name} cannot come from rows: {CULPRIT}")


def _histogram(
    rows: Rows, values: Float[np.ndarray, " rows"], edges: Float[np.ndarray, " edges"], absent: float
) -> Analysis[tuple[tuple[float, ...], tuple[int | None, ...]]]:
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0].astype(np.float64)
    several = len(np.unique(values)) > (counts > 0).sum()
    total = yield SecureSum(
        {"histogram": counts, "members with several numbers in a bar": np.array([float(several)])}
    )
    # Bars and missing cells are all rows together, so that one of them that is hidden must not stay alone. Where each
    # bar is of one number, mean and standard deviation are sums of bars too.
    sums = 1 if total["members with several numbers in a bar"][0] > 0 else 3
    row = suppressed(np.append(total["histogram"], absent)[None], rows.study.disclosure, sums=sums)[0]
    return tuple(map(float, edges)), tuple(row[:-1])


def _crossed(rows: Rows, one: str, other: str) -> Analysis[dict[str, Any]]:
    first, second = rows.column(one, rows.described), rows.column(other, rows.described)
    down, across = labels_of(rows.study, one), labels_of(rows.study, other)
    counts = np.array(
        [[((first == i) & (second == j)).sum() for j in range(len(across))] for i in range(len(down))],
        dtype=np.float64,
    )
    total = yield SecureSum({"cells": counts}, names={"cells": across})
    cells: Sequence[Sequence[int | None]] = suppressed(total["cells"], rows.study.disclosure)
    return {"rows": down, "columns": across, "cells": cells}
