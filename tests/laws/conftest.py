"""Laws of rows for which others stand run with the slow ones."""

from __future__ import annotations

import pytest

from .table import Row


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        row = (
            item.callspec.params.get("row")
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else None
        )
        if isinstance(row, Row) and row.alike:
            item.add_marker(pytest.mark.slow)
