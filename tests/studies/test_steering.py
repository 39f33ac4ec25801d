"""A member who makes its sums up to lead all members where single rows show, and what stops it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hocket.algorithm import SecureSum
from hocket.errors import HocketError, NotEstimable
from hocket.studies import Table, parse_study, simulate
from hocket.studies.analysis import analyse
from hocket.studies.check import check_table
from hocket.studies.disclosure.steering import (
    FARTHEST,
    REACH,
    Declared,
    SumBounds,
    damped,
    refuse_curvature,
    refuse_far,
    refuse_sums,
)
from hocket.studies.models import newton as search
from hocket.studies.models.symmetric import packed, unpacked
from hocket.studies.simulate import fresh_bits, simulate_analysis, summed
from hocket.studies.spec.study import Study

COLUMNS = ("age", "bmi", "sbp")
STUDY = parse_study(
    {
        "study": {"title": "T", "formula": f"ill ~ {' + '.join(COLUMNS)}", "family": "binomial"},
        "columns": {"age": {"range": [18, 100]}, "sbp": {"range": [80, 240]}},
    }
)
WITH_OFFSET = parse_study(
    {**STUDY.tables, "study": {**STUDY.tables["study"], "offset": "trend"}},
)
LIES = ("as large as it takes", "scores at the bound", "the honest taken off")


def clinic(rng: np.random.Generator, rows: int) -> np.ndarray:
    X = np.column_stack(
        [
            rng.integers(20, 90, rows),
            rng.normal(27, 4, rows).round(1),
            rng.normal(135, 15, rows).round().clip(85, 230),
        ]
    )
    ill = rng.random(rows) < 1 / (1 + np.exp(-0.02 * (X[:, 0] - 55) - 0.05 * (X[:, 1] - 27)))
    return np.column_stack([X, ill])


def table(rows: np.ndarray) -> Table:
    cells = dict(zip((*COLUMNS, "ill"), rows.T.tolist(), strict=True))
    return Table.of(cells | {"trend": np.linspace(-1, 1, len(rows)).tolist()})


def steered(lie: str, per: int = 60, study: Study = STUDY) -> tuple[int, str]:
    """How many of the honest rows mallory reads off exactly, and how the study ends."""
    rng = np.random.default_rng(0)
    honest = [clinic(rng, per), clinic(rng, per)]
    brought = dict(zip(("anna", "bert", "mallory"), (*honest, clinic(rng, 40)), strict=True))
    members = {name: check_table(study, table(rows))[1] for name, rows in brought.items()}
    draws, state = {name: fresh_bits(name) for name in members}, {"beta": np.zeros(4), "steps": 0}
    read = set()

    def carry(asked: Any) -> Any:
        own = asked["mallory"].values["model"]
        searching = "model" in own and "score" in own["model"]
        if searching:
            false = own["model"] | _lie(lie, rng, state, per)
            asked = {
                **asked,
                "mallory": SecureSum({"model": own | {"model": false}}, bits=asked["mallory"].bits),
            }
        received = summed(asked, draws)
        total = received["mallory"]["model"]
        if "squares" in total:
            n = float(total["rows"][0])
            mean = total["sum"] / n
            state["scale"] = mean, np.sqrt(total["squares"] / n - mean**2)
        if searching:
            rest = unpacked(total["model"]["information"] - false["information"])
            state["honest"] = rest
            x = rest[:, 0] / max(rest[0, 0], 1e-300)
            mean, size = state["scale"]
            age, bmi, sbp = (mean + size * x)[1:]
            read.add((round(age), round(bmi, 1), round(sbp)))
            state["beta"] = state["beta"] + np.linalg.solve(
                unpacked(total["model"]["information"]), total["model"]["score"]
            )
            state["steps"] += 1
        return received

    try:
        simulate_analysis({name: analyse(rows) for name, rows in members.items()}, carry=carry)
        ends = "finished"
    except HocketError as error:
        ends = str(error)
    true = {tuple(row[:3]) for row in np.vstack(honest)}
    return len(read & true), ends


def _lie(lie: str, rng: np.random.Generator, state: dict[str, Any], per: int) -> dict[str, np.ndarray]:
    u = rng.normal(size=3)
    u /= np.linalg.norm(u)
    if lie == "scores at the bound":
        return {"score": 0.9 * 40 * np.append(rng.choice([-1, 1]), u)}
    if lie == "the honest taken off" and "honest" in state:
        return {"information": packed(-0.45 * state["honest"]), "score": 30 * np.append(0.0, u)}
    if lie == "the honest taken off":
        return {}
    reach = 16.0 * per
    target = reach * np.append(-rng.uniform(-1.2, 1.2), u)
    return {
        "information": packed(1e10 * np.eye(4)),
        "score": 1e10 * (target - state["beta"]),
        "deviance": np.array([-1e12 * (state["steps"] + 1)]),
        "pearson": np.zeros(1),
    }


def test_without_the_bounds_a_liar_reads_rows(monkeypatch):
    monkeypatch.setattr(SumBounds, "refuse_impossible", lambda *asked: None)
    monkeypatch.setattr(SumBounds, "refuse_few", lambda *asked: None)
    monkeypatch.setattr(search, "damped", lambda move, *asked: move)
    with np.errstate(all="ignore"):
        rows, _ = steered("as large as it takes")
    assert rows >= 3


@pytest.mark.parametrize("lie", LIES)
def test_a_liar_reads_no_row_and_nobody_is_blamed(lie):
    rows, ends = steered(lie)
    assert rows == 0
    assert ends != "finished"
    assert "mallory" not in ends
    if lie == LIES[0]:
        assert "the others' information is larger than their rows allow" in ends
        assert "who it was cannot be known" in ends


def test_an_offset_does_not_switch_the_bound_on_information_off():
    """A row's part is at most a quarter of its squares, whatever its offset."""
    rows, ends = steered(LIES[0], study=WITH_OFFSET)
    assert rows == 0
    assert "the others' information is larger than their rows allow" in ends
    rng = np.random.default_rng(2)
    simulate(WITH_OFFSET, {name: table(clinic(rng, 80)) for name in "abc"})


