"""Descriptions and evaluations from totals, beside NumPy and scikit-learn on the pooled rows."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from hocket.errors import NotEstimable
from hocket.studies import Table, parse_study, simulate, simulate_analysis
from hocket.studies.disclosure.rules import suppressed
from hocket.studies.models.evaluate import evaluate
from hocket.studies.results.tables import description_tables
from hocket.studies.spec.study import DisclosureSection, EvaluateSection
from hocket.studies.summaries.quantiles import joint_quantiles
from tests.studies.cases import asked, cancer, dealt, diabetes


@pytest.fixture(scope="module")
def described():
    data = {name: diabetes()[name] for name in ("age", "bmi", "sex")}
    data["bmi"] = np.where(np.arange(442) % 20 == 0, np.nan, data["bmi"])
    data["old"] = np.where(data["age"] > 60, "yes", "no")
    study = {
        "study": {"title": "Who they are"},
        "describe": {"cross": [["sex", "old"]], "histograms": 5},
        "columns": {
            "age": {"range": [0, 100]},
            "bmi": {},
            "sex": {"levels": ["f", "m"]},
            "old": {"levels": ["no", "yes"]},
        },
    }
    return data, simulate(parse_study(study), dealt(data))


def test_means_and_deviations(described):
    data, results = described
    for name in ("age", "bmi"):
        found = results.findings.description.columns[name]
        assert found.mean == pytest.approx(np.nanmean(data[name]), rel=1e-12)
        assert found.sd == pytest.approx(np.nanstd(data[name], ddof=1), rel=1e-12)
        assert found.rows == (~np.isnan(data[name])).sum()
        assert found.missing == np.isnan(data[name]).sum()


def test_levels_tables_and_histograms(described):
    data, results = described
    found = results.findings.description
    assert found.columns["sex"].levels == {"f": (data["sex"] == "f").sum(), "m": (data["sex"] == "m").sum()}
    cells = [[((data["sex"] == s) & (data["old"] == o)).sum() for o in ("no", "yes")] for s in ("f", "m")]
    assert found.cross["sex × old"]["cells"] == cells
    edges, counts = found.columns["age"].histogram
    expected = np.histogram(data["age"], edges)[0]
    assert edges == (0, 20, 40, 60, 80, 100)
    assert all(count is None or count == true for count, true in zip(counts, expected, strict=True))
    assert counts[1:3] == tuple(expected[1:3])
    assert counts[0] is None  # fewer than five are below twenty
    assert (counts[3], expected[4]) == (None, 0)  # hidden with it: beside the 0 the sum of all would tell


@given(
    values=st.lists(st.integers(-50, 50) | st.floats(-50, 50), min_size=30, max_size=120),
    shares=st.lists(st.floats(0.05, 0.95), min_size=1, max_size=3),
    smallest=st.integers(1, 8),
)
def test_quantiles_are_right_to_the_width_that_is_printed_and_no_count_between_points_is_small(
    values, shares, smallest
):
    pooled = np.array(values, dtype=float)
    mean, sd = pooled.mean(), pooled.std(ddof=1)
    if sd < 1e-6:
        return
    course = {"rows": float(len(pooled)), "mean": mean, "sd": sd, "smallest": smallest}
    own = {str(j): pooled[j::3] for j in range(3)}
    asked: list[np.ndarray] = []

    def watched(values):
        """The counts that a member gives, which is what all members' sums are made of."""
        analysis, received = joint_quantiles(values, shares, **course), None
        while True:
            try:
                total = analysis.send(received)
            except StopIteration as end:
                return end.value
            if "rows up to" in total.values:
                asked.append(total.values["rows up to"])
            received = yield total

    found = simulate_analysis({name: watched(values) for name, values in own.items()})
    assert found.totals <= 32
    for place, rows in enumerate(own.values()):
        counts = np.unique(np.concatenate([[0.0, len(rows)], *asked[place::3]]))
        between = np.diff(counts)
        assert ((between == 0) | (between >= smallest)).all()
    for share, (quantile, within) in zip(shares, found.result, strict=True):
        true = np.sort(pooled)[max(int(np.ceil(share * len(pooled) - 1e-9)) - 1, 0)]
        assert abs(true - quantile) <= within * (1 + 1e-9) + 1e-9 * sd


