"""Whatever the cells: a study is carried out, or refused in words; nothing else happens, and results are finite."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadStudy
from hocket.studies import Table, parse_study, read_table, simulate
from hocket.studies.check import check_table

WILD = st.sampled_from(
    [
        "",
        "NA",
        "1",
        "2",
        "0",
        "-3.5",
        "1e9",
        "1e300",
        "inf",
        "nan",
        "x",
        "1,5",
        "1_0",
        "٣",
        "=1+1",
        "\x1b[2J",
        None,
        7,
        2.5,
    ]
)
TAME = st.sampled_from([0, 1]) | st.integers(-5, 5) | st.floats(-1e3, 1e3).map(lambda x: round(x, 3))
ROWS = 30


def column(cell: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(cell, min_size=ROWS, max_size=ROWS)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    kinds = {name: draw(st.sampled_from([TAME, TAME, TAME, TAME | WILD])) for name in "yxz"}
    return Table.of({name: draw(column(kind)) for name, kind in kinds.items()})


QUESTIONS = [
    {"study": {"title": "T", "formula": "y ~ x + z"}},
    {"study": {"title": "T", "formula": "y ~ x*C(z)", "family": "binomial"}},
    {"study": {"title": "T", "formula": "y ~ x", "family": "poisson", "errors": "robust", "offset": "z"}},
    {"study": {"title": "T", "formula": "y ~ x", "family": "gamma", "link": "inverse"}},
    {"study": {"title": "T", "formula": "y ~ log(x)", "family": "gamma", "weights": "z"}},
    {
        "study": {"title": "T", "formula": "Surv(x, y) ~ z", "family": "cox"},
        "survival": {"time": "x", "event": "y", "grid": [1, 9]},
    },
    {"study": {"title": "T", "formula": "y ~ x + z", "where": ["x > -3"]}, "describe": {"histograms": 4}},
    {"study": {"title": "T", "formula": "y ~ x + z"}, "penalty": {"lasso": 0.1, "ridge": 0.1}},
]  # fmt: skip


@given(st.lists(tables(), min_size=2, max_size=3), st.sampled_from(QUESTIONS), st.booleans())
def test_a_study_of_any_tables_gives_finite_numbers_or_words(parts, question, mapped):
    sections = json.loads(json.dumps(question))
    binary = sections["study"].get("family") in ("binomial", "cox")
    filled = mapped and not sections["study"].get("where") and "survival" not in sections
    sections["columns"] = {"x": {"missing": "mean"}} if filled else {}
    sections["columns"] |= {"y": {"map": "y > 0"}} if binary and mapped else {}
    sections["columns"] |= {"z": {"levels": [0, 1, 2]}} if "C(z)" in sections["study"]["formula"] else {}
    study = parse_study(sections | {"disclosure": {"fewest_rows": 3}})
    try:
        results = simulate(study, {f"clinic {place}": table for place, table in enumerate(parts)})
    except BadStudy:
        return
    json.dumps(results.data, allow_nan=False)
    assert results.totals < 200


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode), st.sampled_from([".csv", ".parquet"]))
def test_any_file_is_a_table_or_refused(tmp_path_factory, data, suffix):
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(data)
    with pytest.raises(BadStudy):  # so few bytes hold no ten rows of three columns
        check_table(parse_study(QUESTIONS[0]), read_table(path))
