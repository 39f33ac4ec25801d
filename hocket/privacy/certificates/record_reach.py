"""How far one record of a problem can move a gradient, wherever messages may lead the agents.

Members may lie, so that every point is reached that nothing keeps out: where gradients are taken at a projection, the
points of X; else all points there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hocket.problems import Objective
from hocket.problems.problem import Problem
from hocket.problems.regression import LeastSquares, Logistic
from hocket.problems.sets import Everywhere, FeasibleSet

EVERYWHERE = Everywhere()


def replaced_reach(problem: Problem, *, inside: bool) -> float | None:
    """How far a gradient moves at most if one record is replaced by another as large as those of this problem; infinite
    if nothing bounds it or nobody knows, None where agents have no records.

    `inside` says that gradients are taken at points of X alone.
    """
    where = problem.feasible if inside else EVERYWHERE
    found = [
        one for group in problem.groups for one in _of_group(group.objective, group.data, where, problem.dim)
    ]
    return max(found, default=None)


def _of_group(objective: Objective, data: Any, where: FeasibleSet, dim: int) -> Iterator[float]:
    if type(objective).local is not Objective.local:
        yield _of_steps(objective)
    elif objective.reduction is not None:
        yield 2 * _largest(objective, data, where, dim)


def _of_steps(objective: Any) -> float:
    """Of agents that descend by themselves: what they clip."""
    clip = getattr(objective, "clip", None)
    return math.inf if clip is None else float(clip.sensitivity(objective.batch, replace=True))


def _largest(objective: Objective, data: Any, where: FeasibleSet, dim: int) -> float:
    """The longest gradient of one record at any point of a set."""
    if type(objective) not in (LeastSquares, Logistic):
        return math.inf
    rows, targets = (np.asarray(leaf, dtype=np.float64) for leaf in data.values)
    weight, length = np.asarray(data.weight, dtype=np.float64), np.linalg.norm(rows, axis=-1)
    if type(objective) is Logistic:
        return float((weight * length).max(initial=0.0))
    centre, radius = where.enclosing_ball(dim)
    # |aᵀx − b| is largest where the ball reaches farthest along a.
    with np.errstate(invalid="ignore"):  # of padding that counts for nothing, on a set without bounds
        far = np.where(length > 0, length * radius, 0.0)
        longest = weight * length * (np.abs(rows @ centre - targets) + far)
    return float(longest[weight > 0].max(initial=0.0))
