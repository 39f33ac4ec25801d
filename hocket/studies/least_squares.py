"""The linear model: one total of XᵀX, Xᵀy and yᵀy over scaled columns, and no iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Total
from hocket.studies.identification import refuse_collinear
from hocket.studies.newton import Sample
from hocket.studies.penalty import Penalty
from hocket.studies.symmetric import packed, pairs, products, unpacked
from hocket.studies.together import Analysis


@dataclass(frozen=True)
class LeastSquares:
    """The smallest sum of squares over the rows of all members, of scaled columns."""

    beta: Float[np.ndarray, " p"]
    inverse: Float[np.ndarray, "p p"]
    """Of XᵀWX."""
    deviance: float
    null_deviance: float
    """With an intercept alone."""
    logs: float
    """Σ log w."""
    meat: Float[np.ndarray, "p p"] | None


def least_squares(
    sample: Sample,
    names: tuple[str, ...],
    *,
    centre: float,
    size: float,
    weight: float,
    penalty: Penalty | None,
    robust: bool,
) -> Analysis[LeastSquares]:
    """One total, and another for robust errors; `centre` and `size` are the joint outcome's."""
    w, whole = sample.weights, (sample.y - centre) / size
    # Within a member: what is left once it has its own intercept.
    inside = sample.site and len(whole) > 0
    X = sample.X - (w @ sample.X) / w.sum() if inside else sample.X
    y = whole - (w @ whole) / w.sum() if inside else whole
    total = yield Total(
        {
            "products": packed(products(X, w)),
            "with outcome": X.T @ (w * y),
            "outcome": np.array([w @ whole, w @ whole**2, w @ y**2, np.log(w).sum()]),
        },
        names={"products": pairs(names), "with outcome": names},
    )
    gram, cross = unpacked(total["products"]), total["with outcome"]
    whole_sum, whole_square, square, logs = map(float, total["outcome"])
    if penalty is None:
        refuse_collinear(gram, names, rows=weight, within=sample.site)
        beta = np.linalg.solve(gram, cross)
    else:
        # The penalty is on coefficients in units of the outcome, so the loss is too.
        beta = penalty.solve(gram / weight, cross * size / weight, np.zeros(len(names))) / size
    rest = max(square - float(beta @ (2 * cross - gram @ beta)), 0.0)
    meat = None
    if robust:
        given = yield Total(
            {"robust": packed(products(X, (w * (y - X @ beta)) ** 2))}, names={"robust": pairs(names)}
        )
        meat = unpacked(given["robust"]) * size**2
    if names[:1] == ("Intercept",):
        beta = beta + np.eye(len(names))[0] * centre / size
    return LeastSquares(
        beta * size,
        np.linalg.pinv(gram),
        rest * size**2,
        (whole_square - whole_sum**2 / weight) * size**2,
        logs,
        meat,
    )
