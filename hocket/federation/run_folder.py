"""The folder of one run in a member's home.

plan.toml       what everybody signed, for whoever reads the folder later
about.json      who runs it, as which of how many runs on these data, and under which versions
audit.json      the verdict on the plan, as this member was told when it signed
survivors.json  the verdict on what remains, if somebody was dropped
journal.db      where the run stands
status.json     what `hocket peer status` shows
metrics.jsonl   measurements, a line each
log.jsonl       what happened, without any state, gradient or noise
votes/          votes of this member's operator, until they are sent
published.*     what may be given away at the end
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.errors import BadConfig


@dataclass(frozen=True)
class RunFolder:
    """Names in one run's folder."""

    path: Path

    def make(self) -> None:
        """Make the folder, for its owner alone."""
        self.votes.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)

    @property
    def plan(self) -> Path:
        return self.path / "plan.toml"

    @property
    def about(self) -> Path:
        return self.path / "about.json"

    @property
    def audit(self) -> Path:
        return self.path / "audit.json"

    @property
    def survivors(self) -> Path:
        return self.path / "survivors.json"

    @property
    def journal(self) -> Path:
        return self.path / "journal.db"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def votes(self) -> Path:
        return self.path / "votes"

    @property
    def published(self) -> Path:
        """Without its ending, which is the framework's."""
        return self.path / "published"

    def write_status(self, status: dict[str, Any]) -> None:
        """Replace the status."""
        write_json(self.path / "status.json", status)

    def status(self) -> dict[str, Any]:
        """What the member's process last said about itself."""
        try:
            return read_json(self.path / "status.json")
        except FileNotFoundError:
            raise BadConfig(
                f"no run of this plan was begun in {self.path}; begin it with hocket peer run"
            ) from None

    @property
    def dropped(self) -> frozenset[str]:
        """Members who were dropped from the run, as far as the process has said: nothing more is asked of them."""
        found = self.path / "status.json"
        return frozenset(read_json(found)["dropped"]) if found.exists() else frozenset()


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Replace a file; whoever reads it sees the old one or the new one."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    os.replace(part, path)


def read_json(path: Path) -> dict[str, Any]:
    """What `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))
