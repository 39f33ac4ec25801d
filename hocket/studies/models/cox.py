"""Proportional hazards, stratified by member: each member's partial likelihood is its own, and their sum is exact.

Rows are compared with rows at risk at the same member only, as with strata(member) in R; hazards at different members
may differ in any way over time, and share the coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from hocket.errors import BadStudy, NotEstimable
from hocket.studies.data.design_matrix import Design, design_matrix
from hocket.studies.data.scaling import joint_scaling
from hocket.studies.disclosure.joint_counts import joint_counts
from hocket.studies.disclosure.patterns import refuse_determined
from hocket.studies.disclosure.steering import CULPRIT, SLACK, Declared, refuse_curvature, refuse_far
from hocket.studies.models.fit import RegressionFit
from hocket.studies.models.newton import MOST_STEPS, Sums, maximise
from hocket.studies.models.symmetric import packed, products, unpacked
from hocket.studies.spec.formula import Survival
from hocket.studies.spec.ranges import declared_ends
from hocket.studies.spec.study import Study
from hocket.studies.together import Analysis


@dataclass(frozen=True)
class Stratum:
    """One member's rows: columns, times, and whether the event came."""

    design: Design
    time: Float[np.ndarray, " rows"] = field(repr=False)
    event: Float[np.ndarray, " rows"] = field(repr=False)


def stratum(study: Study, values: Mapping[str, np.ndarray], rows: int) -> Stratum:
    """A member's rows for its formula."""
    formula = study.formula
    if formula is None or not isinstance(formula.response, Survival):
        raise BadStudy("the study has no formula with Surv(time, event) ~ …")
    # The baseline hazard takes the intercept's place: levels lose their reference, and there is no column of ones.
    design = design_matrix(formula, study.columns, values, rows, intercept=False)
    return Stratum(design, values[formula.response.time], values[formula.response.event])


def fit_cox(study: Study, data: Stratum) -> Analysis[RegressionFit]:
    """The fit, from one member's rows and totals over all."""
    names, own = data.design.names, float(data.event.sum())
    assert study.formula is not None
    counts = yield from joint_counts(data.design.X, data.event, names, study.disclosure, weighed=MOST_STEPS)
    events = float(counts.present[-1])
    others = events - own if counts.binary[:-1].all() else None
    refuse_determined(study, counts.rows - len(data.time), events=others)
    if events == 0:
        raise NotEstimable("no event came in any joint row; there is nothing to explain")
    scaling = yield from joint_scaling(
        data.design, centred=True, ends=declared_ends(study.formula, study.columns, data.design)
    )
    scaled = replace(data, design=replace(data.design, X=scaling.apply(data.design.X)))
    partial = _PartialLikelihood(scaled, study.question.ties, events - own, scaling.others)
    peak = yield from maximise(partial, rows=events, within=True)
    likelihood, null = float(peak.last["likelihood"][0]), float(peak.first["likelihood"][0])
    measures = {
        "log_likelihood": likelihood,
        "null_log_likelihood": null,
        "likelihood_ratio": 2 * (likelihood - null),
        "aic": 2 * (len(names) - likelihood),
        "events": events,
        "strata": float(counts.members),
    }
    return RegressionFit(
        "cox",
        names,
        peak.beta / scaling.size,
        np.linalg.inv(peak.information) / np.outer(scaling.size, scaling.size),
        scaling.rows,
        measures,
        "hazard ratio",
        confidence=study.question.confidence,
        remarks=("Stratified by member: each has a baseline hazard of its own, which is not shown.",),
    )


@dataclass(frozen=True)
class _PartialLikelihood:
    """One member's part in the joint partial likelihood, of scaled columns."""

    data: Stratum
    ties: str
    events: float
    """The others'."""
    others: Declared

    @property
    def names(self) -> tuple[str, ...]:
        return self.data.design.names

    def parts(self, beta: Float[np.ndarray, " p"], step: int) -> dict[str, np.ndarray]:
        X = self.data.design.X
        refuse_far(X @ beta)
        value, score, own = partial_likelihood(X, self.data.time, self.data.event, beta, self.ties)
        return {"likelihood": np.array([value]), "score": score, "information": packed(own)}

    def refuse_impossible(self, total: Sums, own: Sums, beta: Float[np.ndarray, " p"]) -> None:
        # A covariate differs from its mean over those at risk by its range at most, and by its size.
        others, events = self.others, self.events
        reach = np.minimum(others.high - others.low, np.sqrt(2 * np.maximum(others.squares, 0.0)))
        rest = replace(others, squares=events * reach**2)
        refuse_curvature(unpacked(total["information"]), unpacked(own["information"]), rest, 0.25)
        slack = SLACK * max(1.0, events)
        if (np.abs(total["score"] - own["score"]) > events * reach * (1 + SLACK) + slack).any():
            raise NotEstimable(f"the others' scores are larger than their events allow: {CULPRIT}")
        value = float(own["likelihood"][0])
        if float(total["likelihood"][0]) - value > SLACK * max(1.0, abs(value)):
            raise NotEstimable(f"the others' log-likelihood is above 0: {CULPRIT}")

    def loss(self, total: Sums, step: int) -> float:
        return -float(total["likelihood"][0])

    def scale(self, total: Sums) -> float:
        return 1.0


def partial_likelihood(
    X: Float[np.ndarray, "rows p"],
    time: Float[np.ndarray, " rows"],
    event: Float[np.ndarray, " rows"],
    beta: Float[np.ndarray, " p"],
    ties: str = "efron",
) -> tuple[float, Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """One stratum's log partial likelihood, its gradient and its negative second derivative [Efron; Breslow]."""
    if not len(time):
        return 0.0, np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    order = np.argsort(-time, kind="stable")  # the last first: who is at risk adds up
    X, event, eta = X[order], event[order], (X @ beta)[order]  # pyright: ignore[reportConstantRedefinition]
    _, first, group = np.unique(-time[order], return_index=True, return_inverse=True)
    last = np.append(first[1:], len(time)) - 1
    shift = float(eta.max())
    risk = np.exp(eta - shift)
    dead = event == 1
    died, at = X[dead], group[dead]
    deaths = np.bincount(at, minlength=len(first))
    # Of those who die at one time, Efron takes a growing share out of those at risk; Breslow takes none.
    rank = np.arange(len(at)) - (np.cumsum(deaths) - deaths)[at]
    share = rank / deaths[at] if ties == "efron" else np.zeros(len(at))
    dying = np.zeros((len(first), 1 + X.shape[1]))
    np.add.at(dying, at, risk[dead, None] * np.column_stack([np.ones(len(at)), died]))
    level = np.cumsum(risk)[last][at] - share * dying[at, 0]
    pull = np.cumsum(risk[:, None] * X, axis=0)[last][at] - share[:, None] * dying[at, 1:]
    mean = pull / level[:, None]
    value = float(eta[dead].sum() - np.log(level).sum() - shift * len(at))
    # A row counts in the sum at every death up to its own time, and with a share less at deaths of that time.
    each = np.bincount(at, 1 / level, minlength=len(first))
    shared = np.bincount(at, share / level, minlength=len(first))
    weight = risk * np.cumsum(each[::-1])[::-1][group]
    curvature = products(X, weight) - products(died, risk[dead] * shared[at]) - mean.T @ mean
    return value, died.sum(axis=0) - mean.sum(axis=0), curvature
