"""Merged survival curves are life tables: their bounds hold, and what is published tells no small count."""

from __future__ import annotations

import csv
import itertools
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.cli.study import _found  # pyright: ignore[reportPrivateUsage]
from hocket.errors import BadStudy
from hocket.secagg.summands import flat
from hocket.studies import Results, Table, parse_study, simulate
from hocket.studies.results.equality import equalities
from hocket.studies.results.page import results_page
from hocket.studies.spec.study import DisclosureSection
from hocket.studies.summaries.survival import Survivals
from hocket.studies.summaries.time_grid import FollowUp, joint_intervals
from tests.studies.cases import lifelines

TRIALS = Path(os.environ.get("HOCKET_DATA", "/nowhere")) / "trials"
Sample = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Times, events, groups and sites."""


def study(grid: list[float], levels: list[str] | None = None, **rules: int) -> Any:
    survival = {"time": "time", "event": "event", "grid": grid} | ({"by": "group"} if levels else {})
    columns = {"group": {"levels": levels}} if levels else {}
    tables = {"study": {"title": "T"}, "survival": survival, "columns": columns, "disclosure": rules}
    return parse_study(tables)


def asked(sample: Sample, grid: list[float], **rules: int) -> Results:
    time, event, group, site = sample
    levels = sorted(set(group.tolist()))
    members = {
        str(one): Table.of(
            {"time": time[site == one], "event": event[site == one], "group": group[site == one]}
        )
        for one in sorted(set(site.tolist()))
    }
    return simulate(study(grid, levels if len(levels) > 1 else None, **rules), members)


def made_up(seed: int = 0, rows: int = 900) -> Sample:
    """Heavy censoring, and a late half in which few are left."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], size=rows, p=[0.5, 0.35, 0.15])
    scale = np.select([group == "a", group == "b"], [14.0, 9.0], 5.0)
    time, leaves = rng.exponential(scale), rng.uniform(0, 16, rows) ** 0.9 * 1.3
    return np.minimum(time, leaves).round(4) + 1e-4, (time <= leaves).astype(int), group, np.arange(rows) % 4


def trial(name: str, only: int | None = None) -> Sample:
    """All of a trial's rows; of several kinds of events any, or only one, where the others end the time without it."""
    rows = [row for path in sorted(TRIALS.glob(f"{name}-*.csv")) for row in _read(path)]
    time = np.array([float(row["time" if name == "lung" else "etime"]) for row in rows])
    kind = np.array([float(row["dead" if name == "lung" else "event"]) for row in rows])
    event = ((kind > 0) if only is None else (kind == only)).astype(int)
    group, site = (np.array([row[key] for row in rows]) for key in ("sex", "site"))
    return time, event, group, site


def _read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from ({**row, "site": path.stem} for row in csv.DictReader(file))


def pooled(sample: Sample, level: str, at: tuple[float, ...]) -> np.ndarray:
    time, event, group, _ = sample
    fitted = lifelines().KaplanMeierFitter().fit(time[group == level], event[group == level])
    return np.atleast_1d(fitted.predict(np.array(at)))


GRIDS = {
    "made up": ([i / 12 for i in range(1, 193)], [i / 2 for i in range(1, 33)], [1.0, 2.0, 5.0, 10.0, 16.0]),
    "lung": ([7.0 * i for i in range(1, 146)], [30.0 * i for i in range(1, 34)], [90.0, 180.0, 365.0, 730.0]),
    "mgus": ([*map(float, range(1, 361))], [12.0 * i for i in range(1, 31)], [60.0, 120.0, 240.0, 360.0]),
}
FARTHEST = {"made up": (0.06, 0.06, 0.06), "lung": (0.02, 0.04, 0.06), "mgus": (0.04, 0.03, 0.05)}
"""How far the curves are from the pooled ones: less than this, as measured."""
WHERE = ("fine", "medium", "coarse")
needs_data = pytest.mark.skipif(not TRIALS.is_dir(), reason="HOCKET_DATA names no folder with trials/")
SAMPLES = ["made up", *(pytest.param(name, marks=needs_data) for name in ("lung", "mgus"))]


