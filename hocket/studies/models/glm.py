"""Linear and generalised linear models over the rows of all members: what a pooled fit gives, by sums alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import SecureSum
from hocket.errors import BadStudy, NotEstimable
from hocket.studies.data.design_matrix import INTERCEPT, Design, design_matrix, response
from hocket.studies.data.scaling import FLAT, Scaling, joint_scaling
from hocket.studies.disclosure.joint_counts import JointCounts, joint_counts
from hocket.studies.disclosure.patterns import refuse_determined
from hocket.studies.disclosure.steering import Declared, SumBounds
from hocket.studies.models.families import FAMILIES, LikelihoodFamily
from hocket.studies.models.fit import RegressionFit
from hocket.studies.models.identification import refuse_collinear, separation
from hocket.studies.models.newton import MOST_STEPS, Sums, maximise
from hocket.studies.models.penalty import LassoRidge, penalty_of
from hocket.studies.models.symmetric import packed, pairs, products, unpacked
from hocket.studies.spec.formula import Factor
from hocket.studies.spec.ranges import declared_ends
from hocket.studies.spec.study import Study
from hocket.studies.together import Analysis, together

EXACT = 1e-22
"""A sum of squares that is a smaller part of the outcome's is rounding."""
WEIGHTS = 1e-6, 1e6
"""Between which the mean weight lies: beyond, fixed point would leave few digits of a sum, or none."""


@dataclass(frozen=True)
class Observed:
    """One member's rows as a model needs them."""

    design: Design
    y: Float[np.ndarray, " rows"] = field(repr=False)
    offset: Float[np.ndarray, " rows"] = field(repr=False)
    weights: Float[np.ndarray, " rows"] = field(repr=False)

    def with_design(self, X: Float[np.ndarray, "rows columns"]) -> Observed:
        """The same rows with other numbers in their columns."""
        return replace(self, design=replace(self.design, X=X))


def observed(study: Study, values: Mapping[str, np.ndarray], rows: int) -> Observed:
    """Design, outcome, offset and weights of a member's rows."""
    formula, question = study.formula, study.question
    if formula is None or not isinstance(formula.response, Factor):
        raise BadStudy("the study has no formula with an outcome; this model needs one")
    return Observed(
        design_matrix(formula, study.columns, values, rows, intercept=formula.intercept),
        response(formula.response, values),
        values[question.offset] if question.offset else np.zeros(rows),
        values[question.weights] if question.weights else np.ones(rows),
    )


def fit_glm(study: Study, data: Observed) -> Analysis[RegressionFit]:
    """The fit, from one member's rows and totals over all."""
    question, formula, design = study.question, study.formula, data.design
    assert formula is not None
    linear = question.family == "linear"
    weighed = int(bool(question.weights) or question.errors == "robust") if linear else MOST_STEPS
    counts = yield from joint_counts(design.X, data.y, design.names, study.disclosure, weighed=weighed)
    refuse_determined(study, counts.rows - len(data.y))
    if question.family == "binomial" and not study.penalty.some:
        _refuse_separated(counts)
    if linear:
        data = replace(data, y=data.y - data.offset, offset=np.zeros_like(data.offset))
    w, y = data.weights, data.y
    outcome = {"outcome": np.array([w @ y, w @ y**2, w.sum()])}
    scaling = yield from joint_scaling(design, outcome, ends=declared_ends(formula, study.columns, design))
    _refuse_outcome(study, scaling)
    model = _Model(study, design.names, scaling, penalty_of(study.penalty, scaling))
    data = data.with_design(scaling.apply(design.X))
    if linear:
        return (yield from _linear(model, data))
    return (yield from _iterated(model, FAMILIES[question.family, study.link], data))


