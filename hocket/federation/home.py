"""Where a member keeps its own things: identity, journals of runs, and noise that outlives them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "HOCKET_HOME"


@dataclass(frozen=True)
class Home:
    """One member's folder, for its owner's eyes only."""

    folder: Path

    @classmethod
    def at(cls, folder: Path | None = None) -> Home:
        """The folder named, or the one in $HOCKET_HOME, or ~/.hocket."""
        return cls(folder or Path(os.environ.get(VARIABLE) or Path.home() / ".hocket"))

    @property
    def identity(self) -> Path:
        """The folder of the key and the certificate."""
        return self.folder / "identity"

    def run(self, plan: bytes) -> Path:
        """The folder of a plan's run, given the run's hash."""
        return self.folder / "runs" / plan.hex()[:16]

    def keepsakes(self, dataset: str) -> Path:
        """The file of what is kept for a dataset."""
        return self.folder / "datasets" / f"{dataset}.sqlite"

    def ledger(self, dataset: str) -> Path:
        """The file of the runs that a dataset has served."""
        return self.folder / "datasets" / f"{dataset}.runs.jsonl"
