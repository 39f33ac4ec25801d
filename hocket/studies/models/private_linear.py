"""Least squares from one total with noise: all products of columns and outcome, each within its declared range.

A row gives the upper half of u uᵀ, u = (1, columns, outcome), every entry scaled to [−1, 1] by declared ranges and put
on a grid. With ‖u‖² ≤ R² (1 for the intercept, 1 for the outcome, 1 for each term: of a factor's levels one is 1), and
noise whose variance is twice as large on squares, a row that is replaced moves the total by at most

    S² = ½ ‖u uᵀ − u′u′ᵀ‖² ≤ R⁴   in units of the noise's deviation, so S = R².

Squares with twice the variance make the noise E a symmetric Gaussian matrix that no rotation changes. With w = (−β, 1),
coefficients are off by G⁻¹ (E w), and Cov(E w) = sd² (‖w‖² I + w wᵀ): standard errors are the root of the sampling
variance plus this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from hocket.algorithm import SecureSum
from hocket.errors import NotEstimable
from hocket.secagg.noise_share import GRID_BITS
from hocket.studies.data.design_matrix import Design, term_width
from hocket.studies.disclosure.promise import Promise
from hocket.studies.models.fit import RegressionFit
from hocket.studies.spec.columns import ColumnSection
from hocket.studies.spec.formula import Factor, Term
from hocket.studies.spec.ranges import factor_range, of_levels, term_range
from hocket.studies.spec.study import Study
from hocket.studies.together import Analysis

STEPS = 1 << (GRID_BITS // 2)
"""Steps from 0 to the end of a range: a column is rounded to these, so that products lie on the grid of the noise."""
LARGEST = 1e300
"""Reaches above the one part of this are not yet rounded to 0."""
CLEAR = 2.0
"""Deviations of noise (times the root of how many columns) that the weakest direction of the columns must exceed."""


@dataclass(frozen=True)
class Bounds:
    """Where a column's values lie, by declaration."""

    middle: float
    reach: float

    @staticmethod
    def between(low: float, high: float) -> Bounds:
        """Of a range."""
        return Bounds((low + high) / 2, (high - low) / 2)

    @property
    def can_scale(self) -> bool:
        """Whether floats can divide by the reach: it is neither 0 nor endless."""
        return bool(np.isfinite([self.middle, self.reach, 2 * self.reach]).all() and self.reach > 1 / LARGEST)

    def scaled(self, values: Float[np.ndarray, " rows"]) -> Int[np.ndarray, " rows"]:
        """Whole steps from the middle, at most `STEPS` either way."""
        return np.rint(np.clip((values - self.middle) / self.reach, -1.0, 1.0) * STEPS).astype(np.int64)


def sensitivity(study: Study) -> float:
    """S: by how much a row that is replaced moves the total, at most."""
    return 2.0 + (0 if study.formula is None else len(study.formula.terms))


def column_bounds(study: Study) -> list[Bounds]:
    """Bounds of a design's columns, in order, but for the intercept, and then the outcome's."""
    formula = study.formula
    assert formula is not None
    assert isinstance(formula.response, Factor)
    found = [
        one
        for term in formula.terms
        for one in [_term_bounds(term, study.columns)] * term_width(term, formula, study.columns)
    ]
    ends = factor_range(formula.response, study.columns)
    assert ends is not None
    if not formula.response.function:  # an outcome is in its own units, whatever coefficients are for
        per = study.column(formula.response.column).per
        ends = ends[0] * per, ends[1] * per
    return [*found, Bounds.between(*ends)]


def unscalable(study: Study) -> Iterator[str]:
    """What is of declared ends so large or so close together that floats cannot scale it."""
    formula, part = study.formula, study.describe
    left = () if formula is None or not isinstance(formula.response, Factor) else ((formula.response,),)
    for term in (*left, *(() if formula is None else formula.terms)):
        with np.errstate(all="ignore"):
            fine = _term_bounds(term, study.columns).can_scale
        if not fine:
            yield ":".join(map(str, term))
    for name in () if part is None else study.described:
        low, high = study.column(name).range or (0.0, 1.0)
        if not Bounds(low / 2 + high / 2, high / 2 - low / 2).can_scale:
            yield name


