"""What is shown of the counts: two tables, results as JSON, data as CSV, and the page."""

from __future__ import annotations

from typing import Any

from hocket.privacy.plain_values import plain_values
from hocket.report.page import Page
from hocket.report.tables import Table
from reproductions.experiment import Experiment
from reproductions.reconstruction.graphs import ABSENT
from reproductions.reconstruction.runs import (
    ALGORITHMS,
    FULL,
    QUICK,
    Comparison,
    Left,
    Reconstruction,
    play,
)


def count_table(found: Reconstruction) -> Table:
    """Theirs beside ours."""
    rows = tuple(
        (
            f"{one.graph}, {one.attack}",
            one.attackers,
            one.rounds,
            f"{len(one.ours) * one.agents:,}",
            f"{sum(one.theirs):,}",
            f"{sum(one.ours):,}",
            f"{one.equal} of {len(one.ours)}",
            f"{sum(one.exact):,}",
        )
        for one in found.comparisons
    )
    head = ("graph, attack", "attackers", "rounds", "values", "theirs", "ours", "equal", "exactly")
    caption = "Values that attackers reconstruct, summed over attackers or graphs: the authors' code and ours"
    return Table(head, rows, caption, numeric=frozenset(range(2, 8)))


def left_table(found: Reconstruction) -> Table:
    """What hocket's algorithms leave of it."""
    lines = list(dict.fromkeys((one.graph, one.attackers, one.rounds, one.honest) for one in found.left))
    cells = {(one.graph, one.attackers, one.algorithm): _cell(one) for one in found.left}
    labels = [kind.title for kind in ALGORITHMS]
    rows = tuple(
        (line[0], line[1], str(line[2]), str(line[3]), *(cells[line[0], line[1], label] for label in labels))
        for line in lines
    )
    caption = "Honest agents whose gradients are known exactly, + exposed to averaging, per algorithm"
    head = ("graph", "attacker", "rounds", "honest", *labels)
    return Table(head, rows, caption, numeric=frozenset(range(2, len(head))))


def _cell(one: Left) -> str:
    return f"{one.exact} + {one.averaged}" if one.averaged else str(one.exact)


def notes(found: Reconstruction) -> list[str]:
    """How to read the tables."""
    words = [
        "A value is reconstructed where its unit vector lies in the row space of what the attackers received (Mrini, "
        "Cyffers and Bellet, ICML 2024). “Ours” eliminates in double precision with their tolerances, “exactly” modulo "
        "a prime: rounding makes them give up what is there, on large graphs a good part of it. Where a pivot is close "
        "to the tolerance, double precision may count otherwise on another machine; the exact count does not.",
        "What is left is by the ranks of hk.leakage: gradients that stay the same, a public start, noise of the same "
        "size on every link, Metropolis weights as theirs. “+ averaged” are agents whose noise wears off with rounds. "
        "The table counts nothing that a known form of the objectives gives away.",
    ]
    return [*words, ABSENT] if found.absent else words


def conclusion(found: Reconstruction) -> str:
    """What was seen, in one plain sentence."""
    equal = sum(one.equal for one in found.comparisons)
    counts = sum(len(one.ours) for one in found.comparisons)
    verb = "all are" if equal == counts else f"{equal:,} are"
    exact = {
        kind.title: sum(one.exact for one in found.left if one.algorithm == kind.title) for kind in ALGORITHMS
    }
    left = "; ".join(f"{label} {count:,}" for label, count in exact.items())
    return (
        f"Of {counts:,} counts by the authors' code {verb} reproduced. Known exactly, of "
        f"{sum(one.honest for one in found.left) // len(ALGORITHMS):,} honest agents in the second table: {left}."
    )


def data(found: Reconstruction) -> dict[str, Any]:
    """The results for JSON."""
    return {
        "counts": [_count(one) for one in found.comparisons],
        "left": left_rows(found),
        "ego_414": not found.absent,
        "seconds": round(found.seconds, 1),
    }


def _count(one: Comparison) -> dict[str, Any]:
    about = plain_values(one, "graph", "attack", "attackers", "rounds", "agents", "equal")
    return about | {name: list(getattr(one, name)) for name in ("theirs", "ours", "exact")}


def count_rows(found: Reconstruction) -> list[dict[str, Any]]:
    """Every single count, a row each."""
    return [
        plain_values(one, "graph", "attack", "attackers", "rounds", "agents")
        | {"number": place, "theirs": theirs, "ours": ours, "exact": exact}
        for one in found.comparisons
        for place, (theirs, ours, exact) in enumerate(zip(one.theirs, one.ours, one.exact, strict=True))
    ]


def left_rows(found: Reconstruction) -> list[dict[str, Any]]:
    """What every algorithm leaves, a row each."""
    names = ("graph", "attackers", "rounds", "honest", "algorithm", "exact", "averaged")
    return [plain_values(one, *names) for one in found.left]


def page(found: Reconstruction) -> Page:
    """What this page says that no other does."""
    return Page(
        title="Reconstruction: what plain gossip gives away, and what noise that cancels leaves of it",
        summary=[
            "Attackers who follow gossip averaging work values of agents out whom they never receive, by "
            "linear algebra "
            "alone. The counts are those of the authors' own code; beside them stands what the auditor finds left "
            "under each of hocket's algorithms."
        ],
        commands=["hocket reproduce reconstruction"],
    )


RECONSTRUCTION = Experiment(
    name="reconstruction",
    doing="Counting",
    full=FULL,
    quick=QUICK,
    play=play,
    tables=lambda found: [count_table(found), left_table(found)],
    notes=notes,
    conclusion=conclusion,
    data=data,
    series=lambda found: {"counts": count_rows(found), "left": left_rows(found)},
    figure=lambda found: None,
    page=page,
)
