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