def test_a_histogram_does_not_tell_small_bars_by_the_mean_and_the_standard_deviation():
    """Bars of one number each: those that were left out followed from how many rows there are, their mean and sd."""
    x = np.repeat(np.arange(10), [30, 40, 30, 20, 15, 12, 8, 6, 2, 1]).astype(float)
    part = {"columns": ["x"], "quantiles": [], "histograms": 10}
    asked = {"study": {"title": "T"}, "columns": {"x": {"range": [-0.5, 9.5]}}, "describe": part}
    found = simulate(parse_study(asked), {str(j): Table.of({"x": x[j::2].tolist()}) for j in range(2)})
    summary = found.findings.description.columns["x"]
    _, bars = summary.histogram
    known = np.array([0 if bar is None else bar for bar in bars])
    hidden = np.array([bar is None for bar in bars])
    powers = np.array([np.arange(10) ** power for power in range(3)])[:, hidden]
    rest = [len(x) - known.sum(), x.sum() - known @ np.arange(10), (x**2).sum() - known @ np.arange(10) ** 2]
    choices = [
        some
        for some in itertools.product(range(int(rest[0]) + 1), repeat=int(hidden.sum()))
        if np.allclose(powers @ some, rest)
    ]
    assert len(choices) > 1
    assert (np.ptp(np.array(choices), axis=0)[-2:] > 0).all()


def test_a_share_that_a_count_meets_exactly_is_met():
    """0.55 of 100 rows is 55.00000000000001 in floats: the quantile was the next row's, 10 away where ± 0.003 stood."""
    x = np.random.default_rng(0).permutation(np.repeat([0.0, 10.0], [55, 45]))
    study = parse_study({"study": {"title": "T"}, "describe": {"columns": ["x"], "quantiles": [0.55]}})
    results = simulate(study, {str(j): Table.of({"x": x[j::2].tolist()}) for j in range(2)})
    found = results.findings.description.columns["x"]
    assert abs(found.quantiles["0.55"]) <= found.quantiles_within["0.55"] < 0.1


@pytest.mark.parametrize(("share", "sign"), [(0.999, 1), (0.001, -1)])
def test_a_quantile_in_a_far_tail_ends_too(share, sign):
    """It went on for 989 secure sums below, and without end above."""
    rng = np.random.default_rng(1)
    x = sign * np.concatenate([rng.normal(size=20_000), np.full(30, 1e4)])
    study = parse_study({"study": {"title": "T"}, "describe": {"columns": ["x"], "quantiles": [share]}})

    def watch(totals: int, numbers: int) -> None:
        assert totals <= 35

    results = simulate(study, {str(j): Table.of({"x": x[j::2].tolist()}) for j in range(2)}, watch)
    found = results.findings.description.columns["x"]
    true = np.quantile(x, share, method="inverted_cdf")
    (value,), (within,) = found.quantiles.values(), found.quantiles_within.values()
    assert abs(value - true) <= within


def test_quantiles_have_their_shares_above_them_though_the_first_column_is_constant():
    """97.5 % stood as 98 %, and a constant first column took away the quantiles of all others."""
    x = np.random.default_rng(1).normal(size=100)
    columns = {"columns": ["flat", "x"], "quantiles": [0.025, 0.5, 0.975]}
    study = parse_study({"study": {"title": "T"}, "describe": columns})
    members = {str(j): Table.of({"flat": [1.0] * 50, "x": x[j::2].tolist()}) for j in range(2)}
    (table,) = description_tables(simulate(study, members).findings.description, study)
    assert table.head[-3:] == ("2.5%", "50%", "97.5%")
    assert "±" in table.rows[1][-1]


counts = st.lists(st.integers(0, 30), min_size=3, max_size=3)


