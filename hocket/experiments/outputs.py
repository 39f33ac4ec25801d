"""What an experiment leaves in its folder: data as CSV, results as JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = "results.json"
PAGE = "report.html"


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows with the same keys as comma-separated values, every digit kept."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """One JSON object, for people to read as well."""
    path.write_text(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2) + "\n", encoding="utf-8")


def quantiles(values: np.ndarray) -> dict[str, float]:
    """The median over runs, and where 80 % of them lie."""
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9)).tolist()
    return {"median": middle, "low": low, "high": high}