@dataclass(frozen=True)
class _Model:
    """What members know alike after the first total."""

    study: Study
    names: tuple[str, ...]
    scaling: Scaling
    penalty: LassoRidge | None

    @property
    def outcome(self) -> tuple[float, float, float]:
        """Of the outcome: the weighted sum, the one of squares, and the weights'."""
        weighted, squares, weight = map(float, self.scaling.also["outcome"])
        return weighted, squares, weight

    @property
    def freedom(self) -> int:
        return self.scaling.rows - len(self.names)

    @property
    def bounds(self) -> SumBounds:
        """What the totals of the search are held against."""
        question, smallest = self.study.question, self.study.disclosure.smallest_cell
        return SumBounds(self.scaling.others, smallest, bool(question.weights), bool(question.offset))

    @property
    def robust(self) -> bool:
        return self.study.question.errors == "robust" and self.penalty is None

    def fit(
        self,
        beta: np.ndarray,
        covariance: np.ndarray,
        likelihood: float,
        measures: dict[str, float],
        *,
        ratio: str = "",
        free: bool,
    ) -> RegressionFit:
        """The fit in the columns' own units; `free` where a dispersion was estimated too."""
        back, freedom = self.scaling.back, float(self.freedom)
        criteria = {"aic": 2 * (len(self.names) + free - likelihood), "log_likelihood": likelihood}
        return RegressionFit(
            self.study.question.family,
            self.names,
            back @ beta,
            None if self.penalty is not None else back @ covariance @ back.T,
            self.scaling.rows,
            measures | criteria | {"degrees_of_freedom": freedom},
            ratio,
            freedom if free else None,
            self.study.question.confidence,
            remarks_on(self.study),
        )


def _linear(model: _Model, data: Observed) -> Analysis[RegressionFit]:
    """Least squares: one total of XᵀX, Xᵀy and yᵀy over scaled columns, another for robust errors, no iteration."""
    weighted, squares, weight = model.outcome
    names, intercept = model.names, data.design.intercept
    centre = weighted / weight if intercept else 0.0
    size = float(np.sqrt(max(squares / weight - centre**2, 0.0)))
    if size <= FLAT * abs(centre):
        raise NotEstimable(
            "the outcome is the same in every joint row, or varies by less than 1e-7 or than a 1e-7th of its size: "
            "there is nothing to explain; count it from another origin, or give it in other units"
        )
    X, w, y = data.design.X, data.weights, (data.y - centre) / size
    total = yield SecureSum(
        {
            "products": packed(products(X, w)),
            "with outcome": X.T @ (w * y),
            "outcome": np.array([w @ y, w @ y**2, np.log(w).sum()]),
        },
        names={"products": pairs(names), "with outcome": names},
    )
    gram, cross = unpacked(total["products"]), total["with outcome"]
    first, square, logs = map(float, total["outcome"])
    if model.penalty is None:
        refuse_collinear(gram, names, rows=weight)
        beta = np.linalg.solve(gram, cross)
    else:
        # The penalty is on coefficients in units of the outcome, so the loss is too.
        beta = model.penalty.solve(gram / weight, cross * size / weight, np.zeros(len(names))) / size
    deviance = max(square - float(beta @ (2 * cross - gram @ beta)), 0.0) * size**2
    null_deviance = (square - first**2 / weight) * size**2
    rows, dispersion, inverse = model.scaling.rows, deviance / model.freedom, np.linalg.pinv(gram)
    if model.robust:
        given = yield _robust(names, products(X, (w * (y - X @ beta)) ** 2))
        covariance = inverse @ (unpacked(given["robust"]) * size**2) @ inverse
    else:
        covariance = dispersion * inverse
    if deviance <= EXACT * max(null_deviance, size**2):
        raise NotEstimable(
            "the columns give the outcome exactly: there is no error to estimate; is it one of them?"
        )
    likelihood = -0.5 * (rows * (np.log(2 * np.pi * deviance / rows) + 1) - logs)
    measures = {"deviance": deviance, "dispersion": dispersion}
    if intercept:
        measures |= {"null_deviance": null_deviance, "r_squared": 1 - deviance / null_deviance}
        beta = beta + np.eye(len(names))[0] * centre / size
    return model.fit(beta * size, covariance, float(likelihood), measures, free=True)


