"""What is run: likelihood ratios, prices, a federation of clinics, and another system's settings."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax

from reproductions.certificates import clinics
from reproductions.certificates.by_link import ByLink, by_link, irregular
from reproductions.certificates.clinics import Error, OverLinks
from reproductions.certificates.decor import INSIDERS, Gap, Insiders, gaps, insiders, published
from reproductions.certificates.price import (
    GRAPHS,
    OverCentral,
    Row,
    five_rows,
    over_central,
)
from reproductions.certificates.told import CASES, Held, held
from reproductions.experiment import Watch, all_kinds, unwatched


@dataclass(frozen=True)
class Size:
    """How much to run."""

    transcripts: int
    """In each of two worlds."""
    runs: int
    """Of each way to the same ε."""
    draws: int
    """Of noise on the clinics' sum."""
    link_rounds: int
    gap_rounds: int
    gap_seeds: int
    problems: tuple[str, ...] = ("quadratics", "logistic")
    networks: tuple[str, ...] = ("ring", "torus", "complete")
    counts: tuple[int, ...] = INSIDERS
    hurried: bool = False
    """Whether programs run so shortly that they are compiled as they stand: optimising takes longer than it saves."""


FULL = Size(1500, 400, 400, 200, 3500, 10)
QUICK = Size(100, 40, 100, 40, 60, 2, ("quadratics",), ("ring",), (1,), hurried=True)


@dataclass(frozen=True, eq=False)
class Certificates:
    """Everything that was found."""

    size: Size
    held: list[Held]
    rows: list[Row]
    over: list[OverCentral]
    by_link: list[ByLink]
    clinics: OverLinks
    errors: list[Error]
    insiders: list[Insiders]
    gaps: list[Gap]


def play(size: Size, watch: Watch = unwatched) -> Certificates:
    """All of it; federations go over real links on this machine."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", size.hurried or before)
    try:
        return _played(size, watch)
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def _played(size: Size, watch: Watch) -> Certificates:
    records = clinics.diabetes()
    with tempfile.TemporaryDirectory() as folder:
        together = clinics.over_links(Path(folder), *records, rounds=size.link_rounds)
    settings = [one for one in published() if one.name in size.networks]
    asked: dict[str, Any] = {"counts": size.counts, "rounds": size.gap_rounds, "seeds": size.gap_seeds}
    found = all_kinds(
        {
            "gaps": [partial(gaps, problem, one, **asked) for problem in size.problems for one in settings],
            "held": [partial(held, case, size.transcripts) for case in CASES],
            "rows": [partial(five_rows, size.runs)],
            "by_link": [partial(by_link, *one, size.runs) for one in irregular()],
            "over": [partial(over_central, *one) for one in GRAPHS],
            "insiders": [partial(insiders, one) for one in published()],
        },
        watch,
    )
    return Certificates(
        size,
        found["held"],
        found["rows"][0],
        found["over"],
        found["by_link"],
        together,
        clinics.errors(*records, together.drafted, size.draws),
        found["insiders"],
        [gap for some in found["gaps"] for gap in some],
    )
