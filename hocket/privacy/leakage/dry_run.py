"""Public forms of objectives with the points where gradients are taken: those of a run, or of one that is rehearsed.

A plan is audited before there are data. So a problem of the declared class is made up, with gradients of the declared
size, and played once with the plan's own noise, which carries agents to where their gradients tell most. Whether states
reach the sides of the feasible set, made-up data cannot tell: it is asked how far they could go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.polynomial import Polynomial as Series

from hocket.algorithm import Algorithm
from hocket.engines.solver import solve
from hocket.errors import Diverged
from hocket.networks.network import Network
from hocket.privacy import families
from hocket.privacy.attacks.messages import mixed
from hocket.privacy.leakage.leakage import PlannedRun
from hocket.privacy.leakage.model_class import Model
from hocket.privacy.wording import Said
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere, FeasibleSet
from hocket.problems.standard import least_squares, logistic, polynomials
from hocket.runs.coverage import coverage
from hocket.runs.run import Run
from hocket.steps import Step, as_step

MOST_NUMBERS = 400
"""Unknown numbers of all agents together beyond which a form is not followed: every round factors a matrix of them."""
FEW = 2
"""Dimensions in which a regression is rehearsed: in more, a record is more numbers, and each of them is known less."""
EVEN = 1e-9
"""Odd coefficients below this part of the largest are rounding."""
OUTWARD = 1e-9
"""A step away from the middle of a set, as a part of its size: from a side it leads out of it."""
MakeUp = Callable[[int, float, np.random.Generator, list[int]], Problem]
"""A problem of so many agents with gradients of this size, of which some take part."""


class Unfollowed(Enum):
    """Why nobody looked at a form."""

    TOO_LARGE = "what is known if objectives are {form} was not worked out: {numbers:number} are too many"
    DIVERGES = (
        "what is known if objectives are {form} was not worked out: with these steps a made-up problem with gradients "
        "of size {size:g} diverges"
    )


@dataclass(frozen=True, eq=False)
class DryRun:
    """What an estimate must know of a plan beside its noise."""

    models: tuple[Model, ...] = ()
    """The forms that the declared class allows, along the path of a made-up problem; none where any is allowed."""
    active: bool = False
    """Whether states may reach the sides of the feasible set, and be moved back."""
    unfollowed: tuple[Said, ...] = ()
    """Forms that nobody looked at, and why."""

    def to_json(self) -> dict[str, Any]:
        """What was looked at beside noise."""
        on_sides = any(one.projected is not None for one in self.models)
        return {"set_active": self.active or on_sides, "unfollowed": [str(one) for one in self.unfollowed]}


NOTHING_REHEARSED = DryRun()


def models_of_run(run: Run) -> tuple[Model, ...]:
    """The form of a run's own objectives along its own path, and gradients that stay the same where X was active.
    For a run with its words and its problem at hand; a form with too many numbers is not followed.
    """
    return seen_in(run).models


def seen_in(run: Run) -> DryRun:
    """What a run shows beside its noise: the forms that are followed, and those that are not."""
    problem = run.problem
    if problem is None or run.path is None or run.transcript is None:
        return NOTHING_REHEARSED
    sides, path = on_side(run.path[1:], problem.feasible), taken_at(run)
    constant = [] if sides is None else [[_linear(families.polynomials(1, problem.dim))] * problem.n]
    forms = [*constant, *_forms_of(problem)]
    followed = [form for form in forms if _size(form) <= MOST_NUMBERS]
    return DryRun(
        tuple(
            Model([one for one, _ in form], [theta for _, theta in form], path, sides) for form in followed
        ),
        unfollowed=tuple(_too_large(form) for form in forms if _size(form) > MOST_NUMBERS),
    )


def _too_large(form: Form) -> Said:
    names = " and ".join(dict.fromkeys(family.name for family, _ in form))
    return Said(Unfollowed.TOO_LARGE, form=names, numbers=_size(form))


def simulated(
    network: Network, algorithm: Algorithm, objectives: ObjectiveClass | str, **how: Any
) -> tuple[Model, ...]:
    """The forms that a class allows, each along the path of a plan that is played once on a made-up problem.
    For the audit of a plan, `how` being what else `dry_run` takes; of a class that allows any objective no form is
    public.
    """
    kind = ObjectiveClass.parse(objectives) if isinstance(objectives, str) else objectives
    return dry_run(network, algorithm, kind, **how).models


def dry_run(
    network: Network,
    algorithm: Algorithm,
    objectives: ObjectiveClass,
    *,
    step: Step,
    rounds: int,
    gradient_size: float = 1.0,
    seed: int = 0,
) -> DryRun:
    """The same, with the forms that could not be followed."""
    rng = np.random.default_rng(seed)
    how: dict[str, Any] = {"rounds": rounds, "step": step, "seed": seed, "keep": "transcript"}
    models: list[Model] = []
    unfollowed: list[Said] = []
    for made in made_up(objectives):
        try:
            seen = seen_in(
                solve(made(network.n, gradient_size, rng, [*range(network.n)]), network, algorithm, **how)
            )
        except Diverged:
            lost = Said(Unfollowed.DIVERGES, form=objectives.words, size=gradient_size)
            unfollowed += [] if lost in unfollowed else [lost]
            continue
        models += seen.models
        unfollowed += [one for one in seen.unfollowed if one not in unfollowed]
    return DryRun(tuple(models), unfollowed=tuple(unfollowed))


def simulated_together(
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
            _played(run, made, n, gradient_size, [0, number]) if place in told else {}
            for place, run in enumerate(runs)
        ]
        words = dict.fromkeys(form for one in seen for form in one)
        found += [tuple(one.get(form) for one in seen) for form in words]
    return found


def _played(run: PlannedRun, made: MakeUp, n: int, size: float, seed: list[int]) -> dict[str, Model]:
    """The forms of a made-up problem along one plan's path, by their names; none where it diverges."""
    problem = made(n, size, np.random.default_rng(seed), [*run.people])
    assert isinstance(run.algorithm, Algorithm)
    how: dict[str, Any] = {"rounds": run.rounds, "step": as_step(run.step), "seed": 0, "keep": "transcript"}
    try:
        return {one.words: one for one in seen_in(solve(problem, run.network, run.algorithm, **how)).models}
    except Diverged:
        return {}


