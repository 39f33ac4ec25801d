"""One table for a person, and the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from outcome import Claim, Section

HEAD = f"{'':46}{'speed':>14}{'':14}{'hocket is':>11}{'spread':>8}{'traffic':>10}{'accuracy':>10}"
WIDTH = len(HEAD)


def show(sections: Sequence[Section]) -> None:
    """Print everything."""
    print(HEAD)
    for section in filter(lambda section: section.rows, sections):
        print(f"{section.title}\n{'-' * WIDTH}")
        for row in section.rows:
            traffic = "" if row.traffic is None else f"{row.traffic / 1e6:,.2f} MB"
            accuracy = "" if row.accuracy is None else f"{100 * row.accuracy:.1f} %"
            over = "" if row.over == 1 else f"{_short(row.over)} x"
            print(
                f"  {row.name:44}{_short(row.rate):>14} {section.unit:13}{over:>11}"
                f"{100 * row.spread:>6.0f} %{traffic:>10}{accuracy:>10}"
            )
        print()
    show_claims([claim for section in sections for claim in section.claims])


def show_claims(claims: Sequence[Claim]) -> None:
    print(f"{'what was promised':72}{'found':>10}{'wanted':>14}\n{'-' * WIDTH}")
    for claim in claims:
        wanted = f"{'≥' if claim.at_least else '≤'} {claim.target:g}"
        print(f"  {claim.name:70}{_short(claim.ratio):>10}{wanted:>14}   {'yes' if claim.kept else 'NO'}")


def as_json(sections: Sequence[Section], machine: dict[str, Any], left_out: dict[str, str]) -> dict[str, Any]:
    """Everything that was found, for a file."""
    return {"machine": machine, "sections": [asdict(section) for section in sections], "left_out": left_out}


def _short(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
