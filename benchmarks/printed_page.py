"""The page of documentation about printed numbers beside attacks, from rows that `printed_beside_attacks.py` kept.

python benchmarks/printed_page.py docs/results/attacks.jsonl > docs/results/attacks.md
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from printed_beside_attacks import ROUNDS, WANTED, Row, cells, rows_in

CAUTIOUS = 3.0
HEAD = """# Printed numbers beside attacks

    python benchmarks/printed_beside_attacks.py --rows docs/results/attacks.jsonl
    python benchmarks/printed_page.py docs/results/attacks.jsonl > docs/results/attacks.md

Can an attack that hocket ships beat what hocket prints? Every row is an algorithm, a listener, a class of objectives,
and whether the feasible set is active. *Printed* is the ± of `hk.leakage` with the form of the run's own objectives, as
an audit of the run prints it. *Found* is the error of the best attack, of all that apply, on the gradients of the last
of {rounds} rounds, root mean square over honest agents and coordinates. *Ratio* compares the two agent by agent; a
± beyond the size of a gradient, "as good as unknown", counts as that size, by which a guess of zero is off. All
are medians over {seeds} seeds. An attack that does exactly as well as foretold has a ratio a little under 1, so that
{wanted} is where a printed number counts as beaten. Where "exact" is printed, hocket claims to hide nothing.

{count} rows{missing}: {beaten}; {held} between {wanted} and {cautious:g}, {wary} above {cautious:g},
{bare} where nothing is claimed, {proved} with a theorem in place of an estimate. {minutes:.0f} minutes of one core.
"""
TABLE = """
| algorithm | listener | objectives | set | printed ± | found | ratio | best attack |
|---|---|---|---|---|---|---|---|
"""
WARY = """
## Where hocket is too cautious

In these rows no attack that we ship comes within {cautious:g} times what is printed. The number stands all the same: a
bound along the path of the run, which assumes a listener who knows the form of all objectives and which steps the set
cut short. It may be that nobody can do as well, or that we have not written the attack.

"""


def page(rows: list[Row]) -> str:
    """All of it, in Markdown."""
    ratios = np.array([row.ratio for row in rows])
    beaten = [row for row in rows if row.ratio < WANTED]
    wary, every = [row for row in rows if row.ratio > CAUTIOUS], len([*cells()])
    counts = {
        "count": len(rows),
        "missing": f" of {every}, the others not yet played" if len(rows) < every else "",
        "beaten": f"{len(beaten)} beaten" if beaten else "none is beaten",
        "held": int(np.sum((ratios >= WANTED) & (ratios <= CAUTIOUS))),
        "wary": len(wary),
        "bare": sum(row.printed == 0 for row in rows),
        "proved": sum("theorem" in row.note for row in rows),
        "minutes": sum(row.seconds for row in rows) / 60,
    }
    head = HEAD.format(rounds=ROUNDS, seeds=rows[0].seeds, wanted=WANTED, cautious=CAUTIOUS, **counts)
    listed = "".join(f"- {_place(row)}: {row.ratio:.1f} times, by the {row.attack} attack\n" for row in wary)
    return head + TABLE + "".join(map(_line, rows)) + WARY.format(cautious=CAUTIOUS) + (listed or "None.\n")


def _line(row: Row) -> str:
    cell, active = row.cell, "active" if row.cell.active else "wide"
    place = f"| {cell.algorithm} | {cell.listener} | {cell.objectives} | {active} |"
    if np.isnan(row.ratio):
        said = "theorem" if np.isnan(row.printed) else "exact" if row.printed == 0 else f"{row.printed:.2g}"
        return f"{place} {said} | | | {'' if said in ('exact', 'theorem') else row.note} |\n"
    beaten = " **beaten**" if row.ratio < WANTED else ""
    return f"{place} {row.printed:.2g} | {row.found:.2g} | {row.ratio:.2f}{beaten} | {row.attack} |\n"


def _place(row: Row) -> str:
    cell = row.cell
    return f"{cell.algorithm}, {cell.listener}, {cell.objectives}, {'active' if cell.active else 'wide'} set"


def main() -> None:
    order = {cell: place for place, cell in enumerate(cells())}
    print(page(sorted(rows_in(Path(sys.argv[1])), key=lambda row: order[row.cell])), end="")


if __name__ == "__main__":
    main()
