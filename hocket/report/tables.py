"""Numbers, names and tables of results as people read them: the terminal and the page show the same ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hocket.algorithms import BY_CLASS
from hocket.runs.run import Run
from hocket.runs.theorems import Claim


def plain(value: float) -> str:
    """A number in three digits.

    >>> plain(0.25), plain(1.23456e-7), plain(41000), plain(0.0), plain(math.nan)
    ('0.25', '1.23e-7', '41000', '0', 'not known')
    """
    if math.isnan(value):
        return "not known"
    if value == 0 or math.isinf(value) or 1e-3 <= abs(value) < 1e5:
        return f"{value:.0f}" if abs(value) >= 1000 and math.isfinite(value) else f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def label_of(name: str) -> str:
    """The paper's name of an algorithm; a user's own class keeps its name."""
    return BY_CLASS[name].title if name in BY_CLASS else name


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; `numeric` columns stand right, `literal` ones in letters of one width."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numeric: frozenset[int] = frozenset()
    literal: frozenset[int] = frozenset()


def result_table(run: Run) -> Table:
    """What one run reached, a line each."""
    rows = [
        ("outcome", str(run.outcome)),
        ("gap", plain(run.gap) + over(run)),
        ("disagreement", plain(run.disagreement)),
        ("realised noise", f"{plain(run.noise.rms)} rms per coordinate, {plain(run.noise.largest)} at most"),
        ("theorem", run.claim.statement),
    ]
    if run.infeasibility > 0:
        rows.append(("outside X by", plain(run.infeasibility)))
    rows += [("remark", remark) for remark in run.remarks]
    return Table(("", ""), tuple(rows), caption="What was reached")


def over(run: Run) -> str:
    """Over how many agents a run's gap is, where those are not all."""
    return f", over {run.looked_at:,} of {run.network.n:,} agents" if run.looked_at < run.network.n else ""


def assumption_table(claim: Claim) -> Table:
    """What the theorem needs, and what was found."""
    verdict = {True: "holds", False: "does not hold", None: "not known"}
    rows = tuple((part.name, verdict[part.holds], part.why) for part in claim.assumptions)
    return Table(("assumption", "", "because"), rows, caption="What a theorem would need")


def settings_table(settings: Mapping[str, Any]) -> Table:
    """Versions of the software under a run."""
    return Table(("software", "version"), tuple(settings["versions"].items()), caption="Versions")
