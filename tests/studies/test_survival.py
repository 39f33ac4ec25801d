"""Cox models, Kaplan-Meier curves and the log-rank test, beside lifelines on the pooled rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from hocket.studies import Results, Table, parse_study, rehearse
from tests.studies.cases import judges, lifelines, table_of

TERMS = ("fin", "age", "wexp", "mar", "paro", "prio")


@pytest.fixture(scope="module")
def rossi() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lifelines().datasets.load_rossi()


def members(frame: Any, by: str) -> dict[str, Table]:
    return {
        f"{by} {value}": Table.of({name: part[name].tolist() for name in part.columns})
        for value, part in frame.groupby(by)
    }


def cox(frame: Any, ties: str) -> Results:
    formula = f"Surv(week, arrest) ~ {' + '.join(TERMS)}"
    study = {"study": {"title": "Rossi", "formula": formula, "family": "cox", "ties": ties}}
    return rehearse(parse_study(study), members(frame, "race"))


def test_cox_stratified_by_member_with_efrons_ties(rossi):
    results = cox(rossi, "efron")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge = (
            lifelines()
            .CoxPHFitter()
            .fit(rossi, "week", "arrest", strata=["race"], fit_options={"precision": 1e-12})
        )
    estimate, se = table_of(results)
    order = list(TERMS)
    np.testing.assert_allclose(estimate, judge.params_[order], rtol=1e-6)  # lifelines stops there
    np.testing.assert_allclose(se, judge.standard_errors_[order], rtol=1e-6)
    np.testing.assert_allclose(results.data["log_likelihood"], judge.log_likelihood_, rtol=1e-12)
    age = results.data["coefficients"]["age"]
    assert f"{age['estimate']:.6f} {age['se']:.6f}" == "-0.057640 0.022002"
    assert f"{results.data['log_likelihood']:.6f}" == "-620.563609"
    assert results.data["exponentiated"] == "hazard ratio"
    assert results.totals <= 8


def test_cox_with_breslows_ties(rossi):
    results = cox(rossi, "breslow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge = (
            judges()
            .PHReg(
                rossi["week"],
                rossi[list(TERMS)],
                status=rossi["arrest"],
                strata=rossi["race"],
                ties="breslow",
            )
            .fit(tol=1e-13)
        )
    estimate, se = table_of(results)
    np.testing.assert_allclose(estimate, judge.params, rtol=1e-7)
    np.testing.assert_allclose(se, judge.bse, rtol=1e-7)
    np.testing.assert_allclose(results.data["log_likelihood"], judge.llf, rtol=1e-10)


def curves(frame: Any, grid: list[float], **more: Any) -> Results:
    survival = {"time": "week", "event": "arrest", "grid": grid, **more}
    study = {
        "study": {"title": "Rossi"},
        "survival": survival,
        "columns": {"fin": {"levels": [0, 1]}},
    }
    return rehearse(parse_study(study), members(frame, "race"))


def test_kaplan_meier_on_a_grid_of_all_times_is_the_pooled_curve(rossi):
    results = curves(rossi, [float(week) for week in range(1, 53)])
    assert results.totals == 1
    judge = lifelines().KaplanMeierFitter().fit(rossi["week"], rossi["arrest"])
    found = results.findings.survival.curves[0]
    np.testing.assert_allclose(found.survival, judge.predict(np.arange(1, 53)), rtol=1e-12)
    low, high = judge.confidence_interval_.reindex(range(1, 53), method="ffill").to_numpy().T
    np.testing.assert_allclose(found.low, low, rtol=1e-9)
    np.testing.assert_allclose(found.high, high, rtol=1e-9)


def test_a_coarse_grid_counts_leavers_between_its_times_as_gone(rossi):
    """Against the curve of rows whose times were put on the grid by hand."""
    grid = [13.0, 26.0, 39.0, 52.0]
    found = curves(rossi, grid).findings.survival.curves[0]
    time, event = rossi["week"].to_numpy(), rossi["arrest"].to_numpy()
    survival = 1.0
    for before, now, expected in zip([0.0, *grid], grid, found.survival, strict=False):
        died = ((time > before) & (time <= now) & (event == 1)).sum()
        left = ((time > before) & (time < now) & (event == 0)).sum()
        survival *= 1 - died / ((time > before).sum() - left)
        assert expected == pytest.approx(survival, rel=1e-12)


def test_log_rank(rossi):
    results = curves(rossi, [float(week) for week in range(1, 53)], by="fin")
    judge = lifelines().statistics.multivariate_logrank_test(rossi["week"], rossi["fin"], rossi["arrest"])
    found = results.findings.survival
    assert found.log_rank == pytest.approx(judge.test_statistic, rel=1e-10)
    assert found.p == pytest.approx(judge.p_value, rel=1e-10)
    assert [curve.rows for curve in found.curves] == rossi.groupby("fin").size().tolist()


def test_a_curve_ends_where_too_few_are_at_risk(rossi):
    grid = [5.0, 30.0, 51.0]
    study = {
        "study": {"title": "Rossi"},
        "survival": {"time": "week", "event": "arrest", "grid": grid},
        "disclosure": {"smallest_cell": 400},
    }
    found = rehearse(parse_study(study), members(rossi, "race")).findings.survival
    assert found is not None
    assert found.curves[0].at_risk == (432, (rossi["week"] > 5).sum(), None)
    assert [value is not None for value in found.curves[0].survival] == [True, True, False]
