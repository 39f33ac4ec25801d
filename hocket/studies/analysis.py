"""A whole study, for one member: every part that the study asks for, and what all members come to.

    total = yield SecureSum(values)

is all that a member says. Its rows stay where they are; what comes back is the sum over all members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hocket.studies.data.design_matrix import filled
from hocket.studies.data.imputation import joint_means
from hocket.studies.data.rows import Rows, refuse
from hocket.studies.disclosure.promise import Promise
from hocket.studies.disclosure.rules import few_rows
from hocket.studies.models.cox import fit_cox, stratum
from hocket.studies.models.evaluate import Evaluation, evaluate, held_out
from hocket.studies.models.families import LINKS
from hocket.studies.models.fit import RegressionFit
from hocket.studies.models.glm import Observed, fit_glm, observed
from hocket.studies.models.private_linear import private_linear
from hocket.studies.results.remarks import on_errors
from hocket.studies.summaries.describe import Description, describe
from hocket.studies.summaries.private_describe import private_describe
from hocket.studies.summaries.survival import Survivals, survival_curves
from hocket.studies.together import Analysis, together


@dataclass(frozen=True)
class Findings:
    """What the members have found, each of them alike."""

    fit: RegressionFit | None = None
    description: Description | None = None
    survival: Survivals | None = None
    evaluation: Evaluation | None = None


def analyse(rows: Rows) -> Analysis[Findings]:
    """All parts of the study side by side, from one member's rows."""
    study = rows.study
    refuse(rows.name, few_rows(study.disclosure, contributed(rows)))
    parts: dict[str, Analysis[Any]] = {}
    if study.formula is not None:
        parts["model"] = _modelled(rows)
    if study.describe is not None:
        promise = promise_of(rows)
        parts["describe"] = (
            describe(rows, study.describe)
            if promise is None
            else private_describe(rows, study.describe, promise)
        )
    if study.survival is not None:
        parts["survival"] = survival_curves(rows, study.survival, study.question.confidence)
    found = yield from together(parts)
    fit, evaluation = found.get("model", (None, None))
    return Findings(fit, found.get("describe"), found.get("survival"), evaluation)


def promise_of(rows: Rows) -> Promise | None:
    """What is promised of any row, if anything is."""
    study = rows.study
    if study.privacy is None:
        return None
    parts = (study.formula is not None) + (study.describe is not None)
    return Promise(study.privacy.epsilon, study.privacy.delta, rows.among, parts)


def contributed(rows: Rows) -> int:
    """Rows of this member that the smallest part of the study uses."""
    counts = [int(rows.chosen.sum())]
    if rows.study.formula is not None:
        counts.append(int(rows.modelled.sum()))
    if rows.study.survival is not None:
        counts.append(int(rows.surviving.sum()))
    return min(counts)


def _modelled(rows: Rows) -> Analysis[tuple[RegressionFit, Evaluation | None]]:
    fit, evaluation = yield from _fitted(rows)
    if fit.covariance is not None:
        fit = replace(fit, remarks=(*fit.remarks, *on_errors(rows.study)))
    return fit, evaluation


def _fitted(rows: Rows) -> Analysis[tuple[RegressionFit, Evaluation | None]]:
    study, kept = rows.study, rows.modelled
    means = yield from joint_means(rows)
    values, count = filled(rows, kept, means), int(kept.sum())
    if study.question.family == "cox":
        fit = yield from fit_cox(study, stratum(study, values, count))
        return fit, None
    data = observed(study, values, count)
    if (promise := promise_of(rows)) is not None:
        fit = yield from private_linear(study, data.design, data.y, promise)
        return fit, None
    if study.evaluate is None:
        fit = yield from fit_glm(study, data)
        return fit, None
    out = held_out(study.fingerprint, count, study.evaluate.held_out)
    fit = yield from fit_glm(study, _some(data, ~out))
    tested = _some(data, out)
    predicted = LINKS["logit"].mu(tested.design.X @ fit.beta + tested.offset)
    evaluation = yield from evaluate(tested.y, predicted, study.evaluate, study.disclosure.smallest_cell)
    return fit, evaluation


def _some(data: Observed, which: np.ndarray) -> Observed:
    design = replace(data.design, X=data.design.X[which])
    return Observed(design, data.y[which], data.offset[which], data.weights[which])
