"""The simulator beside hand-written scans of the same algorithm, in one process.

    python benchmarks/engine.py            a few minutes, prints a table

Floor: what the best hand-written scan takes. Expected: within 1.15 of it for DGD and 1.2 for RSS-NB, since both
compile to the same loops; the rest is bookkeeping (round counter, step lookup).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from cases import Case, least_squares, logistic, polynomials, simulated
from outcome import Claim, Section, fastest, rows
from racing import Contestant, Effort, race
from reporting import show
from rivals.jax_scans import dgd, mixes, rss_nb

import hocket as hk

WITHIN = {"DGD": 1.15, "RSS-NB": 1.2}


def compare(case: Case, effort: Effort) -> Section:
    """Both algorithms on one problem, time averages included."""
    ways = mixes(case.network)
    plain, _ = simulated(case, hk.Dgd(), averaging=True)
    noisy, block = simulated(case, hk.RssNb(1.0), averaging=True)
    parts = (case.gradient, case.project, jnp.asarray(case.alpha), jnp.asarray(case.start))
    rivals = {f"DGD by hand, {name}": dgd(mix, *parts, averaging=True) for name, mix in ways.items()}
    rivals |= {
        f"RSS-NB by hand, {name}, block {size}": rss_nb(
            case.network, ways[name], *parts, delta=1.0, block=size, averaging=True
        )
        for name in ("slots", "dense")
        if name in ways and (name == "slots" or case.network.n <= 100)
        for size in sorted({1, block})
    }
    agree(plain(), rivals["DGD by hand, slots"]())
    agree(noisy(), rivals[f"RSS-NB by hand, slots, block {block}"]())
    turns = {"hocket, DGD": plain, "hocket, RSS-NB": noisy} | rivals
    paces = race(
        [Contestant(name, turn, case.rounds) for name, turn in turns.items()],
        turns=effort.turns,
        about=case.name,
    )
    claims = [
        Claim(
            f"{case.name}: best {name} by hand over hocket's",
            fastest(paces, f"{name} by hand") / paces[f"hocket, {name}"].rate,
            limit,
            at_least=False,
        )
        for name, limit in WITHIN.items()
    ]
    return Section(case.name, "rounds/s", rows(paces, yardstick="hocket, DGD"), claims)


def agree(ours: Any, theirs: Any) -> None:
    """Both did the same work: the same final states and the same averages."""
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)


if __name__ == "__main__":
    with jax.enable_x64(True):
        show([compare(case, Effort.usual()) for case in (polynomials(), logistic(), least_squares())])