def may_reach(
    feasible: FeasibleSet | None,
    dim: int,
    algorithm: Algorithm,
    *,
    step: Step,
    rounds: int,
    gradient_size: float,
) -> bool:
    """Whether states may reach the sides of a set: if gradients of the declared size all pulled one way, they would.

    >>> from hocket import Ball, Dgd, Power
    >>> plan = {"step": Power(1.0, 20, 0.75), "rounds": 1000, "gradient_size": 1.0}  # the steps add up to 14.1
    >>> may_reach(Ball(10.0), 1, Dgd(), **plan), may_reach(Ball(20.0), 1, Dgd(), **plan)
    (True, False)
    """
    if feasible is None or not feasible.bounded:
        return False
    start, steps = feasible.project(np.zeros(dim)), step.table(1, rounds)
    if coverage(algorithm).noise_bound is None:  # noise without a bound may carry a state anywhere
        return True
    reach = float(steps.sum() * gradient_size + steps.max() * coverage(algorithm).noise_bound)
    low, high = feasible.bounding_box(dim)
    nearest = min(float((start - low).min()), float((high - start).min()))
    return nearest <= reach or not all(feasible.contains(start + way * reach) for way in (1.0, -1.0))


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
    centre, _ = feasible.enclosing_ball(states.shape[2])
    beyond = (states + OUTWARD * (states - centre)).reshape(-1, states.shape[2])
    moved = np.array([np.abs(feasible.project(x) - x) for x in beyond]).reshape(states.shape)
    found = moved > OUTWARD * np.abs(states - centre) / 10
    return found if found.any() else None


Form = list[tuple[families.Family, families.Parameters]]
"""Everybody's objective: its family, and the parameters around which that is looked at."""


