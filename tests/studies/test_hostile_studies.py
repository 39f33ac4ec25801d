"""Studies that are written to find one row: what is asked before the rules refuse is counts, and no sum over it.

Each of these won before: the total that was asked for held the cells of the row that is marked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadStudy
from hocket.secagg.summands import flat
from hocket.studies import Table, check_table, parse_study, simulate, simulate_analysis
from hocket.studies.data.rows import understand
from hocket.studies.disclosure.joint_counts import joint_counts
from hocket.studies.disclosure.rules import suppressed
from hocket.studies.models.evaluate import Evaluation, evaluate, joined
from hocket.studies.results.results import concluded
from hocket.studies.spec.study import DisclosureSection, EvaluateSection

ROWS = 40
SECRET = 123.4375
"""The cell that is looked for: no count is it, and no other cell."""


def columns(seed: int, **other: Any) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    made = {
        "id": list(range(100 * seed, 100 * seed + ROWS)),
        "x": rng.integers(20, 80, ROWS).tolist(),
        "y": rng.integers(0, 2, ROWS).tolist(),
        "g": rng.integers(1, 4, ROWS).tolist(),
    }
    return made | other


def tables(**other: Any) -> dict[str, Table]:
    """Two members; the first one's first row holds the secret."""
    made = {name: columns(seed) for seed, name in enumerate("ab")}
    made["a"] |= other
    made["a"]["x"] = [SECRET, *made["a"]["x"][1:]]
    return {name: Table.of(cells, name) for name, cells in made.items()}


def outgoing(study: Mapping[str, Any], found: Mapping[str, Table]) -> list[float]:
    """Every number that was shown to all members until the study was over or refused."""
    shown: list[float] = []
    asked = parse_study(study)

    def received(name: str, table: Table) -> Any:
        analysis, total = concluded(understand(asked, table)), None
        while True:
            try:
                wanted = analysis.send(total)
            except StopIteration as end:
                return end.value
            total = yield wanted
            if name == "a":
                shown.extend(flat(total).tolist())

    with pytest.raises(BadStudy):
        simulate_analysis({name: received(name, table) for name, table in found.items()})
    return shown


