"""Iteratively reweighted least squares on totals: the maximum of a likelihood that is spread over members.

In each total a member gives the score and the information of its own rows, at the point that all have come to; every
member then takes the same step. With `site`, each member has an intercept of its own that never leaves it: the step is
that of the whole model, from which all own intercepts are eliminated (a Schur complement, one member at a time).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Total
from hocket.errors import NotEstimable
from hocket.studies.families import Family
from hocket.studies.identification import refuse_collinear, separated, separation
from hocket.studies.penalty import Penalty
from hocket.studies.steering import Watch, damped
from hocket.studies.symmetric import packed, pairs, products, unpacked
from hocket.studies.together import Analysis

MOST_STEPS = 15
"""Totals of a search: Newton's method takes about eight, and what members see grows with each."""
SETTLED = 1e-9
"""In standard errors: a step that is shorter ends the search; the next would be about its square."""
RISE = 1e-10
"""By what part a loss may rise from rounding alone."""


@dataclass(frozen=True)
class Sample:
    """One member's rows in a generalised linear model, its columns scaled."""

    X: Float[np.ndarray, "rows p"] = field(repr=False)
    y: Float[np.ndarray, " rows"] = field(repr=False)
    offset: Float[np.ndarray, " rows"] = field(repr=False)
    weights: Float[np.ndarray, " rows"] = field(repr=False)
    site: bool = False


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood is largest, and how sharply it is peaked there; the same at every member but for `own`."""

    beta: Float[np.ndarray, " p"]
    information: Float[np.ndarray, "p p"]
    deviance: float
    pearson: float
    own: float = field(repr=False)
    """This member's own intercept."""
    loss: float


@dataclass(frozen=True)
class _Point:
    beta: np.ndarray
    own: float = field(default=0.0, repr=False)


def maximise(
    family: Family,
    sample: Sample,
    names: tuple[str, ...],
    *,
    mean: float,
    weight: float,
    watch: Watch,
    penalty: Penalty | None = None,
    flat: bool = False,
) -> Analysis[Maximum]:
    """The maximum of the joint likelihood, less the penalty; `mean` and `weight` are the joint outcome's.

    `watch` holds each total against what the others' rows allow.
    `flat` begins from the joint mean in every row, which is where a model without columns ends.
    """
    point, before, first, loss = _Point(np.zeros(sample.X.shape[1])), None, None, np.inf
    first_mu = np.full(len(sample.y), mean) if flat else family.start(sample.y, mean)
    labels = {"score": names, "information": pairs(names), "curvature": pairs(names)}
    for step in range(MOST_STEPS):
        parts, own = _parts(family, sample, point, watch, first_mu if step == 0 else None)
        total = yield Total(parts, names=labels)
        watch.refuse_impossible(family, total, parts, point.beta)
        if step and before is None and total["beyond"][0] > 0:
            raise NotEstimable(
                "the first step leads to means that the family cannot have; choose link = 'log'"
            )
        risen = loss + RISE * max(1.0, abs(loss)) if np.isfinite(loss) else np.inf
        if before is not None and (total["beyond"][0] > 0 or _loss(total, point, penalty, weight) > risen):
            point = _Point((point.beta + before.beta) / 2, (point.own + before.own) / 2)
            continue
        if step and total["beyond"][0] == 0:
            loss = _loss(total, point, penalty, weight)
        information = unpacked(total["information"])
        if first is None:
            first = information
            if penalty is None or not penalty.ridge.any():
                refuse_collinear(information, names, rows=weight * min(1.0, mean), within=sample.site)
        elif penalty is None and family.separable and (which := separated(information, first, names)):
            raise separation(which)
        curvature = unpacked(total["curvature"]) if family.bends else information
        move = _step(curvature, total["score"], point.beta, penalty, weight)
        move = damped(move, point.beta, first, names)
        beta = point.beta + move
        after = _Point(beta, point.own + own.step(move))
        scale = SETTLED**2 * (float(total["pearson"][0]) / weight if family.free_dispersion else 1.0)
        if step and float(move @ curvature @ move) + float(total["own"][0]) <= scale:
            return Maximum(
                after.beta,
                information,
                float(total["deviance"][0]),
                float(total["pearson"][0]),
                after.own,
                loss,
            )
        before, point = (point if step else None), after
    raise NotEstimable(
        f"the fit did not settle in {MOST_STEPS} totals; look for separated levels or wild values in "
        f"{', '.join(names[:8])}"
    )


