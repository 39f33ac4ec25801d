"""The forms that a declared class allows, along the paths of several plans on the same made-up data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.engines.solver import solve
from hocket.errors import Diverged
from hocket.privacy.estimate.joint import PlannedRun
from hocket.privacy.estimate.model_class import Model
from hocket.privacy.estimate.rehearsal import MakeUp, made_up, seen_in
from hocket.problems.objective_class import ObjectiveClass
from hocket.steps import as_step

SEED = 0


def rehearsed_together(
    runs: Sequence[PlannedRun],
    objectives: ObjectiveClass,
    *,
    told: Collection[int],
    gradient_size: float = 1.0,
) -> list[tuple[Model | None, ...]]:
    """By form that the class allows, a model for every run that is `told`, by its place, and None for the others.
    For `joint_leakage`: everybody has the same objective in all runs, and each run its own noise.
    """
    n = 1 + max(agent for run in runs for agent in run.people)
    found: list[tuple[Model | None, ...]] = []
    for number, made in enumerate(made_up(objectives)):
        seen = [
            _played(run, made, n, gradient_size, [SEED, number]) if place in told else {}
            for place, run in enumerate(runs)
        ]
        words = dict.fromkeys(form for one in seen for form in one)
        found += [tuple(one.get(form) for one in seen) for form in words]
    return found


def _played(run: PlannedRun, made: MakeUp, n: int, size: float, seed: list[int]) -> dict[str, Model]:
    """The forms of a made-up problem along one plan's path, by their names; none where it diverges."""
    problem = made(n, size, np.random.default_rng(seed), [*run.people])
    assert isinstance(run.algorithm, Algorithm)
    how: dict[str, Any] = {
        "rounds": run.rounds,
        "step": as_step(run.step),
        "seed": SEED,
        "keep": "transcript",
    }
    try:
        return {one.words: one for one in seen_in(solve(problem, run.network, run.algorithm, **how)).models}
    except Diverged:
        return {}
