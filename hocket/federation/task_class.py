"""That a member's task is of the class of objectives that its plan promises."""

from __future__ import annotations

import numpy as np

from hocket.errors import BadInput
from hocket.federation.plan import FederationPlan
from hocket.federation.task import LocalSteps, Task, known_seeds
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
    if promised != ANY and _changes(task, plan):
        raise BadInput(
            f"the plan promises {promised.words}, and this task gives other gradients at the same point in rounds 1 "
            "and 2: over batches, or with noise of its own, there is no one objective; take all records in every step, "
            "or have a plan drawn up with --objectives any"
        )


def _changes(task: Task, plan: FederationPlan) -> bool:
    """Whether the gradient at one point is another in the next round."""
    x = np.asarray(task.start(plan.task.seed), dtype=plan.task.dtype)
    steps = LocalSteps(task, 1, known_seeds)
    return not np.array_equal(steps.gradient(x, 1, 0), steps.gradient(x, 2, 0))
