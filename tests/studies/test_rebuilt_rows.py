"""What a member computes of the others' rows from the sums that it is shown, and the rules that keep it off."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from hocket.errors import BadStudy
from hocket.secagg.summands import flat
from hocket.studies import Table, parse_study, simulate
from hocket.studies.analysis import analyse
from hocket.studies.check import check_table
from hocket.studies.data.rows import understand
from hocket.studies.disclosure.patterns import exposure_words, numbers_shown, refuse_determined
from hocket.studies.simulate import fresh_bits, simulate_analysis, summed

FLAGS = {"levels": ["no", "yes"], "map": ["yes"]}
NAMES = ("x0", "x1", "x2")


def flags(family: str = "binomial", names: tuple[str, ...] = NAMES, **columns: Any) -> Any:
    formula = f"y ~ {' + '.join([*names, *columns])}"
    return parse_study(
        {
            "study": {"title": "T", "formula": formula, "family": family},
            "columns": dict.fromkeys((*names, "y"), FLAGS) | columns,
        }
    )


def table(rows: np.ndarray, names: tuple[str, ...] = (*NAMES, "y"), **columns: list[float]) -> Table:
    cells = {name: ["yes" if one else "no" for one in rows[:, place]] for place, name in enumerate(names)}
    return Table.of(cells | columns)


def clinic(rng: np.random.Generator, rows: int) -> np.ndarray:
    X = (rng.random((rows, 3)) < [0.5, 0.2, 0.1]).astype(int)
    y = rng.random(rows) < 1 / (1 + np.exp(0.3 - X @ np.array([0.4, -0.5, 0.6])))
    return np.column_stack([X, y]).astype(int)


def test_a_member_computes_how_many_of_the_others_rows_have_each_combination_so_few_are_refused():
    """The product's own sums, without the check: all combinations come out, those of one to four rows among them."""
    rng, study = np.random.default_rng(4), flags()
    tables = {name: table(clinic(rng, 120)) for name in ("anna", "bert", "mallory")}
    totals, own = [], []
    members = {name: understand(study, one) for name, one in tables.items()}
    draws = {name: fresh_bits(name) for name in members}

    def carry(asked):
        received = summed(asked, draws)
        totals.append(received["mallory"])
        own.append(flat(asked["mallory"].values))
        return received

    simulate_analysis({name: analyse(rows) for name, rows in members.items()}, carry=carry)
    cells = list(product((0, 1), repeat=4))
    A = np.array([_gives(study, cell, totals) for cell in cells]).T
    b = np.concatenate([flat(total) - mine for total, mine in zip(totals, own, strict=True)])
    same = np.abs(A[:, 0::2] - A[:, 1::2]).max(axis=1) < 1e-15  # sums in which the outcome has no part
    used = (
        same & (np.abs(A).max(axis=1) > 1e-12) & (np.abs(A - 1 / 12).max(axis=1) > 1e-9)
    )  # nor members counted
    A, b = A[used][:, 0::2], b[used]
    found = np.rint(np.linalg.lstsq(A, b, rcond=1e-13)[0])
    true = np.zeros(8)
    for name in ("anna", "bert"):
        rows = members[name]
        np.add.at(true, (rows.values["x0"] * 4 + rows.values["x1"] * 2 + rows.values["x2"]).astype(int), 1)
    assert (found == true).all()
    assert ((true > 0) & (true < 5)).any()
    said = (
        r"combinations of x0, x1, x2, y have fewer than 5 rows here, and a member can compute .* join levels"
    )
    for one in tables.values():
        with pytest.raises(BadStudy, match=said):
            check_table(study, one)


def _gives(study: Any, cell: tuple[int, ...], totals: list[Any]) -> np.ndarray:
    """What a row of this combination gives to each total, by the product's own code."""
    rows, received, given = understand(study, table(np.array([cell] * 12))), None, []
    analysis = analyse(rows)
    for total in totals:
        given.append(flat(analysis.send(received).values) / 12)
        received = total
    return np.concatenate(given)


@pytest.mark.parametrize(
    ("least", "allowed"), [(4, False), (5, True)], ids=["four in one", "five or none in each"]
)
def test_columns_of_few_values_are_allowed_where_each_combination_has_enough_rows(least, allowed):
    rows = np.array([cell for cell in product((0, 1), repeat=3) for _ in range(12)] + [(1, 1, 1)] * least)
    rows = rows[(rows[:, :3] != (1, 1, 1)).any(axis=1) | (np.arange(len(rows)) >= 96)]
    study, brought = flags(names=("x0", "x1")), table(rows, ("x0", "x1", "y"))
    if allowed:
        check_table(study, brought)
        return
    with pytest.raises(BadStudy, match="1 combinations of x0, x1, y have fewer than 5 rows"):
        check_table(study, brought)


def test_a_number_of_two_values_counts_as_a_yes_or_no_whatever_is_declared():
    rows = clinic(np.random.default_rng(4), 120)
    study = parse_study({"study": {"title": "T", "formula": "y ~ x0 + x1 + x2", "family": "binomial"}})
    columns = {name: rows[:, place].tolist() for place, name in enumerate((*NAMES, "y"))}
    with pytest.raises(BadStudy, match="combinations of x0, x1, x2, y"):
        check_table(study, Table.of(columns))