def test_honest_sums_pass_whatever_the_family():
    rng = np.random.default_rng(1)
    for family in ("linear", "binomial", "poisson", "gamma"):
        tables = {}
        for name in "abc":
            rows = clinic(rng, 80)
            y = {"binomial": rows[:, 3], "poisson": rng.poisson(3, 80)}.get(family, rng.gamma(2, 1, 80))
            tables[name] = Table.of({"x": rows[:, 0].tolist(), "z": rows[:, 1].tolist(), "y": y.tolist()})
        simulate(parse_study({"study": {"title": "T", "formula": "y ~ x + z", "family": family}}), tables)


@pytest.mark.parametrize(
    "others",
    [
        {"rows": [50.0], "sum": [5_100.0], "squares": [525_000.0]},
        {"rows": [50.0], "sum": [2_500.0], "squares": [400_000.0]},
        {"rows": [50.0], "sum": [2_500.0], "squares": [100_000.0]},
        {"rows": [50.5], "sum": [2_500.0], "squares": [130_000.0]},
        {"rows": [-3.0], "sum": [0.0], "squares": [0.0]},
    ],
    ids=[
        "a mean beyond the range",
        "more spread than it has",
        "less than none",
        "half a row",
        "rows below 0",
    ],
)
def test_first_sums_that_no_rows_within_the_range_have_are_refused(others):
    taken = {name: np.array(one) for name, one in others.items()}
    with pytest.raises(NotEstimable, match="some member gave numbers that no rows give; masks hide which"):
        refuse_sums(("age",), taken, np.array([18.0]), np.array([100.0]))
    good = {"rows": np.array([50.0]), "sum": np.array([2_500.0]), "squares": np.array([130_000.0])}
    refuse_sums(("age",), good, np.array([18.0]), np.array([100.0]))


def test_curvature_below_0_or_above_a_quarter_of_the_squares_is_refused():
    others = Declared(20.0, np.array([20.0, 20.0]), np.full(2, -np.inf), np.full(2, np.inf))
    own = 2.0 * np.eye(2)
    refuse_curvature(own + 4.9 * np.eye(2), own, others, 0.25)
    for rest, said in ((-0.1, "below 0 in some direction"), (5.1, "larger than their rows allow")):
        with pytest.raises(NotEstimable, match=said):
            refuse_curvature(own + rest * np.eye(2), own, others, 0.25)


def test_steps_are_damped_and_stay_in_the_region():
    metric, names = np.eye(2), ("x", "z")
    assert np.linalg.norm(damped(np.array([30.0, 40.0]), np.zeros(2), metric, names)) == pytest.approx(
        FARTHEST
    )
    with pytest.raises(
        NotEstimable, match=r"^x: the outcome is separated, or all but so: the search left the region"
    ):
        damped(np.array([3.0, 0.0]), np.array([REACH - 1, 0.0]), metric, names)
    with pytest.raises(NotEstimable, match="left the region"):
        refuse_far(np.linspace(-40, 40, 30))


def moved(monkeypatch: pytest.MonkeyPatch) -> float:
    """How far the longest step of a search that a liar leads moves a member's linear predictor, root mean square."""
    seen: list[np.ndarray] = []
    with monkeypatch.context() as patch:
        patch.setattr(SumBounds, "refuse_few", lambda bounds, linear, weights: seen.append(linear))
        patch.setattr(SumBounds, "refuse_impossible", lambda *asked: None)
        with np.errstate(all="ignore"):
            steered("as large as it takes")
    paths = [[one for one in seen if len(one) == rows] for rows in (60, 40)]
    paths = [paths[0][0::2], paths[0][1::2], paths[1]]
    steps = [np.std(after - before) for path in paths for before, after in pairwise(path)]
    return float(max(steps, default=0.0))


def test_a_search_takes_damped_steps(monkeypatch):
    assert (
        0 < moved(monkeypatch) < 2 * FARTHEST
    )  # a length is by the first step's information, not over these rows
    monkeypatch.setattr(search, "damped", lambda move, *asked: move)
    assert moved(monkeypatch) > 100 * FARTHEST


def test_a_member_stops_where_a_few_of_its_rows_make_up_its_part():
    bounds = SumBounds(Declared(20.0, np.ones(1), np.zeros(1), np.ones(1)), 5)
    bounds.refuse_few(np.zeros(40), np.ones(40))
    with pytest.raises(NotEstimable, match="fewer than 5 of one member's rows would make up its part"):
        bounds.refuse_few(np.zeros(40), np.where(np.arange(40) < 3, 0.25, 1e-6))
