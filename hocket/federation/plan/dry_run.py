"""A plan played beforehand, on made-up data or on files: which step, local steps and noise suit it.

Nobody knows all members' objectives, and no step can be derived. What is found here is as good as the data resemble
those of the members.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.bench.local_steps import stepping
from hocket.bench.tuning import Tuning, tune
from hocket.config.section import check
from hocket.config.sections import read_step
from hocket.errors import BadInput, BadPlan
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import PlanRunSection, read_planned_algorithm
from hocket.federation.workloads.needs import needs
from hocket.problems.problem import Problem
from hocket.problems.standard import least_squares, logistic
from hocket.steps import Constant, Power

L2 = 0.01
"""What is added to made-up logistic objectives, so that they have one minimum."""


@dataclass(frozen=True, eq=False)
class PlanDryRun:
    """What was tried for a plan, and the plan with the best of it."""

    tunings: Mapping[int, Tuning]
    """By local steps."""
    local_steps: int
    plan: FederationPlan
    """With the numbers that were found, unsigned."""
    remarks: tuple[str, ...]

    @property
    def best(self) -> Tuning:
        return self.tunings[self.local_steps]

    def rows(self) -> list[dict[str, Any]]:
        """A row per candidate, with its local steps."""
        return [
            {"local_steps": steps} | row | {"best": row["best"] and steps == self.local_steps}
            for steps, tuning in self.tunings.items()
            for row in tuning.rows()
        ]


def simulate(
    plan: FederationPlan,
    *,
    data: Sequence[Path] = (),
    records: int = 50,
    seed: int = 0,
    rounds: int | None = None,
    local_steps: Sequence[int] = (),
    noise: Mapping[str, Sequence[float]] | None = None,
    goal: float | None = None,
    seeds: int = 3,
    progress: bool | None = None,
) -> PlanDryRun:
    """Play a plan's algorithm on stand-in data with many steps, and take the best.

    Without `data`, one table of numbers per member with the target last, `records` made-up ones stand for each. `noise`
    is {"sd": [1, 3, 10]}: of these the largest is taken that still comes down to the `goal`.
    """
    if plan.study is not None:
        raise BadPlan("a study takes no steps; rehearse it with: hocket study simulate")
    problem = from_files(plan, data) if data else made_up(plan, records, seed)
    algorithm, remarks = _simulated(plan)
    counts = list(local_steps) or [plan.run.local_steps]
    if needs(algorithm).own_gradients and counts != [1]:
        raise BadPlan(f"{algorithm.title} takes one gradient in a round; leave --local-steps out")
    if noise and plan.certificate is not None:
        raise BadPlan(
            "the plan promises an ε by its noise, which no rehearsal may change; draw it up anew with hocket peer plan "
            "--epsilon, or leave --noise out"
        )
    if noise and goal is None:
        raise BadInput("the more noise, the larger the gap: say with --goal which gap is small enough")
    asked: dict[str, Any] = {
        "rounds": rounds or plan.run.rounds,
        "around": plan.step,
        "seeds": seeds,
        "goal": goal,
        "largest": next(iter(noise), None) if noise else None,
        "progress": progress,
        **(noise or {}),
    }
    tunings = {steps: tune(stepping(problem, steps), plan.network, algorithm, **asked) for steps in counts}
    chosen = min(tunings, key=lambda steps: _order(tunings[steps], goal))
    found = tunings[chosen]
    if found.at_edge:
        remarks.append("the best step lies at the edge of what was tried, and a better one may lie beyond")
    if not math.isfinite(found.chosen.gap):
        remarks.append("with every step the runs diverge; bound X, or look at the data")
    kind = "the files' data" if data else f"{records} made-up records per member"
    remarks.insert(0, f"found on {kind}: it is as good as these resemble the members' own")
    return PlanDryRun(tunings, chosen, with_numbers(plan, found, chosen), tuple(remarks))


def with_numbers(plan: FederationPlan, found: Tuning, local_steps: int) -> FederationPlan:
    """The plan with a step, local steps and noise that were found."""
    step = found.step
    table = (
        {"a": float(step.a), "b": float(step.b), "p": float(step.p)}
        if isinstance(step, Power)
        else {"constant": float(step.a) if isinstance(step, Constant) else float(step(1))}
    )
    algorithm = plan.algorithm_section
    if found.chosen.parameters:
        given = algorithm.model_dump(exclude_none=True) | found.chosen.parameters
        algorithm = read_planned_algorithm(given)
    run = check(PlanRunSection, "run", plan.run.model_dump() | {"local_steps": local_steps})
    return dataclasses.replace(
        plan, step_section=read_step(table), algorithm_section=algorithm, run=run, signatures={}
    )


def made_up(plan: FederationPlan, records: int, seed: int) -> Problem:
    """Objectives of the plan's class and dimension, over records that nobody has."""
    rng = np.random.default_rng(seed)
    shape = len(plan.cards), records, plan.task.dimension
    features = rng.normal(size=shape)
    truth = rng.normal(size=shape[2])
    scores = features @ truth + rng.normal(size=shape[:2])
    if plan.objectives.kind == "generalised-linear":
        return logistic(features, (scores > 0) * 1.0, l2=L2, feasible=plan.feasible)
    return least_squares(features, scores, feasible=plan.feasible, reduction="mean")


def from_files(plan: FederationPlan, paths: Sequence[Path]) -> Problem:
    """Least squares, or for two classes logistic regression, over one table per member: features, then the target."""
    if len(paths) != len(plan.cards):
        raise BadInput(
            f"there are {len(paths)} files for {len(plan.cards)} members; give one each, in the plan's order"
        )
    tables = [_table(path, plan.task.dimension) for path in paths]
    features, targets = [one[:, :-1] for one in tables], [one[:, -1] for one in tables]
    if np.isin(np.concatenate(targets), (0.0, 1.0)).all():
        return logistic(features, targets, l2=L2, feasible=plan.feasible)
    return least_squares(features, targets, feasible=plan.feasible, reduction="mean")


def _table(path: Path, dim: int) -> np.ndarray:
    try:
        with open(path, encoding="utf-8") as file:
            first = file.readline()
        named = any(not _is_number(word) for word in first.split(","))
        table = np.loadtxt(path, delimiter=",", skiprows=int(named), ndmin=2)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{path} is no table of numbers: {error}; write them in columns, with commas between"
        ) from None
    if table.shape[1] != dim + 1 or not len(table):
        raise BadInput(
            f"{path} has {table.shape[1]} columns; the plan has {dim} unknowns, so give {dim} features and the target"
        )
    return table


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _simulated(plan: FederationPlan) -> tuple[Algorithm, list[str]]:
    """The plan's algorithm as compiled code can play it."""
    algorithm = plan.algorithm
    if getattr(algorithm, "grid", None) is None:
        return algorithm, []
    return dataclasses.replace(algorithm, grid=None), ["noise was drawn in floats, not on the plan's grid"]  # type: ignore[call-arg]


def _order(tuning: Tuning, goal: float | None) -> tuple[float, tuple[float, float]]:
    """Noise first, if any was tuned; then how well it did."""
    noise = max((float(value) for value in tuning.chosen.parameters.values()), default=0.0)
    return -noise, tuning.chosen.score(goal)
