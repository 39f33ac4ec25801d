"""The folder of one run in a member's home.

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
        """Replace the status; whoever reads it sees the old one or the new one."""
        part = self.path / "status.json.part"
        part.write_text(json.dumps(status), encoding="utf-8")
        os.replace(part, self.path / "status.json")

    def status(self) -> dict[str, Any]:
        """What the member's process last said about itself."""
        try:
            return json.loads((self.path / "status.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadConfig(
                f"no run of this plan was begun in {self.path}; begin it with hocket peer run"
            ) from None