@given(st.lists(counts, min_size=2, max_size=5), st.integers(2, 10))
def test_no_small_cell_is_shown_nor_left_alone_in_its_row(rows, smallest):
    table = np.array(rows, dtype=float)
    cells = suppressed(table, DisclosureSection(smallest_cell=smallest))
    for shown, true in zip(cells, table, strict=True):
        assert all(cell is None or cell == count for cell, count in zip(shown, true, strict=True))
        assert all(cell is None or cell == 0 or cell >= smallest for cell in shown)
        assert shown.count(None) != 1
    for column in zip(*cells, strict=True):
        assert column.count(None) != 1


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2, 4, 6, 15]), min_size=4, max_size=4), min_size=4, max_size=5)
)
@example([[1, 1, 8, 30], [6, 6, 15, 15], [1, 4, 15, 6], [15, 15, 15, 15]])
@example([[1, 2, 15, 30, 30], [2, 4, 15, 30, 30], [30, 30, 4, 6, 15], [30, 30, 15, 1, 4], [30, 30, 15, 4, 2]])
def test_no_small_cell_follows_from_the_sums_of_rows_and_columns(rows):
    """Of two hidden cells that come to 2 each is 1; and a cell between two blocks that are hidden follows from both."""
    table = np.array(rows, dtype=float)
    rules = DisclosureSection(smallest_cell=5)
    hidden = np.array([[cell is None for cell in line] for line in suppressed(table, rules)])
    cells = [*zip(*np.nonzero(hidden), strict=True)]
    for line, mask in (*zip(table, hidden, strict=True), *zip(table.T, hidden.T, strict=True)):
        assert mask.all() or not 0 < line[mask].sum() < rules.smallest_cell
    sums = [[cell[axis] == line for cell in cells] for axis in (0, 1) for line in range(table.shape[axis])]
    known = [*(table * hidden).sum(axis=1), *(table * hidden).sum(axis=0)]
    for place, cell in enumerate(cells):
        if (
            table[cell] >= rules.smallest_cell
            or table[cell] == 0
            or hidden[cell[0]].all()
            or hidden[:, cell[1]].all()
        ):
            continue
        one = np.eye(len(cells))[place]
        least, most = (sign * linprog(sign * one, A_eq=np.array(sums), b_eq=known).fun for sign in (1, -1))
        assert most - least > 0.5


def test_evaluation_on_rows_that_were_held_out():
    from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, roc_auc_score

    rng = np.random.default_rng(1)
    predicted = rng.random(400)
    y = (rng.random(400) < predicted).astype(float)
    part = EvaluateSection(bins=200)
    parts = {str(j): evaluate(y[j::3], predicted[j::3], part, 5) for j in range(3)}
    done = simulate_analysis(parts)
    found = done.result
    assert done.totals == 3
    assert abs(found.auc - roc_auc_score(y, predicted)) <= found.auc_within < 0.01
    assert found.brier == pytest.approx(brier_score_loss(y, predicted), rel=1e-12)
    assert found.log_loss == pytest.approx(log_loss(y, predicted), rel=1e-12)
    (tn, fp), (fn, tp) = confusion_matrix(y, predicted >= 0.5)
    assert found.confusion == {
        "true positive": tp,
        "false positive": fp,
        "false negative": fn,
        "true negative": tn,
    }
    assert sum(rows for _, _, rows in found.calibration) == 400
    assert found.roc[0] == (0.0, 0.0)
    assert found.roc[-1] == (1.0, 1.0)


def test_the_area_under_the_roc_has_no_digits_that_tell_how_bins_are_shared_out():
    """In 7 of 54 evaluations of some twenty rows, all digits of the area and of how far it is off left one choice."""
    rng = np.random.default_rng(6)
    y = np.repeat([1.0, 0.0], 12)
    predicted = 1 / (1 + np.exp(-(rng.normal(size=24) + 1.2 * y - 0.6)))
    parts = {str(j): evaluate(y[j::2], predicted[j::2], EvaluateSection(), 5) for j in range(2)}
    found = simulate_analysis(parts).result
    true = np.mean(np.subtract.outer(predicted[y == 1], predicted[y == 0]) > 0)
    assert abs(found.auc - true) <= found.auc_within
    assert found.auc_within == float(f"{found.auc_within:.2g}")
    assert found.auc == round(found.auc, -math.floor(math.log10(found.auc_within / 2)))


def test_a_study_holds_rows_out_and_fits_the_rest():
    data = {name: cancer()[name] for name in ("mean_texture", "mean_smoothness", "benign")}
    results = asked(
        "benign ~ mean_texture + mean_smoothness", "binomial", data=data, evaluate={"held_out": 0.3}
    )
    evaluation = results.findings.evaluation
    assert evaluation is not None
    assert evaluation.rows + results.data["rows"] == 569
    assert 0.2 < evaluation.rows / 569 < 0.4
    assert 0.7 < evaluation.auc < 1
    again = asked(
        "benign ~ mean_texture + mean_smoothness", "binomial", data=data, evaluate={"held_out": 0.3}
    )
    assert again.transcript == results.transcript


def test_what_is_known_of_one_row_only_is_not_described():
    few = {"x": [1.0] + [None] * 20}
    study = parse_study({"study": {"title": "Few"}, "describe": {}, "columns": {"x": {}}})
    results = simulate(study, {"a": Table.of(few), "b": Table.of({"x": [2.0] + [None] * 20})})
    assert results.findings.description is not None
    assert results.findings.description.columns["x"].mean is None


