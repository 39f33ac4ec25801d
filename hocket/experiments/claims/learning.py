"""Claims of the experiments with data: what the full runs came to, or small ones on digits where those are missing.

A full run needs data and hours, so that a checkout keeps what it came to beside the page on it. An installed package
has no such file: there the same code runs on scikit-learn's digits, and the evidence says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hocket.experiments.claims.ledger import Finding
from hocket.experiments.learning import SUBJECTS, Found, Size, data
from hocket.experiments.learning.cases import COMPLETE, RING, USUAL_STEPS, Case, one
from hocket.experiments.learning.methods import DGD, LB, NB, SGD_C
from hocket.experiments.learning.runs import Desk
from hocket.experiments.learning.subjects import DIGITS, STAND_IN
from hocket.experiments.work import side_by_side, unwatched
from hocket.learning import digits

COMMITTED = Path(__file__).parents[3] / "docs" / "results"
LEVEL = 0.5
"""Noise over the rms of a gradient: the lower of the experiment's two."""
NEAR = {"mnist": 0.3, "reuters": 0.5, DIGITS: 1.0}
"""Points of a per cent that count as no loss; of 360 digits one alone is 0.3."""
SOON = 3.0
"""Points that may be missing after a quarter of the epochs."""
SMALL = Size(seeds=1, epochs=0.15)


@dataclass(frozen=True)
class Measured:
    """What runs came to, wherever they were made."""

    source: str
    near: float
    accuracy: dict[Case, dict[str, Any]]
    """By case, of seed 0, whatever the number of seeds."""
    split: str

    def of(
        self, method: str, level: float = 0.0, *, network: str = RING, local_steps: int = USUAL_STEPS
    ) -> dict[str, Any]:
        """The row of one case on the first split."""
        return self.accuracy[
            one(method, level, split=self.split, seed=0, network=network, local_steps=local_steps)
        ]


def awaited() -> str:
    """What is missing where neither committed results nor digits are there; empty where one is."""
    there = _path("mnist").is_file() and _path("reuters").is_file()
    return "" if there or find_spec("sklearn") else "data to learn from: install hocket[learning]"


def mnist() -> Finding:
    """The end of the curves on both networks, and where they stood after a quarter of the epochs."""
    measured = _measured("mnist")
    holds, parts = True, []
    for network in (RING, COMPLETE):
        plain = measured.of(DGD, network=network)["accuracy"]
        ends = [f"DGD {plain:.2f} %"]
        for method in (NB, LB):
            row = measured.of(method, LEVEL, network=network)
            holds &= plain - row["accuracy"] <= measured.near and row["accuracy"] - row["accuracy_early"] <= SOON
            ends.append(f"{method} {row['accuracy']:.2f} % ({row['accuracy_early']:.2f} % after a quarter)")
        parts.append(f"{network}: {', '.join(ends)}")
    return Finding(holds, f"{measured.source}, noise of {LEVEL:g} times a gradient; {'; '.join(parts)}")


def reuters() -> Finding:
    """DGD, RSS-NB and RSS-LB beside SGD-C on the ring."""
    measured = _measured("reuters")
    rows = {method: measured.of(method, LEVEL) for method in (DGD, NB, LB)}
    central = measured.of(SGD_C)["accuracy"]
    reached = [row["accuracy"] for row in rows.values()]
    shown = ", ".join(f"{method} {row['accuracy']:.2f} ± {row['spread']:.2f} %" for method, row in rows.items())
    apart = max(reached) - min(reached)
    return Finding(
        central - min(reached) <= measured.near and apart <= measured.near,
        f"{measured.source}, noise of {LEVEL:g} times a gradient, C5: SGD-C {central:.2f} %, {shown}; the three are "
        f"{apart:.2f} points apart",
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
        holds, f"{measured.source}, H = 1 and {USUAL_STEPS}: {', '.join(parts)}; {saved:.0f} times fewer exchanges"
    )


@cache
def _measured(name: str) -> Measured:
    if _path(name).is_file():
        found = json.loads(_path(name).read_text(encoding="utf-8"))
        source = f"{found['runs']} runs of `hocket reproduce {name}`, kept in docs/results/{name}.json"
        return _read(found, source, NEAR[name])
    return _read(_small(name), "a small run on digits, which stand in", NEAR[DIGITS])


def _read(found: dict[str, Any], source: str, near: float) -> Measured:
    fields = Case.__dataclass_fields__.keys() - {"seed"}
    rows = {Case(**{field: row[field] for field in fields}, seed=0): row for row in found["results"]}
    return Measured(source, near, rows, found["results"][0]["split"])


def _small(name: str) -> dict[str, Any]:
    """The cases that the claims look at, on digits."""
    subject = replace(SUBJECTS[name], **STAND_IN)
    desk = Desk(subject, {DIGITS: digits()}, SMALL)
    networks = (RING, COMPLETE) if name == "mnist" else (RING,)
    wanted = [one(SGD_C, split=DIGITS, seed=0)]
    wanted += [
        one(method, LEVEL, split=DIGITS, seed=0, network=network)
        for network in networks
        for method in (DGD, NB, LB)
    ]
    if name == "mnist":
        wanted += [one(method, LEVEL, split=DIGITS, seed=0, local_steps=1) for method in (DGD, NB)]
    outcomes = {outcome.case: outcome for outcome in side_by_side(desk.run, wanted, unwatched)}
    return data(Found(subject, SMALL, [DIGITS], [], outcomes, 0.0))


def _path(name: str) -> Path:
    return COMMITTED / f"{name}.json"
