"""Problems by name: polynomials, least squares, logistic regression, and the two that examples use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hocket.errors import BadProblem
from hocket.problems import LeastSquares, Logistic, Polynomial
from hocket.problems.objective import Reduction
from hocket.problems.polynomial import moved_apart
from hocket.problems.problem import Problem
from hocket.problems.sets import Box, FeasibleSet
from hocket.rationals import check_dense_real

PAPER_POLYNOMIALS: tuple[list[float], ...] = (
    [0, 0, 1],
    [0, 0, 0, 0, 1],
    [0, 0, 1, 0, 1],
    [0, 0, 1, 0, 0.5],
    [0, 0, 0.5, 0, 1],
)
"""f_1 … f_5 of the paper's experiments. They sum to 3.5 (x² + x⁴), where the paper prints 2.5."""


def polynomials(
    coefficients: Sequence[Any],
    *,
    box: tuple[Any, Any] | None = None,
    feasible: FeasibleSet | None = None,
    dim: int | None = None,
    **declared: Any,
) -> Problem:
    """A polynomial per agent: a row of ascending coefficients each, rows of any length.

    A row of numbers serves every coordinate alike; a row of rows (degree + 1, dim) gives each coordinate its
    own. Fractions are kept exact.
    """
    if box is not None and feasible is None:
        feasible = Box(*box)
    elif feasible is None or box is not None:
        raise BadProblem("say where to minimise: either box=(low, high) or feasible=")
    check_dense_real(coefficients, "coefficients")
    rows = [_row(row, j) for j, row in enumerate(coefficients)]
    if not rows:
        raise BadProblem("there are no polynomials; give a row of coefficients per agent")
    widths = {row.shape[1] for row in rows if row.ndim == 2}
    if len(widths) > 1:
        raise BadProblem(
            f"the polynomials are for {sorted(widths)} coordinates; give all agents equally many"
        )
    shape = (len(rows), max(len(row) for row in rows), *widths)
    table = np.zeros(shape, dtype=np.result_type(*{row.dtype for row in rows}))
    for j, row in enumerate(rows):
        table[j, : len(row)] = row[:, None] if widths and row.ndim == 1 else row
    return Problem(Polynomial(), table, feasible=feasible, dim=dim or next(iter(widths), 1), **declared)


def least_squares(
    A: Any,
    b: Any,
    *,
    feasible: FeasibleSet,
    l2: float = 0.0,
    reduction: Reduction = "sum",
    **declared: Any,
) -> Problem:
    """½ ‖A_j x − b_j‖² per agent, with (l2/2) ‖x‖² added to every objective.

    A is (agents, rows, dim) and b (agents, rows), or both are lists with one entry per agent, of any length. Rows are
    summed, so that an agent counts by how many it has; with `reduction="mean"` all agents count the same.
    """
    data, dim = _pairs(A, b, "A", "b")
    objective = LeastSquares(l2=l2 if np.ndim(l2) or l2 != 0 else None, reduction=reduction)
    return Problem(objective, data, feasible=feasible, dim=dim, **declared)


def logistic(
    features: Any,
    labels: Any,
    *,
    feasible: FeasibleSet,
    l2: float = 0.0,
    reduction: Reduction = "sum",
    **declared: Any,
) -> Problem:
    """Logistic regression per agent, labels −1 and 1 or 0 and 1, with (l2/2) ‖x‖² added to every objective.

    Features are (agents, samples, dim), or a list with one entry per agent, of any length; for an intercept
    add a column of ones. Samples are summed, so that an agent counts by how many it has; with `reduction="mean"` all
    agents count the same.
    """
    data, dim = _pairs(features, labels, "features", "labels")
    return Problem(Logistic(l2=l2, reduction=reduction), data, feasible=feasible, dim=dim, **declared)


def paper_polynomials() -> Problem:
    """The five agents of the paper's first experiment, on [−30, 30].

    For reproducing the paper. All agents share the minimiser 0, so nothing can be seen to leak.
    """
    return polynomials(PAPER_POLYNOMIALS, box=(-30, 30))


def heterogeneous_polynomials() -> Problem:
    """The paper's five polynomials, each moved to a minimiser of its own, on [−30, 30].

    For showing leaks: what pulls an agent its own way is what a neighbour can learn.
    """
    return polynomials(moved_apart(PAPER_POLYNOMIALS), box=(-30, 30))


def _row(row: Any, j: int) -> np.ndarray:
    try:
        coefficients = np.asarray(row)
        if coefficients.dtype != object:
            coefficients = coefficients.astype(np.float64)
    except (TypeError, ValueError):
        coefficients = np.empty(0)
    if coefficients.ndim not in (1, 2) or not coefficients.size:
        raise BadProblem(f"the polynomial of agent {j} is {row!r}; give ascending coefficients, at least one")
    return coefficients


def _check_numbers(given: Any, name: str) -> None:
    """Refuse text before anybody computes with it, and what are no arrays of real numbers."""
    check_dense_real(given, name)
    for j, part in enumerate(given):
        found = np.asarray(part)
        if found.dtype.kind in "US":
            raise BadProblem(
                f"{name} of agent {j} hold text, {found.ravel()[0]!s} first; turn it into numbers, a column for each "
                "category, or -1 and 1 for two classes"
            )


def _pairs(rows: Any, targets: Any, first: str, second: str) -> tuple[Any, int]:
    """The data as one pair of stacked arrays, or as a list with a pair per agent; and the dimension."""
    _check_numbers(rows, first)
    _check_numbers(targets, second)
    if len(rows) != len(targets):
        raise BadProblem(
            f"{first} is for {len(rows)} agents and {second} for {len(targets)}; give both for each"
        )
    if isinstance(rows, list):
        data = [(np.asarray(a), np.asarray(b)) for a, b in zip(rows, targets, strict=True)]
        shape = data[0][0].shape if data else ()
    else:
        data, shape = (np.asarray(rows), np.asarray(targets)), np.shape(rows)[1:]
    if len(shape) != 2:
        raise BadProblem(
            f"{first} of agent 0 has shape {shape}; it needs a row per sample and a column per coordinate"
        )
    return data, shape[1]
