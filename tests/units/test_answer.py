"""Tables in a terminal: whatever its width, no number loses its end."""

from __future__ import annotations

import pytest

from hocket.cli.answer import Answer, give
from hocket.report.tables import Table


@pytest.mark.parametrize("columns", [20, 50, 80, 200])
def test_no_number_and_no_name_is_cut(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    cells = ("C(restecg)[ST-T abnormality]", "-0.0781234567", "4.221e-07", "words " * 30)
    table = Table(("term", "estimate", "p", "because"), (cells, cells), numeric=frozenset({1, 2}))
    give(Answer({}, [table]), as_json=False)
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert all(shown.count(cell) == 2 for cell in cells[:3])
    assert shown.count("words") == 60


@pytest.mark.parametrize("columns", [20, 50, 80, 200])
def test_a_title_longer_than_its_cells_takes_no_room_from_other_columns(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    row = ("180", "117, 28, 0.640 (0.622, 0.645)", "84, 8, 0.839 (0.835, 0.844)")
    titles = ("time", *(f"sex {sex}: at risk, events, survival (no less, no more)" for sex in (1, 2)))
    give(Answer({}, [Table(titles, (row,), numeric=frozenset({0, 1, 2}))]), as_json=False)
    shown = capsys.readouterr().out
    assert all(cell in shown for cell in ("time", *row))
