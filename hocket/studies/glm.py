"""Generalised linear models over the rows of all members: what a pooled fit gives, and only sums are seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Total
from hocket.errors import BadStudy, NotEstimable
from hocket.studies.design_matrix import Design, design_matrix, response
from hocket.studies.disclosure import refuse_site
from hocket.studies.families import Family, family_of
from hocket.studies.fit import Fit
from hocket.studies.formula import Factor
from hocket.studies.identification import separation
from hocket.studies.joint_counts import JointCounts, joint_counts
from hocket.studies.least_squares import least_squares
from hocket.studies.newton import MOST_STEPS, Maximum, Sample, maximise, robust_meat
from hocket.studies.patterns import refuse_determined
from hocket.studies.penalty import Penalty, penalty_of
from hocket.studies.ranges import declared_ends
from hocket.studies.scaling import FLAT, Scaling, joint_scaling
from hocket.studies.steering import Declared, Watch
from hocket.studies.study import Study
from hocket.studies.symmetric import packed, pairs, unpacked
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

    @property
    def sums(self) -> dict[str, np.ndarray]:
        """What else is summed beside the columns: outcomes and weights."""
        return {"outcome": np.array([self.weights @ self.y, self.weights @ self.y**2, self.weights.sum()])}


def observed(study: Study, values: Mapping[str, np.ndarray], rows: int) -> Observed:
    """Design, outcome, offset and weights of a member's rows."""
    formula, question = study.formula, study.question
    if formula is None or not isinstance(formula.response, Factor):
        raise BadStudy("the study has no formula with an outcome; this model needs one")
    design = design_matrix(
        formula, study.columns, values, rows, intercept=formula.intercept and not question.site
    )
    return Observed(
        design,
        response(formula.response, values),
        values[question.offset] if question.offset else np.zeros(rows),
        values[question.weights] if question.weights else np.ones(rows),
    )


def fit_glm(study: Study, data: Observed) -> Analysis[Fit]:
    """The fit, from one member's rows and totals over all."""
    question, design = study.question, data.design
    one = int(bool(question.weights) or question.errors == "robust")
    weighed = one if question.family == "linear" else MOST_STEPS
    counts = yield from joint_counts(
        design.X,
        data.y,
        design.names,
        study.disclosure,
        own_intercepts=question.site,
        weighed=weighed,
    )
    if question.site:
        refuse_site(counts.members)
    refuse_determined(study, counts.rows - len(data.y), MOST_STEPS)
    if question.family == "binomial" and not study.penalty.some:
        _refuse_separated(counts)
    if question.family == "linear":
        data = replace(data, y=data.y - data.offset, offset=np.zeros_like(data.offset))
    ends = declared_ends(study, design)
    scaling = yield from joint_scaling(design, data.sums, centred=True if question.site else None, ends=ends)
    _refuse_outcome(study, scaling)
    intercepts = counts.members if question.site else 0
    penalty = penalty_of(
        study.penalty.ridge,
        study.penalty.lasso,
        scaling.size,
        intercept=design.intercept,
        standardised=study.penalty.standardised,
    )
    model = _Model(study, design, scaling, penalty if penalty.some else None, intercepts)
    sample = Sample(scaling.apply(design.X), data.y, data.offset, data.weights, site=question.site)
    if question.family == "linear":
        return (yield from _linear(model, sample))
    family = family_of(question.family, study.link)
    return (yield from _iterated(model, family, sample))


@dataclass(frozen=True)
class _Model:
    """What members know alike after the first total."""

    study: Study
    design: Design
    scaling: Scaling
    penalty: Penalty | None
    intercepts: int
    """How many members have one of their own."""

    @property
    def freedom(self) -> int:
        return self.scaling.rows - len(self.design.names) - self.intercepts

    @property
    def watch(self) -> Watch:
        """What the totals of the search are held against."""
        question = self.study.question
        return Watch(
            self.scaling.others,
            self.study.disclosure.smallest_cell,
            weighted=bool(question.weights),
            offset=bool(question.offset or question.site),
        )

    @property
    def null_watch(self) -> Watch:
        """The same for the model without columns."""
        rows, ones = self.scaling.others.rows, np.ones(1)
        return replace(self.watch, others=Declared(rows, rows * ones, ones, ones))

    @property
    def robust(self) -> bool:
        return self.study.question.errors == "robust" and self.penalty is None

    def fit(
        self,
        beta: np.ndarray,
        covariance: np.ndarray | None,
        likelihood: float,
        measures: dict[str, float],
        *,
        ratio: str = "",
        free: bool,
    ) -> Fit:
        """The fit in the columns' own units; `free` where a dispersion was estimated too."""
        back = self.scaling.back
        parameters = len(self.design.names) + self.intercepts + free
        criteria = {"aic": 2 * (parameters - likelihood), "log_likelihood": likelihood}
        return Fit(
            self.study.question.family,
            self.design.names,
            back @ beta,
            None if covariance is None or self.penalty is not None else back @ covariance @ back.T,
            self.scaling.rows,
            measures | criteria | {"degrees_of_freedom": float(self.freedom)},
            ratio,
            float(self.freedom) if free else None,
            self.study.question.confidence,
            remarks_on(self.study),
        )


