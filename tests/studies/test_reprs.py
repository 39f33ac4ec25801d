"""What studies print of their objects, in a console, a log or a traceback, holds no value of a patient."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hocket.studies
from hocket.federation.workloads.study import StudyTask
from hocket.studies import Table, check_table, parse_study
from hocket.studies.disclosure.row_sets import row_sets
from hocket.studies.models.cox import stratum
from hocket.studies.models.glm import observed
from hocket.studies.spec.columns import understood
from hocket.studies.summaries.time_grid import FollowUp

PER_ROW = re.compile(r"\b\w+\[np\.ndarray, ['\"][^'\"]*\brows\b|Sequence\[Any\]|Sequence\[object\]")
"""Annotations of values that each row has."""


def dataclasses_of_studies() -> Iterator[type[Any]]:
    for module in pkgutil.walk_packages(hocket.studies.__path__, "hocket.studies."):
        loaded = importlib.import_module(module.name)
        for one in vars(loaded).values():
            if inspect.isclass(one) and one.__module__ == module.name and dataclasses.is_dataclass(one):
                yield one


@pytest.mark.parametrize("one", [*dataclasses_of_studies()], ids=lambda one: one.__qualname__)
def test_no_dataclass_prints_what_each_row_has(one):
    for field in dataclasses.fields(one):
        assert not field.repr or not PER_ROW.search(str(field.type)), f"{one.__qualname__}.{field.name}"


def test_the_rule_finds_what_holds_rows():
    holders = {
        one.__name__
        for one in dataclasses_of_studies()
        if any(PER_ROW.search(str(field.type)) for field in dataclasses.fields(one))
    }
    assert {"Table", "Rows", "Cells", "Observed", "FollowUp", "Stratum", "Design", "RowSet"} <= holders


SECRET = 8765.25
TOLD = re.compile(r"8765|secret", re.IGNORECASE)


def test_nothing_prints_a_value():
    """check_table's repr had the least, the greatest and the mean of every column, and each level's count."""
    columns = {
        "y": [SECRET] * 30 + [1.0] * 30,
        "t": [SECRET] * 60,
        "e": [1.0, 0.0] * 30,
        "note": ["secret"] * 60,
    }
    columns["x"] = [SECRET + one for one in range(60)]
    study = parse_study(
        {
            "study": {"title": "T", "formula": "y ~ x"},
            "survival": {"time": "t", "event": "e", "grid": [1.0]},
            "columns": {"note": {"missing_values": ["unknown"]}},
        }
    )
    table = Table.of(columns, "clinic.csv")
    check, rows = check_table(study, table)
    cox = parse_study({"study": {"title": "T", "formula": "Surv(t, e) ~ x", "family": "cox"}})
    values = {name: np.array(column, dtype=float) for name, column in columns.items() if name != "note"}
    objects = [
        table,
        rows,
        check,
        StudyTask(study, table, "anna"),
        observed(study, values, 60),
        stratum(cox, values, 60),
        FollowUp(values["t"], values["e"], np.zeros(60), 1),
        understood("x", study.column("x"), columns["x"]),
        understood("x", study.column("x"), ["secret", "8765,25"]),
        *row_sets(rows),
    ]
    for one in objects:
        assert not TOLD.search(repr(one)), repr(one)
    assert repr(table) == "Table('clinic.csv', rows=60, columns=['y', 't', 'e', 'note', 'x'])"
    assert repr(rows).startswith("Rows('clinic.csv', rows=60, columns=['y', 'x'")
    assert "secret" not in repr(check)
    assert "kept=60" in repr(check)
