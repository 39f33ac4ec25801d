"""Proportional hazards, stratified by member: each member's partial likelihood is its own, and their sum is exact.

Rows are compared with rows at risk at the same member only, as with strata(member) in R; hazards at different members
may differ in any way over time, and share the coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from hocket.algorithm import Total
from hocket.errors import BadStudy, NotEstimable
from hocket.studies.design_matrix import Design, design_matrix
from hocket.studies.fit import Fit
from hocket.studies.formula import Survival
from hocket.studies.identification import combined, refuse_collinear, separated, separation
from hocket.studies.joint_counts import joint_counts
from hocket.studies.newton import MOST_STEPS, RISE, SETTLED
from hocket.studies.patterns import refuse_determined
from hocket.studies.ranges import declared_ends
from hocket.studies.scaling import joint_scaling
from hocket.studies.steering import CULPRIT, SLACK, Declared, damped, refuse_curvature, refuse_far
from hocket.studies.study import Study
from hocket.studies.symmetric import packed, pairs, products, unpacked
from hocket.studies.together import Analysis


@dataclass(frozen=True)
class Followed:
    """One member's rows: columns, times, and whether the event came."""

    design: Design
    time: Float[np.ndarray, " rows"] = field(repr=False)
    event: Float[np.ndarray, " rows"] = field(repr=False)


def followed(study: Study, values: Mapping[str, np.ndarray], rows: int) -> Followed:
    """A member's rows for its formula."""
    formula = study.formula
    if formula is None or not isinstance(formula.response, Survival):
        raise BadStudy("the study has no formula with Surv(time, event) ~ …")
    # The baseline hazard takes the intercept's place: levels lose their reference, and there is no column of ones.
    design = design_matrix(formula, study.columns, values, rows, intercept=False)
    return Followed(design, values[formula.response.time], values[formula.response.event])


def fit_cox(study: Study, data: Followed) -> Analysis[Fit]:
    """The fit, from one member's rows and totals over all."""
    names = data.design.names
    counts = yield from joint_counts(data.design.X, data.event, names, study.disclosure, weighed=MOST_STEPS)
    events, strata = float(counts.present[-1]), float(counts.members)
    others = events - float(data.event.sum()) if counts.binary[:-1].all() else None
    refuse_determined(study, counts.rows - len(data.time), MOST_STEPS, events=others)
    if events == 0:
        raise NotEstimable("no event came in any joint row; there is nothing to explain")
    scaling = yield from joint_scaling(data.design, centred=True, ends=declared_ends(study, data.design))
    peak = yield from _maximised(
        scaling.apply(data.design.X), data, study.question.ties, events, scaling.others
    )
    measures = {
        "log_likelihood": peak.likelihood,
        "null_log_likelihood": peak.null,
        "likelihood_ratio": 2 * (peak.likelihood - peak.null),
        "aic": 2 * (len(names) - peak.likelihood),
        "events": events,
        "strata": strata,
    }
    return Fit(
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
class _Peak:
    """Where the partial likelihood is largest, of scaled columns."""

    beta: Float[np.ndarray, " p"]
    information: Float[np.ndarray, "p p"]
    likelihood: float
    null: float
    """With all coefficients 0."""


def _maximised(
    X: Float[np.ndarray, "rows p"], data: Followed, ties: str, events: float, others: Declared
) -> Analysis[_Peak]:
    """Newton's method on totals, a step taken back by half where it went too far."""
    names = data.design.names
    labels = {"score": names, "information": pairs(names)}
    beta, before, first, best, null = np.zeros(len(names)), None, None, -np.inf, 0.0
    information = np.eye(len(names))
    for _ in range(MOST_STEPS):
        refuse_far(X @ beta)
        value, score, own = partial_likelihood(X, data.time, data.event, beta, ties)
        total = yield Total(
            {"likelihood": np.array([value]), "score": score, "information": packed(own)},
            names=labels,
        )
        _refuse_impossible(total, value, score, own, events - float(data.event.sum()), others)
        likelihood, information = float(total["likelihood"][0]), unpacked(total["information"])
        if before is not None and not likelihood >= best - RISE * max(1.0, abs(best)):
            beta = (beta + before) / 2
            continue
        if first is None:
            first, null = information, likelihood
            refuse_collinear(information, names, rows=events, within=True)
        elif which := separated(information, first, names):
            raise separation(which)
        move = damped(np.linalg.solve(information, total["score"]), beta, first, names)
        best, before, beta = likelihood, beta, beta + move
        if float(move @ information @ move) <= SETTLED**2:
            return _Peak(beta, information, likelihood, null)
    _, vectors = eigh(information, information if first is None else first)
    raise NotEstimable(
        f"the fit did not settle in {MOST_STEPS} totals; it told ever less of {combined(vectors[:, 0], names)}: look "
        "for levels without events, and join them or add a ridge ([penalty] ridge = 0.01)"
    )


def _refuse_impossible(
    total: Mapping[str, np.ndarray],
    value: float,
    score: np.ndarray,
    information: np.ndarray,
    events: float,
    others: Declared,
) -> None:
    """Refuse a total whose rest cannot come from the others' events and rows."""
    # A covariate differs from its mean over those at risk by its range at most, and by its size.
    reach = np.minimum(others.high - others.low, np.sqrt(2 * np.maximum(others.squares, 0.0)))
    rest = replace(others, squares=events * reach**2)
    refuse_curvature(unpacked(total["information"]), information, rest, 0.25)
    slack = SLACK * max(1.0, events)
    if (np.abs(total["score"] - score) > events * reach * (1 + SLACK) + slack).any():
        raise NotEstimable(f"the others' scores are larger than their events allow: {CULPRIT}")
    if float(total["likelihood"][0]) - value > SLACK * max(1.0, abs(value)):
        raise NotEstimable(f"the others' log-likelihood is above 0: {CULPRIT}")


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