def _forms_of(problem: Problem) -> list[Form]:
    """What may be public of everybody's objective: the class it is of, and its own form with all data unknown."""
    own = [families.of_problem(problem, j) for j in range(problem.n)]
    family = families.class_form(problem)
    if family is None:
        return [own]
    usual = [_linear(family)] * problem.n
    # One row of coefficients may serve all coordinates, and few records make a quadratic: then less is unknown.
    return [usual, *([own] if _size(own) < _size(usual) else []), *_centred_form(problem, usual)]


def _size(form: Form) -> int:
    return sum(family.size for family, _ in form)


def _centred_form(problem: Problem, usual: Form) -> list[Form]:
    """Polynomials that are the same on both sides of some centre, for anybody who knows that: others stay as they
    are."""
    kind = problem.objective_class
    if kind.kind != "polynomial" or problem.dim > 1 or (kind.degree or 0) < 4:
        return []
    even = [_around(problem, j, kind.degree or 0) for j in range(problem.n)]
    if not any(one is not None for one in even):
        return []
    return [[before if one is None else one for one, before in zip(even, usual, strict=True)]]


def _around(problem: Problem, agent: int, degree: int) -> tuple[families.Family, families.Parameters] | None:
    """An even polynomial by its centre and its coefficients there; None if it is not even, or no more than a bowl."""
    group, place = problem.place(agent)
    found = Series(np.asarray(group.data_of(place), dtype=np.float64).ravel()).trim()
    top = found.degree()
    if top < 4 or top % 2:
        return None
    centre = -found.coef[top - 1] / (top * found.coef[top])
    there = found(Series([centre, 1.0])).coef
    if np.abs(there[1::2]).max() > EVEN * np.abs(there).max():
        return None
    family = families.centred(degree)
    return family, np.pad([centre, *there[2::2]], (0, family.size))[: family.size]


def _linear(family: families.Family) -> tuple[families.Family, families.Parameters]:
    """Where gradients are linear in the parameters, it does not matter around which one looks at them."""
    return family, np.zeros(family.size)


def made_up(objectives: ObjectiveClass) -> list[MakeUp]:
    """Ways to make up problems of a class, one for each form that it allows."""
    degree = objectives.degree or 1
    even: list[MakeUp] = [_centred(degree - degree % 2)] if degree >= 4 else []
    forms: dict[str, list[MakeUp]] = {
        "polynomial": [_polynomials(degree), *even],
        "quadratic": [_quadratics],
        "generalised-linear": [_records],
    }
    return forms.get(objectives.kind, [])


def _polynomials(degree: int) -> MakeUp:
    """A bowl each, with a little of every higher power."""

    def made(n: int, size: float, rng: np.random.Generator, agents: list[int]) -> Problem:
        rows = np.abs(size * rng.normal(size=(n, degree + 1))) / 20
        rows[:, 3::2] /= 10
        rows[:, 1] = size * rng.normal(size=n)
        if degree > 1:
            rows[:, 2] = size * rng.uniform(0.5, 1.5, size=n)
        return polynomials(rows[agents].tolist(), feasible=Everywhere())

    return made


def _centred(degree: int) -> MakeUp:
    def made(n: int, size: float, rng: np.random.Generator, agents: list[int]) -> Problem:
        centres, sizes = rng.normal(size=n), size * rng.uniform(0.1, 0.5, size=(n, degree // 2))
        rows = [
            Series(np.kron([0.0, *one], [1.0, 0.0])[: degree + 1])(Series([-centre, 1.0])).coef
            for one, centre in zip(sizes, centres, strict=True)
        ]
        return polynomials([rows[j] for j in agents], feasible=Everywhere())

    return made


def _quadratics(n: int, size: float, rng: np.random.Generator, agents: list[int]) -> Problem:
    rows, targets = rng.normal(size=(n, 2 * FEW, FEW)), rng.normal(size=(n, 2 * FEW))
    scale = np.sqrt(size / 2)
    return least_squares(scale * rows[agents], scale * targets[agents], feasible=Everywhere())


def _records(n: int, size: float, rng: np.random.Generator, agents: list[int]) -> Problem:
    """A record each: what a member with more of them says of any one of them is less."""
    features = 2 * size * rng.normal(size=(n, 1, FEW))
    signs = np.sign(rng.normal(size=(n, 1)))
    return logistic(features[agents], signs[agents], l2=0.1, feasible=Everywhere())
