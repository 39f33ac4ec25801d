"""A member's folder as a run leaves it at some moment, for anybody who looks at it."""

from __future__ import annotations

import fcntl
import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.federation.monitoring.watching.snapshot import Snapshot, look
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.state.run_folder import RunFolder, write_json
from tests.peers.plans import drawn

ME = "clinic-c"
MOVING = {"movement": 0.02, "movement_rounds": 40, "movement_ahead": 0.3, "movement_growth": 1.0}


@dataclass(frozen=True)
class Watched:
    """A plan of five clinics, and one of them in the middle of its rounds."""

    root: Path
    plan: FederationPlan
    folder: RunFolder

    @classmethod
    def of(cls, root: Path, plan: FederationPlan | None = None) -> Watched:
        plan = plan or drawn(rounds=1000)
        folder = RunFolder(root / "runs" / plan.run_hash.hex()[:16])
        folder.make()
        write_plan(plan, root / "plan.toml")
        write_plan(plan, folder.plan)
        return cls(root, plan, folder)

    def look(self, **more: Any) -> Snapshot:
        return look(self.plan, self.folder, ME, **more)

    def lines(self, *, rounds: int = 200, pace: float = 0.25, restart: int = 0) -> list[dict[str, Any]]:
        """Measurements up to now, a line each quarter of a second; counters began anew after `restart` rounds."""
        now = time.time()
        return [
            {
                "time": now - pace * (rounds - k),
                "round": 2 * k,
                "disagreement": 0.5 + 0.1 * math.sin(k / 9),
                "bytes_sent": 1_000 * (k - restart if k > restart else k),
                "bytes_received": 2_000 * (k - restart if k > restart else k),
                "repeats": 0,
                **MOVING,
                "loss": 2 * math.exp(-k / 90) + 0.2,
                "lag": {"clinic-a": 0.0, "clinic-b": 0.012, "clinic-d": 0.0, "clinic-e": 0.003},
            }
            for k in range(1, rounds + 1)
        ]

    def write(self, lines: list[dict[str, Any]] | None = None, **changes: Any) -> None:
        """Measurements, a log and a status."""
        lines = self.lines() if lines is None else lines
        self.folder.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
        events = [
            {"event": "joined", "neighbour": "clinic-b"},
            {"event": "lost", "neighbour": "clinic-e", "reason": "the connection was reset"},
        ]
        self.folder.log.write_text(
            "".join(json.dumps({"time": time.time() - 5, **event}) + "\n" for event in events)
        )
        last = {key: value for key, value in lines[-1].items() if key not in ("time", "lag")} if lines else {}
        status = {
            "member": ME,
            "task": "digits",
            "round": last.get("round", 0) + 1,
            "rounds": self.plan.run.rounds,
            "finished": False,
            "connected": ["clinic-a", "clinic-b", "clinic-d", "clinic-e"],
            "waiting_for": {},
            "waiting_seconds": 0.0,
            "dropped": [],
            "verdict": [],
            "measured": last,
        }
        write_json(self.folder.path / "status.json", status | changes)

    @contextmanager
    def running(self) -> Iterator[None]:
        """As if a process held the journal."""
        file = os.open(f"{self.folder.journal}.lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(file)