@pytest.mark.parametrize("kind", range(3), ids=WHERE)
@pytest.mark.parametrize("name", SAMPLES)
def test_the_pooled_curve_lies_within_the_bounds(name, kind, capsys):
    sample = made_up() if name == "made up" else trial(name)
    sample = tuple(part[sample[0] > 0] for part in sample)  # type: ignore[assignment]
    found = asked(sample, GRIDS[name][kind]).findings.survival
    assert found is not None
    far = 0.0
    for level, curve in zip(sorted(set(sample[2].tolist())), found.curves, strict=True):
        for value, least, most, true in zip(
            curve.survival, curve.least, curve.most, pooled(sample, level, found.grid), strict=True
        ):
            if value is not None and least is not None and most is not None:
                assert least - 1e-12 <= true <= most + 1e-12
                far = max(far, abs(value - true))
    assert 0 < far <= found.within
    assert far < FARTHEST[name][kind]
    assert found.kind == "life table"
    with capsys.disabled():
        shown = f"{len(found.grid)} of {len(GRIDS[name][kind])} times"
        sys.stdout.write(f"\n{name}, {WHERE[kind]}: {shown}, off {far:.4f}, bound {found.within:.4f}")


def test_a_sparse_late_half_does_not_take_the_grid_along():
    """Three events in the later half: of 192 times one was given, and a curve that is 0.26 off."""
    rng = np.random.default_rng(0)
    time, leaves = rng.exponential(1.5, 600), rng.uniform(0.5, 16, 600)
    came = (time <= leaves) & (time <= 8)
    time = np.where(came, time, np.minimum(leaves, 15.9))
    late = np.flatnonzero(~came & (time > 9))[:3]
    came[late] = True
    sample = time, came.astype(int), np.full(600, "all"), np.arange(600) % 4
    found = asked(sample, GRIDS["made up"][0]).findings.survival
    assert found is not None
    assert len(found.grid) >= 40
    assert found.grid[-1] == 16.0
    curve = found.curves[0]
    assert curve.survival[:40] == pytest.approx(pooled(sample, "all", found.grid[:40]), abs=0.02)


@needs_data
def test_the_curves_of_lung_are_those_of_r():
    """Exact where every time is asked for; R's values at 180 and 365 days, its medians and standard errors."""
    sample = trial("lung")
    grid = sorted({float(one) for one in sample[0]} | {180.0, 365.0})
    found = asked(sample, grid, smallest_cell=1).findings.survival
    assert found is not None
    assert (found.kind, found.within) == ("Kaplan-Meier", 0.0)
    at = [found.grid.index(180.0), found.grid.index(365.0)]
    male, female = found.curves
    assert [male.survival[one] for one in at] == pytest.approx([0.64446500154, 0.33608783464], abs=1e-10)
    assert [female.survival[one] for one in at] == pytest.approx([0.84240170559, 0.52646303019], abs=1e-10)
    assert (male.median, female.median) == ((270.0, 270.0), (426.0, 426.0))


@needs_data
@pytest.mark.parametrize(("only", "grid"), [(None, GRIDS["mgus"][2]), (1, [*map(float, range(1, 241))])])
def test_mgus_at_240_months(only, grid):
    """Progression, where deaths end the time without it: 0.54 was printed for 0.77."""
    sample = trial("mgus", only)
    sample = tuple(part[sample[0] > 0] for part in sample)  # type: ignore[assignment]
    found = asked(sample, grid).findings.survival
    assert found is not None
    for level, curve in zip(("F", "M"), found.curves, strict=True):
        value = curve.survival[found.grid.index(240.0)]
        assert value == pytest.approx(pooled(sample, level, (240.0,))[0], abs=0.05 if only is None else 0.02)


def test_the_median_lies_where_it_is_said_to():
    sample = made_up(3)
    for grid in GRIDS["made up"]:
        found = asked(sample, grid).findings.survival
        assert found is not None
        for level, curve in zip("abc", found.curves, strict=True):
            mask = sample[2] == level
            true = lifelines().KaplanMeierFitter().fit(sample[0][mask], sample[1][mask]).median_survival_time_
            after, by = curve.median
            assert after is not None
            assert after < true
            assert by is None or true <= by