HOSTILE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an outcome of one row": (
        {
            "study": {"title": "T", "formula": "it ~ x", "family": "binomial"},
            "columns": {"it": {"from": "id", "map": "id == 0"}},
        },
        {},
    ),
    "a number that is 0 but for one row": (
        {"study": {"title": "T", "formula": "y ~ z + x"}},
        {"z": [1, *[0] * (ROWS - 1)]},
    ),
    "two thresholds that differ by one row": (
        {
            "study": {"title": "T", "formula": "y ~ one + other + x"},
            "columns": {"one": {"from": "id", "map": "id > 16"}, "other": {"from": "id", "map": "id > 17"}},
        },
        {},
    ),
    "an outcome that is a column but for one row": (
        {
            "study": {"title": "T", "formula": "one ~ other + x", "family": "binomial"},
            "columns": {"one": {"from": "id", "map": "id > 16"}, "other": {"from": "id", "map": "id > 17"}},
        },
        {},
    ),
    "a column that is the other's opposite but for one row": (
        {
            "study": {"title": "T", "formula": "y ~ one + other + x"},
            "columns": {"one": {"from": "id", "map": "id > 16"}, "other": {"from": "id", "map": "id < 16"}},
        },
        {},
    ),
    "a reference level of one row": (
        {
            "study": {"title": "T", "formula": "y ~ C(h) + x"},
            "columns": {"h": {"levels": [9, 1, 2]}},
        },
        {"h": [9, *([1, 2] * ROWS)[: ROWS - 1]]},
    ),
    "thresholds that leave one row": (
        {
            "study": {"title": "T", "formula": "y ~ one + other + x"},
            "columns": {"one": {"from": "id", "map": "id < 16"}, "other": {"from": "id", "map": "id > 16"}},
        },
        {},
    ),
    "an event of one row": (
        {
            "study": {"title": "T", "formula": "Surv(t, it) ~ x", "family": "cox"},
            "columns": {"it": {"from": "id", "map": "id == 0"}},
        },
        {"t": list(range(1, ROWS + 1))},
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_study_that_looks_for_one_row_is_shown_counts_alone(name):
    study, other = HOSTILE[name]
    found = tables(**other)
    if "t" in other:
        found["b"] = Table.of(columns(1, t=list(range(1, ROWS + 1))), "b")
    if "h" in other:
        found["b"] = Table.of(columns(1, h=[1, 2] * (ROWS // 2)), "b")
    if "z" in other:
        found["b"] = Table.of(columns(1, z=[0] * ROWS), "b")
    shown = outgoing(study, found)
    assert shown
    assert max(shown) <= 2 * ROWS  # no count is larger, and every sum of x is
    assert all(number == int(number) for number in shown)


def test_a_rare_level_crossed_with_a_number_is_refused_before_its_sum_is_taken():
    study = {
        "study": {"title": "T", "formula": "y ~ C(g):x"},
        "columns": {"g": {"levels": [1, 2, 3, 9]}},
    }
    shown = outgoing(study, tables(g=[9, *columns(0)["g"][1:]]))
    assert shown
    assert max(shown) <= 2 * ROWS


@given(
    st.integers(0, 12),
    st.integers(0, 12),
    st.integers(2, 8),
    st.lists(st.booleans(), min_size=30, max_size=30),
)
def test_no_two_columns_that_pass_differ_in_a_few_rows(first, second, smallest, flips):
    """Whatever the rows are: once counts have passed, every column and every difference is about enough rows."""
    base = np.array(flips, dtype=float)
    X = np.stack([np.ones(30), base, np.where(np.arange(30) < first, 1 - base, base)], axis=1)
    y = np.where(np.arange(30) >= 30 - second, 1 - base, base)
    parts = {
        str(j): joint_counts(
            X[j::2], y[j::2], ("Intercept", "a", "b"), DisclosureSection(smallest_cell=smallest)
        )
        for j in range(2)
    }
    try:
        found = simulate_analysis(parts).result
    except BadStudy:
        return
    Z = np.column_stack([X, y])
    np.testing.assert_array_equal(found.together, Z.T @ Z)
    for i in range(4):
        for j in range(i):
            differ = int((Z[:, i] != Z[:, j]).sum())
            assert differ == 0 or differ >= smallest
            assert differ == 30 or 30 - differ >= smallest or j == 0


def test_crossed_levels_without_end_are_refused_at_once():
    levels = list(range(150))
    study = {
        "study": {"title": "T", "formula": "y ~ C(a)*C(b)*C(c)"},
        "columns": {name: {"levels": levels} for name in "abc"},
    }
    begun = time.perf_counter()
    with pytest.raises(BadStudy, match=r"C\(a\):C\(b\):C\(c\) makes 3,307,949 columns.*may have 300"):
        parse_study(study)
    assert time.perf_counter() - begun < 1


LEVELS = {"levels": list(range(200))}


@pytest.mark.parametrize(
    ("study", "said"),
    [
        (
            {
                "columns": {f"c{i}": LEVELS for i in range(99)},
                "describe": {"cross": [[f"c{i}", f"c{j}"] for i in range(99) for j in range(i)]},
            },
            r"asks for 194,059,899 numbers at once",
        ),
        ({"describe": {"quantiles": [(i + 1) / 150_002 for i in range(150_000)]}}, r"150,000 quantiles"),
        (
            {"survival": {"time": "t", "event": "e", "grid": [float(i) for i in range(1, 100_000)]}},
            r"99,999 times",
        ),
    ],
    ids=["tables", "quantiles", "times"],
)
def test_questions_without_end_are_refused_before_anybody_counts(study, said):
    begun = time.perf_counter()
    with pytest.raises(BadStudy, match=said):
        parse_study({"study": {"title": "T"}, **study})
    assert time.perf_counter() - begun < 2


def test_the_widest_model_that_is_allowed_counts_its_columns_right():
    from hocket.studies.data.design_matrix import coefficient_names, term_width

    study = parse_study(
        {
            "study": {"title": "T", "formula": "y ~ C(a)*C(b) + x:C(a) + rcs(x, 1, 2, 3, 4) - 1"},
            "columns": {"a": {"levels": list(range(9))}, "b": {"levels": list(range(7))}},
        }
    )
    assert study.formula is not None
    widths = [term_width(term, study.formula, study.columns) for term in study.formula.terms]
    assert sum(widths) == len(coefficient_names(study))


def test_a_study_that_means_no_harm_goes_on():
    results = simulate(
        parse_study(
            {"study": {"title": "T", "formula": "y ~ x + C(g)"}, "columns": {"g": {"levels": [1, 2, 3]}}}
        ),
        tables(),
    )
    assert results.totals == 3


def test_rows_that_others_make_up_do_not_fill_a_cell_where_own_cells_count():
    """Four made-up rows with level 9 make five of them; anybody who made them up takes its own off the sums again."""
    study = {"study": {"title": "T", "formula": "y ~ C(g) + x"}, "columns": {"g": {"levels": [1, 2, 3, 9]}}}
    found = tables(g=[9, *columns(0)["g"][1:]])
    found["b"] = Table.of(columns(1, g=[9] * 4 + columns(1)["g"][4:]), "b")
    simulate(parse_study(study), found)  # joint counts cannot tell
    with pytest.raises(
        BadStudy, match=r"column g is 9 in 1 rows, where \[disclosure\] smallest_own_cell = 5"
    ):
        check_table(parse_study({**study, "disclosure": {"smallest_own_cell": 5}}), found["a"])


@pytest.mark.parametrize("role", ["offset", "weights"])
def test_a_row_is_not_set_apart_by_an_offset_or_a_weight(role):
    """Two fits, with it and without, differed by the cells of that row, to the last digit."""
    with pytest.raises(BadStudy, match=rf"{role} = 'it' is a yes or no"):
        parse_study(
            {
                "study": {"title": "T", "formula": "y ~ x", role: "it"},
                "columns": {"it": {"from": "id", "map": "id == 0"}},
            }
        )


def test_small_counts_are_not_hidden_beside_a_zero_alone():
    """The sum of a row is known, and that of what is hidden with it: it must be no small count itself."""
    rules = DisclosureSection()
    (row,) = suppressed(np.array([[1.0, 0.0, 40.0, 30.0, 0.0]]), rules)
    assert row == [None, 0, 40, None, 0]


def held_out(wrong: int) -> tuple[Evaluation, list[float], np.ndarray]:
    """An evaluation of good predictions, but for so many; every number that was shown; and the predictions."""
    predicted = np.random.default_rng(4).permutation(np.linspace(0.003, 0.997, 120))
    y = (predicted > 0.5).astype(float)
    y[:wrong] = 1 - y[:wrong]
    shown: list[float] = []

    def received(some: slice, *, note: bool) -> Any:
        analysis, total = evaluate(y[some], predicted[some], EvaluateSection(bins=1000), 5), None
        while True:
            try:
                total = yield analysis.send(total)
            except StopIteration as end:
                return end.value
            shown.extend(flat(total).tolist() if note else [])

    parts = {"a": received(slice(0, 60), note=True), "b": received(slice(60, None), note=False)}
    return simulate_analysis(parts).result, shown, predicted


def test_no_prediction_of_a_single_row_is_summed():
    """In a thousand bins a hundred rows are alone: the sum of their predictions was each one's, and so its column."""
    _, shown, predicted = held_out(wrong=10)
    assert np.abs(np.subtract.outer(predicted, shown)).min() > 1e-9
    counts = [number for number in shown if number == int(number)]
    assert len(counts) < 2 * 120 / 5 + 10  # bins of five rows, on average


@pytest.mark.parametrize("wrong", [0, 2, 10, 40])
def test_what_is_shown_of_an_evaluation_is_about_no_few_rows(wrong):
    found, _, _ = held_out(wrong)
    cells = [cell for cell in found.confusion.values() if cell is not None]
    assert all(cell == 0 or cell >= 5 for cell in cells)
    assert len(cells) in (0, 4)
    if wrong == 2:
        assert found.accuracy is None
        assert not cells
    else:
        assert found.accuracy == pytest.approx(1 - wrong / 120)
    n = found.rows
    P = round(n * sum(share * rows for _, share, rows in found.calibration) / n)
    steps = np.diff(np.array(found.roc), axis=0) * (n - P, P)
    assert all(step < 1e-9 or step > 5 - 1e-9 for step in steps.ravel())
    for _, share, rows in found.calibration:
        assert all(one < 1e-9 or one > 5 - 1e-9 for one in (share * rows, rows - share * rows))


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=12), st.integers(1, 6))
def test_joined_bins_hold_no_few_rows_of_an_outcome_and_leave_none_out(bins, smallest):
    counts = np.array(bins, dtype=float)
    groups = joined(counts, range(len(counts)), smallest)
    assert [place for one in groups for place in one] == list(range(len(counts)))
    if all(whole == 0 or whole >= smallest for whole in counts.sum(axis=0)):
        for one in groups:
            assert all(held == 0 or held >= smallest for held in counts[one.start : one.stop].sum(axis=0))


def three_sets(seed: int) -> dict[str, Table]:
    """Two sets of ages, and both without the age of one patient of anna's."""
    rng = np.random.default_rng(seed)
    tables: dict[str, Table] = {}
    for name in ("anna", "bert", "mallory"):
        age = rng.integers(30, 60, 60)
        age[age == 45] = 44
        if name == "anna":
            age[0] = 45
        tables[name] = Table.of({"age": age.tolist(), "income": rng.normal(size=60).tolist()})
    return tables


@pytest.mark.parametrize("joint", ["s1 + s2 + s3", "s1 + s2 + rest"])
def test_columns_whose_sum_and_difference_is_one_row_are_refused_over_all_members(joint):
    """No member need see it in its own rows, where fewest_different = 1 leaves it to the joint counts."""
    some, more = range(40, 46), range(46, 51)
    maps = {"s1": some, "s2": more, "s3": [one for one in (*some, *more) if one != 45]}
    maps["rest"] = [one for one in range(30, 60) if one not in (*some, *more) or one == 45]
    columns = {name: {"from": "age", "map": [*levels]} for name, levels in maps.items()}
    rules = {"fewest_different": 1, "smallest_cell": 5}
    study = parse_study(
        {"study": {"title": "T", "formula": f"income ~ {joint}"}, "columns": columns, "disclosure": rules}
    )
    with pytest.raises(
        BadStudy, match=r"is 0 but for fewer than 5 joint rows.*leave one of these columns out"
    ):
        simulate(study, three_sets(1))


def numbers(rows: int = 120, **other: Any) -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    made = {
        "income": rng.permutation(np.arange(rows) * 500 + 20_000).tolist(),
        "z": rng.normal(50, 10, rows).round(1).tolist(),
        "y": rng.integers(0, 2, rows).tolist(),
        "flag": rng.integers(1, 3, rows).tolist(),
    }
    return made | other


KNOTS = "61990, 61995, 62000, 62005, 62010"
FEW = "is the same number in all rows here but fewer than"
SAME = "say the same in all rows here but fewer than"
CARRIED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a spline around one row's number": (
        {"formula": f"y ~ z + rcs(income, {KNOTS})"},
        {},
        "80% of a combination of rcs",
    ),
    "three splines of one column under three names": (
        {
            "formula": f"y ~ rcs(income, {KNOTS[:19]}) + rcs(again, {KNOTS[:12]}, 62010) + rcs(too, {KNOTS[14:]})"
        },
        {},
        "80% of a combination of",
    ),
    "a product of two splines": (
        {"formula": "y ~ rcs(income, 40000, 60000, 61990, 62010, 64000):rcs(z, 20, 40, 50, 60, 80)"},
        {},
        "of a combination of rcs|more than half of the term rcs",
    ),
    "weights that count two rows twice": (
        {"formula": "y ~ z", "weights": "w"},
        {"w": [2, 2, *[1] * 118]},
        f"w {FEW}",
    ),
    "an offset that two rows have": (
        {"formula": "y ~ z", "offset": "w"},
        {"w": [2, 2, *[1] * 118]},
        f"w {FEW}",
    ),
    "an outcome that three rows have": ({"formula": "w ~ z"}, {"w": [2, 2, 3, *[1] * 117]}, f"w {FEW}"),
    "two columns of 1 and 2 that differ in a row": (
        {"formula": "y ~ flag + other + z"},
        {"other": [3 - numbers()["flag"][0], *numbers()["flag"][1:]]},
        f"flag and other {SAME}",
    ),
    "two columns of numbers that differ in a row": (
        {"formula": "y ~ z + other"},
        {"other": [60.5, *numbers()["z"][1:]]},
        f"z and other {SAME}",
    ),
}


