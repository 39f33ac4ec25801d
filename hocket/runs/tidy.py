"""Measurements as a tidy table: a row for every point of every run, in files and as a pandas frame."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from hocket.errors import BadInput

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
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = iter(rows)
        first = next(rows, None)
        if first is not None:
            writer = csv.DictWriter(file, list(first), lineterminator="\n")
            writer.writeheader()
            writer.writerows(chain([first], rows))
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
