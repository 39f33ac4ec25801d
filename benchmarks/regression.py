"""Has anything become slower? Ratios of this run beside those that were last committed.

Ratios of interleaved medians differ from run to run: on two shared cores by a tenth or so where both sides are compiled
code, by more where one is an interpreter. What counts as fallen is a loss of more than a quarter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TOLERANCE = 0.25
KEPT = Path(__file__).with_name("results.json")


def ratios(results: Mapping[str, Any]) -> dict[str, float]:
    """Every promised ratio by name, turned over where less is better: a fall is always for the worse."""
    out = {}
    for claim in (claim for section in results["sections"] for claim in section["claims"]):
        name, ratio = claim["name"], claim["ratio"]
        out |= {name: ratio} if claim["at_least"] else {f"1 / ({name})": 1 / ratio}
    return out


def fallen(now: Mapping[str, Any], before: Mapping[str, Any], *, parts: bool = False) -> list[str]:
    """A sentence for every ratio that fell by more than the tolerance, or is missing though all parts were run."""
    new, out = ratios(now), []
    for name, old in ratios(before).items():
        if name not in new and parts:
            continue
        if name not in new:
            out.append(f"{name}: was {old:.3g}, and was not measured this time")
        elif new[name] < (1 - TOLERANCE) * old:
            out.append(f"{name}: fell from {old:.3g} to {new[name]:.3g}, by {1 - new[name] / old:.0%}")
    return out


def report(now: Mapping[str, Any], *, parts: bool = False) -> bool:
    """Print what fell since the committed results; returns whether nothing did."""
    if not KEPT.exists():
        print(f"There are no committed results to compare with; --keep writes {KEPT.name}.")
        return True
    before = json.loads(KEPT.read_text())
    found = fallen(now, before, parts=parts)
    print(f"\nbeside the committed results ({before['machine']['processor']}), tolerance {TOLERANCE:.0%}:")
    print("\n".join(f"  {line}" for line in found) or "  no ratio fell")
    return not found
