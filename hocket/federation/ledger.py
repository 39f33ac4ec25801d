"""Which runs a dataset has served, a line of JSON each: what an audit must count, whatever was run.

Noise that is fresh in every run averages out over runs as it does over rounds, so a run more is a run more to average.
Nothing in the file is secret, and no lock is needed: it can be read while a run goes on.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hocket.errors import JournalError


class Served(NamedTuple):
    """One run on these data."""

    run: str
    """Tells runs apart, even of the same plan."""
    plan: str
    """The run's hash in the plan, see `FederationPlan.run_hash`."""
    algorithm: str


@dataclass(frozen=True)
class Ledger:
    """The runs of one dataset on this machine."""

    path: Path

    @property
    def runs(self) -> tuple[Served, ...]:
        """All runs that were begun, each once."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise JournalError(f"{self.path} cannot be read: {error.strerror}; change that first") from error
        return tuple(dict.fromkeys(self._read(line, number) for number, line in enumerate(lines, 1) if line))

    def count(self, run: Served) -> int:
        """How many runs these data have served, this one included; it counts once, however often it resumes."""
        before = self.runs
        if run in before:
            return len(before)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = self.path.with_name(self.path.name + ".part")
            with part.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(one._asdict()) + "\n" for one in (*before, run))
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
        except OSError as error:
            raise JournalError(
                f"{self.path} cannot be written: {error.strerror}; runs must be counted, so change that and start again"
            ) from error
        return len(before) + 1

    def _read(self, line: str, number: int) -> Served:
        try:
            return Served(**json.loads(line))
        except (TypeError, ValueError):
            raise JournalError(
                f"line {number} of {self.path} is damaged; restore the file, or remove the line and remember that a "
                "run is missing"
            ) from None
