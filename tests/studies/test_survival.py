"""Cox models, Kaplan-Meier curves and the log-rank test, beside lifelines on the pooled rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadStudy, NotEstimable
from hocket.studies import Results, Table, parse_study, simulate, simulate_analysis
from hocket.studies.spec.study import DisclosureSection
from hocket.studies.summaries.time_grid import FollowUp, joint_intervals
from tests.studies.cases import judges, lifelines, table_of

TERMS = ("fin", "age", "wexp", "mar", "race", "prio")


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
    return simulate(parse_study(study), members(frame, "paro"))


def test_cox_stratified_by_member_with_efrons_ties(rossi):
    results = cox(rossi, "efron")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge = (
            lifelines()
            .CoxPHFitter()
            .fit(rossi, "week", "arrest", strata=["paro"], fit_options={"precision": 1e-12})
        )
    estimate, se = table_of(results)
    order = list(TERMS)
    np.testing.assert_allclose(estimate, judge.params_[order], rtol=1e-6)  # lifelines stops there
    np.testing.assert_allclose(se, judge.standard_errors_[order], rtol=1e-6)
    np.testing.assert_allclose(results.data["log_likelihood"], judge.log_likelihood_, rtol=1e-12)
    age = results.data["coefficients"]["age"]
    assert f"{age['estimate']:.6f} {age['se']:.6f}" == "-0.057154 0.021991"
    assert f"{results.data['log_likelihood']:.6f}" == "-582.165032"
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
                strata=rossi["paro"],
                ties="breslow",
            )
            .fit(tol=1e-13)
        )
    estimate, se = table_of(results)
    np.testing.assert_allclose(estimate, judge.params, rtol=1e-7)
    np.testing.assert_allclose(se, judge.bse, rtol=1e-7)
    np.testing.assert_allclose(results.data["log_likelihood"], judge.llf, rtol=1e-10)


def curves(frame: Any, grid: list[float], *, smallest: int = 1, **more: Any) -> Results:
    survival = {"time": "week", "event": "arrest", "grid": grid, **more}
    study = {
        "study": {"title": "Rossi"},
        "survival": survival,
        "columns": {"fin": {"levels": [0, 1]}},
        "disclosure": {"smallest_cell": smallest},
    }
    return simulate(parse_study(study), members(frame, "race"))


def test_kaplan_meier_on_a_grid_of_all_times_is_the_pooled_curve(rossi):
    results = curves(rossi, [float(week) for week in range(1, 53)])
    assert results.totals == 7
    assert not results.findings.survival.coarser
    judge = lifelines().KaplanMeierFitter().fit(rossi["week"], rossi["arrest"])
    found = results.findings.survival.curves[0]
    np.testing.assert_allclose(found.survival, judge.predict(np.arange(1, 53)), rtol=1e-12)
    low, high = judge.confidence_interval_.reindex(range(1, 53), method="ffill").to_numpy().T
    np.testing.assert_allclose(found.low, low, rtol=1e-9)
    np.testing.assert_allclose(found.high, high, rtol=1e-9)


def test_a_coarse_grid_counts_half_of_those_who_leave_between_its_times(rossi):
    """A life table as textbooks have it, from rows of which some leave inside each interval."""
    time = rossi["week"].to_numpy().astype(float)
    leaves = np.arange(len(time)) % 3 == 0
    frame = rossi.assign(
        week=np.where(leaves, time * 0.9 - 0.05, time), arrest=np.where(leaves, 0, rossi["arrest"])
    )
    grid = [13.0, 26.0, 39.0, 52.0]
    found = curves(frame, grid).findings.survival.curves[0]
    time, event = frame["week"].to_numpy(), frame["arrest"].to_numpy()
    survival, n = 1.0, float(len(time))
    for before, now, expected in zip([0.0, *grid], grid, found.survival, strict=False):
        died = ((time > before) & (time <= now) & (event == 1)).sum()
        left = ((time >= before) & (time < now) & (event == 0)).sum()
        survival *= 1 - died / (n - left / 2)
        n -= died + left
        assert expected == pytest.approx(survival, rel=1e-12)
    assert not found.exact


def test_log_rank(rossi):
    results = curves(rossi, [float(week) for week in range(1, 53)], by="fin")
    judge = lifelines().statistics.multivariate_logrank_test(rossi["week"], rossi["fin"], rossi["arrest"])
    found = results.findings.survival
    assert found.log_rank == pytest.approx(judge.test_statistic, rel=1e-10)
    assert found.p == pytest.approx(judge.p_value, rel=1e-10)
    assert [curve.rows for curve in found.curves] == rossi.groupby("fin").size().tolist()


def test_whoever_leaves_before_the_first_time_is_not_at_risk_at_it():
    """One of ten leaves at 5, before the first event at 10."""
    rows = {"week": [5.0] + [10.0] * 9, "arrest": [0] + [1] * 5 + [0] * 4, "fin": [0] * 10}
    survival = {"time": "week", "event": "arrest", "grid": [10.0]}
    study = {"study": {"title": "T"}, "survival": survival, "disclosure": {"smallest_cell": 1}}
    found = simulate(parse_study(study), {"a": Table.of(rows), "b": Table.of(rows)}).findings.survival
    assert found is not None
    assert found.curves[0].at_risk == (18,)
    assert found.curves[0].survival == (pytest.approx(1 - 10 / 18),)


@pytest.mark.parametrize("by", ["", "fin"])
def test_no_interval_that_is_shown_has_a_few_events(rossi, by):
    """A grid of every week, most of which have one event or two."""
    found = curves(rossi, [float(week) for week in range(1, 53)], smallest=5, by=by).findings.survival
    assert found.coarser
    assert len(found.grid) >= 6
    groups = [rossi] if not by else [rossi[rossi[by] == level] for level in (0, 1)]
    for frame, curve in zip(groups, found.curves, strict=True):
        time, event = frame["week"].to_numpy(), frame["arrest"].to_numpy()
        for before, now, came in zip([0.0, *found.grid], found.grid, curve.came, strict=False):
            died = int(((time > before) & (time <= now) & (event == 1)).sum())
            assert came == died
            assert died == 0 or died >= 5
        steps = -np.diff([one for one in curve.at_risk if one is not None])
        assert all(step == 0 or step >= 5 for step in steps)


times = st.lists(st.tuples(st.integers(1, 12), st.booleans(), st.integers(0, 1)), min_size=5, max_size=120)


@given(times, st.integers(1, 6))
def test_whatever_the_rows_intervals_have_none_or_enough_and_lose_nobody(rows, least):
    time, event, group = np.array(rows, dtype=float).T
    grid = [float(t) for t in range(1, 11)]
    parts = {
        str(j): joint_intervals(
            FollowUp(time[j::3], event[j::3], group[j::3], 2),
            grid,
            ("a", "b"),
            DisclosureSection(smallest_cell=least),
        )
        for j in range(3)
    }
    least = 3 if least == 2 else least
    came = (event == 1) & (time <= 10)
    try:
        found = simulate_analysis(parts).result
    except BadStudy:
        few = [
            count
            for g in range(2)
            for count in ((group == g).sum(), ((group == g) & came).sum(), ((group == g) & ~came).sum())
        ]
        assert any(0 < count < least for count in few)
        return
    assert found.sizes.tolist() == [(group == g).sum() for g in range(2)]
    assert [one.first for one in found.events] == [0, *(one.last for one in found.events[:-1])]
    assert found.events[-1].last == 10
    for one in found.events:
        inside = (time > one.first) & (time <= one.last) & came
        assert one.counts.tolist() == [(inside & (group == g)).sum() for g in range(2)]
        assert ((one.counts == 0) | (one.counts >= least)).all()
    for g, blocks in enumerate(found.blocks):
        assert [one.first for one in blocks] == [0, *(one.last for one in blocks[:-1])]
        assert blocks[-1].last == 11
        for one in blocks:
            left = (group == g) & ~came & (time >= one.first) & (time < one.last if one.last < 11 else True)
            before = int((left & (time < 10)).sum())
            assert before <= one.most
            if one.leavers is None:
                assert 0 < before < least
            else:
                assert one.leavers == left.sum()
                assert one.leavers == 0 or one.leavers >= least


def test_few_who_go_on_after_the_last_time_are_not_told_from_those_who_left_before():
    """Twelve leave at 10, twelve have the event at 20, and four are at risk at 30, where nothing comes."""
    rows = {"week": [10.0] * 6 + [20.0] * 6 + [40.0] * 2, "arrest": [0] * 6 + [1] * 6 + [0] * 2}
    study = {
        "study": {"title": "T"},
        "survival": {"time": "week", "event": "arrest", "grid": [10.0, 20.0, 30.0]},
        "disclosure": {"smallest_cell": 6},
    }
    found = simulate(parse_study(study), {"a": Table.of(rows), "b": Table.of(rows)}).findings.survival
    assert found is not None
    assert found.grid == (10.0, 20.0, 30.0)
    curve = found.curves[0]
    assert curve.at_risk == (28, 28, 16)
    assert curve.left == ((0.0, 10.0, 0), (10.0, None, 16))
    assert curve.least[-1] <= 0.25 <= curve.most[-1]  # 12 of 16 who were at risk in truth


def test_a_level_without_events_is_named_under_efron_too():
    rng = np.random.default_rng(0)
    tables = {}
    for member in "abc":
        g, t = rng.integers(0, 2, 80), np.ceil(rng.exponential(10, 80))
        e, x = (rng.random(80) < 0.6) * (g == 0), rng.normal(size=80)
        tables[member] = Table.of(
            {"t": t.tolist(), "e": (1 * e).tolist(), "g": g.tolist(), "x": x.tolist()}, member
        )
    study = {"title": "T", "formula": "Surv(t, e) ~ x + g", "family": "cox"}
    with pytest.raises(NotEstimable, match=r"\bg:"):
        simulate(parse_study({"study": study}), tables, colluders=1)
