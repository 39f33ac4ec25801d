"""Studies with [privacy]: every key of a study, and every pair, is refused or keeps its ε."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable

import numpy as np
import pytest

from tests.claims.cells import Result
from tests.claims.studies import AXES, StudyCell, cells, epsilon, evaluate


def judged(some: Iterable[StudyCell]) -> list[Result]:
    """Every cell evaluated; those that break their promise fail by name."""
    found = {cell: evaluate(cell) for cell in some}
    broken = [f"{cell}: {result}" for cell, result in found.items() if not result.holds]
    assert not broken, "\n".join(broken)
    return [*found.values()]


def test_no_promise_of_a_study_falls_under_any_one_key():
    found = judged(cell for cell in cells() if len(cell.changed) < 2)
    assert max(one.ratio for one in found if one.verdict == "played") > 0.999
    assert {one.verdict for one in found} >= {"played", "refused"}


PAIRS = [
    ("describe.columns", 1, "describe.cross", 1),
    ("describe.columns", 1, "describe.histograms", 0),
    ("describe.columns", 1, "study.where", 1),
    ("describe.rows", 0, "colluders", 0),
    ("study.formula", 2, "describe.quantiles", 1),
    ("study.formula", 4, "columns.x.per", 0),
    ("study.formula", 2, "sums", 0),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: f"{one[0]} × {one[2]}")
def test_parts_of_a_study_keep_their_promise_together(pair):
    (result,) = judged([StudyCell(((pair[0], pair[1]), (pair[2], pair[3])))])
    assert result.verdict == "played"


@pytest.mark.parametrize(
    "changed",
    [
        (("columns.g.reference", "c"), ("columns.y.range", [0.0, 5e-324])),
        (("study.formula", "y ~ x^2 + x^3 + sqrt(t)"), ("columns.x.range", [0.0, 1e-320])),
        (("study.formula", "y ~ x^2 + x^3 + sqrt(t)"), ("columns.x.range", [-1e308, 1e308])),
        (("describe.columns", ["x"]), ("columns.x.range", [-1e308, 1e308])),
    ],
    ids=str,
)
def test_ranges_that_floats_cannot_scale_are_refused(changed):
    """Not a number, rounded to a whole one, is 2^63 or an overflow: one row moved sums by billions of the noise."""
    result = evaluate(StudyCell(tuple((key, AXES[key].index(value)) for key, value in changed)))
    assert result.verdict == "refused"
    assert "too large, or too close together, to be scaled" in result.why or "too far apart" in result.why


@pytest.mark.parametrize("place", range(len(AXES["columns.x.map"])))
def test_a_spline_of_yes_and_no_is_refused(place):
    """It was counted as one column, and it is two: S moved by 1.17 of what was stated."""
    formula = AXES["study.formula"].index("y ~ rcs(x, -1, 0, 1)")
    result = evaluate(StudyCell((("study.formula", formula), ("columns.x.map", place))))
    assert result.verdict == "refused"


def test_more_colluders_than_planned_for_would_be_told():
    """The attack sees it where there is too little noise: one honest member in place of three."""
    from hocket.privacy import gdp

    mu = gdp.mu(1.0, 1e-6)
    assert epsilon(mu, 1e-6) == pytest.approx(1.0, rel=1e-9)
    assert epsilon(mu * np.sqrt(3), 1e-6) > 1.5


@pytest.mark.endurance
@pytest.mark.timeout(3600)
def test_no_promise_of_a_study_falls_in_any_pair():
    seed = int(os.environ.get("HOCKET_CLAIMS_SEED") or secrets.randbits(31))
    every = list(cells())
    order = np.random.default_rng(seed).permutation(len(every))
    judged(every[place] for place in order)