def _linear(model: _Model, sample: Sample) -> Analysis[Fit]:
    weighted, squares, weight = map(float, model.scaling.also["outcome"])
    free_origin = model.design.intercept or sample.site
    centre = weighted / weight if free_origin else 0.0
    size = float(np.sqrt(max(squares / weight - centre**2, 0.0)))
    if size <= FLAT * abs(centre):
        raise NotEstimable(
            "the outcome is the same in every joint row, or varies by less than 1e-7 or than a 1e-7th of its size: "
            "there is nothing to explain; count it from another origin, or give it in other units"
        )
    found = yield from least_squares(
        sample,
        model.design.names,
        centre=centre,
        size=size,
        weight=weight,
        penalty=model.penalty,
        robust=model.robust,
    )
    if found.deviance <= EXACT * max(found.null_deviance, size**2):
        raise NotEstimable(
            "the columns give the outcome exactly: there is no error to estimate; is it one of them?"
        )
    rows, dispersion = model.scaling.rows, found.deviance / model.freedom
    likelihood = -0.5 * (rows * (np.log(2 * np.pi * found.deviance / rows) + 1) - found.logs)
    measures = {"deviance": found.deviance, "dispersion": dispersion}
    if free_origin:
        measures |= {
            "null_deviance": found.null_deviance,
            "r_squared": 1 - found.deviance / found.null_deviance,
        }
    inverse = found.inverse
    covariance = dispersion * inverse if found.meat is None else inverse @ found.meat @ inverse
    return model.fit(found.beta, covariance, float(likelihood), measures, free=True)


def _iterated(model: _Model, family: Family, sample: Sample) -> Analysis[Fit]:
    names, rows = model.design.names, model.scaling.rows
    weighted, _, weight = map(float, model.scaling.also["outcome"])
    mean = weighted / weight
    parts: dict[str, Analysis[Any]] = {
        "model": maximise(
            family, sample, names, mean=mean, weight=weight, penalty=model.penalty, watch=model.watch
        ),
        "constants": _constants(family, sample),
    }
    if model.design.intercept or sample.site:
        alone = replace(sample, X=np.ones((len(sample.y), 1)), site=False)
        parts["null"] = maximise(
            family, alone, ("Intercept",), mean=mean, weight=weight, flat=True, watch=model.null_watch
        )
    found = yield from together(parts)
    maximum: Maximum = found["model"]
    dispersion = maximum.pearson / model.freedom if family.free_dispersion else 1.0
    likelihood = family.log_likelihood(maximum.deviance, found["constants"], rows, weight)
    measures = {"deviance": maximum.deviance, "dispersion": dispersion}
    if "null" in found:
        null = family.log_likelihood(found["null"].deviance, found["constants"], rows, weight)
        measures["null_deviance"] = found["null"].deviance
        # A likelihood that is a density has no greatest value to compare with.
        measures |= {} if family.free_dispersion else pseudo_r2(likelihood, null, rows)
    inverse = np.linalg.pinv(maximum.information)
    covariance = dispersion * inverse
    if model.robust:
        given = yield Total(
            {"robust": packed(robust_meat(family, sample, maximum))}, names={"robust": pairs(names)}
        )
        covariance = inverse @ unpacked(given["robust"]) @ inverse
    return model.fit(
        maximum.beta, covariance, likelihood, measures, ratio=family.ratio, free=family.free_dispersion
    )


def remarks_on(study: Study) -> tuple[str, ...]:
    """What a reader of the table should know."""
    found: list[str] = []
    if study.penalty.some:
        found.append("Penalised coefficients are biased on purpose; no standard errors are given for them.")
    if study.question.errors == "robust":
        found.append("Standard errors are robust (sandwich, HC0): they do not rest on the family's variance.")
    if study.question.site:
        found.append("Each member has an intercept of its own, which stays with it and is not shown.")
    return tuple(found)


def pseudo_r2(likelihood: float, null: float, rows: int) -> dict[str, float]:
    """How much of the log-likelihood the columns explain [McFadden; Nagelkerke]."""
    most = -np.expm1(2 * null / rows)
    return {
        "mcfadden": 1 - likelihood / null,
        "nagelkerke": float(-np.expm1(2 * (null - likelihood) / rows) / most),
    }


def _constants(family: Family, sample: Sample) -> Analysis[float]:
    total = yield Total({"constants": np.array([family.constants(sample.y, sample.weights)])})
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
        if (
            name != "Intercept"
            and counts.binary[place]
            and counts.together[place, -1] in (0, level)
            and level
        ):
            raise separation(name)
