"""`hocket demo`: the main job on an embedded default."""

from __future__ import annotations

import gc

from hocket.cli.answer import Answer, bar
from hocket.cli.options import Out


def demo(*, out: Out = None) -> Answer:
    """Fit one regression over four clinics by secure sums, solve the paper's problem four ways, and write a report.

    First tumours of scikit-learn's data in four tables, where that is installed. Then DGD, RSS-NB, RSS-LB and FS on a
    ring of five, 10,000 rounds and 20 seeds each. Takes less than a minute.
    """
    from hocket.config import new_folder
    from hocket.demo.demonstration import demonstrate

    folder = new_folder("demo", out)
    gc.disable()  # nearly all that it makes stays until its end: to look for garbage in it takes a fifth of its time
    try:
        found = demonstrate(watch=bar("Solving four ways"))
        page = found.write(folder)
    finally:
        gc.enable()
    first = [] if found.opening is None else [*found.opening.sections[0].tables, *found.opening.summary]
    words = [*first, found.table, *found.notes, f"Report: {page}", found.conclusion]
    return Answer(found.data | {"folder": str(folder), "report": str(page)}, words)