def _term_bounds(term: Term, columns: Mapping[str, ColumnSection]) -> Bounds:
    ends = term_range(term, columns)
    assert ends is not None, "a study with a promise declares its ranges"
    if any(of_levels(factor, columns) for factor in term):
        # Around 0, so that of all columns of a factor only one is not 0 in a row.
        return Bounds(0.0, max(abs(ends[0]), abs(ends[1])))
    return Bounds.between(*ends)


def private_linear(
    study: Study, design: Design, y: Float[np.ndarray, " rows"], promise: Promise
) -> Analysis[RegressionFit]:
    """The fit, from one member's rows and one total."""
    bounds = column_bounds(study)
    X = design.X[:, 1:] if design.intercept else design.X
    columns = [one.scaled(values) for one, values in zip(bounds, [*X.T, y], strict=True)]
    U = np.stack([np.full(len(y), STEPS, dtype=np.int64), *columns], axis=1)
    own = U.T @ U
    S = sensitivity(study)
    variance = promise.share_variance(S)
    off = np.triu_indices(len(own), 1)
    total = yield SecureSum(
        {"products": own[off] / 2.0**GRID_BITS, "squares": np.diag(own) / 2.0**GRID_BITS},
        noise={"products": variance, "squares": 2 * variance},
    )
    moments = np.diag(total["squares"])
    moments[off] = total["products"]
    moments = moments + np.triu(moments, 1).T
    return solved(study, design, bounds, moments, promise.noise_sd(S))


def solved(
    study: Study, design: Design, bounds: list[Bounds], moments: np.ndarray, sd: float
) -> RegressionFit:
    """Coefficients in the columns' own units, and their errors, with those that the noise makes."""
    raw = np.diag([1.0, *(one.reach for one in bounds)])
    raw[1:, 0] = [one.middle for one in bounds]
    first = 0 if design.intercept else 1
    model = slice(first, len(raw) - 1)
    weakest = float(np.linalg.eigvalsh(moments[model, model])[0])
    if weakest <= CLEAR * sd * np.sqrt(len(raw)):
        raise NotEstimable(
            f"noise of deviation {sd:.3g} hides where the columns vary least (by {weakest:.3g}, in units of their "
            "ranges): leave columns out, narrow their ranges, bring more rows, or promise less (a larger epsilon)"
        )
    whole = raw @ moments @ raw.T
    gram, cross, square = whole[model, model], whole[model, -1], float(whole[-1, -1])
    inverse = np.linalg.inv(gram)
    beta = inverse @ cross
    w = np.zeros(len(raw))
    w[model], w[-1] = -beta, 1.0
    turned = raw.T @ w
    noisy = sd**2 * (turned @ turned * np.eye(len(raw)) + np.outer(turned, turned))
    noisy = (raw @ noisy @ raw.T)[model, model]
    rows = float(moments[0, 0])
    freedom = rows - len(beta)
    if freedom <= 0:
        raise NotEstimable(f"noise of deviation {sd:.3g} hides how many rows there are; bring more")
    # The noise takes from the sum of squares what the coefficients fit of it; that is given back. Where noise hides the
    # rest, its deviation stands for it.
    deviance = square - float(beta @ cross) + float(np.trace(inverse @ noisy))
    deviance = max(deviance, float(np.sqrt(2) * sd * turned @ turned))
    dispersion = deviance / freedom
    mean = whole[0, -1] / rows
    null = square - rows * mean**2
    measures = {"deviance": deviance, "dispersion": dispersion, "noise": sd, "degrees_of_freedom": freedom}
    if design.intercept and null > 0:
        measures |= {"null_deviance": float(null), "r_squared": float(1 - deviance / null)}
    covariance = dispersion * inverse + inverse @ noisy @ inverse
    return RegressionFit(
        "linear",
        design.names,
        beta,
        covariance,
        round(rows),
        measures,
        confidence=study.question.confidence,
        remarks=(
            "Noise hides any one row: coefficients, rows and measures are off by chance, and standard errors are the "
            "root of the sampling variance and the noise's together, to first order.",
        ),
    )
