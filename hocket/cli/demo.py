"""`hocket demo`: the main job on an embedded default."""

from __future__ import annotations

import atexit
import gc
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.reproduce import run
from hocket.machine import few_searches


def demo(
    *,
    out: Annotated[
        Path | None, Parameter(help="Folder to write to; by default the next free runs/demo-1, …")
    ] = None,
) -> Answer:
    """Fit one regression over four clinics by totals, solve the paper's problem with four algorithms, write a report.

    First tumours of scikit-learn's data in four tables, where that is installed. Then DGD, RSS-NB, RSS-LB and FS on a
    ring of five, 10,000 rounds and 20 seeds each. Takes less than a minute.
    """
    # What is left goes with the process: to look through all of it once more takes half a second. Commands that run
    # code of users must, since a file of theirs may be flushed by it.
    atexit.register(gc.freeze)
    with few_searches():
        from hocket.experiments.demo import DEMO

        return run(DEMO, out)
