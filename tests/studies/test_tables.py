"""Tables as members write them: delimiters, encodings, decimal commas, Parquet; and what cannot be read."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hocket.errors import BadStudy
from hocket.studies import Table, parse_study, read_study, read_table
from hocket.studies.data.rows import understand
from hocket.studies.disclosure.leverage import carried
from hocket.studies.spec.columns import ColumnSection, text_of, understood

STUDY = parse_study({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"y": {"from": "grösse"}}})


def written(tmp_path, text: str, encoding: str = "utf-8", name: str = "t.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def values_in(table) -> list[list[float]]:
    rows = understand(STUDY, table)
    return [rows.values["y"].tolist(), rows.values["x"].tolist()]


LINES = [["grösse", "x"], ["1.5", "2"], ["-3e2", "4.25"]]
EXPECTED = [[1.5, -300.0], [2.0, 4.25]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiter_and_encoding_are_told_from_the_file(tmp_path, delimiter, encoding, end):
    text = end.join(delimiter.join(line) for line in LINES) + end
    assert values_in(read_table(written(tmp_path, text, encoding))) == EXPECTED


def test_an_encoding_that_cannot_be_told_is_asked_for(tmp_path):
    path = written(tmp_path, "\n".join(",".join(line) for line in LINES), "latin-1")
    with pytest.raises(BadStudy, match=r"not text in utf-8, from byte 2 on.*--encoding latin-1"):
        read_table(path)
    assert values_in(read_table(path, encoding="latin-1")) == EXPECTED
    with pytest.raises(BadStudy, match="no encoding 'klingon'"):
        read_table(path, encoding="klingon")


def test_decimal_commas(tmp_path):
    table = read_table(written(tmp_path, "grösse;x\n1,5;2\n-3e2;4,25\n"))
    assert values_in(table) == EXPECTED
    assert "commas are decimal" in " ".join(table.notes)
    quoted = written(tmp_path, 'grösse,x\n"1,5",2\n-3e2,"4,25"\n')
    with pytest.raises(BadStudy, match=r"column y is to be numbers, but 1 row have '1,5'.*--decimal ,"):
        understand(STUDY, read_table(quoted))
    assert values_in(read_table(quoted, decimal=",")) == EXPECTED


def test_commas_that_may_mean_thousands_are_asked_about(tmp_path):
    path = written(tmp_path, "grösse;x\n1,500;2\n")
    with pytest.raises(BadStudy, match=r"numbers such as 1,500.*--decimal ,"):
        read_table(path)
    assert values_in(read_table(path, decimal=","))[0] == [1.5]


def test_points_that_may_mean_thousands_are_asked_about(tmp_path):
    """Before, 92.000 beside 950 in a file of semicolons was read as 92 without a word."""
    path = written(tmp_path, "grösse;x\n92.000;1\n950;2\n")
    with pytest.raises(
        BadStudy, match=r"column grösse: in numbers such as 92\.000, .* is 92000, .* say --decimal \.$"
    ):
        read_table(path)
    assert values_in(read_table(path, decimal="."))[0] == [92.0, 950.0]
    with pytest.raises(BadStudy, match=r"points between thousands are not read.*\(92000 for 92\.000\)"):
        understand(STUDY, read_table(path, decimal=","))
    for text in ("grösse;x\n92.000;1.5\n950;2\n", "grösse,x\n92.000,1\n950,2\n"):  # points are decimal here
        assert values_in(read_table(written(tmp_path, text)))[0] == [92.0, 950.0]


def test_a_column_of_thousands_beside_one_of_decimal_commas_is_asked_about(tmp_path):
    """Before, 92,000 was read as 92 without a word, since 1,5 beside it told that commas are decimal."""
    path = written(tmp_path, "grösse;x\n92,000;1,5\n105,000;2,25\n")
    with pytest.raises(
        BadStudy, match=r"column grösse: in numbers such as 92,000,.* 92000.*if it is 92, say --decimal ,"
    ):
        read_table(path)
    table = read_table(path, decimal=",")
    assert "in column grösse, 92,000 is read as 92" in table.notes


@pytest.mark.parametrize(
    ("cells", "fix"),
    [
        (["92,000", "105,000"], r"have '92,000', '105,000'; commas between thousands.*\(92000 for 92,000\)"),
        (["92,000", "950"], "commas between thousands"),
        (["1,234,567", "92,000"], "commas between thousands"),
        (["1,234.50", "17.25"], "commas between thousands"),
        (["-92,000", ""], r"--decimal , would read -92"),
        (["1,5", "2,125"], r"commas are decimal \(--decimal ,\)"),
        (["0,567"], r"commas are decimal \(--decimal ,\)"),
        (["1,5", "1.5"], "with a decimal point and nothing between thousands"),
        (["92,000", "1500"], "with a decimal point and nothing between thousands"),
        (["92,000", "1.5"], "commas between thousands"),
        (["1,5", "1,234,567"], "with a decimal point and nothing between thousands"),
        (["12a"], "mend them"),
    ],
)
def test_commas_in_a_file_of_points(cells, fix):
    (complaint,) = understood("income", ColumnSection(), cells).complaints
    assert re.search(fix, complaint)
    assert ("say that commas are decimal" in complaint) == ("commas are decimal" in fix)


@pytest.mark.parametrize(
    ("cells", "fix"),
    [
        (["1.234,5", "2.000,25"], r"points between thousands.*\(1234,5 for 1.234,5\)"),
        (["92.000", "105.000"], r"points between thousands.*\(92000 for 92.000\)"),
        (["1,5", "1.5"], "with a decimal point and nothing between thousands"),
        (["1,234,567"], "commas between thousands"),
        (["1,234.5"], "commas between thousands"),
    ],
)
def test_points_in_a_file_of_commas(cells, fix):
    """Before, 92.000 was read as 92 where commas are decimal."""
    (complaint,) = understood("income", ColumnSection(), cells, ",").complaints
    assert re.search(fix, complaint)


def test_decimal_commas_are_read():
    assert understood("x", ColumnSection(), ["1,5", "2,125", "7", ""], ",").values[:3].tolist() == [
        1.5,
        2.125,
        7,
    ]
    assert understood("x", ColumnSection(), ["1.5", "2.25"], ",").values.tolist() == [1.5, 2.25]


@pytest.mark.parametrize(
    ("there", "how"),
    [
        ("Sex", "the file has 'Sex', which differs by capital letters"),
        (" sex", "the file has ' sex', which differs by a leading space"),
        ("sex\u00a0", r"the file has 'sex\xa0', which differs by a trailing no-break space"),
        ("\ufeffsex", r"the file has '\ufeffsex', which differs by byte order mark (U+FEFF)"),
        ("\u0455ex", "the file has 'ѕex', which differs by U+0455 in place of 's'"),
        ("SEX ", "which differs by a trailing space and capital letters"),
        ("sexx", "(did you mean 'sexx'?)"),
        ("SEXX", "(did you mean 'SEXX'?)"),
    ],
)
def test_names_that_look_alike_are_told_apart(there, how):
    """Before: there is no column 'sex' (did you mean 'sex'?)."""
    study = parse_study({"study": {"title": "T", "formula": "y ~ sex"}})
    with pytest.raises(BadStudy) as raised:
        understand(study, Table.of({"y": [1.0, 2.0], there: [0, 1]}))
    assert how in str(raised.value)
    assert "did you mean 'sex'?" not in str(raised.value)


def test_parquet(tmp_path):
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"grösse": [1.5, None], "x": [2, 4]}), path)
    rows = understand(STUDY, read_table(path))
    np.testing.assert_array_equal(rows.values["y"], [1.5, np.nan])
    assert rows.values["x"].tolist() == [2.0, 4.0]
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(BadStudy, match="is not a Parquet file"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "first line must name the columns"),
        ("a,a\n1,2\n", "names the column 'a' twice"),
        ("a,b\n1,2\n1,2,3\n", "row 3: 3 cells under 2 columns"),
        ('a,b\n"1,2\n', "cannot be read as rows"),
        ("a,b\n1,\0\n", "holds zero bytes"),
    ],
)
def test_what_is_no_table(tmp_path, text, complaint):
    with pytest.raises(BadStudy, match=complaint):
        read_table(written(tmp_path, text))
    with pytest.raises(BadStudy, match="there is no file"):
        read_table(tmp_path / "nowhere.csv")


def test_levels_are_the_same_however_they_are_written():
    column = ColumnSection(levels=(1, 2, "other"))
    cells = understood("cp", column, ["1", "1.0", " 2 ", "01", "other", "NA", "?", None, 2, 1.0])
    np.testing.assert_array_equal(cells.values, [0, 0, 1, 0, 2, np.nan, np.nan, np.nan, 1, 0])
    assert cells.complaints == ()
    assert text_of("1_0") == "1_0"  # for Python, ten


def test_yes_and_no_are_declared():
    by_condition = understood("d", ColumnSection(map="num > 0"), ["0", "1", "4", ""])
    np.testing.assert_array_equal(by_condition.values, [0, 1, 1, np.nan])
    by_levels = understood("d", ColumnSection(map=("yes", "maybe")), ["yes", "no", "maybe", "?"])
    np.testing.assert_array_equal(by_levels.values, [1, 0, 1, np.nan])


def test_declared_codes_are_missing():
    column = ColumnSection(missing_values=(-9, "unknown"))
    cells = understood("x", column, ["-9", "-9.0", "unknown", "9"])
    np.testing.assert_array_equal(cells.values, [np.nan, np.nan, np.nan, 9])


def test_a_byte_order_mark_is_no_part_of_a_name_or_a_key(tmp_path):
    table = read_table(written(tmp_path, "\ufeffx,y\n1,2\n"), encoding="utf-8")
    assert list(table.columns) == ["x", "y"]
    path = written(tmp_path, '\ufeff[study]\ntitle = "T"\nformula = "y ~ x"\n', name="study.toml")
    assert read_study(path).question.title == "T"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32"])
def test_an_encoding_that_leaves_zero_bytes_is_asked_for(tmp_path, encoding):
    path = written(tmp_path, "x,y\n1,2\n", encoding)
    with pytest.raises(BadStudy, match=f"--encoding {encoding}"):
        read_table(path)
    assert list(read_table(path, encoding=encoding).columns) == ["x", "y"]


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
def test_one_row_carries_as_much_in_any_unit(unit):
    assert carried(np.array([1.0, 0.7, 0.5, -2.2]) * unit) == pytest.approx(
        carried(np.array([1.0, 0.7, 0.5, -2.2]))
    )