def test_how_many_rows_there_are_does_not_give_away_how_few_are_missing():
    """Of 120 rows two lack x, and two g: other columns show all 120, so rows of x and g are not shown."""
    rng = np.random.default_rng(0)
    whole = {"all": rng.normal(size=60).tolist(), "x": rng.normal(size=60).tolist(), "g": [1, 2] * 30}
    some = {**whole, "x": [None, *whole["x"][1:]], "g": [None, *whole["g"][1:]]}
    study = parse_study(
        {
            "study": {"title": "Missing"},
            "describe": {"histograms": 4},
            "columns": {"all": {"range": [-5, 5]}, "x": {"range": [-5, 5]}, "g": {"levels": [1, 2]}},
        }
    )
    found = simulate(study, {"a": Table.of(some), "b": Table.of(some)}).findings.description
    assert found is not None
    assert found.columns["all"].rows == 120
    for name in ("x", "g"):
        assert found.columns[name].rows is None
        assert found.columns[name].missing is None
    levels, bars = found.columns["g"].levels, found.columns["x"].histogram
    assert levels is not None
    assert bars is not None
    assert None in levels.values()
    assert None in bars[1]


def test_a_number_that_is_0_but_for_a_few_rows_is_not_summed():
    rare = {"x": [17.5] + [0.0] * 29}
    study = parse_study({"study": {"title": "Few"}, "describe": {}, "columns": {"x": {}}})
    results = simulate(study, {"a": Table.of(rare), "b": Table.of(rare)})
    assert results.findings.description is not None
    assert results.findings.description.columns["x"].mean is None
    assert results.totals == 1


def test_a_yes_or_no_with_few_nos_is_not_described_as_a_number():
    """The mean, 0.95 of 60, said that there were three."""
    study = parse_study({"study": {"title": "T"}, "describe": {"columns": ["x"]}})
    cells = {"a": [0] * 3 + [1] * 17, "b": [1] * 20, "c": [1] * 20}
    found = simulate(study, {name: Table.of({"x": some}) for name, some in cells.items()})
    assert found.findings.description.columns["x"].mean is None


@pytest.mark.parametrize(("few", "shown"), [(3, False), (15, True)])
def test_up_to_three_numbers_are_not_described_where_few_rows_have_one(few, shown):
    """How many rows there are, their mean and sd left one choice: 40 rows of 0, 17 of 1, and 3 of 2."""
    x = np.random.default_rng(0).permutation(np.repeat([0.0, 1.0, 2.0], [40, 17, few]))
    study = parse_study({"study": {"title": "T"}, "describe": {"columns": ["x"]}})
    found = simulate(study, {str(j): Table.of({"x": x[j::2].tolist()}) for j in range(2)})
    assert (found.findings.description.columns["x"].mean is not None) == shown


@pytest.mark.parametrize(("scale", "origin"), [(1e-6, 0.0), (1e-9, 0.0), (1e-15, 0.0), (1e-6, 3.0)])
def test_a_column_whose_digits_sums_would_lose_is_refused(scale, origin):
    """Its standard deviation of 1e-9 stood as 0, and as that of the pooled rows."""
    x = origin + scale * np.random.default_rng(5).normal(size=300)
    study = parse_study({"study": {"title": "T"}, "describe": {"columns": ["x"]}})
    with pytest.raises(NotEstimable, match=r"x is so small.*other units"):
        simulate(study, {str(j): Table.of({"x": x[j::2].tolist()}) for j in range(2)})


@pytest.mark.parametrize("value", [0.0, 1e-3, 0.1, 5.0])
def test_a_constant_column_is_described(value):
    study = parse_study({"study": {"title": "T"}, "describe": {"columns": ["x"]}})
    found = simulate(study, {str(j): Table.of({"x": [value] * 100}) for j in range(2)}).findings.description
    assert found is not None
    assert found.columns["x"].sd == 0
    assert found.columns["x"].mean == pytest.approx(value, abs=1e-13)


def test_a_vote_below_zero_does_not_take_anothers_off():
    """Anybody who voted −1 had another's three rows counted one by one."""
    rng = np.random.default_rng(0)
    own = np.concatenate([rng.normal(2.5, 0.05, 57), rng.normal(0, 1, 3)])
    analysis = joint_quantiles(own, [0.25, 0.5, 0.75], rows=260, mean=0.5, sd=1.3, smallest=5)
    asked = next(analysis)
    (votes,) = asked.values.values()
    assert votes.any()
    with pytest.raises(NotEstimable, match="votes on where few rows lie are below 0"):
        analysis.send(jax.tree.map(lambda mine: mine - 1.0, asked.values))