@pytest.mark.parametrize(("effect", "refused"), [(0.0, True), (0.1, False)], ids=["no effect", "some"])
def test_beside_a_number_a_combination_is_refused_where_the_sums_tell_its_count(effect, refused):
    """A number that has nothing to do with the outcome hides nothing: the same functions are left."""
    rng = np.random.default_rng(1)
    X, age = (rng.random((300, 3)) < 0.12).astype(int), rng.integers(20, 90, 300)
    eta = X @ np.array([1.0, -1.5, 0.7]) + effect * (age - 55) - 0.3
    y = (rng.random(300) < 1 / (1 + np.exp(-eta))).astype(int)
    study, brought = flags(age={"range": [18, 100]}), table(np.column_stack([X, y]), age=age.tolist())
    if refused:
        with pytest.raises(BadStudy, match="combinations of x0, x1, x2, y"):
            check_table(study, brought)
    else:
        check_table(study, brought)


def test_few_rows_are_refused_where_the_sums_are_as_many_as_their_cells():
    """Three yes or no, an age of ten values, two clinics of twenty rows: a search over whole numbers rebuilt all 40
    rows from 155 numbers, and found none of 120 rows."""
    rng = np.random.default_rng(0)
    study = flags(age={"range": [18, 100]})

    def tables(rows: int) -> dict[str, Table]:
        return {
            name: table(
                (rng.random((rows, 4)) < 0.5).astype(int), age=rng.normal(50, 9, rows).clip(18, 100).tolist()
            )
            for name in "abc"
        }

    with pytest.raises(
        BadStudy,
        match=r"the other members have 60 rows, and over at most 15 steps .* 361 numbers: enough to solve",
    ):
        simulate(study, tables(30))
    numbers = numbers_shown(study)
    with pytest.raises(BadStudy, match=r"It needs more than 72 rows at the others"):
        refuse_determined(study, numbers // 5)
    refuse_determined(study, numbers // 5 + 1)


def test_a_least_squares_study_shows_one_step_and_is_allowed():
    rng, study = np.random.default_rng(4), flags("linear")
    simulate(study, {name: table(clinic(rng, 120)) for name in "abc"})


def test_cox_of_yes_or_no_alone_needs_more_events_than_numbers():
    """Two clinics of ten rows gave 40 of 46 events with their covariate and risk set; of two of fifteen the search
    found nothing in two minutes."""
    rng = np.random.default_rng(3)
    study = parse_study(
        {
            "study": {"title": "T", "formula": "Surv(t, dead) ~ x", "family": "cox"},
            "columns": {"x": FLAGS, "dead": FLAGS},
        }
    )

    def tables(rows: int) -> dict[str, Table]:
        split = {"x": ["no", "yes"] * (rows // 2), "dead": ["no", "no", "yes", "yes"] * (rows // 4)}
        return {name: Table.of(split | {"t": rng.exponential(1, rows).tolist()}, name) for name in "abc"}

    with pytest.raises(
        BadStudy, match=r"the other members have 40 events, .* shows? 50 numbers: enough to solve"
    ):
        simulate(study, tables(40))
    simulate(study, tables(80))
    few = {"x": ["no"] * 30 + ["yes"] * 10, "dead": ["yes"] * 20 + ["no"] * 17 + ["yes"] * 3}
    with pytest.raises(BadStudy, match="combinations of x, dead have fewer than 5 rows"):
        check_table(study, Table.of(few | {"t": rng.exponential(1, 40).tolist()}))


@pytest.mark.parametrize(
    ("formula", "values", "term"),
    [
        ("y ~ creat^9:creat^2", lambda rng: np.append(rng.normal(1, 0.2, 59), 9.0), r"creat\^9:creat\^2"),
        ("y ~ creat", lambda rng: np.append(np.full(59, 5.0), 6.0), "creat"),
        ("y ~ creat", lambda rng: rng.normal(1, 0.2, 60), None),
    ],
    ids=["a power", "all but one alike", "as usual"],
)
def test_a_term_that_one_row_carries_is_refused_by_name(formula, values, term):
    rng = np.random.default_rng(2)
    brought = Table.of({"creat": values(rng).tolist(), "y": rng.normal(size=60).tolist()})
    study = parse_study({"study": {"title": "T", "formula": formula}})
    if term is None:
        check_table(study, brought)
        return
    with pytest.raises(BadStudy, match=rf"one row carries more than half of the term {term} here") as caught:
        check_table(study, brought)
    assert "9.0" not in str(caught.value).replace("creat^9", "")


def test_a_plan_says_how_many_combinations_there_are_and_how_many_numbers_are_shown():
    (words,) = exposure_words(flags())
    assert words.startswith(
        "x0, x1, x2, y can be combined in 16 ways, and the model over at most 15 steps shows up to"
    )
    assert "A member can compute how many of the others' rows have each combination." in words
    assert exposure_words(parse_study({"study": {"title": "T", "formula": "y ~ x"}})) == ()