def test_a_life_table_is_called_one_everywhere():
    results = asked(made_up(), GRIDS["made up"][2])
    found = results.findings.survival
    assert found is not None
    page = results_page(results, commands=[]).html()
    assert "a life table: times are merged" in page
    assert f"{found.within:.2g} away at most" in page
    assert "Kaplan-Meier curves against" not in page
    assert "yes, to rounding" not in page
    assert results.data["survival"]["kind"] == "life table"
    assert results.data["survival"]["within"] == found.within
    printed = " ".join(one for one in _found(results) if isinstance(one, str))
    assert "Not as the pooled rows would give: survival curves: a life table" in printed


def test_the_log_rank_test_of_a_life_table_is_that_of_its_intervals():
    """From what is published: events, and rows at risk as the factors have them; near that of exact times, no more."""
    sample = made_up()
    judge = lifelines().statistics.multivariate_logrank_test(sample[0], sample[2], sample[1])
    for grid in GRIDS["made up"][:2]:
        found = asked(sample, grid).findings.survival
        assert found is not None
        assert found.log_rank == pytest.approx(judge.test_statistic, rel=0.15)  # as measured; it is no bound
        assert not found.log_rank_exact
        assert "Log-rank test: of merged intervals" in results_page(asked(sample, grid), commands=[]).html()


@pytest.mark.parametrize("seed", range(8))
def test_a_log_rank_test_is_called_that_of_the_pooled_rows_only_where_it_is(seed):
    """Curves are exact where nothing happens in a group between two times; the test compares it all the same."""
    rng = np.random.default_rng(seed)
    time, came = rng.integers(1, 25, 60).astype(float), (rng.random(60) < 0.5).astype(int)
    group = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    sample, said = (time, came, group, np.arange(60) % 3), set[bool]()
    for grid in (np.arange(1.0, 25), np.arange(1.0, 25, 3), np.arange(2.0, 20, 1.5)):
        found = asked(sample, grid.tolist(), smallest_cell=1).findings.survival
        assert found is not None
        stop = np.minimum(time, found.grid[-1])
        events = np.where(time <= found.grid[-1], came, 0)
        judge = lifelines().statistics.multivariate_logrank_test(stop, group, events)
        said.add(found.log_rank_exact)
        if found.log_rank_exact:
            assert found.log_rank == pytest.approx(judge.test_statistic, rel=1e-9)
    assert said == {True, False}


def test_the_page_says_apart_whether_curves_and_their_test_are_those_of_the_pooled_rows():
    """Nobody leaves between events, so that the curves are exact on any grid; merged times are another test."""
    time, came = np.repeat(np.arange(1.0, 13), 4), np.ones(48, dtype=int)
    came[time == 12] = 0
    sample = time, came, np.where(np.arange(48) % 4 < 1 + (time > 6), "a", "b"), np.arange(48) % 3
    results = asked(sample, [6.0, 12.0], smallest_cell=1)
    judge = lifelines().statistics.multivariate_logrank_test(time, sample[2], came)
    found = results.findings.survival
    assert found is not None
    assert found.exact
    assert abs(found.log_rank - judge.test_statistic) > 0.1
    said = {one.part: one.equal for one in equalities(results.findings)}
    assert said == {"survival curves": True, "log-rank test": False}


# What is published


def lost(found: Survivals) -> list[tuple[int, int]]:
    """The attack: who was lost from sight between two times, from numbers at risk and survival alone."""
    curve, told, before = found.curves[0], list[tuple[int, int]](), 1.0
    for place, (n, s) in enumerate(zip(curve.at_risk, curve.survival, strict=True)):
        if n is None or s is None or place + 1 == len(found.grid) or curve.at_risk[place + 1] is None:
            break
        died = round(n * (1 - s / before))
        told.append((place, n - (curve.at_risk[place + 1] or 0) - died))
        before = s
    return told


