"""A run that is long enough to be killed on the way.

Usage: python -m hocket.engines.cluster long_run.py FOLDER slowly|…; process 0 prints where it took the run up.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

import hocket as hk
from hocket.engines import checkpoint as checkpoints
from hocket.engines.cluster.sharded import Sharded
from hocket.runs.storage import read_arrays
from tests.laws.table import quadratics

ROUNDS = 3000


def play(engine: Any, folder: Path | None = None) -> hk.Run:
    """A run with persistent noise on a ring of nine, whose agents no number of processes up to four shares evenly."""
    network = hk.Network.cycle(9)
    algorithm = hk.RssNb(1.0, persistent=0.5)
    return hk.solve(
        quadratics(9, 2, 1), network, algorithm, rounds=ROUNDS, seed=4, engine=engine, checkpoint=folder
    )


def main() -> None:
    """Play it in a cluster, and leave a note of who plays."""
    folder, pace = Path(sys.argv[1]), sys.argv[2]
    number = jax.process_index()
    (folder / f"process-{number}").write_text(str(os.getpid()))
    kept = folder / "checkpoint.npz"
    if number == 0:
        sys.stdout.write(str(int(read_arrays(kept)["carry/0"])) if kept.exists() else "1")
    checkpoints.EVERY = 0.0
    if pace == "slowly":
        advance = Sharded.advance

        def slowly(self: Sharded, *args: Any) -> Any:
            time.sleep(0.3)
            return advance(self, *args)

        Sharded.advance = slowly
    run = play("cluster", folder)
    if number == 0:
        np.save(folder / "x.npy", run.x)


if __name__ == "__main__":
    main()
