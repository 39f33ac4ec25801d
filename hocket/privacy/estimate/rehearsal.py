"""Public forms of objectives with the points where gradients are taken: those of a run, or of one that is rehearsed.

A plan is audited before there are data. So a problem of the declared class is made up, with gradients of the declared
size, and played once with the plan's own noise, which carries agents to where their gradients tell most. Whether
states are moved back into the feasible set shows in the same rehearsal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from hocket.algorithm import Algorithm
from hocket.engines.solver import solve
from hocket.networks.network import Network
from hocket.privacy import families
from hocket.privacy.attacks.words import mixed
from hocket.privacy.estimate.model_class import Model
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball, Everywhere, FeasibleSet
from hocket.problems.standard import least_squares, logistic, polynomials
from hocket.runs.run import Run
from hocket.steps import Step

MOST_NUMBERS = 400
"""Unknown numbers of all agents together beyond which a form is not followed: every round factors a matrix of them."""
FEW = 2
"""Dimensions in which a regression is rehearsed: in more, a record is more numbers, and each of them is known less."""
OUTWARD = 1e-9
"""A step away from the middle of a set, as a part of its size: from a side it leads out of it."""
MakeUp = Callable[[int, float, np.random.Generator, FeasibleSet], Problem]


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What an estimate must know of a plan beside its noise."""

    models: tuple[Model, ...] = ()
    """The forms that the declared class allows, along the path of a made-up problem; none where any is allowed."""
    active: bool = False
    """Whether states were moved back into the feasible set."""


NOTHING_REHEARSED = Rehearsal()


def models_of_run(run: Run) -> tuple[Model, ...]:
    """The form of a run's own objectives along its own path, and gradients that stay the same where X was active.
    For a run with its words and its problem at hand; a form with too many numbers is not followed.
    """
    problem = run.problem
    if problem is None or run.path is None or run.transcript is None:
        return ()
    sides, path = on_side(run.path[1:], problem.feasible), taken_at(run)
    constant = [] if sides is None else [[_linear(families.polynomials(1, problem.dim))] * problem.n]
    return tuple(
        Model([family for family, _ in form], [theta for _, theta in form], path, sides)
        for form in [*constant, _form_of(problem)]
        if sum(family.size for family, _ in form) <= MOST_NUMBERS
    )


def rehearsed(
    network: Network,
    algorithm: Algorithm,
    objectives: ObjectiveClass,
    *,
    step: Step,
    rounds: int,
    dim: int = 1,
    feasible: FeasibleSet | None = None,
    gradient_size: float = 1.0,
    seed: int = 0,
) -> Rehearsal:
    """Play a plan once on problems of the declared class, and see where gradients are taken and states end up.
    For the audit of a plan. Of a class that allows any objective only the feasible set is rehearsed, on quadratics.
    """
    rng = np.random.default_rng(seed)
    how: dict[str, Any] = {"rounds": rounds, "step": step, "seed": seed, "keep": "transcript"}
    forms = _forms(objectives)
    played = [
        solve(make_up(network.n, gradient_size, rng, _alike(feasible, dim)), network, algorithm, **how)
        for make_up in forms or [_quadratics]
    ]
    models = [model for run in played for model in models_of_run(run)]
    active = any(model.projected is not None for model in models)
    return Rehearsal(tuple(models) if forms else (), active)


def taken_at(run: Run) -> Float[np.ndarray, "rounds agents dim"]:
    """Where the gradients of a run were taken: at what its agents mixed."""
    view = run.view(threat="states")
    return np.stack([mixed(view, j) for j in range(run.network.n)], axis=1)


def on_side(
    states: Float[np.ndarray, "rounds agents dim"], feasible: FeasibleSet
) -> Bool[np.ndarray, "rounds agents dim"] | None:
    """Which coordinates of states lie on a side of a bounded set: a step outward is undone; None if none does."""
    if not feasible.bounded:
        return None
    centre, radius = feasible.enclosing_ball(states.shape[2])
    beyond = (states + OUTWARD * (states - centre)).reshape(-1, states.shape[2])
    moved = np.array([np.abs(feasible.project(x) - x) for x in beyond]).reshape(states.shape)
    found = moved > OUTWARD * radius / 10
    return found if found.any() else None


def _form_of(problem: Problem) -> list[tuple[families.Family, families.Parameters]]:
    """What is public of everybody's objective: the class it is of, or its own form with all data unknown."""
    kind = problem.objective_class
    if kind.kind == "polynomial":
        return [_linear(families.polynomials(max(kind.degree or 1, 1), problem.dim))] * problem.n
    if kind.kind == "quadratic":
        return [_linear(families.quadratics(problem.dim))] * problem.n
    return [families.of_problem(problem, j) for j in range(problem.n)]


def _linear(family: families.Family) -> tuple[families.Family, families.Parameters]:
    """Where gradients are linear in the parameters, it does not matter around which one looks at them."""
    return family, np.zeros(family.size)


def _forms(objectives: ObjectiveClass) -> list[MakeUp]:
    degree = objectives.degree or 1
    powers: list[MakeUp] = [_powers(degree)] if degree >= 4 and degree % 2 == 0 else []
    forms: dict[str, list[MakeUp]] = {
        "polynomial": [_polynomials(degree), *powers],
        "quadratic": [_quadratics],
        "generalised-linear": [_records],
    }
    return forms.get(objectives.kind, [])


def _alike(feasible: FeasibleSet | None, dim: int) -> FeasibleSet:
    """A set of the same size per coordinate in any dimension."""
    if feasible is None or not feasible.bounded:
        return Everywhere()
    centre, radius = feasible.enclosing_ball(dim)
    return Ball(radius / np.sqrt(dim), float(np.mean(centre)))


def _polynomials(degree: int) -> MakeUp:
    """A bowl each, with a little of every higher power."""

    def made(n: int, size: float, rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
        rows = np.abs(size * rng.normal(size=(n, degree + 1))) / 20
        rows[:, 3::2] /= 10
        rows[:, 1] = size * rng.normal(size=n)
        if degree > 1:
            rows[:, 2] = size * rng.uniform(0.5, 1.5, size=n)
        return polynomials(rows.tolist(), feasible=feasible)

    return made


def _powers(degree: int) -> MakeUp:
    def made(n: int, size: float, rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
        theta = np.stack([size * rng.uniform(0.2, 0.5, size=n), rng.normal(size=n)], axis=1)
        return Problem(
            lambda x, one: one[0] * jnp.sum((x - one[1]) ** degree), theta, feasible=feasible, dim=1
        )

    return made


def _quadratics(n: int, size: float, rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    rows, targets = rng.normal(size=(n, 2 * FEW, FEW)), rng.normal(size=(n, 2 * FEW))
    scale = np.sqrt(size / 2)
    return least_squares(scale * rows, scale * targets, feasible=feasible)


def _records(n: int, size: float, rng: np.random.Generator, feasible: FeasibleSet) -> Problem:
    """A record each: what a member with more of them says of any one of them is less."""
    features = 2 * size * rng.normal(size=(n, 1, FEW))
    return logistic(features, np.sign(rng.normal(size=(n, 1))), l2=0.1, feasible=feasible)
