"""A run to look at while it plays: the algorithm of the plan beside DGD, on polynomials that any number can share."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import jax
import numpy as np
from numpy.polynomial import Polynomial as Series

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd
from hocket.engines.prepare import prepare
from hocket.engines.simulator import Simulation, simulate
from hocket.explore.questions import Question
from hocket.job import Job
from hocket.problem import Problem
from hocket.report.names import spoken
from hocket.solving import DEFAULT_STEP
from hocket.standard_problems import PAPER_POLYNOMIALS, polynomials
from hocket.theorems import claim

START = (1.0, -0.5, 0.25, -0.75, 0.5)
CENTRES = (-1.0, 2.0, 0.5, -0.5, 1.0)

Tell = Callable[[dict[str, Any]], None]


class CalledOff(Exception):
    """Somebody pressed cancel."""


def play(question: Question, tell: Tell, stop: threading.Event) -> None:
    """Play DGD and the algorithm of the plan; `tell` hears what was measured, `stop` ends it at the next look."""
    others = [] if question.algorithm == "dgd" else [question.planned]
    results = [_play(question, algorithm, tell, stop) for algorithm in (Dgd(), *others)]
    tell({"kind": "done", "results": results})


def _play(question: Question, algorithm: Algorithm, tell: Tell, stop: threading.Event) -> dict[str, Any]:
    name, told = spoken(type(algorithm).__name__), 0
    job = Job.asked(
        shared_problem(question.n, question.minima),
        question.network,
        algorithm,
        step=DEFAULT_STEP,
        rounds=question.rounds,
        seed=question.seed,
        start=np.array(list(islice(cycle(START), question.n)))[:, None],
    )
    tell({"kind": "progress", "name": name, "done": 0, "rounds": question.rounds, "points": []})

    def watch(sim: Simulation) -> None:
        nonlocal told
        if stop.is_set():
            raise CalledOff
        points = [[k + 1, _drawable(measured.gap)] for k, measured in sim.history[told:]]
        told = len(sim.history)
        tell({"kind": "progress", "name": name, "done": sim.done, "rounds": sim.rounds, "points": points})

    with jax.enable_x64(True):
        sim = simulate(prepare(job, algorithm.effective(), averaging=False), job, progress=False, watch=watch)
    return {
        "name": name,
        "gap": _drawable(sim.gap),
        "broken": sim.broken is not None,
        "claim": claim(job).statement,
    }


def shared_problem(n: int, minima: str) -> Problem:
    """The paper's five polynomials, dealt around; they all have their minimum at zero, or each elsewhere."""
    rows = list(islice(cycle(PAPER_POLYNOMIALS), n))
    if minima == "apart":
        centres = islice(cycle(CENTRES), n)
        rows = [Series(row)(Series([-c, 1])).coef for row, c in zip(rows, centres, strict=False)]
    return polynomials(rows, box=(-30, 30))


def _drawable(gap: Any) -> float | None:
    """JSON has no infinities, and a logarithmic axis no zero."""
    gap = float(gap)
    return gap if math.isfinite(gap) and gap > 0 else None
