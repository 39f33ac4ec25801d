"""`hocket demo`: the main job on an embedded default."""

from __future__ import annotations

from hocket.cli.answer import Answer, Out
from hocket.cli.reproduce import run
from hocket.machine import few_searches


def demo(*, out: Out = None) -> Answer:
    """Fit one regression over four clinics by totals, solve the paper's problem with four algorithms, write a report.

    First tumours of scikit-learn's data in four tables, where that is installed. Then DGD, RSS-NB, RSS-LB and FS on a
    ring of five, 10,000 rounds and 20 seeds each. Takes less than a minute.
    """
    with few_searches():
        from hocket.experiments.demo import DEMO

        return run(DEMO, out)