@pytest.mark.parametrize("name", CARRIED)
def test_a_combination_of_numbers_that_is_about_a_few_rows_is_refused_at_home(name):
    """By the sums of a single linear study a member read z of the row that is singled out, to 0.06 and better."""
    question, other, complaint = CARRIED[name]
    twice = {name: {"from": "income"} for name in ("again", "too")}
    study = parse_study({"study": {"title": "T", **question}, "columns": twice})
    with pytest.raises(BadStudy, match=complaint):
        check_table(study, Table.of(numbers(**other)))


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ rcs(income, 30000, 50000, 70000) + z + flag",
        "y ~ income*z + z^2 + log(income)",
        "y ~ rcs(z, 35, 50, 65):rcs(income, 30000, 50000, 70000)",
        "z ~ flag + income",
    ],
)
def test_what_analysts_ask_of_numbers_is_not_refused(formula):
    check_table(parse_study({"study": {"title": "T", "formula": formula}}), Table.of(numbers()))


def test_described_numbers_that_are_the_same_but_for_a_few_rows_are_refused():
    """The mean, 1.0083, said that one row of 120 had a 2."""
    study = parse_study({"study": {"title": "T"}, "describe": {"columns": ["w"]}})
    with pytest.raises(BadStudy, match=f"w {FEW}"):
        check_table(study, Table.of(numbers(w=[2, *[1] * 119])))


