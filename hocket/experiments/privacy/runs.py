"""What is run, and how much of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hocket.experiments.privacy.anchors import SCALINGS, STEPS, Told, over_rounds, over_runs
from hocket.experiments.privacy.changing import LENGTH, Bias, Change, bias, change
from hocket.experiments.privacy.promises import Promise, promises
from hocket.experiments.privacy.reconstruction import Reconstruction, reconstructions
from hocket.experiments.privacy.setting import ALGORITHMS, DELTAS, SHARE
from hocket.experiments.privacy.shape import Shape, shapes
from hocket.experiments.privacy.witnesses import Witnesses, witnesses
from hocket.experiments.work import Watch, side_by_side, unwatched


@dataclass(frozen=True)
class Size:
    """How much to run."""

    networks: tuple[str, ...] = ("K5", "C5")
    algorithms: tuple[str, ...] = ALGORITHMS
    deltas: tuple[float, ...] = DELTAS
    rounds: tuple[int, ...] = (10, 30, 100, 300, 1000, 10_000)
    problems: int = 20
    """Regressions that are solved, and attacked, side by side."""
    shape_rounds: tuple[int, ...] = (100, 1000, 10_000)
    anchor_rounds: tuple[int, ...] = (3, 10, 30, 100, 300, 1000)
    scalings: tuple[str, ...] = tuple(SCALINGS)
    """Of anchors over many runs."""
    runs: tuple[int, ...] = (1, 3, 10)
    run_rounds: int = 100
    """Of each of many runs."""
    alphas: tuple[float, ...] = (0.03, 0.1, 0.3)
    seeds: int = 20
    decaying_rounds: int = 10_000
    change_rounds: int = 1000
    witness_rounds: int = 10_000


FULL = Size()
QUICK = Size(  # most of its time goes into compiling, so it has fewer programs
    networks=("C5",),
    algorithms=("DGD", "RSS-NB", "RSS-NB, anchored"),
    deltas=(1.0,),
    rounds=(10, 100),
    problems=5,
    shape_rounds=(100,),
    anchor_rounds=(3, 30),
    scalings=("α_{k−1}",),
    runs=(1, 3),
    run_rounds=30,
    alphas=(0.1, 0.3),
    seeds=5,
    decaying_rounds=300,
    change_rounds=200,
    witness_rounds=200,
)


@dataclass(frozen=True)
class Privacy:
    """Everything the experiment found."""

    size: Size
    reconstructions: list[Reconstruction]
    shapes: list[Shape]
    over_rounds: list[Told]
    over_runs: list[Told]
    biases: list[Bias]
    change: Change
    witnesses: Witnesses
    promises: list[Promise]
    seconds: float


def play(size: Size = FULL, watch: Watch = unwatched) -> Privacy:
    """Run everything, the longest pieces first."""
    began = time.monotonic()
    pieces: dict[str, list[Callable[[], Any]]] = {
        "reconstructions": [
            partial(_reconstructed, name, network, size)
            for network in size.networks
            for name in size.algorithms
        ],
        "shapes": [partial(shapes, rounds=size.shape_rounds, times=size.problems)],
        "over_rounds": [
            partial(over_rounds, step, anchor, scaling, rounds=size.anchor_rounds)
            for anchor, scaling in ((0.0, ""), *((SHARE, scaling) for scaling in SCALINGS))
            for step in STEPS
        ],
        "over_runs": [
            partial(over_runs, step, scaling, rounds=size.run_rounds, runs=size.runs)
            for scaling in size.scalings
            for step in STEPS
        ],
        "biases": [partial(_biases, size)],
        "change": [partial(change, rounds=size.change_rounds, times=size.problems)],
        "witnesses": [partial(witnesses, rounds=size.witness_rounds)],
    }
    done = iter(
        side_by_side(lambda piece: piece(), [piece for kind in pieces.values() for piece in kind], watch)
    )
    found = {kind: [next(done) for _ in parts] for kind, parts in pieces.items()}
    return Privacy(
        size=size,
        reconstructions=[one for part in found["reconstructions"] for one in part],
        shapes=found["shapes"][0],
        over_rounds=found["over_rounds"],
        over_runs=[one for part in found["over_runs"] for one in part],
        biases=found["biases"][0],
        change=found["change"][0],
        witnesses=found["witnesses"][0],
        promises=promises(),
        seconds=time.monotonic() - began,
    )


def _reconstructed(name: str, network: str, size: Size) -> list[Reconstruction]:
    """All noise levels one after the other, so that they share one compilation."""
    return [
        one
        for delta in size.deltas
        for one in reconstructions(name, network, delta, rounds=size.rounds, times=size.problems)
    ]


def _biases(size: Size) -> list[Bias]:
    """Constant steps, and one that decays."""
    plans: list[tuple[float | None, int]] = [(alpha, round(LENGTH / alpha)) for alpha in size.alphas]
    plans.append((None, size.decaying_rounds))
    return [
        bias(delta, alpha, rounds=rounds, seeds=size.seeds)
        for delta in size.deltas
        for alpha, rounds in plans
    ]
