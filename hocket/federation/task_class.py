"""That a member's task is of the class of objectives that its plan promises."""

from __future__ import annotations

import numpy as np

from hocket.errors import BadInput
from hocket.federation.engine.stored import coefficients_of
from hocket.federation.plan import FederationPlan
from hocket.federation.task import LocalSteps, Task, known_seeds
from hocket.noise.stored_sum import StoredSum
from hocket.problems.objective_class import ANY, ObjectiveClass


def task_class(task: Task) -> ObjectiveClass:
    """The class that a task says its objective is of; a task that says nothing may be any."""
    return ObjectiveClass.parse(str(getattr(task, "objectives", ANY)))


def check_objectives(task: Task, plan: FederationPlan) -> None:
    """Refuse a task that is not what this member has signed: theorems rest on the class of all objectives."""
    promised, said = plan.objectives, task_class(task)
    if not promised.includes(said.in_dimension(plan.task.dimension)):
        raise BadInput(
            f"the plan promises {promised.words}, and this task says {said}; if its objective is one, give the task "
            f'objectives="{promised}", or have a plan drawn up with --objectives {said}'
        )
    if (stored := plan.algorithm.stored) is not None:
        _check_coefficients(task, stored, plan)
    if promised != ANY and _changes(task, plan):
        raise BadInput(
            f"the plan promises {promised.words}, and this task gives other gradients at the same point in rounds 1 "
            "and 2: over batches, or with noise of its own, there is no one objective; take all records in every step, "
            "or have a plan drawn up with --objectives any"
        )


def _check_coefficients(task: Task, stored: StoredSum, plan: FederationPlan) -> None:
    """Refuse coefficients that are not those of the task's gradients: what is hidden would be another objective."""
    total = coefficients_of(task, stored, plan.task.dimension).sum(axis=0)
    steps = LocalSteps(task, 1, known_seeds)
    for x in (np.zeros(plan.task.dimension), np.ones(plan.task.dimension)):
        asked, given = stored.family.gradient(x, total), steps.gradient(x, 1, 0)
        if not np.allclose(asked, given, rtol=1e-6, atol=1e-6 * (1 + np.abs(total).max())):
            raise BadInput(
                f"at {x[0]:g} in every coordinate the task's gradient begins with {given[0]:.6g}, and by its "
                f"coefficients it would be {asked[0]:.6g}: they are of two objectives; mend coefficients()"
            )


def _changes(task: Task, plan: FederationPlan) -> bool:
    """Whether the gradient at one point is another in the next round."""
    x = np.asarray(task.start(plan.task.seed), dtype=plan.task.dtype)
    steps = LocalSteps(task, 1, known_seeds)
    return not np.array_equal(steps.gradient(x, 1, 0), steps.gradient(x, 2, 0))
