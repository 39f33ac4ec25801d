"""What is run, and how much of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from reproductions.experiment import Watch, all_kinds, unwatched
from reproductions.privacy.anchors import (
    LENGTH,
    SCALINGS,
    STEPS,
    Bias,
    Change,
    Told,
    bias,
    change,
    over_rounds,
    over_runs,
)
from reproductions.privacy.reconstruction import Reconstruction, Shape, played, reconstructed, shapes
from reproductions.privacy.setting import ALGORITHMS, DELTAS, SHARE, SIGHTS
from reproductions.privacy.theorem2 import Promise, Witnesses, promises, witnesses


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
    """Of persistent noise over many runs."""
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
    algorithms=("DGD", "RSS-NB", "RSS-NB, persistent"),
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
    """Run everything, the longest pieces first. Runs that share a compilation are one piece, one after the other."""
    began = time.monotonic()
    pieces: dict[str, list[Callable[[], Any]]] = {
        "attacks": [
            partial(_attacked, name, network, size) for network in size.networks for name in size.algorithms
        ],
        "over_rounds": [
            partial(_over_rounds, persistent, scaling, size)
            for persistent, scaling in ((0.0, ""), *((SHARE, scaling) for scaling in SCALINGS))
        ],
        "over_runs": [partial(_over_runs, scaling, size) for scaling in size.scalings],
        "biases": [partial(_biases, size)],
        "change": [partial(change, rounds=size.change_rounds, times=size.problems)],
        "witnesses": [partial(witnesses, rounds=size.witness_rounds)],
    }
    found = all_kinds(pieces, watch)
    return Privacy(
        size=size,
        reconstructions=[one for part, _ in found["attacks"] for one in part],
        shapes=[one for _, part in found["attacks"] for one in part],
        over_rounds=[one for part in found["over_rounds"] for one in part],
        over_runs=[one for part in found["over_runs"] for one in part],
        biases=found["biases"][0],
        change=found["change"][0],
        witnesses=found["witnesses"][0],
        promises=promises(),
        seconds=time.monotonic() - began,
    )


def _attacked(name: str, network: str, size: Size) -> tuple[list[Reconstruction], list[Shape]]:
    """The runs of one algorithm on one network, at every noise level."""
    found, shaped = [], []
    sights = [sight for sight in SIGHTS if sight.network == network]
    for delta in size.deltas:
        if name == "DGD" and found:  # it has no noise
            found += [replace(one, delta=delta) for one in found[: len(sights)]]
            continue
        run = played(name, network, delta, rounds=max(size.rounds), times=size.problems)
        seen = partial(reconstructed, run, name, delta, rounds=size.rounds, times=size.problems)
        found += [seen(sight) for sight in sights]
        if (name, network, delta) == ("RSS-NB", "C5", size.deltas[0]):
            shaped = shapes(run, rounds=size.shape_rounds, times=size.problems)
    return found, shaped


def _over_rounds(persistent: float, scaling: str, size: Size) -> list[Told]:
    return [over_rounds(step, persistent, scaling, rounds=size.anchor_rounds) for step in STEPS]


def _over_runs(scaling: str, size: Size) -> list[Told]:
    return [one for step in STEPS for one in over_runs(step, scaling, rounds=size.run_rounds, runs=size.runs)]


def _biases(size: Size) -> list[Bias]:
    """Constant steps, and one that decays."""
    plans: list[tuple[float | None, int]] = [(alpha, round(LENGTH / alpha)) for alpha in size.alphas]
    plans.append((None, size.decaying_rounds))
    return [
        bias(delta, alpha, rounds=rounds, seeds=size.seeds)
        for delta in size.deltas
        for alpha, rounds in plans
    ]
