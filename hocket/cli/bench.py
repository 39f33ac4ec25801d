"""`hocket bench`: a comparison that a file describes, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from hocket.cli.answer import Answer, aside
from hocket.cli.options import Out, command_line

RESULTS, FIGURE, PAGE, COPY = "results.csv", "figure", "report.html", "bench.toml"


def bench(file: Path, /, *, out: Out = None) -> Answer:
    """Run algorithms on problems and networks side by side, and rank them with how sure the ranking is.

    The folder gets results.csv with a row for every measured round of every run, the figure as SVG and PNG, a page that
    opens offline, and a copy of the file.

    Args:
        file: A TOML file with [problems], [networks], [algorithms] and [bench].
    """
    from hocket.bench.bench_file import read_bench
    from hocket.config import new_folder

    asked = read_bench(file)
    folder, goal = new_folder(file.stem, out), asked.bench.goal
    results, page = folder / RESULTS, folder / PAGE
    aside().print(f"Comparing in {folder}")
    found = asked.run()
    (folder / COPY).write_text(asked.text, encoding="utf-8")
    found.save(results)
    found.figure(goal=goal).save(folder, FIGURE)
    found.page(
        page,
        goal=goal,
        title=asked.bench.title,
        configuration=asked.text,
        commands=[command_line("hocket", "bench", folder / COPY)],
    )
    ranking = found.ranking("rounds", goal=goal)
    refused = [
        {"problem": problem, "network": network, "algorithm": algorithm, "because": why}
        for (problem, network, algorithm), why in found.refused.items()
    ]
    data = {
        "folder": str(folder),
        "results": str(results),
        "report": str(page),
        "runs": found.runs,
        "programs": found.programs,
        "seconds": found.seconds,
        "diverged": sum(int((~cell.finite).sum()) for cell in found.cells),
        "goal": goal,
        "ranking": ranking.rows(),
        "refused": refused,
    }
    lines = [
        f"{found.runs:,} runs in {found.programs} compiled programs, {found.seconds:.1f} s",
        found.table(goal=goal),
        ranking.table,
        ranking.method,
        *("Not run: {algorithm} on {problem}, {network}: {because}".format(**one) for one in refused),
        f"Report: {page}",
    ]
    return Answer(data, lines)
