"""Totals in lock step: exact, named, the same no matter who holds which rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.algorithm import SecureSum
from hocket.errors import BadStudy
from hocket.studies import parse_study, simulate_analysis, together
from hocket.studies.data.rows import understand
from hocket.studies.results.results import concluded
from tests.studies.cases import asked, dealt, diabetes, table_of


def once(values, bits=64, names=None):
    total = yield SecureSum(values, bits=bits, names=names)
    return total


whole = st.lists(st.integers(-(2**50), 2**50), min_size=3, max_size=3)


@given(st.lists(whole, min_size=1, max_size=6), st.integers(0, 60))
def test_a_total_of_whole_numbers_is_exact(rows, bits):
    parts = {str(j): once({"a": np.array(row, dtype=float)}, bits) for j, row in enumerate(rows)}
    found = simulate_analysis(parts).result["a"]
    assert [int(one) for one in found] == [sum(column) for column in zip(*rows, strict=True)]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8), st.randoms())
def test_the_order_of_members_changes_no_bit(values, order):
    shuffled = list(values)
    order.shuffle(shuffled)

    def total(numbers):
        return simulate_analysis({str(j): once(np.array([x])) for j, x in enumerate(numbers)}).result

    assert total(values).tobytes() == total(shuffled).tobytes()


def test_what_comes_back_has_the_form_of_what_was_given():
    tree = {"b": (np.ones((2, 3)), np.zeros(1)), "a": np.array(5.0)}
    found = simulate_analysis({"x": once(tree), "y": once(tree)}).result
    assert found["b"][0].shape == (2, 3)
    assert float(found["a"]) == 10.0


@pytest.mark.parametrize("wrong", [1e30, np.nan, np.inf])
def test_what_a_sum_cannot_hold_is_refused_by_name(wrong):
    named = {"sum": ("age", "chol")}
    parts = {
        "clinic A": once({"sum": np.zeros(2)}, names=named),
        "clinic B": once({"sum": np.array([0.0, wrong])}, names=named),
    }
    with pytest.raises(
        BadStudy, match=r"clinic B: sum of chol is .*too large for an exact sum over 2 members"
    ):
        simulate_analysis(parts)


def test_members_with_other_totals_are_refused():
    with pytest.raises(BadStudy, match="different length"):
        simulate_analysis({"a": once(np.zeros(2)), "b": once(np.zeros(3))})

    def silent():
        return 1
        yield

    with pytest.raises(BadStudy, match="do not agree on when"):
        simulate_analysis({"a": once(np.zeros(2)), "b": silent()})


def test_analyses_side_by_side_take_as_many_totals_as_the_longest():
    def several(count, bits=64):
        seen = []
        for step in range(count):
            seen.append(float((yield SecureSum(np.array([float(step)]), bits=bits))[0]))
        return seen

    def both():
        return together({"short": several(2), "long": several(5), "none": several(0)})

    done = simulate_analysis({"a": both(), "b": both()})
    assert done.result == {"short": [0, 2], "long": [0, 2, 4, 6, 8], "none": []}
    assert done.totals == 5
    mixed = {name: together({"a": several(2, 44), "b": several(3, 64)}) for name in ("x", "y")}
    assert simulate_analysis(mixed).result == {"a": [0, 2], "b": [0, 2, 4]}


def test_results_hardly_depend_on_who_holds_which_rows():
    """Sums at home round differently; between members they are exact."""
    two = asked("progression ~ bmi + bp + age", "linear", data=diabetes(), members=2)
    nine = asked("progression ~ bmi + bp + age", "linear", data=diabetes(), members=9)
    np.testing.assert_allclose(table_of(two), table_of(nine), rtol=1e-11)


def test_every_member_comes_to_the_same_from_the_same_totals():
    """Each member's own generator, and not only the first one's, ends with the same transcript and the same table."""
    study = parse_study({"study": {"title": "T", "formula": "progression ~ bmi + bp", "family": "gamma"}})
    data = {name: diabetes()[name] for name in ("progression", "bmi", "bp")}
    ends = []

    def followed(rows):
        result = yield from concluded(rows)
        ends.append(result)
        return result

    tables = dealt(data, 3)
    done = simulate_analysis({name: followed(understand(study, table)) for name, table in tables.items()})
    assert len(ends) == 3
    common = [{**one.data, "rows_by_member": None} for one in ends]
    assert common[0] == common[1] == common[2]
    assert len({one.transcript for one in ends}) == 1
    assert [one.rows_by_member for one in ends] == [{name: table.rows} for name, table in tables.items()]
    assert done.totals == ends[0].totals
    assert done.numbers == ends[0].numbers