def test_the_counts_of_a_model_do_not_tell_the_row_that_has_a_0():
    """Rows with a yes, less those with a yes and a number that is not 0, told whether the row of the 0 has a yes."""
    rng = np.random.default_rng(5)
    number, first, second = rng.normal(size=40), rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    number[7] = 0.0

    def asked(y: np.ndarray) -> np.ndarray:
        X = np.column_stack([np.ones(40), number, first])
        return flat(next(joint_counts(X, y, ("Intercept", "number", "first"), DisclosureSection())).values)

    swapped = second.copy()
    swapped[7], swapped[np.flatnonzero((second != second[7]) & (first == first[7]))[0]] = (
        1 - second[7],
        second[7],
    )
    assert swapped.sum() == second.sum()
    np.testing.assert_array_equal(asked(second), asked(swapped))


def test_shares_of_levels_do_not_tell_how_few_have_the_outcome():
    """Of a level of 40 rows two had the outcome, and the coefficient said so: 0.05 of 40."""
    rng = np.random.default_rng(1)
    levels, low = ["p", "q", "r"], {"p": 0.3, "q": 0.4, "r": 0.0}
    cells = {"g": (levels * 40)[:120]}
    cells["y"] = [int(rng.random() < low[level]) for level in cells["g"]]
    for place in (2, 5):
        cells["y"][place] = 1
    cells["z"] = rng.normal(size=120).tolist()

    def asked(formula: str, reference: str = "p") -> Any:
        g = {"levels": levels, "reference": reference}
        study = parse_study({"study": {"title": "T", "formula": formula}, "columns": {"g": g}})
        brought = {
            name: {key: column[place::2] for key, column in cells.items()} for place, name in enumerate("ab")
        }
        return simulate(study, {name: Table.of(columns, name) for name, columns in brought.items()})

    with pytest.raises(BadStudy, match=r"C\(g\)\[r\] has fewer than 5 joint rows with the outcome"):
        asked("y ~ C(g)")
    with pytest.raises(
        BadStudy, match=r"what C\(g\)\[p\], C\(g\)\[q\] leave has fewer than 5 joint rows with the"
    ):
        asked("y ~ C(g)", "r")
    assert asked("y ~ C(g) + z").findings.fit is not None