@pytest.mark.parametrize("seed", range(4))
def test_nobody_reads_off_who_left(seed):
    """Before, twelve to nineteen counts from 1 to 4 followed from one curve, all of them right."""
    rng = np.random.default_rng(seed)
    event, leaves = np.ceil(rng.exponential(25, 360)), np.ceil(rng.exponential(300, 360))
    time, came = np.minimum(np.minimum(event, leaves), 60), (event <= leaves) & (event <= 60)
    sample = time, came.astype(int), np.full(360, "all"), np.arange(360) % 3
    found = asked(sample, [float(t) for t in range(1, 61)]).findings.survival
    assert found is not None
    assert len(found.grid) >= 30
    right = [
        count
        for place, count in lost(found)
        if 0 < count < 5
        and count == (~came & (time >= found.grid[place]) & (time < found.grid[place + 1])).sum()
    ]
    assert not right
    for curve in found.curves:
        assert all(count == 0 or count >= 5 for count in curve.came)
        assert all(count is None or count == 0 or count >= 5 for _, _, count in curve.left)


def published(sample: tuple[int, ...], times: int, groups: int, least: int) -> Any:
    """All that is published of rows counted place by place: events, and then leavers, of each group."""
    time, event, group = list[float](), list[int](), list[int]()
    width = len(sample) // groups
    for g in range(groups):
        for place, count in enumerate(sample[g * width : (g + 1) * width]):
            time += [place % times + 0.5 if place < 2 * times else times + 0.5] * count
            event += [int(place < times)] * count
            group += [g] * count
    own = FollowUp(np.array(time), np.array(event), np.array(group), groups)
    grid, numbers = [float(t) for t in range(1, times + 1)], list[int]()
    analysis = joint_intervals(own, grid, [*map(str, range(groups))], DisclosureSection(smallest_cell=least))
    received: Any = None
    while True:
        try:
            total = analysis.send(received)
        except StopIteration as end:
            found = end.value
            events = tuple((one.first, one.last, *one.counts) for one in found.events)
            return (*found.sizes, *found.on_time), events, found.blocks, tuple(numbers)
        numbers.append(flat(total.values).size)
        received = total.values


@pytest.mark.parametrize(
    ("times", "rows", "groups", "least", "leave"),
    [(3, 8, 1, 2, True), (3, 8, 1, 3, True), (2, 11, 1, 4, True), (4, 12, 1, 3, False), (3, 12, 2, 3, False)],
)
def test_no_small_count_follows_from_all_that_is_published(times, rows, groups, least, leave):
    """Of all tables of so many rows: those that publish the same numbers, how many sums and numbers there were among
    them, never agree on a count below the smallest cell, of any stretch of time."""
    bins = groups * (2 * times + 1 if leave else times)
    worlds = defaultdict[Any, list[tuple[int, ...]]](list)
    for total in range(rows + 1) if groups == 1 else [rows]:  # how many rows there are is published
        for bars in itertools.combinations(range(total + bins - 1), bins - 1):
            sample = tuple(b - a - 1 for a, b in zip((-1, *bars), (*bars, total + bins - 1), strict=True))
            try:
                worlds[published(sample, times, groups, least)].append(sample)
            except BadStudy:
                continue
    assert len(worlds) > 50
    width = bins // groups
    kinds = [(0, times), (times, 2 * times + 1)] if leave else [(0, times)]
    stretches = [
        (g * width + i, g * width + j)
        for g in range(groups)
        for begin, end in kinds
        for i, j in itertools.combinations(range(begin, end + 1), 2)
    ]
    for samples in worlds.values():
        counts = np.cumsum(np.pad(np.array(samples), ((0, 0), (1, 0))), axis=1)
        for i, j in stretches:
            possible = counts[:, j] - counts[:, i]
            assert possible.min() < possible.max() or possible[0] == 0 or possible[0] >= least


def test_no_digest_of_the_sums_is_published():
    """The sums hold small counts, and there are few: anybody who hashes them all finds which ones were meant."""
    results = asked(made_up(), GRIDS["made up"][2])
    assert len(results.transcript) == 64
    assert results.transcript not in json.dumps(results.data)


def test_a_group_of_which_few_have_no_event_is_refused():
    time = np.arange(1, 61, dtype=float)
    sample = time, np.append(np.ones(57, int), [0, 0, 0]), np.full(60, "all"), np.arange(60) % 3
    with pytest.raises(BadStudy, match="fewer than 5 joint rows without the event by the last time"):
        asked(sample, [20.0, 40.0, 60.0])
