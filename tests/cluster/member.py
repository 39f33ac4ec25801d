"""What every process of the tests plays: cases by name; process 0 writes down what came out.

Usage: python -m hocket.engines.cluster member.py OUT CASE…, the cases separated by commas.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import hocket as hk
from hocket.engines import checkpoint as checkpoints
from tests.cluster.cases import CASES, SIX, play
from tests.cluster.moving import bytes_in_program


def written(run: hk.Run, path: Path) -> None:
    """Everything that engines must agree on."""
    arrays = {"x": run.x, **{f"history/{name}": column for name, column in run.history.items()}}
    if run.time_average is not None:
        arrays["time_average"] = run.time_average
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
    facts = {
        "cluster": run.settings["cluster"],
        "outcome": str(run.outcome),
        "remarks": run.remarks,
        "messages": run.messages,
    }
    path.with_suffix(".json").write_text(json.dumps(facts), encoding="utf-8")


def complaint(attempt: Callable[[], Any]) -> str:
    """What a wrong call is answered with."""
    try:
        attempt()
    except hk.HocketError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def complaints(out: Path) -> dict[str, str]:
    """What is said to bad input."""
    agents = jax.process_count() - 1
    few = hk.Network([(0, j) for j in range(1, agents)], n=agents) if agents > 1 else hk.Network.single()
    kept = out / "kept"
    play("cluster", hk.Dgd(), checkpoint=kept)
    return {
        "too few agents": complaint(lambda: play("cluster", hk.Dgd(), few)),
        "another plan": complaint(lambda: play("cluster", hk.Dgd(), checkpoint=kept, start=1.0)),
        "keeps words": complaint(lambda: play("cluster", hk.Dgd(), keep="path")),
        "diverged": complaint(lambda: play("cluster", hk.Dgd(), problem=exploding(), step=10.0, start=1.0)),
    }


def traffic() -> dict[str, int]:
    """Bytes of a round as the compiled program shows them, and as they are counted beforehand."""
    moved = {}
    for name, algorithm in (("rss-nb", hk.RssNb(1.0)), ("rss-lb", hk.RssLb(1.0))):
        moved[name] = bytes_in_program(SIX, algorithm)
        moved[f"counted {name}"] = play("cluster", algorithm).settings["cluster"]["bytes_moved"]
    return moved


def exploding() -> hk.Problem:
    """Quartics without bounds: too large a step, and they are gone."""
    return hk.polynomials([[0, 0, 1, 0, 1.0]] * 6, feasible=hk.Everywhere(), dim=2, optimum=0.0)


def main() -> None:
    """Play what the command line names."""
    out, names = Path(sys.argv[1]), sys.argv[2].split(",")
    checkpoints.EVERY = 0.0
    for name in names:
        run = CASES[name]("cluster")
        if jax.process_index() == 0:
            written(run, out / f"{name}.npz")
    said = complaints(out)
    moved = traffic()
    if jax.process_index() == 0:
        (out / "said.json").write_text(json.dumps({"complaints": said, "moved": moved}), encoding="utf-8")


if __name__ == "__main__":
    main()
