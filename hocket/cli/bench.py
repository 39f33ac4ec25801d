"""`hocket bench`: a comparison that a file describes, in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer, Out, aside

RESULTS, FIGURE, PAGE, COPY = "results.csv", "figure", "report.html", "bench.toml"


def bench(
    file: Annotated[
        Path, Parameter(help="A TOML file with [problems], [networks], [algorithms] and [bench].")
    ],
    /,
    *,
    out: Out = None,
) -> Answer:
    """Run algorithms on problems and networks side by side, and say who comes first and how surely.

    The folder gets results.csv with a row for every measured round of every run, the figure as SVG and PNG, a page that
    opens offline, and a copy of the file.
    """
    import shlex

    from hocket.bench.bench_file import read_bench
    from hocket.config import new_folder

    asked = read_bench(file)
    folder = new_folder(file.stem, out)
    aside().print(f"Comparing in {folder}")
    found = asked.run()
    goal = asked.bench.goal
    (folder / COPY).write_text(asked.text, encoding="utf-8")
    found.save(folder / RESULTS)
    found.figure(goal=goal).save(folder, FIGURE)
    found.page(
        folder / PAGE,
        goal=goal,
        title=asked.bench.title,
        configuration=asked.text,
        commands=[f"hocket bench {shlex.quote(str(folder / COPY))}"],
    )
    ranking = found.ranking("rounds", goal=goal)
    diverged = sum(int((~cell.finite).sum()) for cell in found.cells)
    data = {
        "folder": str(folder),
        "results": str(folder / RESULTS),
        "report": str(folder / PAGE),
        "runs": found.runs,
        "programs": found.programs,
        "seconds": found.seconds,
        "diverged": diverged,
        "goal": goal,
        "ranking": ranking.rows(),
        "refused": [
            {"problem": problem, "network": network, "algorithm": algorithm, "because": why}
            for (problem, network, algorithm), why in found.refused.items()
        ],
    }
    words = [
        f"{found.runs:,} runs in {found.programs} compiled programs, {found.seconds:.1f} s",
        found.table(goal=goal),
        ranking.table,
        ranking.method,
        *(f"Not run: {algorithm} on {problem}, {network}: {why}" for (problem, network, algorithm), why in
          found.refused.items()),
        f"Report: {folder / PAGE}",
    ]  # fmt: skip
    return Answer(data, words)