def _robust(names: tuple[str, ...], meat: Float[np.ndarray, "p p"]) -> SecureSum:
    """Squared scores, a row each: what makes standard errors hold though the variance is wrong."""
    return SecureSum({"robust": packed(meat)}, names={"robust": pairs(names)})


def _iterated(model: _Model, family: LikelihoodFamily, data: Observed) -> Analysis[RegressionFit]:
    weighted, _, weight = model.outcome
    mean, names, rows = weighted / weight, model.names, model.scaling.rows
    size = weight * min(1.0, mean)
    parts: dict[str, Analysis[Any]] = {
        "model": maximise(
            _GlmLikelihood(family, data, family.start(data.y, mean), weight, model.bounds),
            rows=size,
            weight=weight,
            penalty=model.penalty,
            separable=family.separable,
        ),
        "constants": _constants(family, data),
    }
    if data.design.intercept:
        # From the joint mean in every row, which is where a model without columns ends.
        alone, mu = Design(np.ones((len(data.y), 1)), (INTERCEPT,), True), np.full(len(data.y), mean)
        others = Declared(
            model.scaling.others.rows, model.scaling.others.rows * np.ones(1), np.ones(1), np.ones(1)
        )
        bounds = replace(model.bounds, others=others)
        null = _GlmLikelihood(family, replace(data, design=alone), mu, weight, bounds)
        parts["null"] = maximise(null, rows=size, separable=family.separable)
    found = yield from together(parts)
    beta, information, last = found["model"].beta, found["model"].information, found["model"].last
    deviance, pearson = float(last["deviance"][0]), float(last["pearson"][0])
    dispersion = pearson / model.freedom if family.free_dispersion else 1.0
    likelihood = family.log_likelihood(deviance, found["constants"], weight)
    measures = {"deviance": deviance, "dispersion": dispersion}
    if "null" in found:
        null_deviance = float(found["null"].last["deviance"][0])
        null = family.log_likelihood(null_deviance, found["constants"], weight)
        measures["null_deviance"] = null_deviance
        # A likelihood that is a density has no greatest value to compare with.
        measures |= {} if family.free_dispersion else pseudo_r2(likelihood, null, rows)
    inverse = np.linalg.pinv(information)
    covariance = dispersion * inverse
    if model.robust:
        mu = family.link.mu(data.design.X @ beta + data.offset)
        pull = data.weights * (data.y - mu) * family.link.slope(mu) / family.variance(mu)
        given = yield _robust(names, products(data.design.X, pull**2))
        covariance = inverse @ unpacked(given["robust"]) @ inverse
    return model.fit(beta, covariance, likelihood, measures, ratio=family.ratio, free=family.free_dispersion)


