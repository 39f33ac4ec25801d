"""Runs to look at while they play: one at a time, in a thread; all events are kept for those who watch."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from secrets import token_hex
from typing import Any

import jax
import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd
from hocket.engines.prepare import prepare
from hocket.engines.simulator import Simulation, simulate
from hocket.errors import BadInput, HocketError
from hocket.explore.questions import Question
from hocket.problems.polynomial import moved_apart
from hocket.problems.problem import Problem
from hocket.problems.standard import PAPER_POLYNOMIALS, polynomials
from hocket.report.tables import label_of
from hocket.runs.job import Job
from hocket.runs.theorems import claim
from hocket.steps import DEFAULT_STEP

START = (1.0, -0.5, 0.25, -0.75, 0.5)

Tell = Callable[[dict[str, Any]], None]
LAST = ("done", "failed", "cancelled")
"""Kinds of a run's last event."""


class CalledOff(Exception):
    """Somebody pressed cancel."""


def play(question: Question, tell: Tell, stop: threading.Event) -> None:
    """Play DGD and the algorithm of the plan; `tell` takes what was measured, `stop` ends it at the next look."""
    others = [] if question.algorithm == "dgd" else [question.planned]
    results = [_play(question, algorithm, tell, stop) for algorithm in (Dgd(), *others)]
    tell({"kind": "done", "results": results})


def _play(question: Question, algorithm: Algorithm, tell: Tell, stop: threading.Event) -> dict[str, Any]:
    name, told = label_of(type(algorithm).__name__), 0
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
        sim = simulate(prepare(job, job.algorithm, averaging=False), job, progress=False, watch=watch)
    return {
        "name": name,
        "gap": _drawable(sim.gap),
        "broken": sim.broken is not None,
        "claim": claim(job).statement,
    }


def shared_problem(n: int, minima: str) -> Problem:
    """The paper's five polynomials, dealt around; they all have their minimum at zero, or each elsewhere."""
    rows = list(islice(cycle(PAPER_POLYNOMIALS), n))
    return polynomials(moved_apart(rows) if minima == "apart" else rows, box=(-30, 30))


def _drawable(gap: Any) -> float | None:
    """JSON has no infinities, and a logarithmic axis no zero."""
    gap = float(gap)
    return gap if math.isfinite(gap) and gap > 0 else None


@dataclass
class LiveRun:
    """One run and its events so far."""

    name: str = field(default_factory=lambda: token_hex(8))
    stop: threading.Event = field(default_factory=threading.Event)
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    news: threading.Condition = field(default_factory=threading.Condition)

    @property
    def ended(self) -> bool:
        return bool(self.events) and self.events[-1]["kind"] in LAST

    def tell(self, event: dict[str, Any]) -> None:
        """Add an event, from any thread; nothing comes after the last."""
        with self.news:
            if not self.ended:  # it may be called off, and the thread has not noticed yet
                self.events.append(event)
                self.news.notify_all()

    def call_off(self) -> None:
        """End it: at once for those who watch, at its next look for the thread."""
        self.stop.set()
        self.tell({"kind": "cancelled"})

    def stream(self, received: int = 0) -> Iterator[str]:
        """Server-sent events from the one after the last that was received."""
        while True:
            with self.news:
                while not self.ended and len(self.events) <= received:
                    self.news.wait()
                fresh, last = self.events[received:], self.ended
            for event in fresh:
                received += 1
                yield f"id: {received}\ndata: {json.dumps(event)}\n\n"
            if last:
                return


class Runs:
    """The run of the moment; a new one calls the old one off."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live-run")
        self.current: LiveRun | None = None

    def start(self, question: Question) -> LiveRun:
        """Begin a run as soon as the last one has stopped."""
        if self.current is not None:
            self.current.call_off()
        self.current = run = LiveRun()
        self.pool.submit(_work, question, run)
        return run

    def named(self, name: str) -> LiveRun:
        """The run of that name."""
        if self.current is None or self.current.name != name:
            raise BadInput("that run is over and forgotten; start a new one")
        return self.current

    def close(self) -> None:
        """Call off what is running, and begin nothing any more."""
        if self.current is not None:
            self.current.call_off()
        self.pool.shutdown(wait=False, cancel_futures=True)


def _work(question: Question, run: LiveRun) -> None:
    try:
        if not run.stop.is_set():
            play(question, run.tell, run.stop)
    except CalledOff:
        run.tell({"kind": "cancelled"})
    except HocketError as error:
        run.tell({"kind": "failed", "message": str(error)})
    except Exception as error:
        # The thread has nobody to raise to: those who wait for the run must learn of it.
        run.tell({"kind": "failed", "message": f"{type(error).__name__}: {error}"})
        raise
