"""Whatever is wrong with a study, a table or the joint rows: named, with the cure, before the first exchange if it can
be known there; on the command line without a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.cli import main
from hocket.errors import BadStudy, NotEstimable
from hocket.studies import Table, check_table, parse_study, read_study, simulate
from hocket.studies.data.rows import understand

COLUMNS = {
    "y": {"map": "y > 0"},
    "cp": {"levels": [1, 2, 3]},
    "chol": {"range": [50, 700], "units": "mg/dl"},
}
TABLES = {
    "study": {"title": "T", "formula": "y ~ age + C(cp) + chol", "family": "binomial"},
    "columns": COLUMNS,
}
ROWS = 60


def cells(seed: int = 0, **other: list[Any]) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    columns = {
        "y": rng.integers(0, 2, ROWS).tolist(),
        "age": rng.normal(50, 9, ROWS).round(1).tolist(),
        "cp": rng.integers(1, 4, ROWS).tolist(),
        "chol": rng.normal(240, 40, ROWS).round().tolist(),
    }
    return columns | other


def checked(**other: list[Any]) -> Any:
    return check_table(parse_study(TABLES), Table.of(cells(**other), "clinic.csv"))[0]


def test_a_table_that_fits():
    found = checked()
    assert (found.rows, found.kept) == (ROWS, ROWS)
    assert found.parameters == ("Intercept", "age", "C(cp)[2]", "C(cp)[3]", "chol")
    assert [one.split(" can be")[0] for one in found.notes] == ["cp, y"]


AGE = cells()["age"]


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        ({"age": ["old", *AGE[1:]]}, r"clinic.csv: column age is to be numbers, but 1 row have 'old'; mend"),
        (
            {"cp": [9, 9] + [1] * 58},
            r"column cp has the unknown level '9' in 2 rows; the study declares 1, 2, 3",
        ),
        ({"chol": [5.0] + [200] * 59}, r"column chol has '5' in 1 row, outside its range 50 to 700 mg/dl"),
        ({"age": [None] * 60}, r"column age is missing in every row"),
        ({"age": [float("inf"), *AGE[1:]]}, r"column age is to be numbers, but 1 row have 'inf'"),
        ({"age": [1e18] * 60}, r"clinic.csv: model.squares of age is 6e\+37, too large for an exact sum"),
        ({"age": [None] * 55 + [50, 51, 52, 53, 54]}, r"clinic.csv: 5 rows are left .*fewest_rows = 10"),
        (
            {"y": ["yes"] * 60},
            r"column y is to be numbers, but 60 row.*if they are categories, all in levels of \[columns.y\]",
        ),
    ],
)
def test_what_a_table_may_not_hold_is_said_before_anybody_is_asked(other, complaint):
    with pytest.raises(BadStudy, match=complaint):
        checked(**other)


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        (
            {"formula": "chol ~ age", "family": "binomial"},
            r"column chol is explained as yes or no .* must be 0 or 1",
        ),
        ({"formula": "age ~ chol", "family": "poisson"}, r"column age is a count and must be whole"),
        (
            {"formula": "y ~ log(cp0)"},
            r"column cp0 is under log\(\) and must be above 0, but 20 rows .* such as 0",
        ),
        (
            {"formula": "cp0 ~ age", "family": "gamma"},
            r"column cp0 is explained by a gamma model and must be above 0",
        ),
        ({"formula": "y ~ age", "weights": "cp0"}, r"column cp0 is a weight and must be above 0"),
        ({"formula": "Surv(age, cp0) ~ chol", "family": "cox"}, r"column cp0 is an event and must be 0 or 1"),
    ],
)
def test_values_that_a_columns_part_does_not_allow(question, complaint):
    study = parse_study({"study": {"title": "T", **question}})
    with pytest.raises(BadStudy, match=complaint):
        check_table(study, Table.of(cells(cp0=[0, 1, 2] * 20)))


def test_a_column_that_is_missing_or_misspelt():
    columns = cells()
    columns["Chol"] = columns.pop("chol")
    with pytest.raises(BadStudy, match=r"there is no column 'chol' \(did you mean 'Chol'\?\); rename it"):
        check_table(parse_study(TABLES), Table.of(columns))


def test_all_complaints_come_at_once():
    with pytest.raises(BadStudy) as caught:
        checked(age=["old"] * 60, cp=[7] * 60, chol=[1] * 60)
    assert len(str(caught.value).splitlines()) == 3


def test_a_column_that_is_constant_here_is_noted_and_refused_if_it_is_so_everywhere():
    assert "column age is the same in every row here" in checked(age=[50] * 60).notes[0]
    study = parse_study(TABLES)
    tables = {name: Table.of(cells(seed, age=[50] * 60)) for seed, name in zip((0, 1, 4), "abc", strict=True)}
    with pytest.raises(NotEstimable, match="age is constant over the joint rows"):
        simulate(study, tables)
    one = {"a": Table.of(cells(1, age=[50] * 60)), "b": Table.of(cells(2)), "c": Table.of(cells(3))}
    assert simulate(study, one).data["rows"] == 180


def test_collinear_columns_are_named():
    study = parse_study({"study": {"title": "T", "formula": "age ~ chol + twice + cp"}})
    tables = {}
    for seed, name in enumerate("ab"):
        columns = cells(seed)
        tables[name] = Table.of({**columns, "twice": [2 * one + 7 for one in columns["chol"]]})
    with pytest.raises(NotEstimable, match=r"(chol and twice|twice and chol) are collinear"):
        simulate(study, tables)


def test_separation_by_a_level_is_named_after_the_first_total():
    study = parse_study(TABLES)
    tables = {}
    for seed, name in enumerate("abc"):
        columns = cells(seed)
        columns["y"] = [0 if cp == 3 else y for y, cp in zip(columns["y"], columns["cp"], strict=True)]
        tables[name] = Table.of(columns)
    with pytest.raises(NotEstimable, match=r"C\(cp\)\[3\]: the outcome is separated.*ridge"):
        simulate(study, tables)
    cured = parse_study({**TABLES, "penalty": {"ridge": 0.01}})
    assert simulate(cured, tables).data["coefficients"]["C(cp)[3]"]["se"] is None


def test_separation_by_a_number_is_named():
    study = parse_study(TABLES)
    tables = {}
    for seed, name in enumerate("abc"):
        columns = cells(seed)
        tables[name] = Table.of({**columns, "y": [int(age > 50) for age in columns["age"]]})
    with pytest.raises(NotEstimable, match=r"^age: the outcome is separated"):
        simulate(study, tables)


def test_a_level_without_any_count_is_named_too():
    study = parse_study(
        {**TABLES, "study": {"title": "T", "formula": "n ~ age + C(cp)", "family": "poisson"}}
    )
    tables = {}
    for seed, name in enumerate("abc"):
        columns = cells(seed)
        tables[name] = Table.of({**columns, "n": [0 if cp == 3 else cp for cp in columns["cp"]]})
    with pytest.raises(NotEstimable, match=r"C\(cp\)\[3\]: the outcome is separated"):
        simulate(study, tables)


def test_an_outcome_that_follows_from_the_columns():
    study = parse_study({"study": {"title": "T", "formula": "twice ~ chol"}})
    tables = {}
    for seed, name in enumerate("ab"):
        columns = cells(seed)
        tables[name] = Table.of({**columns, "twice": [2 * one for one in columns["chol"]]})
    with pytest.raises(NotEstimable, match="the columns give the outcome exactly"):
        simulate(study, tables)


def test_an_outcome_that_is_always_the_same():
    tables = {name: Table.of(cells(seed, y=[1] * 60)) for seed, name in enumerate("abc")}
    with pytest.raises(NotEstimable, match="the outcome is the same in every joint row"):
        simulate(parse_study(TABLES), tables)


@pytest.mark.parametrize(("scale", "origin"), [(1e-12, 0.0), (1.0, 1e9)])
def test_an_outcome_that_varies_by_too_little_is_not_called_the_same(scale, origin):
    columns = {str(j): cells(j) for j in range(2)}
    for one in columns.values():
        one["y"] = [origin + scale * age for age in one["age"]]
    study = parse_study({"study": {"title": "T", "formula": "y ~ chol"}})
    with pytest.raises(
        NotEstimable, match=r"varies by less than 1e-7 or than a 1e-7th of its size.*in other units"
    ):
        simulate(study, {name: Table.of(one) for name, one in columns.items()})


def test_shares_are_not_evaluated():
    """Of a share nothing is told right or wrong: fractions of rows stood in the confusion table."""
    study = {
        "study": {"title": "T", "formula": "s ~ age", "family": "binomial", "weights": "w"},
        "evaluate": {},
    }
    table = Table.of(cells(s=[0.25, 0.5] * 30, w=[4, 8] * 30))
    with pytest.raises(BadStudy, match=r"column s is explained as yes or no .* must be 0 or 1"):
        check_table(parse_study(study), table)


def test_too_many_parameters_for_the_rows():
    study = parse_study({**TABLES, "disclosure": {"parameters_per_row": 0.03}})
    with pytest.raises(BadStudy, match=r"5 parameters for 120 joint rows, .* allows 3"):
        simulate(study, {name: Table.of(cells(seed)) for seed, name in enumerate("ab")})


@pytest.mark.parametrize("few", [1, 2])
def test_a_level_of_a_few_joint_rows_is_refused_before_it_shows_them(few):
    """Two members with one or two such rows each: four are too few, and it is said after the first total."""
    asked: list[int] = []
    for family in ("binomial", "linear"):
        outcome = "y" if family == "binomial" else "age"
        question = {"title": "T", "formula": f"{outcome} ~ C(cp) + chol", "family": family}
        study = parse_study({**TABLES, "study": question})
        levels = [3] * few + [1, 2] * ((ROWS - few) // 2) + [1] * ((ROWS - few) % 2)
        tables = {name: Table.of(cells(seed, cp=levels)) for seed, name in enumerate("ab")}
        with pytest.raises(BadStudy, match=r"C\(cp\)\[3\] sets fewer than 5 joint rows apart"):
            simulate(study, tables, lambda totals, numbers: asked.append(totals))
    assert asked == [1, 1]


def test_sums_that_lead_nowhere_are_no_traceback():
    rng = np.random.default_rng(0)
    tables = {
        name: Table.of({"x": rng.normal(size=40), "tiny": 1e-12 * rng.gamma(2, 1, 40)}, name)
        for name in "abc"
    }
    question = {"title": "T", "formula": "tiny ~ x", "family": "gamma", "link": "inverse"}
    study = parse_study({"study": question, "penalty": {"lasso": 0.05, "ridge": 0.01}})
    with pytest.raises(BadStudy), np.errstate(all="ignore"):
        simulate(study, tables)


def test_a_study_of_one_member_is_none():
    with pytest.raises(BadStudy, match="two members or more"):
        simulate(parse_study(TABLES), {"a": Table.of(cells())})


def test_another_version_of_a_study_is_told_by_its_fingerprint():
    study = parse_study(TABLES)
    again = parse_study(json.loads(json.dumps(TABLES)))
    other = parse_study({**TABLES, "disclosure": {"fewest_rows": 9}})
    assert again.fingerprint == study.fingerprint != other.fingerprint


WRONG_STUDIES = [
    ({"stduy": {}}, r"there is no section \[stduy\] \(did you mean 'study'\?\)"),
    ({"study": {"title": "T"}}, r"\[study\] asks nothing"),
    ({"study": {"title": "T", "formula": "y ~ x", "famly": "linear"}}, r"no key 'famly' \(did you mean 'family'\?\)"),
    ({"study": {"title": "T", "formula": "y ~ x", "family": "normal"}}, r"family = 'normal'.*expected 'linear'"),
    ({"study": {"title": "T", "formula": "y ~ eval(x)"}}, r"\[study\] the formula has 'eval' at character 5"),
    ({"study": {"title": "T", "formula": "y ~ C(x)"}}, r"C\(x\) needs its levels: \[columns.x\] levels"),
    ({"study": {"title": "T", "formula": "y ~ cp"}, "columns": {"cp": {"levels": [1, 2]}}}, r"write C\(cp\)"),
    ({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"y": {"map": "y or 1"}}}, r"is no condition"),
    ({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"y": {"map": "z > 1"}}}, r"is of another column"),
    ({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"a b": {}}}, r'say from = "a b"'),
    ({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"x": {"from": 3}}}, r"from = 3 \(a whole number\)"),
    ({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"x": {"range": [2, 1]}}}, r"lower end comes first"),
    ({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"x": {"levels": [1, "1"]}}}, r"each once"),
    (
        {"study": {"title": "T", "formula": "y ~ C(x)"}, "columns": {"x": {"levels": [1, 2], "reference": 3}}},
        r"\[columns.x\] the reference 3 is none of the levels",
    ),
    ({"study": {"title": "T", "formula": "y ~ 0"}}, r"the formula explains by nothing"),
    ({"study": {"title": "T", "formula": "y ~ x + y"}}, r"y is explained by itself"),
    ({"study": {"title": "T", "formula": "Surv(t, e) ~ x", "family": "cox", "offset": "o"}}, r"stratified by member"),
    ({"study": {"title": "T", "formula": "y ~ x", "site": True}}, r"site = true: .*own numbers of rows.* Leave"),
    ({"study": {"title": "T", "formula": "Surv(t, e) ~ x"}}, r"family = 'cox'"),
    ({"study": {"title": "T", "formula": "y ~ x", "link": "logit"}}, r"link = 'logit' does not go with 'linear'"),
    ({"study": {"title": "T", "formula": "y ~ x"}, "evaluate": {}}, r"\[evaluate\] needs a formula with family"),
    ({"study": {"title": "T"}, "survival": {"time": "t", "event": "e", "grid": [2, 1]}}, r"times above 0 that rise"),
    ({"study": {"title": "T"}, "describe": {"quantiles": [0.5, 0.50000001]}}, r"two are the same to six digits"),
    ({"study": {"title": "T"}, "describe": {"quantiles": [0]}}, r"extremes are not shown"),
    (
        {"study": {"title": "T"}, "describe": {"quantiles": [0.1, 0.2, 0.3, 0.5, 0.7, 0.9]}},
        r"asks for 6 quantiles, where 5 are the most",
    ),
    (
        {"study": {"title": "T"}, "describe": {}, "columns": {"g": {"levels": [1, 2]}, "n": {"from": "g"}}},
        r"g and n are of the same column, once as levels and once as numbers",
    ),
    (
        {"study": {"title": "T", "formula": "y ~ x"}, "disclosure": {"smallest_cell": 10**400}},
        r"smallest_cell = 1000.*expected rows below which",
    ),
    ({"study": {"title": "T", "formula": "y ~ x"}, "columns": {"y": {"missing": "mean"}}}, r"make up an outcome where"),
    (
        {"study": {"title": "T", "formula": "Surv(t, e) ~ x", "family": "cox"}, "columns": {"e": {"missing": "mean"}}},
        r"\[columns.e\] missing = 'mean' would make up an event where there is none; drop the row",
    ),
    (
        {
            "study": {"title": "T", "formula": "y ~ t"},
            "columns": {"t": {"missing": "mean"}},
            "survival": {"time": "t", "event": "e", "grid": [1, 2]},
        },
        r"\[columns.t\] missing = 'mean' would make up a time where there is none",
    ),
    (
        {"study": {"title": "T", "formula": "log(y) ~ x", "family": "gamma"}},
        r"log\(y\) is not what a gamma model explains.*take family = 'linear'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "complaint"), WRONG_STUDIES)
def test_a_study_that_cannot_be_meant(tables, complaint):
    with pytest.raises(BadStudy, match=complaint):
        parse_study(tables)


def test_a_level_beyond_all_numbers_is_a_level_that_nobody_has():
    """TOML has whole numbers of any length; floats have not."""
    huge = {"x": {"missing_values": [10**400]}, "cp": {"levels": [1, 2, 3, 10**400]}}
    study = parse_study({"study": {"title": "T", "formula": "x ~ C(cp)"}, "columns": huge})
    values = understand(study, Table.of({"x": [1.5] * 30, "cp": [1, 2, 3] * 10})).values
    assert set(values["cp"].tolist()) == {0.0, 1.0, 2.0}


def written(folder: Path, name: str, columns: dict[str, list[Any]]) -> Path:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


STUDY = """
[study]
title = "T"
formula = "y ~ age + C(cp) + chol"
family = "binomial"
[columns.y]
map = "y > 0"
[columns.cp]
levels = [1, 2, 3]
"""


def test_the_commands(tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY)
    a, b, c = (written(tmp_path, f"{name}.csv", cells(seed)) for seed, name in enumerate("abc", 1))
    assert main(["study", "check", str(tmp_path / "study.toml"), "--data", str(a)]) == 0
    said = capsys.readouterr().out
    assert "a.csv fits the study: 60 of 60 rows are kept." in said
    notes = [line for line in said.splitlines() if line.startswith("Note:")]
    assert notes
    assert not any(line.endswith("..") for line in notes)
    out = tmp_path / "out"
    tables = map(str, (a, b, c))
    command = ["study", "simulate", str(tmp_path / "study.toml"), "--data", *tables, "--out", str(out)]
    assert main([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((out / "results.json").read_text())
    assert printed == kept | {"folder": str(out), "report": str(out / "results.html")}
    assert printed["rows_by_member"] == {"a": 60, "b": 60, "c": 60}
    assert set(printed["coefficients"]["age"]) == {"estimate", "se", "z", "p", "low", "high"}
    lines = (out / "coefficients.csv").read_text().splitlines()
    assert lines[0] == "term,estimate,se,z,p,low,high"
    assert float(lines[2].split(",")[1]) == printed["coefficients"]["age"]["estimate"]
    assert read_study(tmp_path / "study.toml").fingerprint == printed["study"]


@pytest.mark.parametrize(
    ("study", "table", "complaint"),
    [
        (STUDY.replace("age", "agee"), "a.csv", "there is no column 'agee' (did you mean 'age'?)"),
        (STUDY.replace("y > 0", "__import__('os')"), "a.csv", "is no condition"),
        (STUDY + "]", "a.csv", "not valid TOML"),
        (STUDY, "nowhere.csv", "there is no file"),
    ],
)
def test_the_command_line_names_what_is_wrong_and_leaves_nothing_behind(
    tmp_path, capsys, study, table, complaint
):
    (tmp_path / "study.toml").write_text(study)
    a = written(tmp_path, "a.csv", cells(1))
    data = ["--data", str(tmp_path / table)]
    assert main(["study", "check", str(tmp_path / "study.toml"), *data]) == 1
    shown = capsys.readouterr().err
    assert complaint in shown
    assert shown.startswith("hocket: ")
    assert "Traceback" not in shown
    out = tmp_path / "out"
    assert main(["study", "simulate", str(tmp_path / "study.toml"), *data, str(a), "--out", str(out)]) == 1
    assert not out.exists()
