"""`hocket demo`: the main job on an embedded default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer, bar


def demo(
    *,
    out: Annotated[
        Path | None, Parameter(help="Folder to write to; by default the next free runs/demo-1, …")
    ] = None,
) -> Answer:
    """Solve the paper's five-agent problem with four algorithms and write a report.

    DGD, RSS-NB, RSS-LB and FS on a ring of five, 10,000 rounds and 20 seeds each; takes less than a minute.
    """
    from hocket.config import new_folder
    from hocket.experiments.demo import conclusion, notes, play, result_table, write

    folder = new_folder("demo", out)
    results = play(watch=bar("Solving four ways"))
    page, seen = write(results, folder), conclusion(results)
    data = {
        "results": [result.summary() for result in results],
        "conclusion": seen,
        "folder": str(folder),
        "report": str(page),
    }
    return Answer(data, [result_table(results), *notes(results), f"Report: {page}", seen])
