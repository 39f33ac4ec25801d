"""What members have seen of each other, in words, and the theorem that says so."""

from __future__ import annotations

from hocket.report.tables import Table
from hocket.studies.disclosure.patterns import exposure_words
from hocket.studies.results.results import Results
from hocket.studies.spec.study import Study

SEEN = {
    "rows": "how many rows",
    "sum": "sums of columns",
    "squares": "sums of squares of columns",
    "outcome": "sums of the outcome",
    "with outcome": "sums of columns over rows with the outcome",
    "not 0 together": "how many rows are not 0, by column of yes and no and by two, and whether enough numbers are",
    "not 0 or 1": "how many members have numbers other than 0 and 1, by column",
    "score": "the slope of the log-likelihood",
    "information": "its expected curvature",
    "curvature": "its curvature",
    "products": "sums of products of columns",
    "deviance": "the deviance",
    "pearson": "the sum of squared Pearson residuals",
    "beyond": "how many rows had an impossible mean",
    "constants": "the log-likelihood's constants",
    "robust": "sums of squared scores",
    "likelihood": "the log-likelihood",
    "events": "how many events",
    "rows up to": "how many rows lie below a point",
    "members with few rows beside a point": "how many members have a few rows beside a point",
    "levels": "how many rows have each level",
    "missing": "how many cells are missing",
    "cells": "a table of counts",
    "histogram": "counts between edges",
    "members with several numbers in a bar": "how many members have several numbers between two edges",
    "bins": "counts of binned predictions",
    "confusion": "the confusion table",
    "predictions": "sums of predictions in joined bins",
    "losses": "sums of squared errors and log loss",
    "between times": "how many events, and how many rows that leave, between times",
    "members with events between": "how many members have events between times of the grid",
}
SIMULATED = (
    "This was a dry run: all tables lay on one machine, whose user could see them, and nothing was hidden from "
    "anybody. Among members, only the sums below are seen."
)
THEOREM = (
    "Theorem T (function sharing in a finite group): members who collude learn from a total nothing but the sum over "
    "each connected part of the honest members; what else they believed before, they believe after. It assumes that "
    "masks are fresh, uniform and known to the two ends of a link only, that all members are at the same point, and "
    "that at least two honest members stay connected without the colluders."
)
ALL_BUT_ONE = (
    "If all other members but one collude, the sum over the honest is that one's own part, and they know it. Of "
    "numbers that a sum leaves no choice (counts that sum to zero, or to all rows) everybody knows all parts."
)

DIFFERENCE = (
    "What was summed with {left} and is summed again without shows, by the difference of the two sums, what {left} "
    "gave: of the first sum exactly, and to everybody who has seen both"
)
"""What a sum with a member who left tells beside one without it."""


def released_table(results: Results) -> Table:
    """All that any member has seen of others."""
    rows = []
    for name, one in results.released.items():
        part, _, kind = name.rpartition(": ")
        what = SEEN.get(kind, kind)
        rows.append((f"{part}: {what}" if part else what, f"{one.totals:,}", f"{one.numbers:,}"))
    return Table(
        ("sums over all members, seen by all", "in totals", "numbers"),
        tuple(rows),
        "What was seen",
        frozenset({1, 2}),
    )


def disclosure_rules(study: Study) -> list[str]:
    """What the study holds to be too little to show."""
    rules = study.disclosure
    return [
        f"Every member held its own rows against the study's rules: no fewer than {rules.fewest_rows} rows, no level "
        f"or cell below {rules.smallest_cell}, at most {rules.parameters_per_row:g} parameters per joint row. Small "
        "joint counts are left out of this page; members' own programs saw them on the way.",
        *exposure_words(study),
    ]
