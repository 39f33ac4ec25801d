"""Claims of the experiments with data: what the full runs came to.

A full run needs data and a GPU or hours, so a checkout keeps what it came to beside the page on it, and the checks read
that. An installed package has no such file, and its claims stay open: small runs on other data would not decide them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hocket.experiments.claims.ledger import Finding
from hocket.experiments.learning.cases import COMPLETE, RING, USUAL_STEPS, Case, one
from hocket.experiments.learning.methods import DGD, LB, NB, SGD_C

COMMITTED = Path(__file__).parents[3] / "docs" / "results"
LEVEL = 0.5
"""Noise over the rms of a gradient: the lower of the experiment's two."""
NEAR = {"mnist": 0.3, "reuters": 0.5}
"""Points of a per cent that count as no loss."""
SOON = 3.0
"""Points that may be missing after a quarter of the epochs."""


@dataclass(frozen=True)
class Measured:
    """What the runs of one experiment came to."""

    source: str
    near: float
    rows: dict[Case, dict[str, Any]]
    """By case, under seed 0 whatever the number of seeds."""
    split: str

    def of(
        self, method: str, level: float = 0.0, *, network: str = RING, local_steps: int = USUAL_STEPS
    ) -> dict[str, Any]:
        """The row of one case on the first split."""
        return self.rows[
            one(method, level, split=self.split, seed=0, network=network, local_steps=local_steps)
        ]


def awaited() -> str:
    """What is missing where there are no committed results; empty where they are."""
    there = all(_path(name).is_file() for name in NEAR)
    return (
        "" if there else "full runs, which a checkout has: hocket reproduce mnist, hocket reproduce reuters"
    )


def mnist() -> Finding:
    """The end of the curves on both networks, and where they stood after a quarter of the epochs."""
    measured = _measured("mnist")
    holds, parts = True, []
    for network in (RING, COMPLETE):
        plain = measured.of(DGD, network=network)["accuracy"]
        ends = [f"DGD {plain:.2f} %"]
        for method in (NB, LB):
            row = measured.of(method, LEVEL, network=network)
            holds &= (
                plain - row["accuracy"] <= measured.near and row["accuracy"] - row["accuracy_early"] <= SOON
            )
            ends.append(f"{method} {row['accuracy']:.2f} % ({row['accuracy_early']:.2f} % after a quarter)")
        parts.append(f"{network}: {', '.join(ends)}")
    return Finding(holds, f"{measured.source}, noise of {LEVEL:g} times a gradient; {'; '.join(parts)}")


def reuters() -> Finding:
    """DGD, RSS-NB and RSS-LB beside SGD-C on the ring: all near it, and in no order that seeds would not explain."""
    measured = _measured("reuters")
    rows = [measured.of(method, LEVEL) for method in (DGD, NB, LB)]
    central = measured.of(SGD_C)["accuracy"]
    plain, nb, lb = reached = [row["accuracy"] for row in rows]
    margin = max(row["spread"] for row in rows)
    ordered = plain - nb > margin and nb - lb > margin
    shown = ", ".join(f"{row['method']} {row['accuracy']:.2f} ± {row['spread']:.2f} %" for row in rows)
    return Finding(
        central - min(reached) <= measured.near and not ordered,
        f"{measured.source}, noise of {LEVEL:g} times a gradient, C5: SGD-C {central:.2f} %, {shown}",
    )


def local_steps() -> Finding:
    """An exchange after every step beside one after every 40."""
    measured = _measured("mnist")
    holds, parts = True, []
    for method in (DGD, NB):
        often, rarely = (measured.of(method, LEVEL, local_steps=steps) for steps in (1, USUAL_STEPS))
        holds &= often["accuracy"] - rarely["accuracy"] <= measured.near
        parts.append(f"{method} {often['accuracy']:.2f} % and {rarely['accuracy']:.2f} %")
    saved = often["exchanges"] / rarely["exchanges"]
    holds &= saved > USUAL_STEPS / 2
    return Finding(
        holds,
        f"{measured.source}, H = 1 and {USUAL_STEPS}: {', '.join(parts)}; {saved:.0f} times fewer exchanges",
    )


@cache
def _measured(name: str) -> Measured:
    found = json.loads(_path(name).read_text(encoding="utf-8"))
    fields = Case.__dataclass_fields__.keys() - {"seed"}
    rows = {Case(**{field: row[field] for field in fields}, seed=0): row for row in found["results"]}
    source = f"{found['runs']} runs of `hocket reproduce {name}`, kept in docs/results/{name}.json"
    return Measured(source, NEAR[name], rows, found["results"][0]["split"])


def _path(name: str) -> Path:
    return COMMITTED / f"{name}.json"
