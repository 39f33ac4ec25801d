"""Groups of processes for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.engines.cluster.local_processes import run_together

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Results:
    """What a group of processes wrote down."""

    folder: Path

    def arrays(self, case: str) -> dict[str, np.ndarray]:
        with np.load(self.folder / f"{case}.npz") as archive:
            return dict(archive.items())

    def facts(self, case: str) -> dict[str, Any]:
        return json.loads((self.folder / f"{case}.json").read_text(encoding="utf-8"))

    @property
    def said(self) -> dict[str, Any]:
        return self.facts("said")


def play_together(processes: int, cases: Iterable[str], folder: Path, monkeypatch: Any) -> Results:
    """All cases, in one group of processes: each takes seconds to start."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # members import the table of cases
    command = ["hocket.engines.cluster", str(HERE / "member.py"), str(folder), ",".join(cases)]
    ended = run_together(command, processes)
    assert ended.well, ended
    return Results(folder)