WINDOWS = {
    "three knots around one row": (
        {"formula": "y ~ z + rcs(income, 61990, 62000, 62010)"},
        {},
        "income between 61990",
    ),
    "two splines that meet in one row": (
        {"formula": "y ~ z + rcs(income, 20000, 50000, 61000) + rcs(z, 44, 50, 57)"},
        {"z": [50.1 if 20_000 < one < 22_000 else 60.0 + one / 1e4 for one in numbers()["income"]]},
        "income between 20000 and 61000 with z between 44 and 57",
    ),
    "a level that meets a spline in one row": (
        {"formula": "y ~ z + C(g) + rcs(income, 40100, 45000, 50100)"},
        {"g": [int(one == 42_000 or one > 65_000) for one in numbers()["income"]]},
        r"income between 40100 and 50100 with C\(g\)\[1\]",
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_products_of_splines_are_not_about_a_few_rows(name):
    """Sums of a logistic search told mu(1 - mu) of the row between the knots at each step, and so z to 1e-7 of it."""
    question, other, complaint = WINDOWS[name]
    columns = {"g": {"levels": [0, 1]}} if "C(g)" in question["formula"] else {}
    study = {"study": {"title": "T", "family": "binomial", **question}, "columns": columns}
    with pytest.raises(BadStudy, match=complaint):
        check_table(parse_study(study), Table.of(numbers(**other)))


def test_a_logistic_spline_with_knots_at_quantiles_is_not_refused():
    formula = "y ~ rcs(income, 26000, 50000, 74000) + C(flag) + rcs(z, 40, 50, 60)"
    study = {
        "study": {"title": "T", "family": "binomial", "formula": formula},
        "columns": {"flag": {"levels": [1, 2]}},
    }
    check_table(parse_study(study), Table.of(numbers()))


@pytest.mark.parametrize(
    ("formula", "more"),
    [
        ("y ~ z + a + b", {"family": "binomial"}),
        ("n ~ z + a + b", {"family": "poisson"}),
        ("y ~ z + a + b", {"errors": "robust"}),
        ("y ~ z + a + b", {"weights": "z"}),
        ("Surv(z, y) ~ income + a + b", {"family": "cox"}),
        ("y ~ z + packs + b", {"family": "binomial"}),
        ("y ~ b + z:a", {"family": "binomial"}),
    ],
)
def test_two_flags_that_meet_in_one_row_are_not_weighed(formula, more):
    """The information on the two, at each step, was the weight of that row: z of it came out to 1e-13, in 20 of 20."""
    cells = numbers(600)
    rng = np.random.default_rng(2)
    cells["a"] = [int(one < 0.15) for one in rng.random(600)]
    cells["b"] = [int(one < 0.15 and not a) for one, a in zip(rng.random(600), cells["a"], strict=True)]
    cells["n"] = rng.poisson(2, 600).tolist()
    cells["a"][7] = cells["b"][7] = 1
    cells["packs"] = [a * (20 + row % 7) for row, a in enumerate(cells["a"])]
    found = {
        name: Table.of({key: cell[j::2] for key, cell in cells.items()}, name) for j, name in enumerate("ab")
    }
    study = {"study": {"title": "T", "formula": formula, **more}}
    shown = outgoing(study, found)
    rule = DisclosureSection().smallest_cell
    assert len(shown) < 60
    with pytest.raises(BadStudy, match=rf"in fewer than {rule} joint rows both .* and .* differ from 0"):
        simulate(parse_study(study), found)
    plain = {"study": {"title": "T", "formula": "y ~ z + a + b"}}
    assert simulate(parse_study(plain), found).findings.fit is not None


def test_levels_that_are_left_out_do_not_meet_in_one_row():
    """The weight of a row with both references is that of all rows less the sums over what else there is."""
    cells = numbers(600)
    rng = np.random.default_rng(4)
    cells["g"], cells["h"] = (
        rng.choice(["p", "q", "r"], 600).tolist(),
        rng.choice(["s", "t", "u"], 600).tolist(),
    )
    cells["h"] = [("t" if g == "p" and h == "s" else h) for g, h in zip(cells["g"], cells["h"], strict=True)]
    cells["g"][5], cells["h"][5] = "p", "s"
    found = {
        name: Table.of({key: cell[j::2] for key, cell in cells.items()}, name) for j, name in enumerate("ab")
    }
    columns = {"g": {"levels": ["p", "q", "r"]}, "h": {"levels": ["s", "t", "u"]}}
    study = {
        "study": {"title": "T", "formula": "y ~ z + C(g) + C(h)", "family": "binomial"},
        "columns": columns,
    }
    with pytest.raises(BadStudy, match=r"none of C.* and none of C.* holds"):
        simulate(parse_study(study), found)
    columns["h"]["reference"] = "t"
    with pytest.raises(BadStudy, match=r"C\(h\)\[s\] holds and none of C\(g\)\[q\], C\(g\)\[r\] does"):
        simulate(parse_study(study), found)