def _loss(total: Any, point: _Point, penalty: Penalty | None, weight: float) -> float:
    return float(total["deviance"][0]) + (0.0 if penalty is None else 2 * weight * penalty.cost(point.beta))


def _step(
    information: np.ndarray, score: np.ndarray, beta: np.ndarray, penalty: Penalty | None, weight: float
) -> np.ndarray:
    if penalty is None:
        return np.linalg.solve(information, score) if len(score) else score
    return penalty.solve(information / weight, (information @ beta + score) / weight, beta) - beta


@dataclass(frozen=True)
class _Own:
    """A member's own intercept, as far as its next step goes."""

    score: float = field(default=0.0, repr=False)
    curvature: float = field(default=1.0, repr=False)
    cross: np.ndarray | None = field(default=None, repr=False)

    def step(self, move: np.ndarray) -> float:
        return 0.0 if self.cross is None else (self.score - float(self.cross @ move)) / self.curvature


def _parts(
    family: Family, sample: Sample, point: _Point, watch: Watch, start: np.ndarray | None
) -> tuple[dict[str, np.ndarray], _Own]:
    """What this member gives, and what it keeps; means are the `start`, or follow from the point."""
    linear = sample.X @ point.beta + point.own + sample.offset
    mu = family.mu(linear) if start is None else start
    allowed = family.allowed(mu)
    beyond = float((~allowed).sum())
    # Where there is any, all members will take half the step: what is given here is not used.
    mu = np.where(allowed, mu, 1.0)
    slope, variance = family.slope(mu), family.variance(mu)
    gap = sample.y - mu
    working = gap / slope + (0.0 if start is None else family.eta(mu) - linear)
    weights = sample.weights * slope**2 / variance
    if start is None and not beyond:
        watch.refuse_few(linear - sample.offset, weights)
    # Not through `working`: where slope and variance are equal they cancel, however small they are.
    pull = weights * working if start is not None else sample.weights * gap * (slope / variance)
    information, score, own = _reduced(sample, weights, pull)
    parts = {"information": packed(information)}
    if family.bends:
        bend = family.bend(sample.y, mu) if start is None else 1.0
        curvature, score, own = _reduced(sample, weights * bend, pull)
        parts["curvature"] = packed(curvature)
    parts |= {
        "score": score,
        "deviance": np.array([float(sample.weights @ family.deviance(sample.y, mu))]),
        "pearson": np.array([float(sample.weights @ (gap**2 / variance))]),
        "own": np.array([own.score**2 / own.curvature]),
        "beyond": np.array([beyond]),
    }
    return parts, own


def _reduced(sample: Sample, weights: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray, _Own]:
    """Information and score, with an own intercept eliminated where there is one."""
    information, score = products(sample.X, weights), sample.X.T @ pull
    if not sample.site or not len(sample.y):
        return information, score, _Own()
    cross = sample.X.T @ weights
    own = _Own(float(pull.sum()), float(weights.sum()), cross)
    return (
        information - np.outer(cross, cross) / own.curvature,
        score - cross * own.score / own.curvature,
        own,
    )


def robust_meat(family: Family, sample: Sample, maximum: Maximum) -> Float[np.ndarray, "p p"]:
    """This member's sum of squared scores, a row each: what makes standard errors hold though the variance is wrong."""
    mu = family.mu(sample.X @ maximum.beta + maximum.own + sample.offset)
    slope, variance = family.slope(mu), family.variance(mu)
    weights = sample.weights * slope**2 / variance
    own = (weights @ sample.X) / weights.sum() if sample.site and len(weights) else 0.0
    return products(sample.X - own, (sample.weights * (sample.y - mu) * slope / variance) ** 2)
