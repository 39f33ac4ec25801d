"""Measurements as a tidy table: a row for every point of every run, in files and as a pandas frame."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from hocket.errors import BadInput
from hocket.files import csv_text

Row = Mapping[str, Any]


def write_rows(rows: Iterable[Row], path: str | Path) -> Path:
    """Write rows as comma-separated values or as JSON, by the name of the file; every digit is kept."""
    path = Path(path)
    if path.suffix not in (".csv", ".json"):
        raise BadInput(f"{path} is neither .csv nor .json; name a file that ends in one of these")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".json":
        path.write_text(json.dumps(finite_rows(rows), indent=0, allow_nan=False) + "\n", encoding="utf-8")
        return path
    kept = list(rows)
    head = list(kept[0]) if kept else []
    if more := {name for row in kept for name in row} - {*head}:
        raise ValueError(f"the first row has no {', '.join(sorted(more))}")
    text = csv_text([head, *([row.get(name, "") for name in head] for row in kept)] if kept else [])
    path.write_text(text, encoding="utf-8", newline="")
    return path


def frame_of(rows: Iterable[Row]) -> Any:
    """The rows as a pandas frame."""
    try:
        pandas: Any = import_module("pandas")
    except ImportError:
        raise BadInput(
            "a frame needs pandas, which is not installed; install it with: pip install pandas, or take .rows()"
        ) from None
    return pandas.DataFrame.from_records([dict(row) for row in rows])


def finite_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as JSON has them: what is no finite number is null."""

    def finite(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return [{name: finite(value) for name, value in row.items()} for row in rows]
