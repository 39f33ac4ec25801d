"""What is run: every algorithm at two noise levels on two problems and two networks, and the table of medians."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, FunctionSharing, RssLb, RssNb
from hocket.engines.sweep import Sweep, sweep
from hocket.networks.network import Network
from hocket.problems.standard import heterogeneous_polynomials, paper_polynomials
from hocket.report.tables import label_of
from hocket.steps import Power
from reproductions.experiment import Watch, all_kinds, unwatched

START = (1.0, -0.5, 0.25, -0.75, 0.5)
STEP = Power(1.0, 20, 0.75)
PROBLEMS = {"the paper's": paper_polynomials, "heterogeneous": heterogeneous_polynomials}
NETWORKS = {"C5": Network.cycle, "K5": Network.complete}
LEVELS: tuple[tuple[Algorithm, str, tuple[float, float]], ...] = (
    (RssNb(1.0), "delta", (1.0, 10.0)),
    (RssLb(1.0), "delta", (1.0, 10.0)),
    (FunctionSharing(4, 1.0), "bound", (0.02, 0.2)),
)
"""Each algorithm's number that sets its noise, at a low and at a high level."""
SIGNS = {"delta": "Δ", "bound": "b"}

MARKS = (10**2, 10**3, 10**4, 10**5)
REFERENCE: dict[str, tuple[Algorithm, tuple[float, ...]]] = {
    "RSS-NB": (RssNb(1.0, split="paper"), (1.1e-5, 4.0e-7, 1.5e-8, 4.4e-10)),
    "RSS-LB": (RssLb(1.0), (1.4e-4, 6.7e-6, 2.3e-7, 6.9e-9)),
}
"""Medians of max_j f(x_k) over 400 seeds at the marks, from an implementation of its own in NumPy; Δ = 1 on C5."""
TOLERANCE = 1.5
"""The factor within which medians must agree: that of 400 heavy-tailed runs is itself known to some 10 %."""


@dataclass(frozen=True)
class Size:
    """How much to run."""

    seeds: int = 20
    rounds: int = 10_000
    reference_seeds: int = 400
    reference_rounds: int = 10**5


FULL = Size()
QUICK = Size(seeds=5, rounds=500, reference_seeds=40, reference_rounds=10**3)


@dataclass(frozen=True, eq=False)
class Curve:
    """One algorithm at one noise level on one problem and network."""

    problem: str
    network: str
    algorithm: str
    level: str
    """Such as "Δ = 10"; empty for DGD."""
    strong: bool
    rounds: np.ndarray
    gap: Float[np.ndarray, "seeds points"]
    noise_rms: float

    @property
    def label(self) -> str:
        return f"{self.algorithm}, {self.level}" if self.level else self.algorithm


@dataclass(frozen=True)
class Reference:
    """One entry of the table of published medians."""

    algorithm: str
    k: int
    measured: float
    published: float

    @property
    def ratio(self) -> float:
        return self.measured / self.published

    @property
    def agrees(self) -> bool:
        return 1 / TOLERANCE <= self.ratio <= TOLERANCE


@dataclass(frozen=True)
class Polynomials:
    """Everything the experiment found."""

    size: Size
    curves: list[Curve]
    references: list[Reference]
    seconds: float


@dataclass(frozen=True)
class Task:
    """One sweep."""

    problem: str
    network: str
    algorithm: Algorithm
    seeds: int
    rounds: int
    levels: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Sweep:
        return sweep(
            PROBLEMS[self.problem](),
            NETWORKS[self.network](5),
            self.algorithm,
            step=STEP,
            rounds=self.rounds,
            start=list(START),
            seeds=range(self.seeds),
            time_average=False,
            progress=False,
            **self.levels,
        )


def play(size: Size = FULL, watch: Watch = unwatched) -> Polynomials:
    """Run all sweeps; the table's, which take longest, first."""
    began, tasks = time.monotonic(), _tasks(size)
    published = [
        Task("the paper's", "C5", algorithm, size.reference_seeds, size.reference_rounds)
        for algorithm, _ in REFERENCE.values()
    ]
    pieces = {"published": [task.run for task in reversed(published)], "curves": [task.run for task in tasks]}
    found = all_kinds(pieces, watch)
    curves = [
        curve for task, runs in zip(tasks, found["curves"], strict=True) for curve in _curves(task, runs)
    ]
    tables = zip(REFERENCE, reversed(found["published"]), strict=True)
    references = [entry for name, runs in tables for entry in _compare(name, runs)]
    return Polynomials(size, curves, references, time.monotonic() - began)


def _tasks(size: Size) -> list[Task]:
    """The sweeps of all curves; problems of the same shape, which share one compilation, follow each other."""
    noisy = [(algorithm, {number: values}, size.seeds) for algorithm, number, values in LEVELS]
    return [
        Task(problem, network, algorithm, seeds, size.rounds, levels)
        for network in NETWORKS
        for problem in PROBLEMS
        for algorithm, levels, seeds in [(Dgd(), {}, 1), *noisy]  # nothing in DGD is random
    ]


def _curves(task: Task, runs: Sweep) -> list[Curve]:
    name = label_of(type(task.algorithm).__name__)
    rounds, gap, noise = runs.history["round"], runs.history["gap"], runs.history["noise_rms"]
    about = (task.problem, task.network, name)
    if not task.levels:
        return [Curve(*about, "", True, rounds, gap, 0.0)]
    ((number, values),) = task.levels.items()
    return [
        Curve(
            *about,
            f"{SIGNS[number]} = {value:g}",
            place > 0,
            rounds,
            gap[place],
            float(np.sqrt(np.mean(noise[place, :, 1:] ** 2))),
        )
        for place, value in enumerate(values)
    ]


def _compare(name: str, runs: Sweep) -> list[Reference]:
    # After K completed rounds stands x_{K+1}; between recorded rounds the gap falls like a power.
    k, median = runs.history["round"] + 1, np.median(runs.history["gap"], axis=0)
    reached = [mark for mark in MARKS if mark <= k[-1]]
    measured = np.exp(np.interp(np.log(reached), np.log(k), np.log(median)))
    published = REFERENCE[name][1]
    return [
        Reference(name, mark, float(found), known)
        for mark, found, known in zip(reached, measured, published, strict=False)
    ]
