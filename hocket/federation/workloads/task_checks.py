"""That a member's task is what its plan is about: of the class that the plan promises, and with records that weigh no
more than its certificate counts for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from hocket.algorithms.function_sharing import functions_of, stored_of
from hocket.errors import BadInput, HocketError
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import CertificateSection
from hocket.federation.runtime.stored import coefficients_of
from hocket.federation.workloads.task import LocalSteps, Task, known_seeds
from hocket.noise.stored_sum import StoredSum
from hocket.problems.objective_class import ANY, ObjectiveClass
from hocket.problems.quadratic import quadratic_width, squares

ROUNDING = 1e-9
"""A record may be beyond a bound by this part of it, for rounding; what it adds to S is lost among its digits."""
ALIKE = 1e-9
"""Coefficients may be off those of a least-squares record by this part of its size: doubles are to 1e-15."""
HEAVIEST = 1_000
"""Records that are held against all others."""


def check_task(task: Task, plan: FederationPlan) -> None:
    """Refuse a task that is not what the plan is about: of another size, another class, or with larger records."""
    if task.dimension != plan.task.dimension:
        raise BadInput(
            f"the task has dimension {task.dimension} and the plan {plan.task.dimension}; run the task that the plan "
            "was made for"
        )
    check_objectives(task, plan)
    check_records(task, plan)


def check_records(task: Task, plan: FederationPlan) -> None:
    """Refuse a task with a record that weighs more than the plan's certificate counts; which one is said here, and to
    nobody else."""
    section = plan.certificate
    if section is None:
        return
    if section.columns is not None and section.target is not None:
        _check_columns(task, plan, section.columns, section.target)
    elif section.protect != "member":
        _check_weights(task, plan, section)
    _check_clipping(task, plan, section)


def _check_columns(task: Task, plan: FederationPlan, bounds: Sequence[float], most: float) -> None:
    dim = plan.task.dimension
    columns, target = records_of(_coefficients(task, plan), dim)
    for name, found, bound in (("column", columns, bounds), ("target", target, [most])):
        beyond = found > np.asarray(bound) * (1 + ROUNDING)
        if beyond.any():
            record, place = np.argwhere(beyond)[0].tolist()
            what = f"column {place + 1}" if name == "column" else "its target"
            raise BadInput(
                f"record {record + 1} of this task is {found[record, place]:.6g} from zero in {what}, and the plan "
                f"declares {bound[place]:.6g} at most; scale or clip the data in the same way at every member, or have "
                "a plan drawn up with wider columns"
            )


def _check_weights(task: Task, plan: FederationPlan, section: CertificateSection) -> None:
    """Where a plan counts a record by its norm alone, none of this task's may weigh more; where one is replaced by
    another, no two of them may be farther apart. Tasks that give nothing but gradients are taken at their word."""
    functions, dim, most = functions_of(plan.algorithm), plan.task.dimension, section.sensitivity
    tell: Callable[[], Float[np.ndarray, "records width"]] | None = getattr(task, "coefficients", None)
    if functions is None or tell is None or np.shape(records := tell())[1:] != (functions.family.width(dim),):
        return
    relative = functions.family.relative_variance(dim)
    scaled = np.asarray(records) / np.sqrt(1.0 if relative is None else relative)
    weights = np.linalg.norm(scaled, axis=1)
    if (weights > most * (1 + ROUNDING)).any():
        record = int(weights.argmax())
        raise BadInput(
            f"record {record + 1} of this task moves its objective by {weights[record]:.6g}, in units of the noise, "
            f"and the plan's certificate counts {most:.6g} for a record; scale the data in the same way at every "
            "member, or have a plan drawn up with a larger --sensitivity"
        )
    if section.protect != "record":
        return
    # One of two that are farther apart weighs more than half of it.
    for record in np.argsort(-weights)[:HEAVIEST].tolist():
        if weights[record] <= most / 2:
            return
        apart = np.linalg.norm(scaled - scaled[record], axis=1)
        if (apart > most * (1 + ROUNDING)).any():
            other = int(apart.argmax())
            raise BadInput(
                f"records {record + 1} and {other + 1} of this task differ by {apart[other]:.6g}, in units of the "
                f"noise, and the plan's certificate counts {most:.6g} for one that is replaced by another; have a plan "
                "drawn up with a larger --sensitivity, twice the largest record at most"
            )


def _check_clipping(task: Task, plan: FederationPlan, section: CertificateSection) -> None:
    """A task that clips knows how far a record moves its gradients, and how likely one is to take part."""
    moves: Callable[..., float] | None = getattr(task, "sensitivity", None)
    if section.protect != "record" or (moves is None and functions_of(plan.algorithm) is not None):
        return
    if moves is None:
        raise BadInput(
            "the plan's noise hides records whose gradients are clipped and divided by a public constant, and this "
            "task does not say so; run a ClippedTask, or give the task sensitivity(replace=True)"
        )
    if not 0 <= (rate := getattr(task, "rate", 1.0)) <= (section.rate or 1.0) * (1 + ROUNDING):
        raise BadInput(
            f"in this task a record takes part in a round with probability {rate:.6g}, and the plan's certificate "
            f"counts {section.rate or 1.0:.6g}; take smaller batches, or have a plan drawn up with a larger --rate"
        )
    if not 0 <= (found := moves(replace=True)) <= section.sensitivity * (1 + ROUNDING):
        raise BadInput(
            f"in this task a record that is replaced moves a gradient by {found:.6g}, twice its clip over its batch, "
            f"and the plan's certificate counts {section.sensitivity:.6g}; clip at less, take larger batches, or have "
            f"a plan drawn up with --sensitivity {found:.6g}"
        )
    if functions_of(plan.algorithm) is None:
        _check_far_out(task, plan)


def _check_far_out(task: Task, plan: FederationPlan) -> None:
    """Refuse a task that clips and still has a gradient that is not finite, or none, where a neighbour may lead it. No
    clipping bounds that: the record that did it would move the gradient by all that the others give."""
    steps = LocalSteps(task, 1, known_seeds)
    for end in (plan.run.reach, -plan.run.reach):
        x = plan.feasible.project(np.full(plan.task.dimension, end, dtype=plan.task.dtype))
        try:
            found = "is not finite" if not np.isfinite(steps.asked(x, 1, 0)).all() else ""
        except HocketError:
            raise
        except Exception as error:
            found = f"raises {type(error).__name__}"
        if found:
            raise BadInput(
                f"at {x[0]:g} in every coordinate, where a neighbour may lead this member, the task's gradient "
                f"{found}: one record that causes this moves it by more than any clipping bounds. Count each record's "
                "gradient that is not finite as zero before the sum, as ClippedTask does; or have a plan drawn up with "
                "a bounded feasible set or a smaller reach"
            )


def _coefficients(task: Task, plan: FederationPlan) -> Float[np.ndarray, "records width"]:
    functions = functions_of(plan.algorithm)
    if functions is None:
        raise BadInput("the plan declares columns, and its noise is on gradients, which they do not bound")
    stored = stored_of(plan.algorithm) or StoredSum(functions.family, 1.0, 0.0)
    return coefficients_of(task, stored, plan.task.dimension)


def records_of(
    coefficients: Float[np.ndarray, "records width"], dim: int
) -> tuple[Float[np.ndarray, "records dim"], Float[np.ndarray, "records 1"]]:
    """|a| and |b| of every record, from the coefficients of ½ (aᵀx − b)²; refused where they are of something else."""
    if coefficients.shape[1] != quadratic_width(dim):
        raise BadInput(
            "declared columns are those of least squares, and this plan's objectives are not quadratics with cross "
            "terms; give --sensitivity in their place"
        )
    a = np.sqrt(2 * np.maximum(coefficients[:, squares(dim)], 0.0))
    slopes, (p, q) = coefficients[:, :dim], np.triu_indices(dim)
    cross = coefficients[:, dim:] * np.where(p == q, 2.0, 1.0)
    # Signs too, by the row of the largest column: with others it would be no square, and weigh more beside another.
    place = np.zeros((dim, dim), dtype=int)
    place[p, q] = place[q, p] = np.arange(len(p))
    a = a * np.sign(np.take_along_axis(cross, place[a.argmax(axis=1)], axis=1))
    size = (a**2).sum(axis=1)
    b = -(slopes * a).sum(axis=1) / np.where(size > 0, size, 1.0)
    alike = (np.abs(cross - a[:, p] * a[:, q]) <= ALIKE * size[:, None]).all() and (
        np.abs(slopes + a * b[:, None]) <= ALIKE * (np.sqrt(size) * np.abs(b))[:, None]
    ).all()
    if not alike:
        raise BadInput(
            "a record's coefficients are not those of ½ (aᵀx − b)², of which the plan's columns are; give one row of "
            "coefficients per record, or have a plan drawn up with --sensitivity"
        )
    return np.abs(a), np.abs(b)[:, None]


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
    if (stored := stored_of(plan.algorithm)) is not None:
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
