"""The folder of an experiment of many runs: each is written as it ends, and none is made twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.config import new_folder
from hocket.errors import BadConfig
from hocket.experiments.learning.cases import Case
from hocket.experiments.learning.outcomes import Outcome
from hocket.experiments.outputs import write_json
from hocket.machine import replace_text

SETTING = "setting.json"
RUNS = "runs"


@dataclass(frozen=True)
class Kept:
    """What is there already."""

    folder: Path

    @staticmethod
    def open(name: str, out: Path | None, setting: dict[str, Any]) -> Kept:
        """A new folder, or one in which the same experiment was begun."""
        if out is not None and (out / SETTING).is_file():
            there = json.loads((out / SETTING).read_text(encoding="utf-8"))
            for key in (key for key in setting | there if setting.get(key) != there.get(key)):
                raise BadConfig(
                    f"{out} holds runs with {key} = {there.get(key)!r}, and now it is {setting.get(key)!r}; name a new "
                    "folder, or ask for the same again"
                )
            return Kept(out)
        folder = new_folder(name, out)
        (folder / RUNS).mkdir()
        write_json(folder / SETTING, setting)
        return Kept(folder)

    def find(self, case: Case) -> Outcome | None:
        """The outcome of a case that was run before."""
        path = self._path(case)
        return Outcome.of(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome, all of it or nothing."""
        replace_text(self._path(outcome.case), json.dumps(outcome.data(), ensure_ascii=False))

    def _path(self, case: Case) -> Path:
        return self.folder / RUNS / f"{case.slug}.json"
