"""What anybody who signs a study reads of it: everything that decides what is computed, and what deserves a second
look."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hocket.studies import parse_study
from hocket.studies.spec.columns import ColumnSection
from hocket.studies.spec.study import SECTIONS
from hocket.studies.spec.study_in_words import LOOK, read_elsewhere, study_in_words

BASE: dict[str, Any] = {
    "study": {"title": "T", "formula": "y ~ a + C(b)", "family": "binomial"},
    "columns": {"b": {"levels": [1, 2, 3]}, "c": {"map": "c > 1"}, "e": {}},
    "penalty": {"ridge": 0.5},
    "describe": {"columns": ["a"]},
    "survival": {"time": "t", "event": "c", "grid": [1, 2, 3]},
    "evaluate": {},
    "privacy": {},
}
CHANGES: list[tuple[str, str, Any]] = [
    ("study", "title", "Another"),
    ("study", "question", "Why?"),
    ("study", "formula", "y ~ a^9 + C(b)"),
    ("study", "family", "poisson"),
    ("study", "link", "log"),
    ("study", "offset", "e"),
    ("study", "weights", "e"),
    ("study", "errors", "robust"),
    ("study", "ties", "breslow"),
    ("study", "confidence", 0.9),
    ("study", "where", ["zip != 77777"]),
    ("penalty", "ridge", 0.6),
    ("penalty", "lasso", 0.1),
    ("penalty", "standardised", False),
    ("describe", "columns", ["e"]),
    ("describe", "rows", "analysed"),
    ("describe", "quantiles", [0.1]),
    ("describe", "cross", [["b", "c"]]),
    ("describe", "histograms", 7),
    ("survival", "time", "u"),
    ("survival", "event", "d"),
    ("survival", "grid", [1, 2.5, 3]),
    ("survival", "by", "b"),
    ("evaluate", "held_out", 0.3),
    ("evaluate", "bins", 10),
    ("evaluate", "threshold", 0.4),
    ("disclosure", "fewest_rows", 11),
    ("disclosure", "smallest_cell", 6),
    ("disclosure", "smallest_own_cell", 2),
    ("disclosure", "parameters_per_row", 0.2),
    ("disclosure", "fewest_different", 6),
    ("privacy", "epsilon", 2.0),
    ("privacy", "delta", 1e-5),
    ("columns.e", "from", "f"),
    ("columns.c", "map", "c > 2"),
    ("columns.b", "levels", [1, 2, 4]),
    ("columns.b", "reference", 2),
    ("columns.e", "units", "mg"),
    ("columns.e", "per", 10),
    ("columns.e", "range", [0, 1]),
    ("columns.e", "missing", "mean"),
    ("columns.e", "missing_values", [-9]),
]
BESIDE: dict[str, Any] = {
    "link": {"formula": "e ~ a", "family": "gamma", "link": "inverse"},
    "ties": {"formula": "Surv(t, c) ~ a", "family": "cox"},
}
"""What the study asks where a key means something there alone."""
NOT_SAID = {("columns", "label"), ("study", "site")}
"""Keys that decide nothing but how a table calls a column, or whose other values are refused."""


def base(section: str, key: str) -> dict[str, Any]:
    """A study in which this key means something: not all sections go together."""
    if section == "privacy":
        return {
            "study": {"title": "T"},
            "describe": {"columns": ["e"]},
            "columns": {"e": {"range": [0, 1]}},
            "privacy": {"epsilon": 1.0, "delta": 1e-6},
        }
    left_out = {"evaluate", "survival", "privacy", "penalty"} - {section}
    tables = {name: copy.deepcopy(table) for name, table in BASE.items() if name not in left_out}
    tables["study"] |= BESIDE.get(key, {}) if section == "study" else {}
    return tables


def changed(tables: dict[str, Any], section: str, key: str, value: Any) -> dict[str, Any]:
    tables = copy.deepcopy(tables)
    place = tables
    for name in section.split("."):
        place = place.setdefault(name, {})
    place[key] = value
    return tables


@pytest.mark.parametrize(("section", "key", "value"), CHANGES, ids=[f"{row[0]}.{row[1]}" for row in CHANGES])
def test_no_key_of_a_study_can_be_changed_unread(section, key, value):
    before = base(section, key)
    after = changed(before, section, key, value)
    assert study_in_words(parse_study(before)) != study_in_words(parse_study(after))


def test_every_key_there_is_is_tried():
    """A new key of a study must be shown to anybody who signs, and tried here."""
    tried = {(section.partition(".")[0], key) for section, key, _ in CHANGES}
    known = {(name, field) for name, section in SECTIONS.items() for field in section.model_fields}
    known |= {("columns", one.alias or name) for name, one in ColumnSection.model_fields.items()}
    assert known - NOT_SAID == tried


def test_a_column_that_reads_another_one_stands_out():
    """Everybody signed `hba1c ~ age`, and the prevalence of HIV came out."""
    tables = {"study": {"title": "T", "formula": "hba1c ~ age"}, "columns": {"age": {"from": "hiv"}}}
    words = study_in_words(parse_study(tables))
    look = f"{LOOK}column age READS YOUR COLUMN 'hiv': numbers; missing: row left out"
    assert look in words
    assert look in read_elsewhere(parse_study(tables))
    assert not any(line.startswith(LOOK) for line in study_in_words(parse_study({"study": tables["study"]})))


@pytest.mark.parametrize(
    ("key", "value"),
    [("fewest_different", 1), ("smallest_cell", 2), ("fewest_rows", 3), ("parameters_per_row", 0.9)],
)
def test_a_rule_that_is_weaker_than_the_default_stands_out(key, value):
    tables = {"study": {"title": "T", "formula": "y ~ x"}, "disclosure": {key: value}}
    (line,) = (one for one in study_in_words(parse_study(tables)) if one.startswith(LOOK))
    assert line.startswith(f"{LOOK}Rule {key} = {value}: ")
    assert "WEAKER than the default" in line


def test_nothing_in_a_study_passes_for_a_line_of_ours():
    tables = {
        "study": {"title": "T\nYour policy: met", "question": "Q\r\nRows: all", "formula": "y ~ x"},
        "columns": {"x": {"from": "z\nColumn y: numbers", "units": "mg\n\nRows: all"}},
    }
    words = study_in_words(parse_study(tables))
    assert all("\n" not in line and "\r" not in line for line in words)
    assert sum(line.startswith("Rows: ") for line in words) == 1


def test_knots_and_times_are_told_to_the_last_digit():
    """Knots at 123456.1 to 123456.3, around one row's number, all stood as 123456."""
    tables = {
        "study": {"title": "T", "formula": "y ~ rcs(x, 123456.1, 123456.2, 123456.3)"},
        "survival": {"time": "t", "event": "e", "grid": [1234567.1, 1234567.2]},
    }
    words = "\n".join(study_in_words(parse_study(tables)))
    assert "with knots 123456.1, 123456.2, 123456.3" in words
    assert "at 2 times: 1234567.1, 1234567.2" in words
