"""The table of attacks: what a neighbour recovers under each algorithm, and what none of them hides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hocket.errors import BadInput
from hocket.learning.data import Split, digits
from hocket.report.tables import Table
from reproductions.attacks.fit_trials import FOUND, PRINTED, fits
from reproductions.attacks.trials import (
    ACCURACY,
    ADVANTAGE,
    CANARY,
    FINAL,
    GUESS,
    MEMBER,
    RECONSTRUCT,
    Effort,
    Row,
    inversions,
    memberships,
)

EXACT = 1e-4
"""Relative error below which rounding of single-precision messages is all that is left."""
MISSING, NOT_APPLIED = "—", "does not apply"
QUICK = Effort(levels=(1.0,), batches=(1,), exchanges=20, epochs=100, epsilon=None)


def attack_rows(
    split: Split | None = None,
    *,
    effort: Effort = Effort(),  # noqa: B008 - frozen
    say: Callable[[str], None] = lambda words: None,
) -> list[Row]:
    """Train, attack and measure: gradient inversion and membership inference under every algorithm.
    On scikit-learn's digits unless told otherwise; `QUICK` is enough to see what is to be seen.
    """
    if effort.seeds < 1:
        raise BadInput(f"seeds = {effort.seeds}; measure at least one")
    split = split or digits()
    rows = []
    for measured in (inversions, fits, memberships):
        for row in measured(split, effort):
            rows.append(row)
            say(f"{row.attack}, {row.on}, {row.method}: {_cell(row)}")
    return rows


def attack_table(rows: Sequence[Row], effort: Effort = Effort()) -> Table:  # noqa: B008 - frozen
    """A line for each attack, a column for each algorithm."""
    methods = list(dict.fromkeys(row.method for row in rows if row.method != GUESS))
    methods += [GUESS] if any(row.method == GUESS for row in rows) else []
    lines = list(dict.fromkeys((row.attack, row.on) for row in rows))
    cells = {(row.attack, row.on, row.method): _cell(row) for row in rows}
    return Table(
        ("attack", "on", *methods),
        tuple((*line, *(cells.get((*line, method), MISSING) for method in methods)) for line in lines),
        f"What one neighbour on K5 recovers, mean ± standard deviation over {effort.seeds} seeds; noise over the rms "
        "of a gradient",
        numeric=frozenset(range(2, 2 + len(methods))),
    )


def attack_notes(rows: Sequence[Row]) -> list[str]:
    """How to read the table, with the row that nobody should overlook."""
    notes = [
        "Samples are reconstructed from gradients of logistic regression, one local step on the whole batch; in the "
        "first exchange from a public start, in all from the same batch seen again. FS here shares linear functions, "
        "which add the same offset to every gradient: the difference of two gradients is free of it.",
        "AUC: 0.5 is guessing. Whose sample it is: the target's against other agents', by how much its "
        "messages fit the "
        "sample better than the mean model does. Whether it was trained on: by its loss beside that of a model trained "
        "on other samples. The advantage is the rate of hits minus that of false alarms, at a threshold that the "
        "attacker calibrates on samples of its own.",
    ]
    if any(row.attack == PRINTED for row in rows):
        notes.append(
            "Four numbers: logistic regression of two labels on samples of four numbers, one to each agent, over whole "
            "shards. Samples are fitted to sums over all agents (the sum attack) or to everything that was "
            "received (the "
            "model attack), labels being known; replaced: one agent's sample is another one in a second training under "
            "the same kept noise, and that one is found. As printed: the audit's estimate of how well a gradient is "
            "known, over its size."
        )
    reasons = dict.fromkeys((row.method.split(",")[0], row.why) for row in rows if row.rate is None)
    if reasons:
        by_reason: dict[str, list[str]] = {}
        for method, why in reasons:
            by_reason.setdefault(why, []).append(method)
        listed = "; ".join(f"{why} ({', '.join(methods)})" for why, methods in by_reason.items())
        notes.append(f"Where a fit does not apply: {listed}.")
    if any(row.attack == CANARY for row in rows):
        notes.append(
            "By a canary: a 95 % lower confidence bound on ε, from 10,000 runs of one step with the worst sample there "
            "can be and as many with its opposite. Above the stated ε it would refute it; below, it proves nothing."
        )
    final = [row for row in rows if (row.attack, row.on) == (MEMBER, FINAL)]
    if final:
        shown = "; ".join(f"{row.method} {_cell(row)}" for row in final)
        notes.append(
            "Noise that cancels leaves the final model what DGD would have found, so membership inference on it is "
            "not expected to diminish, save as far as noise spoils the model. Measured, with 95 % bootstrap intervals: "
            f"{shown}."
        )
    return notes


def _cell(row: Row) -> str:
    rate = row.rate
    if rate is None:
        return NOT_APPLIED
    if row.attack in (PRINTED, FOUND):
        return "exact" if rate.mean < EXACT else f"{100 * rate.mean:.2g} %"
    if row.attack == RECONSTRUCT:
        return "exact" if rate.mean < EXACT else f"{rate.mean:.2f} ± {rate.spread:.2f}"
    if row.attack == ACCURACY:
        return f"{100 * rate.mean:.1f} ± {100 * rate.spread:.1f} %"
    number = f"{rate.mean:.2f} ± {rate.spread:.2f}"
    return (
        number
        if row.attack == ADVANTAGE or row.on != FINAL
        else f"{number} [{rate.low:.2f}, {rate.high:.2f}]"
    )