@dataclass(frozen=True)
class _GlmLikelihood:
    """One member's part in the likelihood of a generalised linear model: iteratively reweighted least squares."""

    family: LikelihoodFamily
    data: Observed
    start: Float[np.ndarray, " rows"] = field(repr=False)
    """Means at the first step."""
    weight: float
    bounds: SumBounds

    @property
    def names(self) -> tuple[str, ...]:
        return self.data.design.names

    def parts(self, beta: Float[np.ndarray, " p"], step: int) -> dict[str, np.ndarray]:
        family, link, X, y = self.family, self.family.link, self.data.design.X, self.data.y
        linear = X @ beta + self.data.offset
        mu = link.mu(linear) if step else self.start
        allowed = family.allowed(mu)
        beyond = float((~allowed).sum())
        # Where there is any, all members will take half the step: what is given here is not used.
        mu = np.where(allowed, mu, 1.0)
        slope, variance, gap = link.slope(mu), family.variance(mu), y - mu
        weights = self.data.weights * slope**2 / variance
        if step and not beyond:
            self.bounds.refuse_few(linear - self.data.offset, weights)
        # Not through the working outcome: where slope and variance are equal they cancel, however small they are.
        pull = self.data.weights * gap * (slope / variance)
        if step == 0:
            pull = weights * (gap / slope + (link.eta(mu) - linear))
        parts = {"information": packed(products(X, weights))}
        if family.bend is not None:
            parts["curvature"] = packed(products(X, weights * family.bend(y, mu) if step else weights))
        return parts | {
            "score": X.T @ pull,
            "deviance": np.array([float(self.data.weights @ family.deviance(y, mu))]),
            "pearson": np.array([float(self.data.weights @ (gap**2 / variance))]),
            "beyond": np.array([beyond]),
        }

    def refuse_impossible(self, total: Sums, own: Sums, beta: Float[np.ndarray, " p"]) -> None:
        self.bounds.refuse_impossible(self.family, total, own, beta)

    def loss(self, total: Sums, step: int) -> float:
        if step == 1 and total["beyond"][0] > 0:
            raise NotEstimable(
                "the first step leads to means that the family cannot have; choose link = 'log'"
            )
        return float(total["deviance"][0]) if step and total["beyond"][0] == 0 else np.inf

    def scale(self, total: Sums) -> float:
        return float(total["pearson"][0]) / self.weight if self.family.free_dispersion else 1.0


def remarks_on(study: Study) -> tuple[str, ...]:
    """What a reader of the table should know."""
    found: list[str] = []
    if study.penalty.some:
        found.append("Penalised coefficients are biased on purpose; no standard errors are given for them.")
    if study.question.errors == "robust":
        found.append("Standard errors are robust (sandwich, HC0): they do not rest on the family's variance.")
    return tuple(found)


def pseudo_r2(likelihood: float, null: float, rows: int) -> dict[str, float]:
    """How much of the log-likelihood the columns explain [McFadden; Nagelkerke]."""
    most = -np.expm1(2 * null / rows)
    return {
        "mcfadden": 1 - likelihood / null,
        "nagelkerke": float(-np.expm1(2 * (null - likelihood) / rows) / most),
    }


def _constants(family: LikelihoodFamily, data: Observed) -> Analysis[float]:
    own = float(np.sum(family.constants(data.y, data.weights)))
    total = yield SecureSum({"constants": np.array([own])})
    return float(total["constants"][0])


def _refuse_outcome(study: Study, scaling: Scaling) -> None:
    """Weights that fixed point does not hold, and outcomes of which no mean is to be found."""
    weighted, squares, weight = map(float, scaling.also["outcome"])
    low, high = WEIGHTS
    if not low <= weight / scaling.rows <= high:
        raise NotEstimable(
            f"weights are {weight / scaling.rows:.3g} on average, and between {low:g} and {high:g} sums keep their "
            "digits: give weights in other units"
        )
    family, mean = study.question.family, weighted / weight
    if family == "poisson" and mean == 0:
        raise NotEstimable("the outcome is 0 in every joint row; there is nothing to explain")
    if family == "gamma" and squares / weight - mean**2 <= FLAT**2 * mean**2:
        raise NotEstimable("the outcome is the same in every joint row; there is nothing to explain")


def _refuse_separated(counts: JointCounts) -> None:
    """Levels with one outcome only are known from the counts; an outcome that is a share has none."""
    if not counts.binary[-1]:
        return
    if counts.present[-1] in (0, counts.rows):
        raise NotEstimable("the outcome is the same in every joint row; there is nothing to explain")
    for place, name in enumerate(counts.names[:-1]):
        level = counts.present[place]
        one_sided = counts.binary[place] and counts.together[place, -1] in (0, level)
        if name != INTERCEPT and one_sided and level:
            raise separation(name)
