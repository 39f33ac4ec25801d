"""That a member's records keep within the columns that its plan declares: a certificate counts on it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.federation.engine.stored import coefficients_of
from hocket.federation.plan import FederationPlan
from hocket.federation.task import Task
from hocket.problems.quadratic import quadratic_width, squares

ROUNDING = 1e-9
"""A record may be beyond a bound by this part of it, for rounding; what it adds to S is lost among its digits."""


def check_records(task: Task, plan: FederationPlan) -> None:
    """Refuse a task with a record outside the declared columns; which one is said here, and to nobody else."""
    section, stored = plan.certificate, plan.algorithm.stored
    if section is None or section.columns is None or section.target is None or stored is None:
        return
    dim = plan.task.dimension
    columns, target = records_of(coefficients_of(task, stored, dim), dim)
    for name, found, bound in (("column", columns, section.columns), ("target", target, [section.target])):
        beyond = found > np.asarray(bound) * (1 + ROUNDING)
        if beyond.any():
            record, place = np.argwhere(beyond)[0].tolist()
            what = f"column {place + 1}" if name == "column" else "its target"
            raise BadInput(
                f"record {record + 1} of this task is {found[record, place]:.6g} from zero in {what}, and the plan "
                f"declares {bound[place]:.6g} at most; scale or clip the data in the same way at every member, or have "
                "a plan drawn up with wider columns"
            )


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
    size = (a**2).sum(axis=1)
    b = np.sqrt((slopes**2).sum(axis=1) / np.where(size > 0, size, 1.0))
    tiny = 1e-6 * (1 + size)[:, None]
    alike = (np.abs(np.abs(cross) - a[:, p] * a[:, q]) <= tiny).all() and (
        np.abs(np.abs(slopes) - a * b[:, None]) <= tiny * (1 + b[:, None])
    ).all()
    if not alike:
        raise BadInput(
            "a record's coefficients are not those of ½ (aᵀx − b)², of which the plan's columns are; give one row of "
            "coefficients per record, or have a plan drawn up with --sensitivity"
        )
    return a, b[:, None]
