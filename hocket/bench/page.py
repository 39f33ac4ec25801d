"""A page about a comparison: who comes first and how surely, what everybody spent, and what did not work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hocket.bench.comparison import GOAL
from hocket.bench.figures import by_place, overview
from hocket.errors import BadInput
from hocket.privacy.wording import counted
from hocket.report.page import AnswerCard, Figure, Page
from hocket.report.tables import Table, plain, settings_table
from hocket.runs.job import versions

if TYPE_CHECKING:
    from hocket.bench.comparison import Comparison
    from hocket.bench.ranking import Ranking


def write_page(
    comparison: Comparison,
    path: Path,
    *,
    title: str = "",
    goal: float = GOAL,
    configuration: str = "",
    commands: Sequence[str] = (),
) -> Path:
    """Write the page; returns where it lies."""
    if path.suffix != ".html":
        raise BadInput(f"{path} is no page; name a file that ends in .html")
    path.parent.mkdir(parents=True, exist_ok=True)
    by_rounds, by_bytes = (comparison.ranking(what, goal=goal) for what in ("rounds", "bytes"))
    several = len(comparison.places) > 1
    page = Page(
        title=title or f"{counted(len(comparison.algorithms), 'algorithm')} compared",
        facts=[
            counted(len(comparison.problems), "problem"),
            counted(len(comparison.networks), "network"),
            counted(len(comparison.algorithms), "algorithm"),
            counted(len(comparison.seeds), "seed"),
            counted(comparison.runs, "run"),
            counted(comparison.programs, "compiled program"),
            f"{plain(comparison.seconds)} s",
        ],
        summary=_summary(comparison, by_rounds, goal),
        cards=[_first(by_rounds, "rounds"), _first(by_bytes, "bytes"), _soundness(comparison)],
        tables=[comparison.table(goal=goal), by_rounds.table, by_bytes.table],
        notes=[
            by_rounds.method,
            "Gradients and bytes are what one agent spends, in the mean over agents; between two measured rounds gaps "
            "are taken to fall evenly on a logarithmic axis.",
            *([comparison.at_home] if comparison.at_home else []),
            *([comparison.partly] if comparison.partly else []),
        ],
        figure=overview(comparison, goal=goal),
        caption="Gaps are those of the worst agent, as parts of the gap at the start, over all problems, networks and "
        "seeds. Below, for each algorithm the share of runs that arrived within a multiple of what the best one took.",
        figures=[Figure.of(by_place(comparison), "Each problem and network by itself, against rounds.")]
        if several
        else [],
        details=[
            _every_cell(comparison, goal),
            *_refused(comparison),
            settings_table({"versions": versions()}),
        ],
        configuration=configuration or _configuration(comparison),
        commands=commands,
    )
    return page.save(path)


def _summary(comparison: Comparison, ranking: Ranking, goal: float) -> list[str]:
    first, *others = ranking.places
    if not first.arrived:
        lead = (
            f"No algorithm brings the gap down to {plain(goal)} of what it is at the start within the budget."
        )
    else:
        lead = (
            f"{first.algorithm} needs the fewest rounds to bring the gap down to {plain(goal)} of what it is at the "
            f"start: it has mean rank {first.rank:.1f} of {len(ranking.places)}, and arrives in {first.arrived:.0%} of "
            "the runs."
        )
    near = [one.algorithm for one in others if one.low <= first.high]
    close = f"Not told apart from it with confidence: {', '.join(near)}." if near and first.arrived else ""
    return [lead, *([close] if close else [])]


def _first(ranking: Ranking, what: str) -> AnswerCard:
    first = ranking.places[0]
    question = f"Who needs the fewest {what}?"
    if not first.arrived:
        return AnswerCard(question, "nobody arrives", "open")
    sure = all(one.low > first.high for one in ranking.places[1:])
    interval = f"Mean rank {first.rank:.2f}, 95 % interval {first.low:.2f} to {first.high:.2f}."
    rest = "Its interval lies below all others." if sure else "Other intervals overlap its own."
    return AnswerCard(question, first.algorithm, "holds" if sure else "open", (interval, rest))


def _soundness(comparison: Comparison) -> AnswerCard:
    lost = {cell.algorithm: int((~cell.finite).sum()) for cell in comparison.cells if not cell.finite.all()}
    total = sum(int((~cell.finite).sum()) for cell in comparison.cells)
    refused = (
        (f"{counted(len(comparison.refused), 'combination')} refused by the algorithm itself: see below.",)
        if comparison.refused
        else ()
    )
    if not total:
        return AnswerCard("Did all runs stay finite?", "yes", "holds", refused)
    return AnswerCard(
        "Did all runs stay finite?",
        f"{total:,} of {comparison.runs:,} diverged",
        "exposed",
        (f"Of {', '.join(lost)}.", *refused),
    )


def _every_cell(comparison: Comparison, goal: float) -> Table:
    rows: list[tuple[str, ...]] = []
    for cell in comparison.cells:
        taken = float(np.median(cell.reached(goal)))
        rows.append(
            (
                cell.problem,
                cell.network,
                cell.algorithm,
                plain(float(np.median(cell.gap[:, -1]))),
                plain(taken) if np.isfinite(taken) else "–",
                str(int(cell.rounds[-1])),
                cell.step,
            )
        )
    return Table(
        ("problem", "network", "algorithm", "last gap", "rounds to the goal", "rounds", "step"),
        tuple(rows),
        caption="Every problem, network and algorithm: medians over seeds",
        numeric=frozenset({3, 4, 5}),
    )


def _refused(comparison: Comparison) -> list[Table]:
    if not comparison.refused:
        return []
    rows = tuple((*place, why) for place, why in comparison.refused.items())
    return [Table(("problem", "network", "algorithm", "because"), rows, caption="What was not run")]


def _configuration(comparison: Comparison) -> str:
    from hocket.config.files import dumps

    names = ("problems", "networks", "algorithms", "seeds")
    return dumps({"comparison": {name: list(getattr(comparison, name)) for name in names}})
